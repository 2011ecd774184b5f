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
MOST_LISTED = 20


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


def summary_lines(summary: dict[str, Any]) -> list[str]:
    """The summary in words."""
    length = summary["length"]
    lines = [
        f"{summary['episodes']:,} episodes, {summary['steps']:,} steps of {summary['features']}, {_counts(summary['sources'])}",
        f"length: {length['min']} to {length['max']}, mean {length['mean']:.1f}",
        f"reward sum: {summary['reward_sum']:g}",
        f"ends: {_counts(summary['ends'])}",
        *(f"outcomes, {name}: {_counts(found)}" for name, found in summary["outcomes"].items() if found),
        f"log-probabilities: known in {summary['log_probs']:,} episodes"
        + ("" if summary["log_probs"] == summary["episodes"] else "; the others are usable for bc and KL only"),
        *(f"{head}: {_counts(found)}" for head, found in summary["actions"].items()),
    ]
    for name, words in (
        ("frozen", "every line shows one place of a body that moves"),
        ("short", "streams of fewer than 2 steps, left out"),
        ("unlinked_streams", "streams that no manifest tells of"),
        ("unlinked_runs", "records of manifests without a stream"),
    ):
        if summary[name]:
            lines += [f"{words}: {len(summary[name]):,}", *(f"  {one}" for one in summary[name][:MOST_LISTED])]
    if summary["ignored_lines"]:
        lines.append(f"lines of streams that are neither control nor step: {summary['ignored_lines']:,}")
    return lines


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in found.items())
