"""Unrolls of sequences: every step can be drawn, padding is marked, and unknown log-probabilities are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.data.formats.last_man_standing.sequence import TrajectorySequence
from ludory.data.formats.last_man_standing.unrolls import ReplayBatch, UnrollSampler
from ludory.envs.arena.codec import HEADS
from ludory.errors import DataError, OptionError


def sequence(
    length: int, name: int = 0, *, ended: bool = True, logp: float = -1.0, **extras: Any
) -> TrajectorySequence:
    """Step k is recognised by obs (name, k) and reward k + 1; the whole of an end is 1 at the last one."""
    last = (np.arange(length) == length - 1) & ended
    return TrajectorySequence(
        obs=np.stack([np.full(length, name), np.arange(length)], 1).astype(np.float32),
        actions={head: np.arange(length) % 2 for head in HEADS},
        rewards=np.arange(1, length + 1, dtype=np.float32),
        dones=last.astype(np.float32),
        behavior_logp=np.full(length, logp, np.float32),
        terminated=last,
        truncated=np.zeros(length, np.bool_),
        behavior_logp_heads={head: np.full(length, logp / 7, np.float32) for head in HEADS},
        extras={"source": f"s{name}", "path": f"file{name}", "features": "seed19"} | extras,
    )


def starts(
    sequences: Sequence[TrajectorySequence], unroll: int, draws: int = 4000, **options: Any
) -> Counter[tuple[int, int]]:
    """How often each (sequence, start) is drawn."""
    batch = UnrollSampler(sequences, seed=3, **options).sample(draws, unroll)
    return Counter((int(name), int(first)) for name, first in batch.obs[0])


def test_shapes_are_time_major() -> None:
    batch = UnrollSampler([sequence(9)]).sample(5, 4)
    assert batch.obs.shape == batch.next_obs.shape == (4, 5, 2)
    for values in (batch.rewards, batch.dones, batch.behavior_logp, batch.valid, *batch.actions.values()):
        assert values.shape == (4, 5)
    assert batch.extras["source"][0, 0] == "s0"


def test_sequences_are_drawn_alike_and_starts_in_them() -> None:
    counts = starts([sequence(4), sequence(9, 1), sequence(40, 2)], unroll=4)
    assert [sum(n for (name, _), n in counts.items() if name == k) for k in range(3)] == pytest.approx(
        [1333] * 3, rel=0.1
    )
    assert {start for name, start in counts if name == 0} == {0}
    assert {start for name, start in counts if name == 1} == set(range(6))
    assert {start for name, start in counts if name == 2} == set(range(37))
    assert [counts[1, start] for start in range(6)] == pytest.approx([1333 / 6] * 6, rel=0.25)


def test_in_proportion_to_length_on_request() -> None:
    counts = starts([sequence(10), sequence(30, 1)], unroll=2, by_length=True)
    assert sum(n for (name, _), n in counts.items() if name == 1) == pytest.approx(3000, rel=0.05)


def test_the_last_step_of_a_sequence_that_was_cut_is_only_looked_at() -> None:
    cut = [sequence(6, ended=False)]
    assert {start for _, start in starts(cut, unroll=4)} == {0, 1}
    batch = UnrollSampler(cut).sample(50, 4)
    assert (batch.next_obs[..., 1] == batch.obs[..., 1] + 1).all()
    assert batch.valid.all()


def test_as_the_seed_drew_an_outcome_is_never_drawn() -> None:
    """Its unrolls ended a step before the end, where the outcome is paid."""
    whole = [sequence(9)]
    assert UnrollSampler(whole, as_seed=True).sample(400, 4).rewards.max() == 8
    assert UnrollSampler(whole).sample(400, 4).rewards.max() == 9
    assert UnrollSampler(whole, as_seed=True).sample(1, 9).rewards[:, 0].tolist() == list(range(1, 10))


def test_padding_is_marked_and_worth_nothing() -> None:
    """The seed trained on it."""
    batch = UnrollSampler([sequence(3)]).sample(1, 5)
    assert batch.valid[:, 0].tolist() == [True, True, True, False, False]
    assert batch.obs[:, 0, 1].tolist() == [0, 1, 2, 2, 2]
    assert batch.next_obs[:, 0, 1].tolist() == [1, 2, 2, 2, 2]
    assert batch.rewards[:, 0].tolist() == [1, 2, 3, 0, 0]
    assert batch.dones[:, 0].tolist() == [0, 0, 1, 1, 1]
    assert batch.terminated[:, 0].tolist() == [False, False, True, False, False]
    assert np.isnan(batch.behavior_logp[:, 0]).tolist() == [False, False, False, True, True]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=4), st.integers(1, 8), st.booleans(), st.integers(0, 99))
def test_valid_steps_are_steps_of_one_sequence_in_order(
    lengths: list[int], unroll: int, ended: bool, seed: int
) -> None:
    batch = UnrollSampler([sequence(n, k, ended=ended) for k, n in enumerate(lengths)], seed).sample(8, unroll)
    for column in range(8):
        valid, seen = batch.valid[:, column], batch.obs[:, column]
        count = int(valid.sum())
        assert valid.tolist() == [True] * count + [False] * (unroll - count)
        length = lengths[int(seen[0, 0])]
        assert (seen[:, 0] == seen[0, 0]).all()
        assert (np.diff(seen[:count, 1]) == 1).all()
        assert (batch.rewards[:count, column] == seen[:count, 1] + 1).all()
        assert not batch.rewards[count:, column].any()
        assert count == unroll or seen[count - 1, 1] == length - 1
        assert (batch.next_obs[:, column, 1] == np.minimum(seen[:, 1] + 1, length - 1)).all()


def same(one: ReplayBatch, other: ReplayBatch) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("obs", "rewards", "valid"))


def test_a_seed_repeats_the_draws() -> None:
    data = [sequence(20, k) for k in range(5)]
    assert same(UnrollSampler(data, 4).sample(16, 3), UnrollSampler(data, 4).sample(16, 3))
    assert not same(UnrollSampler(data, 4).sample(16, 3), UnrollSampler(data, 5).sample(16, 3))


def test_off_policy_learning_without_log_probs_is_refused() -> None:
    data = [sequence(5), sequence(5, 1, logp=float("nan"))]
    with pytest.raises(DataError, match=r"file1.*'behavior_logp': got none in 1 of 2 .*usable for bc and KL only"):
        UnrollSampler(data)
    assert np.isnan(UnrollSampler(data, off_policy=False).sample(20, 2).behavior_logp).any()


def test_features_of_two_kinds_do_not_go_into_one_batch() -> None:
    data = [sequence(5), sequence(5, 1, features="live19")]
    with pytest.raises(DataError, match=r"file1.*'live19'.*'seed19'.*as in the first"):
        UnrollSampler(data)
    assert UnrollSampler(data, allow_mixed=True).sample(2, 2).valid.all()


def test_impossible_requests() -> None:
    with pytest.raises(OptionError, match="at least one"):
        UnrollSampler([])
    with pytest.raises(OptionError, match="unroll=0"):
        UnrollSampler([sequence(3)]).sample(1, 0)
