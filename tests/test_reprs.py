"""What a prompt and a notebook show of the objects that users hold."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

import ludory
from ludory.agents.evaluation.cross_play import cross_play
from ludory.envs import to_sb3
from ludory.envs.views.gymnasium_env import make_env
from ludory.envs.views.gymnasium_vector import make_vector_env
from ludory.envs.views.pettingzoo_aec import make_aec

TINY = "HanabiTiny2P-v0"


def objects() -> dict[str, Any]:
    engine = ludory.make_engine(TINY, num_games=1024, seed=7)
    vector = make_vector_env(TINY, 3)
    return {
        "Game HanabiTiny2P-v0: seats 2": engine.game,
        "KernelEngine of HanabiTiny2P-v0: 1,024 games, seed 7": engine,
        "1,024 games, seed 7": engine.clone(),
        "GameEnv of HanabiTiny2P-v0: the policy plays all seats": make_env(TINY),
        "the policy plays seat 1": make_env(TINY, seats=1, others="random"),
        "GameVectorEnv of 3 x HanabiTiny2P-v0": vector,
        "GameVecEnv of 3 x HanabiTiny2P-v0": to_sb3(vector),
        "GameAECEnv of HanabiTiny2P-v0: player_0, player_1": make_aec(TINY),
        "KernelAgent hanabi/iggi": ludory.make_agent("hanabi/iggi", TINY),
        "EvaluationResult of 2 x random in HanabiTiny2P-v0: 20 games": ludory.evaluate("random", game=TINY, games=20),
        "CrossPlay of random, hanabi/iggi in HanabiTiny2P-v0": cross_play(["random", "hanabi/iggi"], TINY, games=20),
        "PPO of HanabiTiny2P-v0: policy mlp, 0 timesteps": ludory.make_algorithm("ppo", env=TINY, num_envs=4),
        "Replay of HanabiTiny2P-v0, seed 3: 2 x random": ludory.watch("random", TINY, seed=3),
        "BestResponse of seat 0 in KuhnPoker-v0: return 0.5": ludory.best_response("random", "KuhnPoker-v0"),
        "ExploitabilityResult: 0.4583; returns": ludory.exploitability("random", "KuhnPoker-v0"),
    }


def test_a_prompt_shows_one_line() -> None:
    for words, thing in objects().items():
        shown = repr(thing)
        assert words in shown
        assert re.fullmatch(r"<[^\n]{10,250}>", shown), shown


def parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{html}</div>")


def test_a_notebook_shows_tables_of_games_and_results() -> None:
    result = ludory.evaluate("random", game=TINY, games=20)
    matrix = cross_play(["random", "hanabi/iggi"], TINY, games=20)
    for thing, cell in ((result, f"{result.mean:.3f}"), (matrix, "hanabi/iggi"), (ludory.make_game(TINY), "shared")):
        cells = [part.text for part in parsed(thing._repr_html_()).iter() if part.tag in ("td", "th")]
        assert cell in cells
    assert str(result) == result.summary()


@pytest.mark.parametrize("games", [1, 6])
def test_a_notebook_shows_the_games_of_an_environment(games: int) -> None:
    env = make_env(TINY) if games == 1 else make_vector_env(TINY, games)
    assert "<svg" not in env._repr_html_()
    env.reset(seed=1)
    assert env._repr_html_().count("<svg") == min(games, 4)
    parsed(env._repr_html_())


def test_a_notebook_shows_the_game_of_a_pettingzoo_environment() -> None:
    env = make_aec(TINY)
    assert "<svg" not in env._repr_html_()
    env.reset(seed=1)
    assert env._repr_html_().count("<svg") == 1
    parsed(env._repr_html_())


def test_a_notebook_shows_the_legal_moves_of_an_environment() -> None:
    env, aec = make_env(TINY), make_aec("KuhnPoker-v0")
    env.reset(seed=3)
    aec.reset(seed=3)
    for shown, legal in ((env, "legal action: 2 play 1, 3 play 2"), (aec, "legal move: 0 pass, 1 bet")):
        assert legal in "".join(part.text or "" for part in parsed(shown._repr_html_()).iter("p"))


def test_a_notebook_shows_an_engine_with_everything_in_its_games() -> None:
    engine = ludory.make_engine(TINY, 6, seed=1)
    assert engine._repr_html_().count("<svg") == 0
    engine.reset()
    assert engine._repr_html_().count("<svg") == 4
    parsed(engine._repr_html_())


def test_a_notebook_shows_what_a_learner_learnt_and_its_options() -> None:
    model = ludory.make_algorithm("ppo", env=TINY, num_envs=4, n_steps=16, batch_size=32, seed=1)
    cells = [part.text for part in parsed(model._repr_html_()).iter() if part.tag in ("td", "th")]
    assert {"timesteps", "0", "clip_range", "0.2"} <= set(cells)
    assert "mean return" not in cells
    model.learn(128)
    assert "mean return" in model._repr_html_()


def test_a_notebook_shows_exact_results_as_tables() -> None:
    exact = ludory.exploitability("random", "KuhnPoker-v0")
    for thing, cell in ((exact, "0.4167"), (ludory.best_response("random", "KuhnPoker-v0"), "0.5")):
        assert cell in [part.text for part in parsed(thing._repr_html_()).iter("td")]


def test_a_notebook_shows_a_replay_as_a_page() -> None:
    replay = ludory.watch(["random", "hanabi/iggi"], TINY, seed=3)
    frame = parsed(replay._repr_html_())[0]
    assert frame.tag == "iframe"
    page = frame.get("srcdoc") or ""
    assert page.startswith("<!doctype html>")
    assert "seat 1: hanabi/iggi" in page
    assert page.split() == replay.html().split()  # XML makes spaces of line ends


def test_watch_refuses_a_wrong_number_of_agents() -> None:
    with pytest.raises(ludory.errors.OptionError, match="got 3 agents for 2 seats of HanabiTiny2P-v0"):
        ludory.watch(["random"] * 3, TINY)
