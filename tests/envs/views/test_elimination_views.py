"""What the views show of a game in which seats fall out one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from games.elimination import SEATS, STANDOFF
from gymnasium.vector import AutoresetMode
from pettingzoo.test import api_test, parallel_api_test

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.seats.table import Table
from ludory.envs.views import make_aec, make_env, make_parallel, make_vector_env, to_sb3
from ludory.errors import IllegalActionError
from ludory.testing.random_moves import random_moves

SEEDS = range(12)


def legal_move(mask: Any, generator: np.random.Generator) -> Any:
    return random_moves(np.asarray(mask, bool).reshape(1, -1), STANDOFF.facts, generator)[0]


def test_a_parallel_agent_that_is_out_leaves_and_the_others_play_on() -> None:
    left_early = 0
    for seed in SEEDS:
        env, generator = make_parallel(STANDOFF), np.random.default_rng(seed)
        seen, _ = env.reset(seed=seed)
        returns = dict.fromkeys(env.possible_agents, 0.0)
        while env.agents:
            before = list(env.agents)
            actions = {agent: legal_move(seen[agent]["action_mask"], generator) for agent in before}
            seen, rewards, terminated, _, infos = env.step(actions)
            assert set(seen) == set(rewards) == set(terminated) == set(infos) == set(before)
            for agent, reward in rewards.items():
                returns[agent] += reward
                assert terminated[agent] or reward == 0
            assert env.agents == [agent for agent in before if not terminated[agent]]
            left_early += bool(env.agents) and len(env.agents) < len(before)
        assert sum(returns.values()) == pytest.approx(0)
    assert left_early > 3


def test_actions_of_agents_that_left_are_not_asked_for() -> None:
    env, generator = make_parallel(STANDOFF, illegal="raise"), np.random.default_rng(1)
    seen, _ = env.reset(seed=1)
    while len(env.agents) == SEATS:
        seen = env.step({a: legal_move(seen[a]["action_mask"], generator) for a in env.agents})[0]
    missing = env.agents[-1]
    with pytest.raises(IllegalActionError, match=f"no action for {missing}"):
        env.step({a: legal_move(seen[a]["action_mask"], generator) for a in env.agents[:-1]})


def test_pettingzoos_own_checks_pass() -> None:
    parallel_api_test(make_parallel(STANDOFF), 200)
    api_test(make_aec(STANDOFF), 200)


def test_a_single_seat_ends_when_it_is_out_with_its_reward() -> None:
    early = 0
    for seed in range(40):
        env, generator = make_env(STANDOFF, seats=1), np.random.default_rng(seed)
        _, info = env.reset(seed=seed)
        terminated, paid = False, 0.0
        while not terminated:
            _, reward, terminated, truncated, info = env.step(legal_move(info["action_mask"], generator))
            paid += reward
            assert not truncated
        assert info["player"] == -1
        assert info["action_mask"].all()
        assert info["returns"][1] == pytest.approx(paid)
        running = not env.engine.terminated[0]
        early += running
        assert paid == -1 or not running
    assert early > 5


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_a_row_of_a_vector_starts_anew_when_its_seat_is_out(mode: AutoresetMode) -> None:
    """Every ended row is a fresh game in the next step, and its places are paid once."""
    env, generator = make_vector_env(STANDOFF, 16, seats=0, autoreset_mode=mode), np.random.default_rng(0)
    env.reset(seed=3)
    early, earned = 0, np.zeros(16)
    for _ in range(30):
        actions = random_moves(env.action_masks(), STANDOFF.facts, generator)
        _, reward, terminated, truncated, info = env.step(actions)
        earned += reward
        assert not truncated.any()
        told = info.get("final_info", info)
        for row in np.flatnonzero(terminated):
            assert earned[row] == told["returns"][row, 0]
            early += told["returns"][row].sum() != 0  # the others were not paid yet
        earned[terminated] = 0
        alive = env.engine.alive[:, 0]
        assert (alive | (terminated if mode is AutoresetMode.NEXT_STEP else False)).all()
        fresh = terminated if mode is AutoresetMode.SAME_STEP else np.zeros(16, bool)
        assert (env.engine.state.round[fresh] == 0).all()
    assert early > 5


def test_stable_baselines_gets_the_ends_of_its_seat() -> None:
    env, generator = to_sb3(make_vector_env(STANDOFF, 8, seats=2)), np.random.default_rng(0)
    env.seed(5)
    env.reset()
    lengths = []
    for _ in range(25):
        _, _, dones, infos = env.step(random_moves(env.action_masks(), STANDOFF.facts, generator))
        lengths += [infos[row]["episode"]["l"] for row in np.flatnonzero(dones)]
    assert min(lengths) < max(lengths) <= STANDOFF.facts.longest_game


class Asked:
    """A player that notes whom it was asked for."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def initial_memory(self, rows: int) -> None:
        """None."""

    def choose(self, engine: Any, seat: int, rows: Any, memory: Any) -> Any:
        assert engine.alive[rows, seat].all(), "asked for a seat that is out"
        return random_moves(engine.legal()[rows, seat], engine.facts, self.generator)

    def notice(self, *_: Any) -> None:
        """Nothing."""


def test_players_are_not_asked_for_seats_that_are_out() -> None:
    engine = KernelEngine(STANDOFF, 32, seed=2)
    table = Table(engine, [Asked() for _ in range(SEATS)])
    table.start()
    table.run()
    assert engine.terminated.all()
    assert table.rewards.sum(axis=1) == pytest.approx(np.zeros(32))
