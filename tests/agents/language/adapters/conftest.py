"""What every adapter has to agree with: the conversation that a small model has with `TextEnv` itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

pytest.importorskip("transformers", reason='type: pip install "ludory[llm]"')

import torch
from support.language.form_model import form_model

from ludory.agents.language.generators import Sampling, make_generator
from ludory.agents.language.model import LanguageModel
from ludory.envs import TextEnv

Messages = list[dict[str, str]]
COMPACT: dict[str, Any] = {"preset": "compact", "history": "full", "turns": 3}
"""Options under which the small model plays Sokoban."""


class Played(NamedTuple):
    """A conversation: what the game said, the replies, the reward of each, and the score."""

    texts: list[str]
    replies: list[str]
    rewards: list[float]
    score: float
    success: bool


@pytest.fixture(scope="session")
def model() -> LanguageModel:
    torch.set_num_threads(1)
    return form_model(steps=40, hidden=32, layers=2, conversations=True)


@pytest.fixture(scope="session")
def reply(model: LanguageModel) -> Callable[[Messages], str]:
    """What the small model answers to a conversation; always the same."""
    generator = make_generator(model, "hf")

    def answer(messages: Messages) -> str:
        ids = model.template.begin(messages)
        (found,) = generator.generate([ids], Sampling(max_new_tokens=12), [sum(ids)])
        return model.decode(found.ids).strip()

    return answer


@pytest.fixture(scope="session")
def play(reply: Callable[[Messages], str]) -> Callable[..., Played]:
    """`play(seed, game, **options)`: the conversation with `TextEnv`."""

    def conversation(seed: int, game: str = "Sokoban-v0", **options: Any) -> Played:
        env = TextEnv(game, **(options or COMPACT))
        env.reset(seed)
        texts, replies, rewards, done = [env.observation], [], [], False
        while not done:
            replies.append(reply(env.turns[0].messages))
            text, reward, terminated, truncated, _ = env.step(replies[-1])
            texts.append(text)
            rewards.append(reward)
            done = terminated or truncated
        return Played(texts, replies, rewards, float(env.scores[0]), bool(env.success[0]))

    return conversation
