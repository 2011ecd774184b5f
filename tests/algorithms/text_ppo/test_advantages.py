"""Advantages of tokens against stored tables of verl and RAGEN, and against the obvious loops."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.algorithms.losses.returns import Steps, gae
from ludory.algorithms.text_ppo.advantages import (
    TokenColumns,
    bilevel_gae,
    bilevel_gae_ragen,
    group_advantages,
    normalised_scores,
    token_gae,
    turn_group_advantages,
)

GOLDEN = Path(__file__).parents[2] / "golden"


def load_cases(path: Path) -> dict[str, dict[str, np.ndarray]]:
    cases: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    with np.load(path) as archive:
        for key in archive.files:
            case, name = key.split("/", 1)
            cases[case][name] = archive[key]
    return cases


VERL = load_cases(GOLDEN / "text_ppo" / "verl.npz")
TABLES = ("episodes", "discounted", "short")


def columns_of(case: dict[str, np.ndarray]) -> TokenColumns:
    return TokenColumns(*(torch.from_numpy(case[name]) for name in TokenColumns._fields))


@pytest.mark.parametrize("name", TABLES)
def test_masked_gae_is_verls(name):
    case = VERL[name]
    found = token_gae(columns_of(case), gamma=float(case["gamma"]), lam=float(case["lam"]))
    used = case["decided"] & case["valid"]
    np.testing.assert_allclose(found.advantages.numpy()[used], case["gae_adv"][used], atol=1e-12)
    np.testing.assert_allclose(found.returns.numpy()[used], case["gae_returns"][used], atol=1e-12)
    assert not found.advantages[~torch.from_numpy(used)].any()


@pytest.mark.parametrize("name", TABLES)
def test_bilevel_gae_in_the_form_of_ragen(name):
    case = VERL[name]
    lam = float(case["lam"])
    found = bilevel_gae_ragen(
        columns_of(case), gamma_turn=float(case["gamma_turn"]), lam_turn=lam, gamma=float(case["gamma"]), lam=lam
    )
    used = case["decided"] & case["valid"]
    np.testing.assert_allclose(found.advantages.numpy()[used], case["bilevel_ragen_adv"][used], atol=2e-6)
    np.testing.assert_allclose(found.returns.numpy()[used], case["bilevel_ragen_returns"][used], atol=2e-6)


def test_without_holes_it_is_the_gae_of_all_learners():
    case = load_cases(GOLDEN / "returns" / "returns.npz")
    one = next(c for c in case.values() if c["valid"].all() and c["rewards"].shape[0] > 3)
    rewards, values = torch.from_numpy(one["rewards"]), torch.from_numpy(one["values"])
    every = torch.ones_like(rewards, dtype=torch.bool)
    columns = TokenColumns(rewards, values, torch.zeros_like(rewards, dtype=torch.int64), every, every)
    after = torch.cat([values[1:], torch.zeros_like(values[:1])])
    last = torch.zeros_like(every)
    last[-1] = True
    expected = gae(Steps(rewards, values, after, last, ~every, every), gamma=0.9, lam=0.8)
    for ours, theirs in zip(token_gae(columns, gamma=0.9, lam=0.8), expected, strict=True):
        assert torch.equal(ours, theirs)


@st.composite
def episodes(draw):
    """Columns of turns, each with some read and some written tokens, and the reward on the last token of each turn."""
    width = draw(st.integers(1, 4))
    made = []
    for _ in range(width):
        shape = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4))
        made.append([(k, w >= read) for k, (read, wrote) in enumerate(shape) for w in range(read + wrote)])
    length = max(1, max(map(len, made)))
    seed = draw(st.integers(0, 2**31))
    g = torch.Generator().manual_seed(seed)
    turns = torch.zeros(length, width, dtype=torch.int64)
    decided, valid = (torch.zeros(length, width, dtype=torch.bool) for _ in range(2))
    rewards = torch.zeros(length, width, dtype=torch.float64)
    for b, tokens in enumerate(made):
        for t, (turn, wrote) in enumerate(tokens):
            turns[t, b], decided[t, b], valid[t, b] = turn, wrote, True
            if t + 1 == len(tokens) or tokens[t + 1][0] != turn:
                rewards[t, b] = torch.randn(1, generator=g, dtype=torch.float64)[0]
    values = torch.randn(length, width, generator=g, dtype=torch.float64)
    return TokenColumns(rewards, values, turns, decided, valid)


def written(columns: TokenColumns, b: int) -> tuple[list[int], list[float]]:
    """Rows of the sampled tokens of a column, and what each was paid until the next one."""
    rows = [t for t in range(len(columns.valid)) if columns.valid[t, b] and columns.decided[t, b]]
    paid = []
    for at, row in enumerate(rows):
        end = rows[at + 1] if at + 1 < len(rows) else int(columns.valid[:, b].sum())
        paid.append(float(columns.rewards[row:end, b].sum()))
    return rows, paid


@settings(max_examples=60)
@given(episodes(), st.floats(0, 1), st.floats(0, 1))
def test_token_gae_is_a_loop_over_what_was_written(columns, gamma, lam):
    found = token_gae(columns, gamma=gamma, lam=lam).advantages
    for b in range(columns.valid.shape[1]):
        rows, paid = written(columns, b)
        trace, after = 0.0, 0.0
        for row, reward in zip(reversed(rows), reversed(paid), strict=True):
            value = float(columns.values[row, b])
            trace = reward + gamma * after - value + gamma * lam * trace
            after = value
            assert found[row, b] == pytest.approx(trace, abs=1e-9)


@settings(max_examples=60)
@given(episodes(), st.booleans(), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_bilevel_gae_is_two_loops(columns, ragen, gamma_turn, lam_turn, gamma, lam):
    form = bilevel_gae_ragen if ragen else bilevel_gae
    found = form(columns, gamma_turn=gamma_turn, lam_turn=lam_turn, gamma=gamma, lam=lam)
    for b in range(columns.valid.shape[1]):
        rows, paid = written(columns, b)
        turns: dict[int, list[int]] = defaultdict(list)
        for at, row in enumerate(rows):
            turns[int(columns.turns[row, b])].append(at)
        value = [float(columns.values[row, b]) for row in rows]
        above, after = 0.0, 0.0
        for members in reversed(list(turns.values())):
            base = value[members[-1 if ragen else 0]]
            above = sum(paid[at] for at in members) + gamma_turn * after - base + gamma_turn * lam_turn * above
            after = base
            trace = above
            for place, at in enumerate(reversed(members)):
                if place:
                    trace = gamma * value[at + 1] - value[at] + gamma * lam * trace
                assert found.advantages[rows[at], b] == pytest.approx(trace, abs=1e-9)
                assert found.returns[rows[at], b] == pytest.approx(trace + value[at], abs=1e-9)


@pytest.mark.parametrize("kind", ["grpo", "dr_grpo", "rloo"])
def test_group_baselines_are_verls(kind):
    case = VERL["groups"]
    scores, groups = (torch.from_numpy(case[name]) for name in ("scores", "groups"))
    expected = case[kind].copy()
    expected[groups.numpy() == 2] = 0  # alone in its group: verl pays the score itself, which has no baseline
    np.testing.assert_allclose(group_advantages(scores, groups, kind).numpy(), expected, atol=1e-6)


def test_turns_are_compared_with_turns_that_were_played():
    rewards = torch.tensor([[1.0, 3.0, 2.0], [5.0, 1.0, 99.0]])
    played = torch.tensor([[True, True, True], [True, True, False]])
    found = turn_group_advantages(rewards, played, torch.zeros(3, dtype=torch.int64), "dr_grpo")
    assert found.tolist() == [[6 - 4, 4 - 4, 2 - 4], [5 - 3, 1 - 3, 0]]


def test_scores_on_a_common_scale():
    scores, groups = torch.tensor([0.0, 0.0, 0.0, 8.0, 1.0, 1.0]), torch.tensor([0, 0, 0, 0, 1, 1])
    assert torch.equal(normalised_scores(scores, groups, "identity", "state"), scores)
    scaled = normalised_scores(scores, groups, "mean_std", "state")
    assert scaled.tolist() == pytest.approx([-0.5, -0.5, -0.5, 1.5, 0, 0], abs=1e-5)
    far = torch.tensor([0.0] * 99 + [1.0])
    assert normalised_scores(far, torch.zeros(100, dtype=torch.int64), "asym_clip", "batch").max() == 3
    with pytest.raises(ValueError, match="mean_std"):
        normalised_scores(scores, groups, "rank", "state")
