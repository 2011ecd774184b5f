"""Interquartile means and bootstrap intervals of learning curves; exploitability over time."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ludory.agents.random import RandomAgent
from ludory.benchmarks.learning import exploitability
from ludory.benchmarks.learning.curves import Band, band, iqm, lead
from ludory.cli import main
from ludory.envs.make import make_game

CURVES = arrays(np.float64, st.tuples(st.integers(1, 7), st.integers(1, 3)), elements=st.integers(-20, 20))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([3], 3),
        ([1, 5, 3], 3),  # nothing to leave out
        ([0, 1, 2, 100], 1.5),
        ([100, 1, -50, 2, 4], (1 + 2 + 4) / 3),
        ([9, 8, 7, 6, 5, 4, 3, 2, 1], 5),
        ([0, 0, 1, 2, 3, 6, 50, 60], (1 + 2 + 3 + 6) / 4),
    ],
)
def test_the_iqm_leaves_out_a_quarter_at_either_end(scores, expected):
    assert iqm(scores) == pytest.approx(expected)


def test_the_iqm_is_taken_along_an_axis():
    scores = np.array([[0.0, 4.0], [1.0, 3.0], [2.0, 2.0], [99.0, 1.0]])
    assert iqm(scores).tolist() == [1.5, 2.5]
    assert iqm(scores.T, axis=1).tolist() == [1.5, 2.5]


def test_an_interval_is_that_of_all_resamples_of_the_seeds():
    scores = np.array([[0.0, 7.0], [1.0, 7.0], [5.0, 7.0], [9.0, 7.0]])
    every = [iqm(scores[list(rows), 0]) for rows in itertools.product(range(4), repeat=4)]
    low, high = np.quantile(every, [0.025, 0.975])
    found = band(scores, resamples=40_000)
    assert found.middle.tolist() == [3.0, 7.0]
    assert found.low == pytest.approx([low, 7.0], abs=0.01)
    assert found.high == pytest.approx([high, 7.0], abs=0.01)


def test_a_lead_is_the_difference_of_iqms_and_each_side_is_resampled_by_itself():
    one, other = np.array([[0.0], [2.0]]), np.array([[1.0], [1.0], [4.0]])
    drawn = [
        np.mean(a) - np.mean(b)
        for a in itertools.product([0, 2], repeat=2)
        for b in itertools.product([1, 1, 4], repeat=3)
    ]
    found = lead(one, other, level=0.5, resamples=40_000)
    assert found.middle.tolist() == [-1.0]
    assert (found.low[0], found.high[0]) == pytest.approx(tuple(np.quantile(drawn, [0.25, 0.75])), abs=0.01)


@given(CURVES, st.integers(-5, 5))
def test_bands_hold_their_bounds_whatever_the_order_and_move_with_the_scores(scores, shift):
    found = band(scores, resamples=50)
    assert (found.low <= found.high).all()
    assert (scores.min(0) <= found.low).all()
    assert (found.high <= scores.max(0)).all()
    assert (scores.min(0) <= found.middle).all()
    assert (found.middle <= scores.max(0)).all()
    assert iqm(scores[::-1]) == pytest.approx(found.middle)
    moved = band(scores + shift, resamples=50)
    for before, after in zip(found, moved, strict=True):
        assert after == pytest.approx(before + shift)


def test_one_seed_has_an_interval_without_width():
    found = band([[1.0, 2.0]])
    assert found.low.tolist() == found.high.tolist() == [1.0, 2.0]


def test_a_band_is_read_back_as_written():
    found = band([[1.0, 2.0], [1.5, 4.0]])
    for before, after in zip(found, Band.from_json(found.as_json()), strict=True):
        assert after.tolist() == before.tolist()


def test_exploitability_is_measured_over_time(tmp_path, capsys, monkeypatch):
    uniform = itertools.repeat(RandomAgent(make_game("KuhnPoker-v0").facts, seed=1))
    for learner in ("_self_play", "_league"):
        monkeypatch.setattr(exploitability, learner, lambda options: uniform)
    options = ["--game", "KuhnPoker-v0", "--seconds", "0.1", "--table-seconds", "0.1", "--out", str(tmp_path)]
    assert main(["bench", "exploitability", *options]) == 0
    curves = json.loads((tmp_path / "exploitability-KuhnPoker-v0.json").read_text())["curves"]
    for learner in ("ppo", "league"):  # the average of one strategy is that strategy
        assert all(point[kind] == pytest.approx(11 / 24) for point in curves[learner] for kind in ("newest", "average"))
    for points in curves.values():
        assert [point["seconds"] for point in points] == sorted(point["seconds"] for point in points)
    assert curves["cfr+"][-1]["average"] < 0.02
    assert "PPO, average" in (tmp_path / "exploitability-KuhnPoker-v0.svg").read_text()
    assert "CFR+" in capsys.readouterr().out
