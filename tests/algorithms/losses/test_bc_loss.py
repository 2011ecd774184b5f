"""The loss of imitation and the scores beside it: legal values only, baselines that can be computed by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ludory.agents.networks.layers.distribution import MaskedHeads
from ludory.algorithms.bc.loss import (
    count_actions,
    full_tally,
    imitation_loss,
    means,
    prior_scores,
    score,
    tally,
    uniform_scores,
)
from ludory.algorithms.offline.batches import weighted_mean

SIZES = (5, 3)


def loss(logits, mask, actions, *, smoothing=0.0, sizes=SIZES, values=None, returns=None, value=0.0, entropy=0.0):
    rows = torch.zeros(len(logits))
    return imitation_loss(
        MaskedHeads(logits, mask, sizes),
        rows if values is None else values,
        actions,
        rows if returns is None else returns,
        label_smoothing=smoothing,
        value_coef=value,
        entropy_coef=entropy,
    )


def random_rows(seed, rows=7, sizes=SIZES):
    """Logits (m, A), masks with at least one legal value per head, legal actions (m, H)."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, sum(sizes), generator=generator)
    actions = torch.stack([torch.randint(size, (rows,), generator=generator) for size in sizes], -1)
    mask, start = torch.rand(rows, sum(sizes), generator=generator) < 0.5, 0
    for head, size in enumerate(sizes):
        mask[torch.arange(rows), start + actions[:, head]] = True
        start += size
    return logits, mask, actions


def test_with_every_value_legal_the_loss_is_pytorchs_cross_entropy():
    logits, mask, actions = random_rows(0)
    parts = logits.split(SIZES, -1)
    for smoothing in (0.0, 0.1):
        expected = sum(
            torch.nn.functional.cross_entropy(part, actions[:, head], label_smoothing=smoothing, reduction="none")
            for head, part in enumerate(parts)
        )
        torch.testing.assert_close(loss(logits, torch.ones_like(mask), actions, smoothing=smoothing).total, expected)


@given(st.integers(0, 2**31), st.sampled_from([0.0, 0.1, 0.5]))
def test_illegal_values_change_nothing_and_get_no_gradient(seed, smoothing):
    logits, mask, actions = random_rows(seed)
    logits.requires_grad_()
    total = loss(logits, mask, actions, smoothing=smoothing, entropy=0.01).total
    total.sum().backward()
    assert (logits.grad[~mask] == 0).all()
    assert logits.grad.isfinite().all()
    elsewhere = torch.where(mask, logits.detach(), 1e4)
    torch.testing.assert_close(loss(elsewhere, mask, actions, smoothing=smoothing, entropy=0.01).total, total.detach())


def test_smoothing_is_spread_over_legal_values_only():
    """One head, two of three values legal, target 0: (1 - e + e / 2) on value 0 and e / 2 on value 1."""
    logits, mask = torch.tensor([[1.0, 0.0, 9.0]]), torch.tensor([[True, True, False]])
    log_p = torch.tensor([1.0, 0.0]).log_softmax(0)
    found = loss(logits, mask, torch.tensor([[0]]), smoothing=0.1, sizes=(3,)).total
    torch.testing.assert_close(found, -(0.95 * log_p[0] + 0.05 * log_p[1])[None])


def test_a_forced_action_costs_nothing():
    mask = torch.tensor([[False, True, False]])
    assert loss(torch.randn(1, 3), mask, torch.tensor([[1]]), smoothing=0.1, sizes=(3,)).total.item() == 0


def test_value_error_and_entropy_enter_with_their_weights():
    logits, mask, actions = random_rows(1)
    values, returns = torch.arange(7.0), torch.ones(7)
    plain = loss(logits, mask, actions).total
    entropy = MaskedHeads(logits, mask, SIZES).entropy().sum(-1)
    found = loss(logits, mask, actions, values=values, returns=returns, value=2.0, entropy=0.5).total
    torch.testing.assert_close(found, plain + 2 * (values - 1) ** 2 - 0.5 * entropy)


def test_means_are_weighted_and_0_without_weight():
    assert weighted_mean(torch.tensor([1.0, 5.0]), torch.tensor([3.0, 1.0])).item() == 2
    assert weighted_mean(torch.tensor([1.0, 5.0]), torch.zeros(2)).item() == 0


@given(st.integers(0, 2**31))
def test_accuracy_is_that_of_the_policys_mode_and_top3_holds_it(seed):
    logits, mask, actions = random_rows(seed)
    logits = logits.round()  # ties
    mode = MaskedHeads(logits, mask, SIZES).mode()
    found = score(logits, mask, actions, SIZES)
    assert (found.correct.bool() == (mode == actions)).all()
    assert (found.top3 >= found.correct.prod(-1)).all()
    assert found.columns().shape == (7, 3 + 2 * len(SIZES))


def test_top3_looks_at_legal_values_only():
    logits, mask = torch.tensor([[4.0, 3.0, 2.0, 1.0, 0.0]]), torch.ones(1, 5, dtype=torch.bool)
    action = torch.tensor([[3]])
    assert score(logits, mask, action, (5,)).top3.item() == 0
    mask[0, 0] = False
    assert score(logits, mask, action, (5,)).top3.item() == 1


def test_the_class_prior_is_taken_among_legal_values():
    """Taken 2, 1 and 0 times, plus one each: 3/6, 2/6, 1/6; without value 0: 2/3, 1/3."""
    counts = count_actions(torch.tensor([[0], [0], [1]]), torch.ones(3, 1), (3,))
    assert counts.tolist() == [2, 1, 0]
    mask = torch.tensor([[True, True, True], [False, True, True]])
    found = prior_scores(counts, mask, torch.tensor([[0], [2]]), (3,))
    torch.testing.assert_close(found.nll, torch.tensor([math.log(2), math.log(3)]))
    assert found.correct[:, 0].tolist() == [1, 0]


def test_uniform_play_is_right_as_often_as_there_are_legal_values():
    mask = torch.tensor([[True] * 4 + [False] + [True] * 2 + [False]])
    found = uniform_scores(mask, SIZES)
    torch.testing.assert_close(found.nll, torch.tensor([math.log(8)]))
    torch.testing.assert_close(found.columns(), torch.tensor([[math.log(8), 1 / 8, 3 / 4, 1 / 4, 1 / 2, 1, 1]]))


def test_decisions_that_are_not_imitated_teach_the_value_only() -> None:
    logits = torch.randn(4, 5, generator=torch.Generator().manual_seed(1), requires_grad=True)
    values = torch.zeros(4, requires_grad=True)
    returns = torch.tensor([1.0, -1.0, 1.0, -1.0])
    terms = imitation_loss(
        MaskedHeads(logits, torch.ones(4, 5, dtype=torch.bool), (3, 2)),
        values,
        torch.zeros(4, 2, dtype=torch.int64),
        returns,
        label_smoothing=0.0,
        value_coef=0.5,
        entropy_coef=0.1,
        imitated=returns > 0,
    )
    terms.total.sum().backward()
    assert logits.grad is not None
    assert values.grad is not None
    assert (logits.grad[[1, 3]] == 0).all()
    assert (logits.grad[[0, 2]] != 0).any(-1).all()
    torch.testing.assert_close(values.grad, -returns)


def test_a_head_without_effect_is_neither_learnt_nor_counted() -> None:
    """Head 0 had an effect in the first decision only, head 1 in the first two."""
    logits, mask, actions = random_rows(4, rows=3)
    logits.requires_grad_(True)
    used = torch.tensor([[True, True], [False, True], [False, False]])
    policy = MaskedHeads(logits, mask, SIZES)
    options = {"label_smoothing": 0.1, "value_coef": 0.0, "entropy_coef": 0.01}
    terms = imitation_loss(policy, torch.zeros(3), actions, torch.zeros(3), used=used, **options)
    terms.total.sum().backward()
    assert logits.grad is not None
    assert (logits.grad[:, :5].abs().sum(1) > 0).tolist() == [True, False, False]
    assert logits.grad[2].abs().sum() == 0
    torch.testing.assert_close(terms.nll, torch.where(used, -policy.log_prob(actions), 0).sum(-1).detach())
    assert terms.total[2] == terms.nll[2] == terms.entropy[2] == 0
    legal = torch.stack([part.sum(-1) for part in mask.split(SIZES, -1)], -1)
    uniform = uniform_scores(mask, SIZES, used)
    torch.testing.assert_close(uniform.columns()[1, 1], 1 / legal[1, 1])
    sums = tally(terms, score(logits, mask, actions, SIZES, used), torch.tensor([1.0, 1.0, 0.0]))
    found = means("", sums, ("aim", "shoot"))
    right = score(logits, mask, actions, SIZES).correct
    assert found["accuracy_aim"] == right[0, 0]
    assert found["accuracy_shoot"] == right[:2, 1].mean()
    assert (found["used_aim"], found["used_shoot"]) == (0.5, 1.0)
    assert found["accuracy"] == pytest.approx(float((right[0].prod() + right[1, 1]) / 2))


def test_sums_of_a_checkpoint_from_before_heads_were_weighted_go_on() -> None:
    old = torch.tensor([4.0, 8, 0, 2, 6, 3, 4, 2, 1], dtype=torch.float64)  # 7 and two heads
    found = means("", full_tally(old, 2), ("aim", "shoot"))
    assert (found["accuracy_aim"], found["accuracy_shoot"], found["used_aim"]) == (0.5, 0.25, 1.0)
    assert full_tally(full_tally(old, 2), 2).shape == (11,)
    assert full_tally(torch.zeros(()), 2).shape == ()
