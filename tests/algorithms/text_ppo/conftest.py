"""A small model that answers in the right form with random moves, and a small batch of what it played."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

import torch
from support.language.form_model import form_model

from ludory.agents.language.generators import Sampling, make_generator
from ludory.agents.language.model import LanguageModel
from ludory.agents.language.small_model import make_small_model
from ludory.algorithms.text_ppo.batch import TokenBatch
from ludory.algorithms.text_ppo.rollout import collect
from ludory.envs.text.text_env import TextEnv


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
