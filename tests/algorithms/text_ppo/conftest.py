"""A small model that answers in the right form with random moves, and a small batch of what it played."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("transformers")

import torch

from ludory.agents.language.generators import Sampling, make_generator
from ludory.agents.language.model import LanguageModel
from ludory.agents.language.small_model import make_small_model
from ludory.algorithms.text_ppo.batch import TokenBatch
from ludory.algorithms.text_ppo.rollout import collect
from ludory.envs.text.text_env import TextEnv

MOVES = ("Up", "Down", "Left", "Right")


def form_model(steps: int = 30, hidden: int = 96, layers: int = 3, seed: int = 0) -> LanguageModel:
    """The small model after a few steps on replies with one or two random moves: stands in for a model that can follow instructions."""
    model = make_small_model("words", hidden=hidden, layers=layers, seed=seed)
    env = TextEnv("Sokoban-v0", 64, preset="compact", seed=0)
    prompts = [model.template.begin(turn.messages) for turn in env.reset(0)]
    rng = np.random.default_rng(seed)
    optimiser = torch.optim.AdamW(model.model.parameters(), lr=3e-3)
    for _ in range(steps):
        rows = []
        for prompt in prompts[:32]:
            moves = " ".join(rng.choice(MOVES, rng.integers(1, 3)))
            reply = model.encode(f"<think> </think> <answer> {moves} </answer>")
            rows.append((prompt, reply))
        longest = max(len(prompt) + len(reply) for prompt, reply in rows)
        ids = torch.zeros(len(rows), longest, dtype=torch.int64)
        labels = torch.full_like(ids, -100)
        for k, (prompt, reply) in enumerate(rows):
            end = len(prompt) + len(reply)
            ids[k, :end] = torch.tensor(prompt + reply)
            labels[k, len(prompt) : end] = torch.tensor(reply)
        loss = model.model(input_ids=ids, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def written(tmp_path_factory) -> str:
    """Folder of a model that answers in the right form."""
    folder = tmp_path_factory.mktemp("models") / "form"
    torch.set_num_threads(1)
    form_model(hidden=32, layers=2).save(folder)
    return str(folder)


@pytest.fixture(scope="session")
def model() -> LanguageModel:
    """A small model with random weights."""
    return make_small_model("words", hidden=32, layers=2, seed=1)


@pytest.fixture(scope="session")
def batch(model) -> TokenBatch:
    env = TextEnv("Sokoban-v0", 8, group_size=4, preset="compact", seed=3)
    return collect(model, make_generator(model, "hf"), env, Sampling(max_new_tokens=12), seed=5)
