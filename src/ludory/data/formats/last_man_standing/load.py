"""`load_sequences`: finds recorder files and feedback streams and reads them as one set of sequences, with what was left out."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from ludory.envs.arena.codec import HEADS
from ludory.errors import DataError

from . import feedback, manifest, recorder
from .checked_lines import Flaw, Flaws
from .recorder import Reading
from .sequence import TrajectorySequence, check_heads, shown_bins

MIXED = "mixed"
KINDS = {recorder.SOURCE: recorder.PATTERN, feedback.SOURCE: feedback.NAME, "manifest": manifest.NAME}
"""Kind of file -> pattern of its names."""
WILD = "*?["
MOST_FOLDERS = 2000
"""Number of folders searched for the hint in an error message."""
LEVELS_UP = 2


@dataclass(frozen=True, slots=True)
class SequenceSet:
    """Sequences with the same features and the same heads."""

    sequences: tuple[TrajectorySequence, ...]
    features: str
    """`seed19`, `live19`, or `mixed` if that was allowed."""
    sizes: tuple[int, ...]
    """Sizes of the seven heads."""
    flaws: tuple[Flaw, ...] = ()
    """What was left out because of `skip_bad`."""
    short: tuple[str, ...] = ()
    """Streams with fewer than 2 steps, left out."""
    unlinked_streams: tuple[str, ...] = ()
    """Streams that no manifest mentions."""
    unlinked_runs: tuple[str, ...] = ()
    """Records of manifests whose stream is missing."""
    ignored_lines: int = 0
    """Lines of streams that are neither control nor step."""


def load_sequences(
    paths: str | Path | Sequence[str | Path],
    reading: Reading | None = None,
    *,
    skip_bad: bool = False,
    split_on_done: bool = False,
    allow_mixed: bool = False,
    kinds: Collection[str] = (),
) -> SequenceSet:
    """Read recorder files, feedback streams, and the manifests that say how the runs of the streams ended.

    Args:
        paths: files, folders (with all below them) and patterns.
        reading: how recorded actions and features are read.
        skip_bad: leave out what is wrong and list it in `flaws`, instead of stopping at the first flaw.
        split_on_done: a `done` inside a recorder file begins a new sequence instead of being a flaw.
        allow_mixed: accept features of both kinds, which have one shape but different meanings.
        kinds: of `KINDS`, which to take from folders that hold others, too; empty: all.

    Raises:
        DataError: there is a flaw, no sequence, features of both kinds, or heads of different sizes.
    """
    reading, flaws = reading or Reading(), Flaws(skip_bad)
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    files = _find(given, kinds or KINDS)
    sequences: list[TrajectorySequence] = []
    for file in files[recorder.SOURCE]:
        sequences += recorder.read_recorder(file, flaws, reading, split_on_done=split_on_done)
    # manifests are read before the streams whose ends they tell
    runs = [run for file in files["manifest"] for run in manifest.read_manifest(file, flaws)]
    links = manifest.linked(runs, [str(file) for file in files[feedback.SOURCE]], flaws)
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
        sequences=tuple(sequences),
        features=_features(sequences, allow_mixed),
        sizes=_sizes(sequences),
        flaws=tuple(flaws.found),
        short=tuple(short),
        unlinked_streams=tuple(links.unlinked_streams),
        unlinked_runs=tuple(links.unlinked_runs),
        ignored_lines=ignored,
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
    """The head sizes that all sequences share, checked."""
    sizes: tuple[int, ...] = sequences[0].extras["sizes"]
    for sequence in sequences:
        # heads of other sizes are other action ids
        if sequence.extras["sizes"] != sizes:
            got = f"{list(sequence.extras['sizes'])}, in {sequences[0].extras['path']} {list(sizes)}"
            wanted = f"the same in all files; read them apart, with bins={shown_bins(sizes)} the latter"
            raise DataError(Flaw(sequence.extras["path"], None, "bins", got, wanted))
        check_heads(sequence, dict(zip(HEADS, sizes, strict=True)))
    return sizes


def _find(paths: Sequence[str | Path], kinds: Collection[str]) -> dict[str, list[Path]]:
    """The files of each kind: those named, those of `kinds`, if there are some, below the folders named, and those that patterns such as "runs/*/ep_*.jsonl.gz" match.

    Raises:
        DataError: a file is of no known kind, or nothing is found for a path; the message names the patterns and the nearest folder
            with such files.
    """
    files: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in paths:
        found = [(_kind(file), file) for file in _files(Path(path))]
        wanted = [(kind, file) for kind, file in found if kind in kinds]
        for kind, file in wanted or found:  # whoever asks for one kind and has another is told what the files hold
            files[kind].append(file)
    # a file may be named twice
    return {kind: sorted(set(found)) for kind, found in files.items()}


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if path.is_dir():
        found, pattern = [file for file in path.rglob("*") if file.is_file() and _is_known(file)], _patterns()
    else:
        found, pattern = [file for file in _matches(path) if file.is_file()], str(path)
    if not found:
        raise DataError(_nothing(path, pattern))
    return found


def _matches(path: Path) -> Iterator[Path]:
    parts = path.parts
    # the part before the first wildcard is a folder to search in
    wild = next((number for number, part in enumerate(parts) if set(part) & set(WILD)), None)
    if wild is not None:
        yield from Path(*parts[:wild]).glob(str(Path(*parts[wild:])))


def _is_known(file: Path) -> bool:
    return any(fnmatch(file.name, pattern) for pattern in KINDS.values())


def _kind(file: Path) -> str:
    for kind, pattern in KINDS.items():
        if fnmatch(file.name, pattern):
            return kind
    raise DataError(Flaw(str(file), None, "file", f"the name {file.name}", f"a file called {_patterns()}"))


def _patterns() -> str:
    *most, last = KINDS.values()
    return f"{', '.join(most)} or {last}"


def _nothing(path: Path, pattern: str) -> Flaw:
    got = "an empty folder" if path.is_dir() and not any(path.iterdir()) else "no such file"
    near = _nearest(path)
    hint = f"; the nearest folder with such files is {near}" if near else ""
    return Flaw(
        str(path), None, "path", f"{got} for {pattern}", f"a file or folder with files called {_patterns()}{hint}"
    )


def _nearest(path: Path) -> Path | None:
    """The nearest folder with such files, at most two levels above the existing part of `path`."""
    here = path.absolute()
    while not here.is_dir():
        here = here.parent
    for above in [here, *here.parents][: LEVELS_UP + 1]:
        for folder in _folders(above):
            with os.scandir(folder) as entries:
                if any(_is_known(Path(entry.name)) and entry.is_file() for entry in entries):
                    return folder
    return None


def _folders(top: Path) -> Iterator[Path]:
    """`top` and the folders below it, nearer ones first."""
    waiting, seen = [top], 0
    while waiting and seen < MOST_FOLDERS:
        folder = waiting.pop(0)
        seen += 1
        try:
            with os.scandir(folder) as entries:
                inner = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        except OSError:
            continue
        yield folder
        waiting += [folder / name for name in inner if not name.startswith(".")]
