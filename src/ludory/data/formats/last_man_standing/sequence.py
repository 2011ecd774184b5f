"""`TrajectorySequence`: what one player saw and did, step by step, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.arena.codec import HEADS, PRESETS, head_sizes
from ludory.errors import DataError

from .flaw import Flaw

STEPS = "steps"
"""Key of `extras` under which lists and arrays with an entry for every step stand; `slice` cuts them as well."""


@dataclass(frozen=True)
class TrajectorySequence:
    """T steps in a row; they end where the last one has `dones` 1, else they were cut out of more.

    Raises:
        DataError: fields of different length, naming each with its own.
    """

    obs: NDArray[np.float32]
    """[T, D]"""
    actions: dict[str, NDArray[np.int64]]
    """{head: [T]}, bins."""
    rewards: NDArray[np.float32]
    """[T]"""
    dones: NDArray[np.float32]
    """[T], 1 where `terminated` or `truncated`."""
    behavior_logp: NDArray[np.float32]
    """[T], log-probability of the whole action under who chose it; NaN where unknown, never 0."""
    terminated: NDArray[np.bool_]
    """[T], the game ended for the player."""
    truncated: NDArray[np.bool_]
    """[T], the recording ended before the game did."""
    behavior_logp_heads: dict[str, NDArray[np.float32]]
    """{head: [T]}, of each head; NaN where unknown."""
    extras: dict[str, Any] = field(default_factory=dict)
    """`source`, `path`, `terminal_outcome`, ..., and `steps`: {name: [T]}."""

    def __post_init__(self) -> None:
        lengths = {name: len(values) for name, values in self._timed()}
        if len(set(lengths.values())) > 1:
            got = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise DataError(Flaw(str(self.extras.get("path", "sequence")), None, "length", got, "one length for all"))

    def _timed(self) -> list[tuple[str, Any]]:
        heads = [(f"actions[{name}]", values) for name, values in self.actions.items()]
        known = [(f"behavior_logp_heads[{name}]", values) for name, values in self.behavior_logp_heads.items()]
        steps = [(f"extras[{STEPS}][{name}]", values) for name, values in self.extras.get(STEPS, {}).items()]
        names = ("obs", "rewards", "dones", "behavior_logp", "terminated", "truncated")
        return [(name, getattr(self, name)) for name in names] + heads + known + steps

    @property
    def length(self) -> int:
        """T, number of steps."""
        return len(self.obs)

    @property
    def has_log_probs(self) -> bool:
        """True if the log-probability of every action is known."""
        return not bool(np.isnan(self.behavior_logp).any())

    def slice(self, start: int, stop: int) -> TrajectorySequence:
        """Steps start..stop-1; the arrays share their memory."""
        part = slice(start, stop)
        extras = dict(self.extras)
        if STEPS in extras:
            extras[STEPS] = {name: values[part] for name, values in extras[STEPS].items()}
        return TrajectorySequence(
            obs=self.obs[part],
            actions={name: values[part] for name, values in self.actions.items()},
            rewards=self.rewards[part],
            dones=self.dones[part],
            behavior_logp=self.behavior_logp[part],
            terminated=self.terminated[part],
            truncated=self.truncated[part],
            behavior_logp_heads={name: values[part] for name, values in self.behavior_logp_heads.items()},
            extras=extras,
        )


def unknown_heads(length: int) -> dict[str, NDArray[np.float32]]:
    """Log-probabilities of all heads that nobody wrote down."""
    return {name: np.full(length, np.nan, np.float32) for name in HEADS}


def require_log_probs(sequences: Sequence[TrajectorySequence]) -> None:
    """Refuse sequences without the log-probabilities of their actions: off-policy corrections are ratios to them.

    Raises:
        DataError: naming the first such sequence.
    """
    without = [sequence for sequence in sequences if not sequence.has_log_probs]
    if without:
        path, got = (
            str(without[0].extras.get("path", "sequence")),
            f"none in {len(without)} of {len(sequences)} sequences",
        )
        raise DataError(
            Flaw(path, None, "behavior_logp", got, "known in every step: such data are usable for bc and KL only")
        )


def check_heads(sequence: TrajectorySequence, sizes: Mapping[str, int]) -> None:
    """Refuse actions that heads of these sizes cannot take.

    Raises:
        DataError: an unknown or missing head, or a bin outside its head, naming head, value, what is allowed, and the `bins=` that
            would fit if one does.
    """
    path = str(sequence.extras.get("path", "sequence"))
    for name in [*sequence.actions, *sizes]:
        if name not in sizes or name not in sequence.actions:
            got = "an unknown head" if name not in sizes else "no such head"
            raise DataError(Flaw(path, None, f"actions[{name}]", got, f"the heads {', '.join(sizes)}"))
    for name, size in sizes.items():
        values = sequence.actions[name]
        outside = np.flatnonzero((values < 0) | (values >= size))
        if len(outside):
            got = f"bin {values[outside[0]]} at step {outside[0]}"
            raise DataError(Flaw(path, None, f"actions[{name}]", got, f"0..{size - 1}{fitting(sequence.actions)}"))


def fitting(actions: Mapping[str, NDArray[np.int64]]) -> str:
    """Which `bins=` would take these actions, in words; empty if none would."""
    for sizes in PRESETS.values():
        fits = all(
            ((actions[head] >= 0) & (actions[head] < size)).all() for head, size in zip(HEADS, sizes, strict=True)
        )
        if fits:
            return f"; bins={shown_bins(sizes)} would fit"
    return ""


def shown_bins(sizes: Sequence[int]) -> str:
    """Head sizes as `bins=` takes them: 11, (5, 9) or all seven."""
    move, aim = sizes[0], sizes[2]
    if head_sizes((move, aim)) != tuple(sizes):
        return str(list(sizes))
    return str(move) if move == aim else f"({move}, {aim})"
