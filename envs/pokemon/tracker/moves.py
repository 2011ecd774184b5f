"""Lines of moves: what they cost, teach and begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..vocab import numbers
from . import layout as at
from .handlers import effect, line
from .reveals import reveal, reveal_effect

if TYPE_CHECKING:
    from .tracker import Tracker

_MOVES = numbers("moves")
_TYPES = numbers("types")
_PRESSURE = numbers("abilities")["pressure"]
_BATON_PASS, _SHED_TAIL = _MOVES["batonpass"], _MOVES["shedtail"]
_CURSE, _GHOST = _MOVES["curse"], _TYPES["ghost"]
_WISH_MOVE, _PURSUIT = _MOVES["wish"], _MOVES["pursuit"]
_HEALING_WISHES = frozenset((_MOVES["healingwish"], _MOVES["lunardance"]))
_NOT_LEARNT = frozenset((_MOVES["struggle"], _MOVES["recharge"]))
LOCKING = {_MOVES[name]: 3 for name in ("outrage", "petaldance", "thrash", "ragingfury", "uproar")}
LOCKING |= {_MOVES[name]: 5 for name in ("rollout", "iceball")}
"""Moves that go on by themselves, and for how many turns at most."""
_Z_SOURCE = {
    _MOVES[special]: _MOVES[source]
    for special, source in (
        ("stokedsparksurfer", "thunderbolt"), ("sinisterarrowraid", "spiritshackle"), ("extremeevoboost", "lastresort"),
        ("maliciousmoonsault", "darkestlariat"), ("clangoroussoulblaze", "clangingscales"),
        ("menacingmoonrazemaelstrom", "moongeistbeam"), ("splinteredstormshards", "stoneedge"),
        ("soulstealing7starstrike", "spectralthief"), ("genesissupernova", "psychic"), ("letssnuggleforever", "playrough"),
        ("catastropika", "volttackle"), ("10000000voltthunderbolt", "thunderbolt"), ("oceanicoperetta", "sparklingaria"),
        ("pulverizingpancake", "gigaimpact"), ("searingsunrazesmash", "sunsteelstrike"),
        ("guardianofalola", "naturesmadness"), ("lightthatburnsthesky", "photongeyser"),
    )
}  # fmt: skip
"""Z-moves that only one move becomes, which pays for it."""
_ROLLING = (_MOVES["rollout"], _MOVES["iceball"])
STALLING = frozenset(
    _MOVES[name]
    for name in (
        "protect", "detect", "endure", "banefulbunker", "burningbulwark", "kingsshield", "maxguard", "obstruct", "silktrap", "spikyshield",
    )
)  # fmt: skip


@line("move")
def move(tracker: Tracker, parts: list[str]) -> None:
    """`|move|POKEMON|MOVE|TARGET`, with `[from]` if something else than a choice called it."""
    row = tracker.row(parts[2])
    side = int(row >= 6)
    start, values = row * at.ROW, tracker.values
    volatile = at.VOLATILE + side * at.VOLATILE_SIZE
    name = (
        parts[3][2:] if parts[3].startswith("Z-") else parts[3]
    )  # a status move with Z-power keeps its name behind "Z-"
    number = _MOVES[name]
    if not number:
        raise ValueError(f"no move is called {name!r}")
    caller = ""
    for part in parts[5:]:
        if part.startswith("[from]"):
            caller = part[6:].strip()
    # goes on by itself: neither choice nor pp
    goes_on = values[start + at.LAST_MOVE] == number and (
        values[volatile + at.LOCKED] or values[volatile + at.CHARGING]
    )
    values[start + at.LAST_MOVE] = number
    values[volatile + at.CHARGING] = values[volatile + at.MUST_RECHARGE] = 0
    if number in LOCKING:
        turns = values[volatile + at.LOCKED] + 1
        # after its last turn such a move ends
        values[volatile + at.LOCKED] = turns if turns < LOCKING[number] else 0
        if "[notarget]" in parts:
            unlock(tracker, side)
    else:
        values[volatile + at.LOCKED] = 0
    # other moves break the row of guards
    if number not in STALLING:
        values[volatile + at.PROTECT] = 0
    if number in (_BATON_PASS, _SHED_TAIL):
        tracker.passing[side] = number
    elif number == _WISH_MOVE and not values[at.SIDE + side * at.SIDE_SIZE + at.WISH]:
        # a wish comes true at the end of the next turn; two upkeeps, this one included
        values[at.SIDE + side * at.SIDE_SIZE + at.WISH] = 2
    elif number in _HEALING_WISHES:
        values[at.SIDE + side * at.SIDE_SIZE + at.HEALING_WISH] = 1
    if caller and number != _PURSUIT:  # a Pursuit that catches a leaving Pokémon names itself as its cause
        if caller.startswith("ability:"):
            # a move by an ability shows the ability, but perhaps only for now
            tracker.set_ability(row, caller[8:], for_good=False)
        # in generation 1 the second turn of a charged move has a cause as well, and it pays
        if tracker.gen > 1 or not (goes_on and tracker.dex.move_charge[number]):
            _press_caller(tracker, row, caller, number)
            return
        goes_on = 0
    number = _Z_SOURCE.get(number, number)
    # these cost no pp of their own
    if number in _NOT_LEARNT or tracker.dex.move_gimmick[number] or (goes_on and tracker.gen < 3):
        return
    place = tracker.learn(row, number)
    if place < 0:
        return
    # Pressure takes one more, from chosen moves only
    values[place + at.PP] = max(0, values[place + at.PP] - 1 - (not caller and _pressed(tracker, row, number)))


def _pressed(tracker: Tracker, row: int, number: int) -> bool:
    """Whether a move aims at an ability Pressure."""
    values, start, side = tracker.values, row * at.ROW, int(row >= 6)
    if number == _CURSE and _GHOST not in (values[start + at.TYPE_1], values[start + at.TYPE_2]):
        return False  # it aims at the user
    foe = values[at.ACTIVE_ROW + 1 - side]
    return bool(
        foe >= 0
        and values[foe * at.ROW + at.ABILITY] == _PRESSURE
        and not values[foe * at.ROW + at.FAINTED]
        and tracker.dex.move_pressed[number]
    )


def _press_caller(tracker: Tracker, row: int, caller: str, number: int) -> None:
    """Under Pressure the move that called another one pays once more for what that one aims at."""
    called_by = _MOVES[effect(caller)]
    # Pressure counts for called moves from generation 3 on
    if tracker.gen < 3 or not called_by or not _pressed(tracker, row, number):
        return
    values, start = tracker.values, row * at.ROW
    first = start + (at.TEMPORARY if values[start + at.NUM_TEMPORARY] else at.MOVES)
    for place in range(first, first + 4):
        if values[place] == called_by:
            values[place + at.PP] = max(0, values[place + at.PP] - 1)


@line("cant")
def cannot(tracker: Tracker, parts: list[str]) -> None:
    """`|cant|POKEMON|REASON|MOVE`; if an ability forbids it, POKEMON is the holder and `[of]` the one that wanted to move."""
    row = tracker.row(parts[2])
    reason = parts[3]
    if reason.startswith("ability:"):
        tracker.set_ability(row, reason[8:])
        row = next((tracker.row(part[5:]) for part in parts[4:] if part.startswith("[of] ")), row)
    start, values = row * at.ROW, tracker.values
    volatile = at.VOLATILE + (row >= 6) * at.VOLATILE_SIZE
    # whoever cannot move drops what was going on
    values[volatile + at.CHARGING] = values[volatile + at.LOCKED] = values[volatile + at.PROTECT] = 0
    if reason == "slp":
        values[start + at.STATUS_TURNS] += 1
    elif reason == "recharge":
        values[volatile + at.MUST_RECHARGE] = 0
    if len(parts) > 4 and parts[4] and not parts[4].startswith("["):
        # the line names the move that was chosen, which is then known
        number = _MOVES[parts[4]]
        if number and number not in _NOT_LEARNT and not tracker.dex.move_gimmick[number]:
            tracker.learn(row, number)


@line("-prepare")
def prepare(tracker: Tracker, parts: list[str]) -> None:
    """`|-prepare|POKEMON|MOVE`: the first turn of a move that takes two."""
    row = tracker.row(parts[2])
    charges = tracker.dex.move_charge[_MOVES[parts[3]]]
    tracker.values[at.VOLATILE + (row >= 6) * at.VOLATILE_SIZE + at.CHARGING] = int(charges)
    if tracker.gen == 1 and charges:  # the second turn pays
        place = tracker.learn(row, _MOVES[parts[3]])
        if place >= 0:
            tracker.values[place + at.PP] = min(tracker.values[place + at.PP_MAX], tracker.values[place + at.PP] + 1)


@line("-anim")
def animation(tracker: Tracker, parts: list[str]) -> None:
    """`|-anim|POKEMON|MOVE|TARGET`: a charged move that does not wait (Power Herb, sun)."""
    if len(parts[2]) > 2:
        row = tracker.row(parts[2])
        tracker.values[at.VOLATILE + (row >= 6) * at.VOLATILE_SIZE + at.CHARGING] = 0


@line("-miss")
def miss(tracker: Tracker, parts: list[str]) -> None:
    """`|-miss|SOURCE|TARGET`."""
    row = tracker.row(parts[2])
    if tracker.values[row * at.ROW + at.LAST_MOVE] in _ROLLING:
        tracker.values[at.VOLATILE + (row >= 6) * at.VOLATILE_SIZE + at.LOCKED] = 0
    else:
        unlock(tracker, int(row >= 6))


def unlock(tracker: Tracker, side: int) -> None:
    """A move without effect does not start to go on by itself; from generation 5 on it also ends one that does."""
    values = tracker.values
    locked = values[at.VOLATILE + side * at.VOLATILE_SIZE + at.LOCKED]
    if tracker.gen >= 5 or (tracker.gen >= 3 and locked == 1):
        values[at.VOLATILE + side * at.VOLATILE_SIZE + at.LOCKED] = 0


@line("-mustrecharge")
def must_recharge(tracker: Tracker, parts: list[str]) -> None:
    """`|-mustrecharge|POKEMON`."""
    row = tracker.row(parts[2])
    tracker.values[at.VOLATILE + (row >= 6) * at.VOLATILE_SIZE + at.MUST_RECHARGE] = 1


@line("-fail")
def fail(tracker: Tracker, parts: list[str]) -> None:
    """`|-fail|POKEMON|ACTION`."""
    if len(parts) > 2 and parts[2][:1] == "p":
        row = tracker.row(parts[2])
        side = int(row >= 6)
        tracker.values[at.VOLATILE + side * at.VOLATILE_SIZE + at.PROTECT] = 0
        tracker.passing[side] = 0
        reveal(tracker, parts, row, of_owns=True)


@line("-immune", "-block")
def immune(tracker: Tracker, parts: list[str]) -> None:
    """`|-immune|POKEMON` and `|-block|POKEMON|EFFECT`."""
    row = tracker.row(parts[2])
    unlock(tracker, int(row < 6))
    if len(parts) > 3:
        if parts[1] == "-block":
            reveal_effect(tracker, parts[3], row)
        reveal(tracker, parts, row)
