"""A tiny game whose levels lie in a bank that all games of an engine share."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from ludory.envs.chance import begin_episode, draw
from ludory.envs.facts import GameFacts, Head, ObservationSpec, Segment
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field, Kernels, Rules, header

LEVELS, LENGTH = 5, 4
BANK = np.random.default_rng(7).integers(0, 2, (LEVELS, LENGTH)).astype(np.int8)


@kernel
def reset(state, i):
    begin_episode(state, i)
    state.level[i] = draw(state, i, state.bank.shape[0])
    state.place[i] = 0
    state.terminated[i] = False


@kernel
def step(state, i, action):
    level, place = int(state.level[i]), int(state.place[i])
    state.rewards[i, 0] = action == int(state.bank[level, place])
    state.place[i] = place + 1
    state.terminated[i] = place + 1 == state.bank.shape[1]


@kernel
def legal(state, i, seat, mask):
    mask[0] = True
    mask[1] = True


@kernel
def observe(state, i, seat, out):
    for place in range(int(state.place[i]), state.bank.shape[1]):
        out[place] = state.bank[int(state.level[i]), place]


def follow_the_level(bank: np.ndarray = BANK) -> Game:
    """Repeat the bits of a drawn level, a point each."""
    spec = ObservationSpec("ahead", (LENGTH,), "uint8", (Segment("ahead", 0, LENGTH),))
    facts = GameFacts(
        "follow the level", 1, "sequential", "general", False, True, (Head("bit", 2),), spec, LENGTH, 0, LENGTH
    )
    fields = {
        **header(1),
        "level": Field("int32", low=0, high=LEVELS - 1),
        "place": Field("int32", low=0, high=LENGTH),
        "bank": Field("int8", (LEVELS, LENGTH), shared=True),
    }
    return Game(
        facts,
        Rules(fields=fields, kernels=Kernels(reset, step, legal, observe), shared={"bank": bank}),
    )


FOLLOW_THE_LEVEL = follow_the_level()
"""As a value of a module, for other processes."""
