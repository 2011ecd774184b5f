"""Rollouts are worth what the same moves are worth in an engine, also where a step writes only the rewards that it pays."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

from ludory.agents.agent import BotKernels, KernelAgent
from ludory.agents.search.blueprint import Draw, make_blueprint
from ludory.agents.seat import Seat
from ludory.envs.chance import begin_episode, draw
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.make import make_engine
from ludory.envs.parts import Field, Kernels, Rules, header

MOVES = 7


@kernel
def paid_reset(state, i):
    begin_episode(state, i)
    state.moves[i], state.card[i], state.to_move[i] = 0, draw(state, i, 2), 0
    state.terminated[i] = state.truncated[i] = False


@kernel
def paid_step(state, i, action):
    """Whoever says 1 is paid, the other half as much; nothing is written where nothing is paid."""
    seat = int(state.to_move[i])
    if action == 1:
        state.rewards[i, seat] = 1
        state.rewards[i, 1 - seat] = 0.5
    state.moves[i] += 1
    state.to_move[i] = 1 - seat
    if int(state.moves[i]) == MOVES:
        state.terminated[i] = True


@kernel
def paid_legal(state, i, seat, mask):
    mask[0] = mask[1] = True


@kernel
def paid_observe(state, i, seat, out):
    out[int(state.moves[i])] = 1


@kernel
def paid_redeal(state, i, seat):
    state.card[i] = draw(state, i, 2)


@kernel
def third_choose(state, i, seat, memory):
    """Says 1 at every third move."""
    return 1 if int(state.moves[i]) % 3 == 2 else 0


FACTS = GameFacts(
    name="Paid at once",
    players=2,
    turns="sequential",
    reward="general_sum",
    hidden_information=True,
    chance=True,
    heads=(Head("say", 2),),
    observation=ObservationSpec("move", (MOVES + 1,), "uint8", flat_segments({"move": MOVES + 1})),
    longest_game=MOVES,
    min_return=0,
    max_return=MOVES,
)
FIELDS = {"moves": Field("int8", low=0, high=MOVES), "card": Field("int8", low=0, high=1)}
PAID = Game(FACTS, Rules(header(2) | FIELDS, Kernels(paid_reset, paid_step, paid_legal, paid_observe, paid_redeal)))


@pytest.mark.plain
@pytest.mark.parametrize("seat", [0, 1])
def test_a_rule_bots_rollout_is_worth_what_an_engine_pays(seat: int) -> None:
    engine = make_engine(PAID, 1, seed=1)
    assert isinstance(engine, KernelEngine)
    engine.reset()
    engine.step([1])  # a reward that was there before the rollout
    blueprint = make_blueprint(KernelAgent("third", BotKernels(third_choose)), PAID, "a test")
    worlds = Seat(engine, seat, 0, ()).worlds(3, seed=0).records.copy()
    found = blueprint.play(Draw(worlds, blueprint.no_memory(3)), np.array([0, 1]), seat)
    for k, first in enumerate((0, 1)):
        again, action, total = engine.clone(), first, 0.0
        while not again.terminated[0]:
            again.step([action])
            total += float(again.rewards[0, seat])
            action = int(int(again.state.moves[0]) % 3 == 2)
        assert found[:, k].tolist() == [total] * 3
