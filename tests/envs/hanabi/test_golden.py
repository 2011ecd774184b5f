"""Hanabi's rules, masks and observations against games recorded with two independent engines."""

from __future__ import annotations

import numpy as np
import pytest
from support.golden_hanabi import FILES, Golden, differences, load

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.game import Game
from ludory.envs.hanabi import make_game


@pytest.fixture(scope="module", params=FILES)
def golden(request: pytest.FixtureRequest) -> Golden:
    return load(request.param)


@pytest.fixture(scope="module")
def game(golden: Golden) -> Game:
    return make_game(**golden["options"])


def test_sizes_are_the_recorded_ones(golden, game):
    assert game.facts.num_actions == golden["meta"]["num_actions"]
    assert game.facts.observation.size == golden["meta"]["obs_dim"]
    assert len(golden["deck"]) == golden["meta"]["games"]


@pytest.mark.slow
def test_all_games_in_one_batch(golden, game):
    engine = KernelEngine(game, len(golden["deck"]), seed=1)
    assert differences(engine, golden) == []
    assert engine.terminated.all()


@pytest.mark.plain
def test_some_games_alone(golden, game):
    engine = KernelEngine(game, 1, seed=1)
    for index in (0, len(golden["deck"]) - 1):
        assert differences(engine, golden, [index]) == []


def test_there_are_sixteen_files_with_153807_decisions():
    assert len(FILES) == 16
    assert sum(load(name)["meta"]["steps"] for name in FILES) == 153_807


def test_a_difference_is_named_by_game_move_seat_and_segment():
    golden = load("twoxtwo_2p")
    engine = KernelEngine(make_game(**golden["options"]), 1, seed=1)
    game = int(golden["full_game"][0])
    golden["full_obs"][golden["full_ptr"][0] + 2, 1, 0] ^= 0x80
    golden["term_lives"][game] += 1
    lives = int(golden["term_lives"][game])
    length = int(np.diff(golden["step_ptr"])[game])
    assert differences(engine, golden, [game]) == [
        f"game {game}, before move 3, seat 1: bit 0 (hands[0]) is {_first_bit(engine, golden, game)}, "
        f"recorded {1 - _first_bit(engine, golden, game)}",
        f"game {game}, before move {length + 1}: lives is {lives - 1}, recorded {lives}",
    ]


def _first_bit(engine: KernelEngine, golden: Golden, game: int) -> int:
    engine.reset(options={"deck": golden["deck"][[game]]})
    for action in golden["action"][golden["step_ptr"][game] :][:2]:
        engine.step([action])
    return int(engine.observe(seat=1)[0, 0])
