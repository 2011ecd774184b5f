"""`summary_of`: the content of a set of sequences in numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ludory.envs.arena.codec import HEADS

from . import feedback
from .load import SequenceSet
from .sequence import TrajectorySequence

POSITION, VELOCITY = slice(0, 2), slice(2, 4)
"""Of a body, in the features of recorded ticks."""


def summary_of(data: SequenceSet) -> dict[str, Any]:
    """Plain values for JSON.

    episodes, steps, length {min, mean, max}, reward_sum, features, bins, sources {name: episodes},
    ends {terminated, truncated: episodes}, outcomes {linked, unlinked: {outcome: streams}}, actions {head: {bin: steps}},
    log_probs (episodes in which all are known), frozen (paths of episodes whose lines all show one position of a moving body),
    short, unlinked_streams, unlinked_runs, ignored_lines, flaws.
    """
    sequences = data.sequences
    lengths = np.array([sequence.length for sequence in sequences])
    live = [sequence.extras for sequence in sequences if sequence.extras["source"] == feedback.SOURCE]
    return {
        "episodes": len(sequences),
        "steps": int(lengths.sum()),
        "length": {"min": int(lengths.min()), "mean": float(lengths.mean()), "max": int(lengths.max())},
        "reward_sum": float(sum(sequence.rewards.sum(dtype=np.float64) for sequence in sequences)),
        "features": data.features,
        "bins": list(data.sizes),
        "sources": dict(Counter(sequence.extras["source"] for sequence in sequences)),
        "ends": dict(Counter(map(_end, sequences))),
        "outcomes": {
            name: dict(Counter(f"{extras['terminal_outcome']:+g}" for extras in live if extras["linked"] == is_linked))
            for name, is_linked in (("linked", True), ("unlinked", False))
        },
        "actions": {head: _histogram(sequences, head) for head in HEADS},
        "log_probs": sum(sequence.has_log_probs for sequence in sequences),
        "frozen": [sequence.extras["path"] for sequence in sequences if _is_frozen(sequence)],
        "short": list(data.short),
        "unlinked_streams": list(data.unlinked_streams),
        "unlinked_runs": list(data.unlinked_runs),
        "ignored_lines": data.ignored_lines,
        "flaws": [flaw._asdict() for flaw in data.flaws],
    }


def _end(sequence: TrajectorySequence) -> str:
    return "terminated" if sequence.terminated[-1] else "truncated"


def _histogram(sequences: tuple[TrajectorySequence, ...], head: str) -> dict[str, int]:
    counts = np.bincount(np.concatenate([sequence.actions[head] for sequence in sequences]))
    return {str(bin): int(count) for bin, count in enumerate(counts) if count}


def _is_frozen(sequence: TrajectorySequence) -> bool:
    """Whether every line has the same position and speed, as recorders write that keep references to live lists."""
    if sequence.extras["features"] != "seed19" or sequence.length < 2:
        return False
    place, speed = sequence.obs[:, POSITION], sequence.obs[:, VELOCITY]
    return bool((place == place[0]).all() and (speed == speed[0]).all() and speed[0].any())
