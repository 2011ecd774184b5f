"""A tiny game with simultaneous moves whose seats take turns to decide, in kernels."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from ludory.envs.chance import begin_episode, draw
from ludory.envs.facts import GameFacts, Head, ObservationSpec, Segment
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field, Kernels, Rules, header, waiting

ROUNDS = 6


@kernel
def begin_round(state, i):
    """Seat 0, seat 1 and nobody decide in turn."""
    turn = int(state.round[i]) % 3
    state.deciding[i, 0] = turn == 0
    state.deciding[i, 1] = turn == 1
    state.bit[i] = draw(state, i, 2)


@kernel
def reset(state, i):
    begin_episode(state, i)
    state.round[i] = 0
    state.terminated[i] = False
    begin_round(state, i)


@kernel
def step(state, i, action):
    for seat in range(2):
        if int(state.deciding[i, seat]) == 1 and action[seat, 0] == int(state.bit[i]):
            state.rewards[i, 0] = 1
            state.rewards[i, 1] = 1
    state.round[i] += 1
    state.terminated[i] = int(state.round[i]) == ROUNDS
    begin_round(state, i)


@kernel
def legal(state, i, seat, mask):
    mask[0] = True
    mask[1] = int(state.deciding[i, seat]) == 1


@kernel
def observe(state, i, seat, out):
    out[int(state.bit[i])] = int(state.deciding[i, seat])


def kernel_relay() -> Game:
    """Two seats that share rewards; the best return is 4."""
    spec = ObservationSpec("bit", (2,), "uint8", (Segment("bit", 0, 2),))
    facts = GameFacts("relay", 2, "simultaneous", "shared", False, True, (Head("bit", 2),), spec, ROUNDS, 0, 4)
    fields = {
        **header(2),
        **waiting(2),
        "round": Field("int32", low=0, high=ROUNDS),
        "bit": Field("int32", low=0, high=1),
    }
    return Game(facts, Rules(fields, Kernels(reset, step, legal, observe)))


KERNEL_RELAY = kernel_relay()
"""As a value of a module, for other processes."""
