"""Sokoban against games recorded with gym-sokoban and RAGEN: not one difference."""

from __future__ import annotations

import numpy as np
import pytest
from support.text_games.sokoban import differences, game_of, text_episodes, traces

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.make import make_engine, make_game

COMPARED = {"grid": 1917, "coord": 261, "grid_coord": 735}
"""Steps of each style, 2,913 together."""


@pytest.fixture(scope="module")
def recorded():
    return traces()


@pytest.mark.slow
def test_all_recorded_steps_are_replayed_without_a_difference(recorded):
    total = 0
    for config, row in enumerate(recorded["cfg_table"]):
        rooms = np.flatnonzero(recorded["cfg"] == config)
        found = differences(KernelEngine(game_of(row), len(rooms)), recorded, rooms)
        total += found.pop("steps")
        assert not any(found.values()), (config, found)
    assert total == 27_006


@pytest.mark.plain
@pytest.mark.parametrize("style", [pytest.param("grid", marks=pytest.mark.slow), "coord", "grid_coord"])
def test_recorded_texts_rewards_and_ends(style):
    compared = 0
    for episode in text_episodes():
        if episode["fmt"] != style:
            continue
        game = make_game("Sokoban-v0", size=episode["dim"], boxes=episode["boxes"])
        engine = make_engine(game)
        engine.reset(options={"fixed": episode["room_fixed"], "codes": episode["room_state"]})
        texts, write = [episode["obs0"]], game.language.styles[style]
        assert write(engine.state, [0], 0) == texts
        for action, text, reward, done, success, moved in episode["steps"]:
            engine.step(np.array([action - 1]))
            info = game.look.info(engine.state, 0)
            got = write(engine.state, [0], 0)[0], float(engine.rewards[0, 0]), bool(engine.over[0]), info["success"]
            assert got == (text, float(np.float32(reward)), done, success)
            assert info["moved_player"] == moved
            compared += 1
    assert compared == COMPARED[style]
