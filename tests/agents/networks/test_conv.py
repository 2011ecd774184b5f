"""The convolutional network: it reads planes of bits and of floats alike, sees neighbours, and refuses what is no plane."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ludory.agents.networks.build import PolicySpec, build_policy
from ludory.envs.make import make_game
from ludory.errors import OptionError

SPEC = PolicySpec("conv", {"channels": 8, "num_blocks": 1})


def made(facts):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build_policy(SPEC, facts)


def test_bits_and_floats_are_the_same_planes():
    facts = make_game("ConnectFour-v0").facts
    planes = np.random.default_rng(1).integers(0, 2, (5, 84), dtype=np.uint8)
    of_bits = made(facts)(torch.from_numpy(np.packbits(planes, axis=1)))
    floats = replace(facts, observation=replace(facts.observation, dtype="float32"))
    of_floats = made(floats)(torch.from_numpy(planes.astype(np.float32)))
    torch.testing.assert_close(of_bits.logits, of_floats.logits)
    torch.testing.assert_close(of_bits.values, of_floats.values)
    assert of_bits.logits.shape == (5, 7)
    assert of_bits.values.shape == (5,)


def test_it_learns_from_all_its_weights_after_a_step():
    facts = make_game("TicTacToe-v0").facts
    policy = made(facts)
    seen = torch.randint(0, 256, (16, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    before = {name: weight.clone() for name, weight in policy.named_parameters()}
    optimizer = torch.optim.SGD(policy.parameters(), 0.1)
    for _ in range(2):  # the second convolution of a block starts at 0, so that the first one waits for it
        output = policy(seen)
        optimizer.zero_grad()
        (output.logits[:, 0].mean() + (output.values - 1).square().mean()).backward()
        optimizer.step()
    assert all((weight != before[name]).any() for name, weight in policy.named_parameters())


def test_a_game_without_planes_is_refused():
    with pytest.raises(OptionError, match="take policy='mlp'"):
        build_policy(SPEC, make_game("KuhnPoker-v0").facts)
    with pytest.raises(OptionError, match="channels=0, num_blocks=1: both must be at least 1"):
        build_policy(PolicySpec("conv", {"channels": 0, "num_blocks": 1}), make_game("TicTacToe-v0").facts)
