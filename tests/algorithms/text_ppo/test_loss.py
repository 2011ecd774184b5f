"""The loss over tokens: stored numbers of verl, gradients, and what masked tokens cannot do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ludory.algorithms.text_ppo.loss import (
    TokenCoefficients,
    TokenOutputs,
    TokenTargets,
    importance_weights,
    k3,
    token_loss,
    token_weights,
)

with np.load(Path(__file__).parents[2] / "golden" / "text_ppo" / "verl.npz") as archive:
    VERL = {key.split("/")[1]: torch.from_numpy(archive[key]) for key in archive.files if key.startswith("loss/")}
MEANS = ("token", "sequence", "constant")
PLAIN = TokenCoefficients(value=0.0, entropy=0.0)


def weights_of(mask: torch.Tensor, mean: str) -> torch.Tensor:
    rows = torch.arange(len(mask)).unsqueeze(1).expand_as(mask)
    return token_weights(mask.bool().flatten(), rows.flatten(), mean, mask.shape[1]).double()


def outputs_of(names=("log_probs", "new_values")) -> TokenOutputs:
    log_probs, values = (VERL[name].flatten().clone().requires_grad_() for name in names)
    return TokenOutputs(log_probs, torch.zeros_like(log_probs), values)


def targets_of(mean: str, importance: bool = False) -> TokenTargets:
    flat = {name: VERL[name].flatten() for name in ("old", "advantages", "values", "returns", "importance")}
    return TokenTargets(
        flat["old"],
        flat["advantages"],
        weights_of(VERL["mask"], mean),
        flat["values"],
        flat["returns"],
        importance=flat["importance"] if importance else None,
    )


@pytest.mark.parametrize("mean", MEANS)
def test_policy_loss_is_verls(mean):
    outputs = outputs_of()
    found = token_loss(outputs, targets_of(mean), PLAIN)
    found.loss.backward()
    # In this mean verl adds up sequences, and we average over those that have a token to learn from.
    scale = float((VERL["mask"].sum(1) > 0).sum()) if mean == "constant" else 1.0
    assert float(found.policy_loss) * scale == pytest.approx(float(VERL[f"pg_{mean}"]), abs=1e-7)
    expected = VERL[f"pg_grad_{mean}"].flatten().numpy()
    np.testing.assert_allclose(outputs.log_probs.grad.numpy() * scale, expected, atol=1e-7)
    assert found.dual_clip_fraction > 0
    assert found.clip_fraction > 0


@pytest.mark.parametrize("mean", ["token", "sequence"])
def test_value_loss_and_importance_are_verls(mean):
    outputs = outputs_of()
    found = token_loss(outputs, targets_of(mean, importance=True), TokenCoefficients(value=1.0, entropy=0.0))
    assert float(found.value_loss) == pytest.approx(float(VERL[f"value_{mean}"]), abs=1e-7)
    assert float(found.policy_loss) == pytest.approx(float(VERL[f"pg_importance_{mean}"]), abs=1e-7)
    found.loss.backward()
    np.testing.assert_allclose(outputs.values.grad.numpy(), VERL[f"value_grad_{mean}"].flatten().numpy(), atol=1e-7)


def test_without_a_dual_clip_bad_tokens_pull_without_a_limit():
    far = TokenOutputs(torch.tensor([3.0]), torch.zeros(1), None)
    targets = TokenTargets(torch.zeros(1), torch.tensor([-2.0]), torch.ones(1))
    assert float(token_loss(far, targets, PLAIN).policy_loss) == pytest.approx(6)
    free = PLAIN._replace(dual_clip=None)
    assert float(token_loss(far, targets, free).policy_loss) == pytest.approx(2 * np.exp(3), rel=1e-5)


@pytest.mark.parametrize("mean", MEANS)
def test_parts_of_a_minibatch_add_up(mean):
    outputs, targets = outputs_of(), targets_of(mean)
    coefficients = TokenCoefficients(entropy=0.01)
    whole = token_loss(outputs, targets, coefficients)
    parts = [
        token_loss(
            TokenOutputs(*(part[rows] for part in outputs)),
            TokenTargets(*(None if part is None else part[rows] for part in targets)),
            coefficients,
        )
        for rows in (slice(0, 30), slice(30, None))
    ]
    for name in whole._fields:
        added = sum(getattr(part, name).detach() for part in parts)
        assert float(added) == pytest.approx(float(getattr(whole, name).detach()))


def test_masked_tokens_have_no_gradient_and_no_influence():
    clean, targets = outputs_of(), targets_of("token")
    targets = targets._replace(reference=VERL["reference"].flatten())
    outside = targets.weights == 0
    coefficients = TokenCoefficients(kl=0.1, entropy=0.01)
    entropies = torch.rand(len(outside), dtype=torch.float64).requires_grad_()
    clean = clean._replace(entropies=entropies)
    token_loss(clean, targets, coefficients).loss.backward()
    for carrier in (clean.log_probs, clean.values, entropies):
        assert not carrier.grad[outside].any()
        assert carrier.grad[~outside].any()

    def disturbed(part):
        return torch.where(outside, torch.nan, part)

    dirty = TokenOutputs(*(disturbed(part.detach()).requires_grad_() for part in clean))
    kept = {
        name: disturbed(getattr(targets, name))
        for name in ("log_probs", "advantages", "values", "returns", "reference")
    }
    token_loss(dirty, targets._replace(**kept), coefficients).loss.backward()
    for ours, theirs in zip(clean, dirty, strict=True):
        assert torch.equal(ours.grad, theirs.grad)


def test_k3_is_never_negative_and_is_verls_away_from_its_limits():
    log_probs, reference = torch.randn(2, 10_000, dtype=torch.float64) * 10
    assert (k3(log_probs, reference) >= 0).all()
    near = VERL["k3"] < 10  # where verl cuts the estimate, which we do not
    np.testing.assert_allclose(
        k3(VERL["log_probs"], VERL["reference"])[near].numpy(), VERL["k3"][near].numpy(), atol=1e-12
    )


def test_k3_estimates_the_kl():
    g = torch.Generator().manual_seed(3)
    policy, reference = torch.randn(2, 5, generator=g).log_softmax(-1)
    drawn = torch.multinomial(policy.exp(), 200_000, replacement=True, generator=g)
    exact = (policy.exp() * (policy - reference)).sum()
    assert k3(policy[drawn], reference[drawn]).mean() == pytest.approx(float(exact), rel=0.02)


def test_importance_weights_are_truncated():
    found = importance_weights(torch.tensor([-1.0, 0.0, 5.0]), torch.tensor([-1.0, 1.0, 0.0]))
    assert found.tolist() == pytest.approx([1, np.exp(-1), 2])


@pytest.mark.parametrize(
    ("mean", "weights"),
    [
        ("token", [0.25, 0.25, 0, 0.25, 0.25, 0]),
        ("sequence", [0.25, 0.25, 0, 0.25, 0.25, 0]),
        ("constant", [0.05, 0.05, 0, 0.05, 0.05, 0]),
    ],
)
def test_weights_of_tokens(mean, weights):
    decided = torch.tensor([1, 1, 0, 1, 1, 0]).bool()
    found = token_weights(decided, torch.tensor([0, 0, 0, 4, 4, 9]), mean, 10)
    assert found.tolist() == pytest.approx(weights)
    uneven = token_weights(decided, torch.tensor([0, 4, 4, 4, 4, 9]), "sequence")
    assert uneven.tolist() == pytest.approx([1 / 2, 1 / 6, 0, 1 / 6, 1 / 6, 0])
    assert not token_weights(decided & ~decided, torch.zeros(6).long(), mean, 10).any()
    with pytest.raises(ValueError, match="positive constant"):
        token_weights(decided, torch.zeros(6).long(), "constant")
