"""`load_sequences`: recorded ticks and live feedback as one set of sequences, with what was left out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ludory.envs.arena.codec import HEADS
from ludory.errors import DataError

from . import feedback, recorder
from .find import find
from .flaw import Flaw, Flaws
from .manifest import linked, read_manifest
from .recorded_step import Reading
from .sequence import TrajectorySequence, check_heads, shown_bins

MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class SequenceSet:
    """Sequences of one kind of features and one set of heads."""

    sequences: tuple[TrajectorySequence, ...]
    features: str
    """`seed19`, `live19`, or `mixed` where that was allowed."""
    sizes: tuple[int, ...]
    """Of the seven heads."""
    flaws: tuple[Flaw, ...] = ()
    """What was left out, with `skip_bad`."""
    short: tuple[str, ...] = ()
    """Streams with fewer than 2 steps, left out."""
    unlinked_streams: tuple[str, ...] = ()
    """Streams that no manifest tells of."""
    unlinked_runs: tuple[str, ...] = ()
    """Records of manifests whose stream is not there."""
    ignored_lines: int = 0
    """Lines of streams that are neither control nor step."""


def load_sequences(
    paths: str | Path | Sequence[str | Path],
    reading: Reading | None = None,
    *,
    skip_bad: bool = False,
    split_on_done: bool = False,
    allow_mixed: bool = False,
) -> SequenceSet:
    """Read recorder files, feedback streams and the manifests that tell how the streams' runs ended.

    Args:
        paths: files, folders (with all below them) and patterns.
        reading: how recorded actions and features are read.
        skip_bad: leave out what is wrong, listed in `flaws`, instead of stopping at the first flaw.
        split_on_done: a `done` inside a recorder file begins a new sequence instead of being wrong.
        allow_mixed: take features of both kinds; they share a shape and nothing else.

    Raises:
        DataError: a flaw; no sequence; features of both kinds; or heads of different sizes.
    """
    reading, flaws = reading or Reading(), Flaws(skip_bad)
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    files = find(given)
    sequences: list[TrajectorySequence] = []
    for file in files[recorder.SOURCE]:
        sequences += recorder.read_recorder(file, flaws, reading, split_on_done=split_on_done)
    runs = [run for file in files["manifest"] for run in read_manifest(file, flaws)]
    links = linked(runs, [str(file) for file in files[feedback.SOURCE]], flaws)
    short, ignored = [], 0
    for file in files[feedback.SOURCE]:
        found = feedback.read_feedback(file, flaws, links.runs.get(str(file)), reading.bins or "seed")
        ignored += found.ignored
        if found.sequence is None:
            short.append(str(file))
        else:
            sequences.append(found.sequence)
    if not sequences:
        raise DataError(_why_empty(given, flaws, short))
    return SequenceSet(
        tuple(sequences),
        _features(sequences, allow_mixed),
        _sizes(sequences),
        tuple(flaws.found),
        tuple(short),
        tuple(links.unlinked_streams),
        tuple(links.unlinked_runs),
        ignored,
    )


def _why_empty(paths: Sequence[str | Path], flaws: Flaws, short: Sequence[str]) -> Flaw:
    left_out = [str(flaws.found[0])] if flaws.found else []
    left_out += [f"{len(short)} streams of fewer than {feedback.FEWEST_STEPS} steps"] if short else []
    got = "no sequence" + (f" ({'; '.join(left_out)})" if left_out else "")
    return Flaw(", ".join(map(str, paths)), None, "path", got, "a recorder file or a feedback stream with steps")


def _features(sequences: Sequence[TrajectorySequence], allow_mixed: bool) -> str:
    first: dict[str, str] = {}
    for sequence in sequences:
        first.setdefault(sequence.extras["features"], sequence.extras["path"])
    if len(first) == 1:
        return next(iter(first))
    if not allow_mixed:
        got = " and ".join(f"{kind} ({path})" for kind, path in first.items())
        wanted = "one kind: they share a shape and nothing else; name them apart, or allow_mixed=True"
        raise DataError(Flaw(next(iter(first.values())), None, "features", got, wanted))
    return MIXED


def _sizes(sequences: Sequence[TrajectorySequence]) -> tuple[int, ...]:
    """Head sizes of all, checked."""
    sizes: tuple[int, ...] = sequences[0].extras["sizes"]
    for sequence in sequences:
        if sequence.extras["sizes"] != sizes:
            got = f"{list(sequence.extras['sizes'])}, in {sequences[0].extras['path']} {list(sizes)}"
            wanted = f"the same in all files; read them apart, with bins={shown_bins(sizes)} the latter"
            raise DataError(Flaw(sequence.extras["path"], None, "bins", got, wanted))
        check_heads(sequence, dict(zip(HEADS, sizes, strict=True)))
    return sizes
