"""The loss of distilling, term by term: against plain formulas, and what must not matter does not."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ludory.agents.networks.layers.distribution import MaskedHeads
from ludory.algorithms.distill.loss import (
    LEAST_ERROR,
    MOST_POINTS,
    DistillWeights,
    Targets,
    advantage_error,
    advantages,
    distill_loss,
    imitation_weights,
    overrides,
)
from ludory.algorithms.distill.report import figures, means

A, NAN = 4, float("nan")
SEED = DistillWeights(
    move=1.0, value=0.5, entropy=1e-3, q=0.0, kl=0.0, override=1.0, advantage=0.0, partner=1.0, tau=0.1
)


def targets(
    actions: list[int],
    blueprint: list[float],
    q: list[list[float]],
    errors: list[list[float]] | None = None,
    known: bool = True,
) -> Targets:
    rows = len(actions)
    return Targets(
        torch.tensor(actions),
        torch.arange(rows, dtype=torch.float32),
        torch.full((rows,), known),
        torch.ones(rows),
        torch.tensor(blueprint),
        torch.tensor(q),
        torch.tensor(errors) if errors else torch.full((rows, A), NAN),
        torch.ones(rows, dtype=torch.bool),
    )


def made_up(rows: int = 50, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Targets]:
    """Logits, mask, values, targets."""
    draw = torch.Generator().manual_seed(seed)
    mask = torch.rand(rows, A, generator=draw) < 0.7
    mask[:, 0] = True
    pick = lambda: (torch.rand(rows, A, generator=draw) * mask).argmax(1)  # noqa: E731
    q = torch.where(mask, torch.randn(rows, A, generator=draw), NAN)
    errors = torch.where(mask, torch.rand(rows, A, generator=draw), NAN)
    known = torch.rand(rows, generator=draw) < 0.8
    weights, searched = torch.ones(rows), torch.rand(rows, generator=draw) < 0.5
    found = Targets(pick(), torch.randn(rows, generator=draw), known, weights, pick().float(), q, errors, searched)
    return torch.randn(rows, A, generator=draw), mask, torch.randn(rows, generator=draw), found


def test_without_q_and_blueprint_it_is_the_loss_of_the_seed() -> None:
    """Cross-entropy over legal logits by weights, half of the mean squared error of known values, less a thousandth of the entropy."""
    logits, mask, values, found = made_up()
    terms = distill_loss(MaskedHeads(logits, mask, (A,)), values, found, SEED._replace(override=3.0))
    log_p = torch.log_softmax(logits.masked_fill(~mask, torch.finfo(torch.float32).min), 1)
    weight = torch.where(found.actions == found.blueprint, 1.0, 3.0)
    policy = -(log_p[range(50), found.actions] * weight).sum() / weight.sum()
    value = ((values - found.returns) ** 2)[found.value_known].mean()
    entropy = -(log_p.exp() * log_p.clamp(min=-1e9)).sum(1).mean()
    assert terms.total == pytest.approx(float(policy + 0.5 * value - 1e-3 * entropy), rel=1e-5)


def test_advantages_weigh_by_their_errors_and_what_was_hardly_tried_not_at_all() -> None:
    found = targets([2], [1.0], [[NAN, 3.0, 3.4, -9.0]], [[NAN, 0.0, 0.5, 1.0]])
    difference, weights = advantages(found)
    assert difference[0].tolist() == pytest.approx([0, 0, 0.4, -MOST_POINTS])
    assert weights[0].tolist() == pytest.approx([0, 0, 1 / (0.25 + LEAST_ERROR**2), 1 / (1 + LEAST_ERROR**2)])
    few = targets([2], [1.0], [[NAN, 3.0, 3.4, 2.0]], [[NAN, 0.0, 0.5, NAN]])
    assert advantages(few)[1][0].tolist() == pytest.approx([0, 0, 1 / (0.25 + LEAST_ERROR**2), 0])
    plain = targets([2], [1.0], [[NAN, 3.0, 3.4, 2.0]])
    assert advantages(plain)[1][0].tolist() == pytest.approx([0, 0, 16, 16]), (
        "a log without errors is taken at its word"
    )


def test_noise_of_many_searches_averages_out() -> None:
    """Whatever the noise, the least error is at blueprint * exp(mean advantage / tau)."""
    rows, tau = 40_000, 0.3
    draw = torch.Generator().manual_seed(3)
    truth = torch.tensor([0.0, 0.2, -0.5, 0.05])
    q = 7 + truth + 0.8 * torch.randn(rows, A, generator=draw)
    q[:, 0] = 7
    q[torch.rand(rows, generator=draw) < 0.3, 3] = NAN
    errors = torch.full((rows, A), 0.8)
    actions = q.nan_to_num(-9).argmax(1)  # a search without a threshold, which takes noise for gain
    ones = torch.ones(rows)
    found = Targets(actions, ones, ones > 0, ones, 0 * ones, q, errors, ones > 0)
    blueprint = torch.tensor([1.0, -1.0, 0.5, -2.0])
    logits, mask = torch.zeros(A, requires_grad=True), torch.ones(rows, A, dtype=torch.bool)
    optimizer = torch.optim.LBFGS([logits], max_iter=50)

    def loss() -> Tensor:
        optimizer.zero_grad()
        policy = MaskedHeads(logits.expand(rows, A), mask, (A,))
        error, known = advantage_error(policy, found, tau, MaskedHeads(blueprint.expand(rows, A), mask, (A,)))
        assert known.all()
        error.mean().backward()
        return error.mean()

    optimizer.step(loss)
    expected = torch.softmax(blueprint + truth / tau, 0)
    assert torch.softmax(logits.detach(), 0).tolist() == pytest.approx(expected.tolist(), abs=0.01)


def test_numbers_of_illegal_actions_are_not_learnt_from() -> None:
    mask = torch.tensor([[False, True, True, True]])
    errors = [
        advantage_error(
            MaskedHeads(torch.zeros(1, A), mask, (A,)), targets([2], [1.0], [[odd, 3.0, 3.4, 2.0]]), 0.5, None
        )
        for odd in (NAN, 0.0, 20.0)
    ]
    assert errors[0][0] == errors[1][0] == errors[2][0] > 0


def test_nothing_is_learnt_from_q_where_nothing_was_tried() -> None:
    found = targets([2, 0], [1.0, 0.0], [[NAN, 3.0, 3.4, 2.0], [NAN] * 4])
    logits = torch.zeros(2, A, requires_grad=True)
    error, known = advantage_error(
        MaskedHeads(logits, torch.tensor([[False, True, True, True]] * 2), (A,)), found, 0.5, None
    )
    error.sum().backward()
    assert known.tolist() == [True, False]
    assert error.tolist() == pytest.approx([(0.4**2 + 1) / 2, 0])
    assert logits.grad is not None
    assert logits.grad[1].tolist() == [0, 0, 0, 0]
    assert logits.grad[0, 0] == 0


def test_overrides_weigh_more_the_surer_they_are() -> None:
    q = [[0.0, 0.6, 0.0, 0.0]] * 5
    errors = [[0.0, 0.2, 1, 1], [0.0, 0.01, 1, 1], [0.0, NAN, 1, 1], [0.0, 0.2, 1, 1], [0.0, 0.2, 1, 1]]
    found = targets([1, 1, 1, 0, 1], [0.0, 0.0, 0.0, 0.0, NAN], q, errors)
    assert overrides(found).tolist() == [True, True, True, False, False]
    assert imitation_weights(found, SEED._replace(override=2.0, advantage=1.0)).tolist() == pytest.approx(
        [2 * (1 + 3), 2 * (1 + 5), 2, 1, 1]
    )
    assert imitation_weights(found, SEED._replace(override=2.0)).tolist() == [2, 2, 2, 1, 1]


def test_moves_of_a_partner_teach_only_the_value() -> None:
    logits, mask, values, found = made_up()
    logits.requires_grad_()
    values.requires_grad_()
    weights = SEED._replace(entropy=0.0, kl=1.0, partner=0.0)
    distill_loss(
        MaskedHeads(logits, mask, (A,)), values, found, weights, MaskedHeads(logits.detach().flip(0), mask, (A,))
    ).total.backward()
    assert logits.grad is not None
    assert values.grad is not None
    assert (logits.grad[~found.searched] == 0).all()
    assert (logits.grad[found.searched] != 0).any(1).sum() > 20
    assert (values.grad[found.value_known] != 0).all()


def test_near_the_blueprint_counts_where_it_was_kept_and_only_there() -> None:
    logits, mask, values, found = made_up()
    policy, blueprint = (MaskedHeads(one, mask, (A,)) for one in (logits, logits.flip(0)))
    kl = SEED._replace(kl=1.0)
    same = distill_loss(policy, values, found, kl, policy)
    plain, far = distill_loss(policy, values, found, SEED), distill_loss(policy, values, found, kl, blueprint)
    assert same.total == pytest.approx(float(plain.total), abs=1e-6)
    kept = found.actions == found.blueprint
    expected = policy.kl_from(blueprint).sum(-1)[kept].mean()
    assert far.total - plain.total == pytest.approx(float(expected), rel=1e-4)


def test_gradients_are_finite_nothing_for_the_illegal_and_nothing_from_unknown_values() -> None:
    logits, mask, values, found = made_up()
    found = found._replace(returns=torch.where(found.value_known, found.returns, NAN))
    logits.requires_grad_()
    values.requires_grad_()
    blueprint = MaskedHeads(torch.zeros_like(logits), mask, (A,))
    distill_loss(
        MaskedHeads(logits, mask, (A,)), values, found, SEED._replace(q=0.5, kl=0.1, advantage=1.0), blueprint
    ).total.backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert (logits.grad[~mask] == 0).all()
    assert values.grad is not None
    assert values.grad.isfinite().all()
    assert (values.grad[~found.value_known] == 0).all()
    assert (values.grad[found.value_known] != 0).all()


def test_figures_of_two_halves_add_up_to_those_of_the_whole() -> None:
    logits, mask, values, found = made_up()

    def sums(rows: slice) -> Tensor:
        policy, part = MaskedHeads(logits[rows], mask[rows], (A,)), Targets(*(one[rows] for one in found))
        return figures(policy, values[rows], part, distill_loss(policy, values[rows], part, SEED))

    whole, halves = means("", sums(slice(None))), means("", sums(slice(20)) + sums(slice(20, None)))
    assert {name: halves[name] for name in halves if name != "loss"} == pytest.approx(
        {name: whole[name] for name in whole if name != "loss"}
    )
    best = logits.masked_fill(~mask, -torch.inf).argmax(1)
    changed = found.actions != found.blueprint
    assert whole["override_accuracy"] == pytest.approx(float((best == found.actions)[changed].float().mean()))
    assert whole["kept_accuracy"] == pytest.approx(float((best == found.actions)[~changed].float().mean()))
    assert whole["agreement"] == pytest.approx(float((best == found.blueprint).float().mean()))
    y, v = found.returns[found.value_known], values[found.value_known]
    assert whole["explained_variance"] == pytest.approx(
        1 - float(((v - y) ** 2).mean() / y.var(correction=0)), rel=1e-4
    )
