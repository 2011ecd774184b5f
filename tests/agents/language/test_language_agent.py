"""`language(PATH)` at the tables of the house: evaluation, recording and watching."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from games.corridor import corridor
from games.nim import nim

from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.language.agent import LanguageAgent
from ludory.agents.language.generators import Generation, Sampling
from ludory.agents.make import make_agent
from ludory.cli import main
from ludory.envs.make import make_engine, make_game
from ludory.errors import CheckpointError, OptionError

from .models import small


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("models") / "words"
    small("words").save(folder)
    return str(folder)


@pytest.fixture(scope="module")
def characters(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("models") / "characters"
    small("characters").save(folder)
    return str(folder)


class Script:
    """A generator whose replies are written down."""

    def __init__(self, agent: LanguageAgent, *replies: str) -> None:
        self.agent, self.replies, self.prompts = agent, replies, []

    def generate(self, prompts: list[list[int]], sampling: Sampling, seeds: list[int]) -> list[Generation]:
        model = self.agent.replies._model
        self.prompts += [model.decode(prompt) for prompt in prompts]
        texts = [self.replies[k % len(self.replies)] for k in range(len(prompts))]
        return [Generation(ids, [0.0] * len(ids), "stop") for ids in map(model.encode, texts)]


def scripted(game: Any, *replies: str, vocabulary: str = "characters", **options: Any) -> LanguageAgent:
    agent = LanguageAgent(game, small(vocabulary), **options)
    agent.replies._generator = Script(agent, *replies)  # type: ignore[assignment]
    return agent


def choose(agent: LanguageAgent, engine: Any) -> list[int]:
    memory = agent.start_games(0, np.arange(engine.num_games))
    found: list[int] = agent.choose(engine, 0, np.arange(engine.num_games), memory).tolist()
    return found


def test_the_first_action_of_a_reply_is_played() -> None:
    game = make_game("Sokoban-v0")
    engine = make_engine(game, 4, seed=1)
    engine.reset()
    agent = scripted(
        game,
        "<think>x</think><answer>Left || Up</answer>",
        "no answer",
        "<answer>down</answer>",
        "<answer>Jump</answer>",
    )
    chosen = choose(agent, engine)
    assert chosen[0] == game.language.decode("Left").action
    assert chosen[2] == game.language.decode("Down").action
    assert (agent.asked, agent.unusable) == (4, 2)
    prompt = agent.replies._generator.prompts[0]  # type: ignore[attr-defined]
    assert "Turn 1:" in prompt
    assert "at most 1 a turn" in prompt
    assert game.language.instruction in prompt
    assert game.language.write(engine.state, [0], 0)[0] in prompt


def test_compact_prompts_count_the_actions_that_are_left() -> None:
    game = make_game("Sokoban-v0")
    engine = make_engine(game, 1, seed=1)
    engine.reset()
    agent = scripted(game, "<answer> Up </answer>", vocabulary="words", preset="compact", prompt_mode="world_model")
    memory = agent.start_games(0, np.arange(1))
    for _ in range(12):
        agent.choose(engine, 0, np.arange(1), memory)
    starts = [prompt.split()[:3] for prompt in agent.replies._generator.prompts]  # type: ignore[attr-defined]
    assert starts == [["WM", str(left), "<state>"] for left in [*range(10, 0, -1), 1, 1]]


def test_illegal_answers_are_replaced_by_legal_moves(caplog: pytest.LogCaptureFixture) -> None:
    game = nim()
    if game.language is None:
        game = corridor()
    engine = make_engine(game, 50, seed=1)
    engine.reset()
    agent = scripted(game, "<answer>nonsense</answer>", seed=3)
    chosen = choose(agent, engine)
    assert agent.unusable == 50
    assert "50 of 50 replies named no legal action; random legal moves were played instead" in caplog.text
    assert engine.legal()[np.arange(50), chosen].all()
    assert choose(scripted(game, "<answer>nonsense</answer>", seed=3), engine) == chosen


@pytest.mark.slow
def test_decisions_depend_on_the_game_and_not_on_the_batch(characters: str) -> None:
    agents = [make_agent(f"language({characters}, max_new_tokens=10, seed=4)", "FrozenLakeFirm-v0") for _ in range(2)]
    together, apart = (
        evaluate(agent, "FrozenLakeFirm-v0", 6, batch=n, max_steps=30) for agent, n in zip(agents, (6, 2), strict=True)
    )
    assert together.outcomes["steps"].tolist() == apart.outcomes["steps"].tolist()
    assert len(set(together.outcomes["steps"].tolist())) > 2


def test_random_weights_play_like_random(words: str) -> None:
    agent = make_agent(f"language({words}, max_new_tokens=8)", "Sokoban-v0")
    evaluate(agent, "Sokoban-v0", 4, max_steps=20)
    assert isinstance(agent, LanguageAgent)
    assert 40 <= agent.asked <= 80


def test_eval_watch_and_record_take_a_folder(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = f"language({words}, max_new_tokens=4)"
    short = ["--option", "max_steps=6"]
    assert main(["eval", spec, "--game", "Sokoban-v0", "--games", "3", *short]) in (None, 0)
    assert "language(" in capsys.readouterr().out
    page = tmp_path / "game.html"
    assert main(["watch", "Sokoban-v0", spec, "--html", str(page), *short]) in (None, 0)
    assert page.stat().st_size > 1000
    data = tmp_path / "data"
    assert main(["record", spec, "--game", "Sokoban-v0", "--games", "3", "--out", str(data), *short]) in (None, 0)
    assert any(data.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "answer"),
    [
        ("HanabiTiny2P-v0", "play 1"),
        ("Texas42Play-v0", "play 6-4"),
        ("LeducPoker-v0", "raise"),
        ("Arena2P-v0", "move left, aim up"),
    ],
)
def test_games_for_several_seats_are_played(id: str, answer: str) -> None:
    game = make_game(id)
    agent = scripted(game, f"<think>.</think><answer>{answer}</answer>", vocabulary="bytes")
    assert agent._codec.decode(answer).action is not None
    result = evaluate([agent, *["random"] * (game.facts.players - 1)], game, games=1, seed=3)
    assert result.games == 1
    assert 0 <= agent.unusable < agent.asked
    script: Any = agent.replies._generator
    assert re.search(r"you are seat 0|You \(seat 0\)", script.prompts[0], re.IGNORECASE)


def test_games_without_texts_are_refused_by_name(words: str) -> None:
    with pytest.raises(OptionError, match="Corridor has no texts for language models"):
        make_agent(f"language({words})", replace(corridor(), language=None))


def test_words_that_a_model_does_not_know_are_named(words: str) -> None:
    with pytest.raises(OptionError, match="the tokenizer has no token for 'G'"):
        evaluate(make_agent(f"language({words})", "FrozenLakeFirm-v0"), "FrozenLakeFirm-v0", 4)


def test_a_path_is_needed() -> None:
    with pytest.raises(OptionError, match=r"name the folder of a model, as in language\(runs/sft\)"):
        make_agent("language", "Sokoban-v0")
    with pytest.raises(CheckpointError, match="models are not downloaded"):
        make_agent("language(Qwen/Qwen2.5-1.5B-Instruct)", "Sokoban-v0")
