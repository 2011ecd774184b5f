"""Arrays of other libraries are the memory that the engine wrote."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ludory.envs.make import make_engine
from ludory.envs.views.arrays import ArrayGames
from ludory.errors import OptionError

TINY = "HanabiTiny2P-v0"


def handed_over(games):
    """The arrays given to the library in a step, and what it made of them."""
    given, take = [], games._convert
    games._convert = lambda array: (given.append(array), take(array))[1]
    return given, games.reset()


def test_torch_takes_every_array_without_a_copy():
    given, step = handed_over(ArrayGames(TINY, 33, "torch", seed=1))
    assert [tensor.data_ptr() for tensor in step] == [array.ctypes.data for array in given]


def test_jax_takes_every_array_without_a_copy():
    pytest.importorskip("jax", reason="JAX is not installed; type: pip install jax")
    given, step = handed_over(ArrayGames(TINY, 33, "jax", seed=1))
    assert [array.unsafe_buffer_pointer() for array in step] == [array.ctypes.data for array in given]


def test_the_games_are_those_of_the_engine():
    games, engine = ArrayGames(TINY, 16, "torch", seed=4), make_engine(TINY, 16, seed=4)
    step, _ = games.reset(), engine.reset()
    for _ in range(30):
        assert (step.observation.numpy() == engine.observe()).all()
        assert (step.mask.numpy() == engine.legal()).all()
        assert (step.terminated.numpy() == engine.terminated).all()
        actions = step.mask.int().argmax(1)
        step = games.step(actions)
        engine.step(actions.numpy())
        assert (step.rewards.numpy() == engine.rewards).all()
        if step.terminated.any():
            engine.reset(np.flatnonzero(step.terminated.numpy()))
            step = games.reset(step.terminated)


def test_earlier_arrays_stay_as_they_were():
    games = ArrayGames(TINY, 4, "torch", seed=4)
    before = games.reset()
    kept = before.observation.clone()
    games.step(before.mask.int().argmax(1))
    assert torch.equal(before.observation, kept)


def test_an_unknown_library_is_refused():
    with pytest.raises(OptionError, match="library='jaxx': must be one of jax, torch, numpy"):
        ArrayGames(TINY, 4, "jaxx")
