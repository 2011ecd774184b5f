"""Manifests of live runs, `manifest.jsonl`: which feedback stream a run wrote, how the run ended, and what that is worth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ludory.data.formats.json_fields import FieldError, text
from ludory.reading import shown

from .checked_lines import Flaws, json_lines

NAME = "manifest.jsonl"
STREAM, FINISH, STOP = (
    ("runtime_feedback_jsonl", "runtime_feedback"),
    ("run_finish_line", "run_finish"),
    ("run_stop_line", "run_stop"),
)
"""Each field has two names: the one that bots write, and the one that older readers expected."""

WIN = ("win",)
LOSS = ("loss", "defeat", "death_event")
DRAW = ("draw",)
TERMINATED = ("death", "match_end_event", *WIN, *LOSS, *DRAW)
"""The game ended."""
TRUNCATED = ("max_runtime_reached", "loop_exit")
"""The run was cut off before the game ended."""
WORDS = (*TERMINATED, *TRUNCATED)
OUTCOME_WORDS = (*WIN, *LOSS, *DRAW)
REASON = re.compile(r"\breason=([\w-]*)")
WHOLE_WORD = re.compile(rf"\b(?:{'|'.join(OUTCOME_WORDS)})\b", re.IGNORECASE)


class LiveRun(NamedTuple):
    """A record of a manifest."""

    path: str
    line: int
    stream: str
    """The feedback stream's last two path components; empty: the run has none."""
    word: str
    """How it ended; empty where the record does not say."""

    @property
    def outcome(self) -> float:
        """+1, -1 or 0."""
        return value_of(self.word)

    @property
    def place(self) -> str:
        """Path and line."""
        return f"{self.path}, line {self.line}"


class Links(NamedTuple):
    """Which runs and streams belong together, and those without a partner."""

    runs: dict[str, LiveRun]
    """By path of the stream."""
    unlinked_streams: list[str]
    unlinked_runs: list[str]


def read_manifest(file: str | Path, flaws: Flaws) -> list[LiveRun]:
    """Read the records of a manifest. They are independent: a bad one is skipped alone.

    Raises:
        DataError: a flaw, unless `flaws` lists.
    """
    runs = []
    for line in json_lines(file, flaws, packed=False, go_on=True):
        try:
            stream = _field(line.content, STREAM)
            word = _word(line.content, flaws, str(file), line.number)
        except FieldError as bad:
            flaws.add_field(file, line.number, bad)
        else:
            runs.append(LiveRun(str(file), line.number, link(stream), word))
    return runs


def link(path: str) -> str:
    """The last two components of a path, with either kind of slash."""
    # the rest of the path is of the machine that wrote it
    return "/".join([part for part in path.replace("\\", "/").split("/") if part][-2:])


def _field(content: Mapping[str, Any], names: tuple[str, str]) -> str:
    """The value under either name; "" where there is none."""
    found = {name: text(content[name], name) for name in names if content.get(name) is not None}
    # both names may stand there if they agree
    if len(set(found.values())) > 1:
        written, read = names
        raise FieldError(read, shown(found[read]), f"{shown(found[written])} as in {written!r}, or left out")
    return next(iter(found.values()), "").strip()


def _word(content: Mapping[str, Any], flaws: Flaws, path: str, line: int) -> str:
    """How the run ended; "" (an outcome of 0) where the record says nothing, or nothing known."""
    words = words_of([_field(content, FINISH), _field(content, STOP)])
    if len(words) == 1 and words[0] in WORDS:
        return words[0]
    if words:
        wanted = f"one of {', '.join(WORDS)} (counted as 0 with skip_bad)"
        flaws.add(path, line, FINISH[0], f"the outcome {' and '.join(map(repr, words))}", wanted)
    return ""


def linked(runs: Iterable[LiveRun], streams: Sequence[str], flaws: Flaws) -> Links:
    """Match runs with streams by the last two components of the stream's path.

    Args:
        runs: of all manifests.
        streams: paths of the feedback streams.
        flaws: receives two streams for one record and two records for one stream; these are not linked.

    Raises:
        DataError: a flaw, unless `flaws` lists; the message names all records and streams in conflict.
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
        # an empty link is that of runs without a stream
        wrote = streams_of.get(key, []) if key else []
        if len(wrote) == 1 and len(records) == 1:
            found[wrote[0]] = records[0]
            continue
        # neither one can be told apart from the others
        if wrote:
            got = f"{len(records)} records ({'; '.join(run.place for run in records)}) and {len(wrote)} streams ({'; '.join(wrote)}) of {key}"
            flaws.add(records[0].path, records[0].line, STREAM[0], got, "one record for one stream")
        unlinked += [run.place for run in records]
    return Links(found, [stream for stream in streams if stream not in found], unlinked)


def value_of(word: str) -> float:
    """+1, -1, or 0 for a word that does not name an outcome."""
    return 1.0 if word in WIN else -1.0 if word in LOSS else 0.0


def words_of(lines: Sequence[str]) -> list[str]:
    """The words that say how a run ended: the `reason=` of the first line that has one, else the outcome words of the first line with any.

    More than one word means that the line contradicts itself. Only whole words count: an attacker called "Winston" is not a win.
    """
    for line in lines:
        found = REASON.search(line)
        if found:
            return [found[1].lower()]
    for line in lines:
        words = {word.lower() for word in WHOLE_WORD.findall(line)}
        if words:
            # sorted, so that messages do not depend on the order of a set
            return sorted(words)
    return []
