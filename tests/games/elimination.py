"""Standoff: a small game in which seats move at once and fall out one after another. Two heads, hidden shields, luck."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from ludory.envs.chance import begin_episode, draw
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field, Kernels, Look, Rules, elimination, header

SEATS, MOST_ROUNDS = 3, 6
HOLD = 0
AIM, POWER = 3, 2


@kernel
def reset(state, i):
    """Everybody lives; a seat in three has a shield that stops the first hit."""
    begin_episode(state, i)
    for seat in range(SEATS):
        state.alive[i, seat] = 1
        state.seat_terminated[i, seat] = 0
        state.shield[i, seat] = 1 if draw(state, i, 3) == 0 else 0
    state.round[i] = 0
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def legal(state, i, seat, mask):
    """Hold, or aim at a living seat, one or two further on; weak or strong. Who is out holds, weakly."""
    lives = int(state.alive[i, seat]) == 1
    mask[HOLD] = True
    for ahead in range(1, AIM):
        mask[ahead] = lives and int(state.alive[i, (seat + ahead) % SEATS]) == 1
    mask[AIM] = True
    mask[AIM + 1] = lives


@kernel
def used(state, i, seat, action, out):
    """Power matters to a shot only."""
    out[0] = True
    out[1] = action[0] != HOLD


@kernel
def hit(state, i, actions, target):
    """Whether a shot at `target` gets through: a weak one in one case of four, a strong one in two."""
    struck = False
    for ahead in range(1, AIM):
        seat = (target + SEATS - ahead) % SEATS
        aims = int(state.alive[i, seat]) == 1 and int(actions[seat, 0]) == ahead
        if aims and draw(state, i, 4) <= int(actions[seat, 1]):
            struck = True
    if struck and int(state.shield[i, target]) == 1:
        state.shield[i, target] = 0
        return False
    return struck


@kernel
def settle(state, i, seat, place):
    """Pay for a place: 1 for the first, -1 for the last."""
    state.rewards[i, seat] = 1.0 - 2.0 * (place - 1.0) / (SEATS - 1)
    state.seat_terminated[i, seat] = 1


@kernel
def step(state, i, actions):
    """All shots fall at once; who falls in the same round shares a place, as do those who live at the end."""
    living, fallen = 0, 0
    for seat in range(SEATS):
        struck = int(state.alive[i, seat]) == 1 and hit(state, i, actions, seat)
        state.seat_terminated[i, seat] = 1 if struck else 0
        living += int(state.alive[i, seat])
        fallen += int(struck)
    for seat in range(SEATS):
        if int(state.seat_terminated[i, seat]) == 1:
            settle(state, i, seat, living - (fallen - 1) / 2)
            state.alive[i, seat] = 0
    living -= fallen
    state.round[i] += 1
    late = int(state.round[i]) == int(state.rounds[i])
    if living <= 1 or (late and int(state.cut[i]) == 0):
        state.terminated[i] = True
        for seat in range(SEATS):
            if int(state.alive[i, seat]) == 1:
                settle(state, i, seat, (living + 1) / 2)
    elif late:
        state.truncated[i] = True


@kernel
def observe(state, i, seat, out):
    """Who lives from the seat on, the own shield, the round; nothing for who is out."""
    if int(state.alive[i, seat]) == 1:
        for ahead in range(SEATS):
            out[ahead] = int(state.alive[i, (seat + ahead) % SEATS])
        out[SEATS] = int(state.shield[i, seat])
        out[SEATS + 1 + int(state.round[i])] = 1


@kernel
def critic(state, i, seat, out):
    """Who lives, and every shield, from the seat on."""
    for ahead in range(SEATS):
        other = (seat + ahead) % SEATS
        out[ahead] = int(state.alive[i, other])
        out[SEATS + ahead] = int(state.shield[i, other])


def standoff(rounds: int = MOST_ROUNDS, cut: bool = False) -> Game:
    """Three seats; the end after `rounds` belongs to the rules, or cuts the game off (`cut`)."""
    seen = {"alive": SEATS, "shield": 1, "round": MOST_ROUNDS + 1}
    known = {"alive": SEATS, "shields": SEATS}
    facts = GameFacts(
        name="Standoff",
        players=SEATS,
        turns="simultaneous",
        reward="general" if cut else "zero_sum",
        hidden_information=True,
        chance=True,
        heads=(Head("aim", AIM), Head("power", POWER)),
        observation=ObservationSpec("own", (sum(seen.values()),), "uint8", flat_segments(seen)),
        longest_game=rounds,
        min_return=-1,
        max_return=1,
        critic=ObservationSpec("all shields", (sum(known.values()),), "uint8", flat_segments(known)),
    )
    fields = {
        "shield": Field("int8", (SEATS,), low=0, high=1),
        "round": Field("int32", low=0, high=rounds),
        "rounds": Field("int32", (), rounds, low=rounds, high=rounds),
        "cut": Field("int8", (), int(cut), low=int(cut), high=int(cut)),
    }
    return Game(
        facts,
        Rules(
            header(SEATS) | elimination(SEATS) | fields, Kernels(reset, step, legal, observe, used=used, critic=critic)
        ),
        look=Look(
            action_name=lambda head, value: (
                ("hold", "next", "second")[value] if head == 0 else ("weak", "strong")[value]
            ),
            info=lambda state, i: {"round": int(state.round[i])},
        ),
        id="Standoff",
    )


STANDOFF, CUT_STANDOFF = standoff(), standoff(rounds=3, cut=True)
