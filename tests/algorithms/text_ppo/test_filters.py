"""Filters of groups on small tables."""

from __future__ import annotations

import pytest
import torch

from ludory.algorithms.text_ppo.config import make_text_ppo_config
from ludory.algorithms.text_ppo.filters import filter_groups, group_scores, kept_groups

SCORES = torch.tensor([0.1, 0.0, 0.6, 0.3, 0.0, 0.2])


@pytest.mark.parametrize(
    ("rule", "share", "kept"),
    [
        ("none", 0.0, [0, 1, 2, 3, 4, 5]),
        ("top_k", 0.5, [2, 3, 5]),
        ("top_k", 0.25, [2]),
        ("top_k", 0.01, [2]),
        ("top_k", 0.3, [2]),
        ("top_k", 1.0, [0, 1, 2, 3, 4, 5]),
        ("top_p", 0.5, [2]),  # 0.6 >= 0.6 - 0.01
        ("top_p", 0.75, [2, 3]),  # 0.9 >= 0.9 - 0.01
        ("top_p", 0.9, [2, 3, 5]),  # 1.1 >= 1.08 - 0.01
        ("top_p", 1.0, [0, 2, 3, 5]),  # never a group without variance
        ("top_p_softmax", 0.2, [2]),
        ("top_p_softmax", 0.5, [2, 3, 5]),
        ("top_p_softmax", 1.0, [0, 1, 2, 3, 4, 5]),
        ("min_p", 0.5, [2, 3]),
        ("min_p", 1.0, [2]),
    ],
)
def test_tables(rule, share, kept):
    assert kept_groups(SCORES, rule, share).nonzero().flatten().tolist() == kept


@pytest.mark.parametrize(("rule", "number"), [("top_p", 0), ("min_p", 0), ("top_k", 2), ("none", 4)])
def test_groups_without_variance(rule, number):
    assert kept_groups(torch.zeros(4), rule, 0.5).sum() == number


def test_share_of_many_groups_is_not_lost_to_rounding():
    assert kept_groups(torch.rand(100), "top_k", 0.29).sum() == 29


def test_scores_of_groups():
    returns, groups = torch.tensor([1.0, 3.0, 5.0, 5.0]), torch.tensor([7, 7, 2, 2])
    numbers = torch.tensor([1.0, 2.0, 3.0, 5.0])
    ids, scores = group_scores("variance", returns, groups)
    assert ids.tolist() == [2, 7]
    assert scores.tolist() == pytest.approx([0, 2**0.5])
    assert group_scores("mean", returns, groups)[1].tolist() == [5, 2]
    assert group_scores("entropy", returns, groups, entropies=numbers)[1].tolist() == [4, 1.5]
    assert group_scores("length", returns, groups, lengths=numbers)[1].tolist() == [4, 1.5]


def test_members_of_the_groups_that_stay():
    returns, groups = torch.tensor([1.0, 5.0, 3.0, 5.0]), torch.tensor([7, 2, 7, 2])
    found = filter_groups("top_k", 0.5, "variance", returns, groups)
    assert found.members.tolist() == [True, False, True, False]


def test_errors_name_what_is_allowed():
    with pytest.raises(ValueError, match="top_p_softmax"):
        kept_groups(SCORES, "best", 0.5)
    with pytest.raises(ValueError, match=r"share=1\.5"):
        kept_groups(SCORES, "top_k", 1.5)
    with pytest.raises(ValueError, match="variance"):
        group_scores("entropy", SCORES, torch.zeros(6, dtype=torch.int64))


def test_none_is_a_filter_of_its_own():
    """`--set filter=none` is read as None."""
    assert make_text_ppo_config(filter=None).filter == make_text_ppo_config(filter="none").filter == "none"
