"""Manifests of live runs, `manifest.jsonl`: which feedback stream a run wrote, and how the run ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ludory.reading import shown

from . import fields
from .flaw import FieldError, Flaws
from .lines import json_lines
from .outcome import WORDS, value_of, words_of

NAME = "manifest.jsonl"
STREAM, FINISH, STOP = (
    ("runtime_feedback_jsonl", "runtime_feedback"),
    ("run_finish_line", "run_finish"),
    ("run_stop_line", "run_stop"),
)
"""Names of a field: as it is written, and as it was read."""


class LiveRun(NamedTuple):
    """A record of a manifest."""

    path: str
    line: int
    stream: str
    """The feedback stream's last two path components; empty: the run has none."""
    word: str
    """How it ended; empty where the record does not tell."""

    @property
    def outcome(self) -> float:
        """+1, -1 or 0."""
        return value_of(self.word)

    @property
    def place(self) -> str:
        """Path and line."""
        return f"{self.path}, line {self.line}"


class Links(NamedTuple):
    """Runs and streams that belong together, and what is left over."""

    runs: dict[str, LiveRun]
    """By path of the stream."""
    unlinked_streams: list[str]
    unlinked_runs: list[str]


def read_manifest(file: str | Path, flaws: Flaws) -> list[LiveRun]:
    """The records of a manifest, a byte-order mark allowed. Records have nothing to do with each other: a bad one is left out alone.

    Raises:
        DataError: a flaw, if `flaws` stop.
    """
    runs = []
    for line in json_lines(file, flaws, packed=False, go_on=True):
        try:
            stream = _field(line.content, STREAM)
            word = _word(line.content, flaws, str(file), line.number)
        except FieldError as bad:
            flaws.add(file, line.number, bad.field, bad.got, bad.wanted)
        else:
            runs.append(LiveRun(str(file), line.number, link(stream), word))
    return runs


def link(path: str) -> str:
    """The last two components of a path of any system."""
    return "/".join([part for part in path.replace("\\", "/").split("/") if part][-2:])


def _field(content: Mapping[str, Any], names: tuple[str, str]) -> str:
    """The value under either name; "" where there is none."""
    found = {name: fields.word(content[name], name) for name in names if content.get(name) is not None}
    if len(set(found.values())) > 1:
        written, read = names
        raise FieldError(read, shown(found[read]), f"{shown(found[written])} as in {written!r}, or left out")
    return next(iter(found.values()), "").strip()


def _word(content: Mapping[str, Any], flaws: Flaws, path: str, line: int) -> str:
    """How the run ended; "" (an outcome of 0) where nothing or nothing known is said."""
    words = words_of([_field(content, FINISH), _field(content, STOP)])
    if len(words) == 1 and words[0] in WORDS:
        return words[0]
    if words:
        wanted = f"one of {', '.join(WORDS)} (counted as 0 with skip_bad)"
        flaws.add(path, line, FINISH[0], f"the outcome {' and '.join(map(repr, words))}", wanted)
    return ""


def linked(runs: Iterable[LiveRun], streams: Sequence[str], flaws: Flaws) -> Links:
    """Which run wrote which stream, told by the last two components of the stream's path.

    Args:
        runs: of all manifests.
        streams: paths of the feedback streams.
        flaws: told of two streams for one record and of two records for one stream; such are not linked.

    Raises:
        DataError: a flaw, if `flaws` stop, naming all that claim to belong together.
    """
    runs_of: dict[str, list[LiveRun]] = {}
    streams_of: dict[str, list[str]] = {}
    unlinked = []
    for run in runs:
        runs_of.setdefault(run.stream, []).append(run)
    for stream in streams:
        streams_of.setdefault(link(stream), []).append(stream)
    found: dict[str, LiveRun] = {}
    for key, records in runs_of.items():
        wrote = streams_of.get(key, []) if key else []
        if len(wrote) == 1 and len(records) == 1:
            found[wrote[0]] = records[0]
            continue
        if wrote:
            got = f"{len(records)} records ({'; '.join(run.place for run in records)}) and {len(wrote)} streams ({'; '.join(wrote)}) of {key}"
            flaws.add(records[0].path, records[0].line, STREAM[0], got, "one record for one stream")
        unlinked += [run.place for run in records]
    return Links(found, [stream for stream in streams if stream not in found], unlinked)
