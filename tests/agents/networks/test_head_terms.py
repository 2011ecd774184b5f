"""The compiled terms of a loss: values and gradients of the plain distribution."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.agents.networks.fast.head_terms import head_terms
from ludory.agents.networks.fast.sampling import sample_heads
from ludory.agents.networks.layers.distribution import MaskedHeads

SIZES = (5, 1, 9, 2)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**31),
    spread=st.sampled_from([0.5, 20.0]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    taught=st.booleans(),
)
def test_values_and_gradients_are_those_of_the_plain_distribution(
    seed: int, spread: float, dtype: torch.dtype, taught: bool
) -> None:
    generator = torch.Generator().manual_seed(seed)
    shape = (3, 7)
    logits = (spread * torch.randn(*shape, sum(SIZES), generator=generator)).to(dtype)
    teacher_logits = (spread * torch.randn(*shape, sum(SIZES), generator=generator)).to(dtype)
    mask = torch.rand(*shape, sum(SIZES), generator=generator) < 0.6
    mask[..., torch.tensor([0, 5, 6, 15])] = True
    actions, _ = sample_heads(logits.flatten(0, 1), mask.flatten(0, 1), SIZES, generator)
    actions = actions.unflatten(0, shape)
    weights = torch.randn(3, *shape, len(SIZES), generator=generator).to(dtype)
    found = []
    for compiled in (True, False):
        own = logits.clone().requires_grad_()
        policy = MaskedHeads(own, mask, SIZES)
        teacher = MaskedHeads(teacher_logits, mask, SIZES) if taught else None
        if compiled:
            terms = head_terms(policy, actions, teacher)
        else:
            kl = policy.kl_from(teacher) if teacher else torch.zeros(*shape, len(SIZES), dtype=dtype)
            terms = (policy.log_prob(actions), policy.normalised_entropy(), kl)  # type: ignore[assignment]
        sum((weight * term).sum() for weight, term in zip(weights, terms, strict=True)).backward()  # type: ignore[union-attr]
        found.append([*(term.detach() for term in terms), own.grad])
    close = {"rtol": 1e-5, "atol": 2e-5} if dtype == torch.float32 else {"rtol": 1e-10, "atol": 1e-10}
    for one, plain in zip(*found, strict=True):
        torch.testing.assert_close(one, plain, **close)


def test_illegal_values_have_no_gradient() -> None:
    logits = torch.zeros(1, 5, requires_grad=True)
    mask = torch.tensor([[True, False, True, True, False]])
    terms = head_terms(MaskedHeads(logits, mask, (3, 2)), torch.tensor([[2, 0]]))
    assert terms.entropy.tolist() == [[pytest.approx(1.0), 0.0]]
    (terms.log_prob.sum() + terms.entropy.sum()).backward()
    assert logits.grad is not None
    assert logits.grad[0, [1, 4]].tolist() == [0, 0]
    assert logits.grad[0, 2] == pytest.approx(0.5)
