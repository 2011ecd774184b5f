"""Drawing actions of all heads in one compiled pass: the same distribution as `MaskedHeads`."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.agents.networks.fast.sampling import sample_heads
from ludory.agents.networks.layers.distribution import MaskedHeads

SIZES = (5, 1, 9, 2)


def legal(rows: int, generator: torch.Generator) -> torch.Tensor:
    """Masks with at least one legal value in each head."""
    mask = torch.rand(rows, sum(SIZES), generator=generator) < 0.5
    start = 0
    for size in SIZES:
        mask[torch.arange(rows), start + torch.randint(size, (rows,), generator=generator)] = True
        start += size
    return mask


@settings(max_examples=25)
@given(seed=st.integers(0, 2**31), spread=st.sampled_from([0.0, 1.0, 30.0]))
def test_log_probabilities_are_those_of_the_distribution(seed: int, spread: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits, mask = spread * torch.randn(40, sum(SIZES), generator=generator), legal(40, generator)
    actions, log_probs = sample_heads(logits, mask, SIZES, generator)
    expected = MaskedHeads(logits, mask, SIZES).log_prob(actions)
    assert torch.isfinite(log_probs).all()
    torch.testing.assert_close(log_probs, expected, rtol=1e-5, atol=2e-5)


def test_frequencies_follow_the_probabilities() -> None:
    generator = torch.Generator().manual_seed(1)
    logits, mask, draws = torch.randn(1, sum(SIZES), generator=generator), legal(1, generator), 40_000
    actions, _ = sample_heads(logits.repeat(draws, 1), mask.repeat(draws, 1), SIZES, generator)
    start = 0
    for head, size in enumerate(SIZES):
        part = slice(start, start + size)
        expected = logits[0, part].masked_fill(~mask[0, part], -torch.inf).softmax(0)
        seen = actions[:, head].bincount(minlength=size) / draws
        deviation = (expected * (1 - expected) / draws).sqrt()
        assert ((seen - expected).abs() <= 4.5 * deviation).all()
        start += size


def test_an_illegal_value_is_never_drawn_however_large_its_logit() -> None:
    logits = torch.tensor([[1e30, 0.0, 0.0, 1e30, 0.0]]).repeat(1000, 1)
    mask = torch.tensor([[False, True, True, False, True]]).repeat(1000, 1)
    actions, log_probs = sample_heads(logits, mask, (3, 2), torch.Generator().manual_seed(0))
    assert set(actions[:, 0].tolist()) == {1, 2}
    assert set(actions[:, 1].tolist()) == {1}
    assert (log_probs[:, 1] == 0).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_float_types(dtype: torch.dtype) -> None:
    actions, log_probs = sample_heads(torch.zeros(4, 3, dtype=dtype), torch.ones(4, 3, dtype=torch.bool), (3,))
    assert actions.shape == (4, 1)
    torch.testing.assert_close(log_probs, torch.full((4, 1), -1.0986123))
