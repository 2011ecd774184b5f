"""Returns against the obvious loop, and the properties that define them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.algorithms.returns import affine_scan, gae


def loop_gae(rewards, values, next_values, terminated, truncated, valid, gamma, lam):
    """Backwards in time, one number at a time."""
    steps, columns = rewards.shape
    advantages = np.zeros_like(rewards)
    for b in range(columns):
        following = 0.0
        for t in reversed(range(steps)):
            if not valid[t, b]:
                following = 0.0
                continue
            cut = terminated[t, b] or truncated[t, b] or t == steps - 1 or not valid[t + 1, b]
            successor = 0.0 if terminated[t, b] else next_values[t, b]
            delta = rewards[t, b] + gamma * successor - values[t, b]
            following = delta + (0.0 if cut else gamma * lam * following)
            advantages[t, b] = following
    return advantages


def example(seed: int, steps: int, columns: int) -> dict[str, torch.Tensor]:
    draw = np.random.default_rng(seed)
    terminated = draw.random((steps, columns)) < 0.1
    truncated = ~terminated & (draw.random((steps, columns)) < 0.1)
    numbers = {name: draw.normal(size=(steps, columns)) for name in ("rewards", "values", "next_values")}
    numbers["next_values"][terminated] = np.nan  # never to be read
    flags = {"terminated": terminated, "truncated": truncated, "valid": draw.random((steps, columns)) < 0.9}
    return {name: torch.from_numpy(array) for name, array in (numbers | flags).items()}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 5), st.sampled_from([0.0, 0.9, 1.0]), st.floats(0, 1))
def test_gae_equals_the_loop(seed, steps, columns, gamma, lam):
    data = example(seed, steps, columns)
    result = gae(**data, gamma=gamma, lam=lam)
    expected = loop_gae(*(data[name].numpy() for name in data), gamma, lam)
    np.testing.assert_allclose(result.advantages.numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(result.returns.numpy(), expected + data["values"].numpy(), atol=1e-12)


def test_two_episodes_in_one_column_equal_two_columns():
    data = example(3, 20, 1)
    data["terminated"][:], data["truncated"][:], data["valid"][:] = False, False, True
    data["next_values"] = torch.nan_to_num(data["next_values"])
    data["terminated"][9] = True
    whole = gae(**data, gamma=0.9, lam=0.8).advantages
    parts = [
        gae(**{k: v[s] for k, v in data.items()}, gamma=0.9, lam=0.8).advantages for s in (slice(10), slice(10, 20))
    ]
    torch.testing.assert_close(whole, torch.cat(parts), rtol=0, atol=1e-12)


def test_lam_one_without_values_gives_the_discounted_sum_of_rewards():
    rewards = torch.tensor([[1.0], [2.0], [4.0]])
    zero, no = torch.zeros(3, 1), torch.zeros(3, 1, dtype=torch.bool)
    ended = torch.tensor([[False], [False], [True]])
    assert gae(rewards, zero, zero, ended, no, gamma=0.5, lam=1.0).returns.flatten().tolist() == [3.0, 4.0, 4.0]


@pytest.mark.parametrize("steps", [1, 2, 7, 8, 33])
def test_affine_scan_solves_its_recurrence(steps):
    draw = torch.Generator().manual_seed(steps)
    b, k = (torch.rand(steps, 3, generator=draw, dtype=torch.float64) for _ in range(2))
    x = affine_scan(b, k)
    after = torch.cat([x[1:], torch.zeros(1, 3, dtype=torch.float64)])
    torch.testing.assert_close(x, b + k * after, rtol=0, atol=1e-12)


def test_wrong_shapes_dtypes_and_numbers_are_named():
    data = example(0, 4, 2)
    with pytest.raises(ValueError, match="values has shape"):
        gae(**data | {"values": data["values"][:3]}, gamma=0.9, lam=0.9)
    with pytest.raises(ValueError, match="terminated has dtype"):
        gae(**data | {"terminated": data["values"]}, gamma=0.9, lam=0.9)
    with pytest.raises(ValueError, match=r"lam=1\.5"):
        gae(**data, gamma=0.9, lam=1.5)
