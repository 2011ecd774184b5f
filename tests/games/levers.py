"""The lever game of other-play (arXiv 2003.02979, section 2): both seats pull one of ten levers and are paid if it is the same one.

Nine levers pay 1.0 and cannot be told apart by a stranger; the last one pays 0.9.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from ludory.envs.chance import begin_episode
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Analysis, Field, Kernels, Look, Rules, Symmetry, header

LEVERS = 10
ODD = LEVERS - 1


@kernel
def levers_reset(state, i):
    begin_episode(state, i)
    state.pulled[i] = -1
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def levers_legal(state, i, seat, mask):
    for lever in range(LEVERS):
        mask[lever] = True


@kernel
def levers_step(state, i, action):
    state.rewards[i, 0] = 0.0
    state.rewards[i, 1] = 0.0
    if int(state.pulled[i]) < 0:
        state.pulled[i] = action
        state.to_move[i] = 1
    else:
        if action == int(state.pulled[i]):
            paid = 0.9 if action == ODD else 1.0
            state.rewards[i, 0] = paid
            state.rewards[i, 1] = paid
        state.terminated[i] = True
        state.to_move[i] = -1


@kernel
def levers_observe(state, i, seat, out):
    out[0] = 1


def _swap_levers(generator: np.random.Generator) -> Symmetry:
    return Symmetry(np.arange(1), np.append(generator.permutation(ODD), ODD))


def make_levers(symmetric: bool = True) -> Game:
    """Two seats, which see nothing of each other."""
    facts = GameFacts(
        name="Levers",
        players=2,
        turns="sequential",
        reward="shared",
        hidden_information=True,
        chance=False,
        heads=(Head("lever", LEVERS),),
        observation=ObservationSpec("nothing", (1,), "uint8", flat_segments({"nothing": 1})),
        longest_game=2,
        min_return=0,
        max_return=1,
    )
    rules = Rules(
        header(2) | {"pulled": Field("int8", low=-1, high=ODD)},
        Kernels(levers_reset, levers_step, levers_legal, levers_observe),
    )
    return Game(
        facts,
        rules,
        look=Look(action_name=lambda head, action: f"pull {action}"),
        analysis=Analysis(symmetry=_swap_levers if symmetric else None),
        id="Levers-v0",
    )
