"""Seats that wait: `Engine.deciding` of compiled games, and what the kit says of games that break its rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from games.external import RelayEngine, relay
from games.waiting import KERNEL_RELAY

import ludory
from ludory.agents.evaluation.evaluate import evaluate
from ludory.envs.make import make_engine
from ludory.envs.parts import Rules
from ludory.envs.seats.table import Table
from ludory.errors import ConformanceError
from ludory.testing import check_game


@pytest.mark.slow
def test_a_compiled_game_whose_seats_wait_keeps_the_contract():
    remarks = {}
    check_game(KERNEL_RELAY, games=8, report=lambda name, ok, remark: remarks.update({name: remark}))
    assert not remarks["waiting seats"]


def test_rounds_in_which_nobody_decides_are_stepped_on():
    engine = make_engine(KERNEL_RELAY, 3, seed=1)
    engine.reset()
    deciding = []
    while not engine.over.all():
        deciding.append(engine.deciding[0].tolist())
        assert (engine.used(np.zeros((3, 2, 1), np.int64))[..., 0] == engine.deciding).all()
        engine.step(np.zeros((3, 2, 1), np.int64))
    assert deciding == [[True, False], [False, True], [False, False]] * 2
    assert not engine.deciding.any()
    assert evaluate("random", KERNEL_RELAY, games=20, seed=1).returns.shape == (20, 2)


def test_the_memory_of_a_recurrent_player_goes_on_while_it_waits():
    agent = ludory.make_agent(ludory.make_algorithm("ppo", env=relay(), policy="gru", seats="all", num_envs=2), relay())
    table = Table(make_engine(relay(), 3, seed=1), [agent, agent])
    table.start()
    table.run()
    engine, memories = make_engine(relay(), 3, seed=1), [agent.initial_memory(3), agent.initial_memory(3)]
    engine.reset()
    while not engine.over.all():
        actions = np.zeros((3, 2, 1), np.int64)
        for seat in range(2):
            seen, mask = engine.observe(seat), engine.legal()[:, seat]
            actions[:, seat, 0], memories[seat] = agent.act_at(seat, seen, mask, memories[seat])
        engine.step(actions)
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(table.memories, memories, strict=True))
    assert table.memories[0].abs().sum() > 0


class FreeToChoose(RelayEngine):
    """Who waits has two legal values."""

    def _show(self, rows):
        super()._show(rows)
        self.state.legal[rows] = True


@pytest.mark.parametrize(
    ("game", "said"),
    [
        (
            replace(relay(), rules=Rules(engine=FreeToChoose)),
            "waits and has 2 legal values of head 'bit', must have one",
        ),
        (replace(relay(), facts=replace(relay().facts, seats_wait=False)), "waits; add .* facts.seats_wait=True"),
    ],
)
def test_faults_are_named(game, said):
    with pytest.raises(ConformanceError, match=f"waiting seats: step 0, game 0: seat 1 {said}"):
        check_game(game, games=4)
