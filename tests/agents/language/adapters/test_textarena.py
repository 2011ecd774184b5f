"""TextArena plays the games of `TextEnv`."""

from __future__ import annotations

import random
import runpy
from pathlib import Path

import pytest

pytest.importorskip("textarena", reason='type: pip install "ludory[textarena]", or make test-language')

import textarena as ta

from ludory.agents.language.adapters.textarena import LudoryTextEnv, register
from ludory.errors import OptionError, UnknownIdError

from .conftest import COMPACT

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parents[4] / "examples" / "textarena_game.py"


def test_a_game_is_played_to_its_end_as_by_text_env(play, reply):
    wanted = play(3)
    env = LudoryTextEnv("Sokoban-v0", **COMPACT)
    env.reset(num_players=1, seed=3)
    seen, rewards, messages, done = [], [], [], False
    while not done:
        player, news = env.get_observation()
        assert player == 0
        seen += [text for sender, text, _ in news if sender == ta.GAME_ID]
        messages.append({"role": "user", "content": seen[-1]})
        messages.append({"role": "assistant", "content": reply(messages)})
        done, info = env.step(messages[-1]["content"])
        rewards.append(info["reward"])
    assert seen == wanted.texts[:-1]
    assert env.get_observation()[1][-1][1] == wanted.texts[-1]
    assert [message["content"] for message in messages[1::2]] == wanted.replies
    assert rewards == wanted.rewards
    (score,), (facts,) = (part.values() for part in env.close())
    assert score == wanted.score
    assert facts["turn_count"] == len(wanted.replies)
    assert facts["reason"].endswith("used up" if not wanted.success else "over")


def test_registered_games_are_made_by_name():
    (name,) = register("TicTacToe-v0", opponents="random")
    env = ta.make(name)
    env.reset(num_players=1, seed=1)
    _, text = env.get_observation()
    assert "You may: a1, b1, c1, a2, b2, c2, a3, b3, c3." in text
    done, info = env.step("<think>.</think><answer>a9</answer>")
    assert (done, info["form"], info["reward"]) == (False, "unknown_action", -0.5)
    with pytest.raises(UnknownIdError):
        register("TicTacTow-v0")


def test_random_numbers_of_the_process_are_left_alone():
    state = random.getstate()
    LudoryTextEnv("KuhnPoker-v0").reset(num_players=1, seed=5)
    assert random.getstate() == state


def test_there_is_one_player():
    with pytest.raises(OptionError, match="num_players=2: must be 1; opponents= names"):
        LudoryTextEnv("KuhnPoker-v0").reset(num_players=2)


def test_the_example_plays_a_game():
    assert runpy.run_path(str(EXAMPLE))["main"]() in (-1, 0, 1)
