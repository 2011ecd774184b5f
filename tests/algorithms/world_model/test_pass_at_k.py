"""Pass@k is the share of all choices of k samples that contain a success."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ludory.algorithms.world_model.evaluation import estimate, paired, pass_at_k
from ludory.errors import OptionError


@pytest.mark.parametrize("n", [1, 3, 6])
def test_pass_at_k_equals_enumeration(n):
    for k in range(1, n + 1):
        for c in range(n + 1):
            samples = [place < c for place in range(n)]
            chosen = [any(one) for one in combinations(samples, k)]
            assert pass_at_k(np.array([c]), n, k)[0] == pytest.approx(np.mean(chosen))


def test_of_all_samples_any_counts_and_of_one_the_share():
    counts = np.array([0, 1, 4, 8])
    assert pass_at_k(counts, 8, 8).tolist() == [0, 1, 1, 1]
    assert pass_at_k(counts, 8, 1).tolist() == [0, 0.125, 0.5, 1]


def test_errors_are_over_rooms():
    found = estimate(np.array([0.0, 1.0, 1.0, 0.0]))
    assert found.mean == 0.5
    assert found.stderr == pytest.approx(0.5773502692 / 2)
    assert found.rooms == 4
    assert paired(np.array([0.5, 1.0]), np.array([0.25, 0.75])) == (0.25, 0.0, 2)
    assert np.isnan(estimate(np.array([1.0])).stderr)


@pytest.mark.parametrize("k", [0, 9])
def test_k_beyond_the_samples_is_refused(k):
    with pytest.raises(OptionError, match=r"must lie in \[1, 8\]"):
        pass_at_k(np.array([1]), 8, k)
