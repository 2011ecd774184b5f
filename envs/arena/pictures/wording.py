"""The last decision of the arena in words: eliminations, hits, damage, crates, weapons."""

from __future__ import annotations

import numpy as np

from ludory.envs import State
from ludory.envs.arena.constants import CHANNEL_TIME, CRATES, FULL_HP, HEALTH, TICKS, TICKS_PER_DECISION

USES = (
    ("fires", "fire"),
    ("dashes", "dash"),
    ("raises a shield", "raise shields"),
    ("winds up a nova", "wind up novas"),
    ("lays a mine", "lay mines"),
)
"""What a seat does, and what several do, in the order of the columns of `cooldown`."""


def last_move(state: State, i: int) -> str:
    """The time, and the places that the last decision settled; "" before the first."""
    if int(state.t[i]) == 0:
        return ""
    return ", ".join([_seconds(state, i), *_places(state, i)])


def told_move(before: State, after: State, i: int, seat: int | None) -> str:
    """The last decision as `seat` knows it (None: everything): who is out, who hit whom, opened a crate or used a weapon.

    The state adds damage up, so this needs the position before. A seat knows all places, and its own hits, damage, crates and weapons.
    """
    dealt = _gains(before.dealt[i], after.dealt[i], seat)
    taken = _gains(before.taken[i], after.taken[i], seat)
    events = [
        *_places(after, i),
        *_damage(dealt, taken, seat),
        *_crates(before, after, i, seat),
        *_used(before, after, i, seat),
    ]
    return f"{_seconds(after, i)}: {'; '.join(events)}" if events else _seconds(after, i)


def _seconds(state: State, i: int) -> str:
    return f"{int(state.t[i]) / TICKS:.1f} s"


def _places(state: State, i: int) -> list[str]:
    settled = [seat for seat, now in enumerate(state.seat_terminated[i].tolist()) if now]
    return [f"seat {seat} takes place {int(state.place[i, seat]) / 2:g}" for seat in settled]


def _gains(before: object, after: object, seat: int | None) -> dict[int, int]:
    """What was added since, by seat, without zeros; of `seat` only if it is not None."""
    grown = (np.asarray(after) - np.asarray(before)).tolist()
    return {k: gain for k, gain in enumerate(grown) if gain and seat in (None, k)}


def _damage(dealt: dict[int, int], taken: dict[int, int], seat: int | None) -> list[str]:
    """Hits and losses. Who hit whom is clear if there is one attacker and its damage is all that was lost."""
    if seat is None and len(dealt) == 1 and sum(dealt.values()) == sum(taken.values()):
        (attacker,) = dealt
        return [f"seat {attacker} hits {_seats(taken)} for {_points(sum(taken.values()))}"]
    hits = [f"seat {attacker} hits for {_points(damage)}" for attacker, damage in dealt.items()]
    return hits + [f"seat {victim} loses {_points(damage)}" for victim, damage in taken.items()]


def _seats(seats: dict[int, int]) -> str:
    *others, last = map(str, seats)
    return f"seats {', '.join(others)} and {last}" if others else f"seat {last}"


def _points(damage: int) -> str:
    return f"{100 * damage / FULL_HP:.3g} hp"


def _used(before: State, after: State, i: int, seat: int | None) -> list[str]:
    """Weapons and abilities: their cooldown has just begun."""
    begun = np.asarray(after.cooldown[i]) > np.asarray(before.cooldown[i])
    events = []
    for weapon, (one, several) in enumerate(USES):
        users = {k: 1 for k in np.flatnonzero(begun[:, weapon]).tolist() if seat in (None, k)}
        if users:
            events.append(f"{_seats(users)} {one if len(users) == 1 else several}")
    return events


def _crates(before: State, after: State, i: int, seat: int | None) -> list[str]:
    """Crates that were opened: by the seat nearest to it of those that were about to finish."""
    events = []
    for crate in range(CRATES):
        if int(before.crate_wait[i, crate]) == 0 and int(after.crate_wait[i, crate]) > 0:
            kind = "a health crate" if crate % 2 == HEALTH else "a supply crate"
            opener = _opener(before, i, crate)
            if seat in (None, opener):
                events.append(f"seat {opener} opens {kind}")
    return events


def _opener(before: State, i: int, crate: int) -> int:
    ready = np.flatnonzero(
        np.asarray(before.channel[i]) >= CHANNEL_TIME - TICKS_PER_DECISION
    )  # not empty: a crate opened
    x = np.asarray(before.x[i])[ready] - int(before.crate_x[i, crate])
    y = np.asarray(before.y[i])[ready] - int(before.crate_y[i, crate])
    return int(ready[np.argmin(x.astype(np.int64) ** 2 + y.astype(np.int64) ** 2)])
