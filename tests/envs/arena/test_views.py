"""The arena through Gymnasium and PettingZoo."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import ludory  # noqa: F401
from ludory.envs import arena_v0
from ludory.errors import OptionError


@pytest.mark.plain
def test_one_seat_against_a_style():
    env = gymnasium.make("Arena2P-v0", seats=0, others="arena/rusher")
    seen, info = env.reset(seed=1)
    assert env.observation_space.contains(seen)
    assert info["action_mask"].shape == (37,)
    total, over = 0.0, False
    while not over:
        _, reward, over, _, info = env.step(np.array([2, 2, 4, 4, 0, 0, 0]))
        total += reward
    assert total == -1, "who stands still loses against a rusher"
    assert info["place"].tolist() == [2, 1]


def test_all_seats_can_not_share_a_policy():
    with pytest.raises(OptionError, match=r"seats|parallel"):
        gymnasium.make("Arena2P-v0", seats="all").reset()


def test_a_duel_of_two_agents_from_a_given_start():
    env = arena_v0.parallel_env()
    start = {"position": [[-3600, 0], [0, 0]], "facing": [[1, 0]] * 2, "hp": [900, 800]}
    env.reset(seed=1, options={"start": start})
    wait, shot = np.array([2, 2, 4, 4, 0, 0, 0]), np.array([2, 2, 4, 4, 1, 0, 0])
    _, rewards, terminated, _, infos = env.step({"player_0": shot, "player_1": wait})
    assert terminated == {"player_0": True, "player_1": True}
    assert rewards == {"player_0": 1, "player_1": -1}
    assert infos["player_1"]["kills"].tolist() == [1, 0]
    assert env.agents == []


def test_seats_can_also_speak_in_turn():
    env = arena_v0.env(players=2)
    env.reset(seed=1)
    assert env.observe("player_1")["observation"].shape == (19,)
    assert env.observe("player_1")["action_mask"].shape == (37,)
    env.step(np.array([4, 2, 4, 4, 0, 0, 0]))
    assert env.agent_selection == "player_1"
