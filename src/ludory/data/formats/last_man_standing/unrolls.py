"""`UnrollSampler`: draws unrolls of fixed length from sequences of any length, as time-major batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.errors import DataError, OptionError

from .checked_lines import Flaw
from .sequence import TrajectorySequence, require_log_probs


class ReplayBatch(NamedTuple):
    """B unrolls of T steps. Steps that are not `valid` are padding, to be left out of losses and counts."""

    obs: NDArray[np.float32]
    """[T, B, D]"""
    next_obs: NDArray[np.float32]
    """[T, B, D], observation of the next step; the last step of a sequence repeats its own."""
    actions: dict[str, NDArray[np.int64]]
    """{head: [T, B]}"""
    rewards: NDArray[np.float32]
    """[T, B], 0 in padding."""
    dones: NDArray[np.float32]
    """[T, B], 1 in padding."""
    behavior_logp: NDArray[np.float32]
    """[T, B], NaN in padding and where unknown."""
    terminated: NDArray[np.bool_]
    """[T, B], False in padding."""
    truncated: NDArray[np.bool_]
    """[T, B], False in padding."""
    behavior_logp_heads: dict[str, NDArray[np.float32]]
    """{head: [T, B]}"""
    valid: NDArray[np.bool_]
    """[T, B]"""
    extras: dict[str, Any]
    """`source` [T, B], objects."""


class UnrollSampler:
    """Draws a sequence, then a start in it, both uniformly.

    An unroll of T steps needs T + 1 steps of the sequence: the last one only supplies the next observation. Shorter sequences are padded.
    A sequence that ends needs no next step, so its last step, with the outcome, is drawn like any other.

    Args:
        sequences: to draw from.
        seed: of the random draws.
        off_policy: refuse sequences without log-probabilities of their actions; False for cloning and KL losses.
        by_length: draw sequences in proportion to their length.
        as_seed: require a next step at ends, too, as older bots did: the last step of a sequence longer than the unroll, with its
            outcome, is then never drawn.
        allow_mixed: accept features of several kinds.

    Raises:
        DataError: log-probabilities are unknown, or features or heads of the sequences differ.
        OptionError: there are no sequences.
    """

    def __init__(
        self,
        sequences: Sequence[TrajectorySequence],
        seed: int = 0,
        *,
        off_policy: bool = True,
        by_length: bool = False,
        as_seed: bool = False,
        allow_mixed: bool = False,
    ) -> None:
        if not sequences:
            raise OptionError("sequences=[]: there must be at least one to draw from")
        if off_policy:
            require_log_probs(sequences)
        _check_alike(sequences, allow_mixed)
        self._sequences, self._draw, self._as_seed = list(sequences), np.random.default_rng(seed), as_seed
        lengths = np.array([sequence.length for sequence in sequences], np.float64)
        self._weights = lengths / lengths.sum() if by_length else None

    def sample(self, batch: int, unroll: int) -> ReplayBatch:
        """Draw `batch` unrolls of `unroll` steps.

        Raises:
            OptionError: one is smaller than 1.
        """
        for name, value in (("batch", batch), ("unroll", unroll)):
            if value < 1:
                raise OptionError(f"{name}={value}: must be an integer of at least 1")
        chosen = self._draw.choice(len(self._sequences), batch, p=self._weights)
        parts = [self._unroll(self._sequences[number], unroll) for number in chosen]
        return ReplayBatch(*(_stacked([getattr(part, name) for part in parts]) for name in ReplayBatch._fields))

    def _unroll(self, sequence: TrajectorySequence, unroll: int) -> ReplayBatch:
        """One unroll, without the axis B."""
        ends = sequence.dones[-1] > 0 and not self._as_seed
        start = int(self._draw.integers(max(sequence.length + ends - unroll, 1)))
        part = sequence.slice(start, min(start + unroll, sequence.length))
        following = np.minimum(np.arange(start + 1, start + 1 + unroll), sequence.length - 1)
        pad = unroll - part.length
        return ReplayBatch(
            obs=np.concatenate([part.obs, np.repeat(sequence.obs[-1:], pad, axis=0)]),
            next_obs=sequence.obs[following],
            actions={name: _padded(values, pad, values[-1]) for name, values in part.actions.items()},
            rewards=_padded(part.rewards, pad, 0),
            dones=_padded(part.dones, pad, 1),
            behavior_logp=_padded(part.behavior_logp, pad, np.nan),
            terminated=_padded(part.terminated, pad, False),
            truncated=_padded(part.truncated, pad, False),
            behavior_logp_heads={
                name: _padded(values, pad, np.nan) for name, values in part.behavior_logp_heads.items()
            },
            valid=np.arange(unroll) < part.length,
            extras={"source": np.full(unroll, str(sequence.extras.get("source", "unknown")), object)},
        )


def _padded(values: NDArray[Any], pad: int, value: Any) -> NDArray[Any]:
    return np.concatenate([values, np.full(pad, value, values.dtype)])


def _stacked(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], dict):
        return {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]}
    return np.stack(parts, axis=1)


def _check_alike(sequences: Sequence[TrajectorySequence], allow_mixed: bool) -> None:
    """Refuse sequences that cannot be in one batch."""
    first = _kind(sequences[0])
    for sequence in sequences:
        path, kind = str(sequence.extras.get("path", "sequence")), _kind(sequence)
        if not sequence.length:
            raise DataError(Flaw(path, None, "obs", "no step", "at least one step"))
        if kind[1:] != first[1:] or (kind != first and not allow_mixed):
            raise DataError(Flaw(path, None, "obs", _words(kind), f"{_words(first)} as in the first sequence"))


def _kind(sequence: TrajectorySequence) -> tuple[str, int, tuple[str, ...]]:
    return sequence.extras.get("features", "unknown"), sequence.obs.shape[1], tuple(sequence.actions)


def _words(kind: tuple[str, int, tuple[str, ...]]) -> str:
    return f"{kind[1]} features {kind[0]!r} and heads {', '.join(kind[2])}"
