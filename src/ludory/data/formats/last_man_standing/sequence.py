"""`TrajectorySequence`: what one player saw and did in consecutive steps, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.arena.codec import HEADS, PRESETS, head_sizes
from ludory.errors import DataError

from .checked_lines import Flaw

STEPS = "steps"
"""Key of `extras` for lists and arrays with one entry per step."""
TIMED = ("obs", "rewards", "dones", "behavior_logp", "terminated", "truncated", "actions", "behavior_logp_heads")
"""Fields with one entry per step, by themselves or for every head."""


@dataclass(frozen=True)
class TrajectorySequence:
    """T consecutive steps of one player. The last step has `dones` 1 unless the steps are cut out of a longer sequence.

    Raises:
        DataError: fields differ in length; the message names each with its length.
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
    """[T], log-probability of the whole action under the behaviour policy; NaN where unknown, never 0."""
    terminated: NDArray[np.bool_]
    """[T], the game ended for the player."""
    truncated: NDArray[np.bool_]
    """[T], the recording ended before the game did."""
    behavior_logp_heads: dict[str, NDArray[np.float32]]
    """{head: [T]}, log-probability of each head; NaN where unknown."""
    extras: dict[str, Any] = field(default_factory=dict)
    """`source`, `path`, `terminal_outcome`, ..., and `steps`: {name: [T]}."""

    def __post_init__(self) -> None:
        lengths = {name: len(values) for name, values in self._timed()}
        if len(set(lengths.values())) > 1:
            got = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise DataError(Flaw(str(self.extras.get("path", "sequence")), None, "length", got, "one length for all"))

    def _timed(self) -> Iterator[tuple[str, Any]]:
        """Name and values of everything that has one entry per step."""
        for name in TIMED:
            values = getattr(self, name)
            parts = (
                {f"{name}[{head}]": part for head, part in values.items()}
                if isinstance(values, dict)
                else {name: values}
            )
            yield from parts.items()
        yield from ((f"extras[{STEPS}][{name}]", values) for name, values in self.extras.get(STEPS, {}).items())

    @property
    def length(self) -> int:
        """T, number of steps."""
        return len(self.obs)

    @property
    def has_log_probs(self) -> bool:
        """Whether the log-probability of every action is known."""
        return not bool(np.isnan(self.behavior_logp).any())


def unknown_heads(length: int) -> dict[str, NDArray[np.float32]]:
    """Log-probabilities of all heads where none were recorded: NaN."""
    return {name: np.full(length, np.nan, np.float32) for name in HEADS}


def check_heads(sequence: TrajectorySequence, sizes: Mapping[str, int]) -> None:
    """Refuse actions that heads of these sizes cannot take.

    Raises:
        DataError: a head is unknown or missing, or a bin lies outside its head; the message names head, value, range, and the
            `bins=` that would fit, if any.
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
    """Words for the `bins=` preset that these actions fit; empty if there is none."""
    for sizes in PRESETS.values():
        fits = all(
            ((actions[head] >= 0) & (actions[head] < size)).all() for head, size in zip(HEADS, sizes, strict=True)
        )
        if fits:
            return f"; bins={shown_bins(sizes)} would fit"
    return ""


def shown_bins(sizes: Sequence[int]) -> str:
    """Head sizes as they are given to `bins=`: 11, (5, 9) or all seven."""
    move, aim = sizes[0], sizes[2]
    if head_sizes((move, aim)) != tuple(sizes):
        return str(list(sizes))
    return str(move) if move == aim else f"({move}, {aim})"
