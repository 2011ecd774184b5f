"""The formats of the arena's recorder and of live clients, as commands know them."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ludory.arguments import as_typed
from ludory.data import CheckedGames, GameFormat, StoredGames
from ludory.errors import OptionError
from ludory.reading import parse_json

if TYPE_CHECKING:
    from ludory.data import TrajectoryDataset
    from ludory.envs import Game

    from .load import SequenceSet

MOST_FILES = 2000
"""Files of a folder that are looked at."""
LINE = 1 << 20
"""Most bytes of a first line that is read."""
FIELDS = {"tick_id", "observation", "action"}
"""Of every line of a recorder file."""


@dataclass(frozen=True, kw_only=True)
class _TickFormat(GameFormat):
    """What both formats share: they are read together, and folders may hold files of both."""

    family = "ticks"
    features: ClassVar[str]
    """Name of the observation that the files hold."""
    kinds: ClassVar[tuple[str, ...]]
    """Which files of a folder are read; see `load_sequences`."""

    bins: str | None = None
    """recorder, feedback: bins of move and aim: 11, or 5,9 (default: what the files say, else 11)."""
    clamp: bool = False
    """recorder: clamp actions out of range, for old data."""
    split_on_done: bool = False
    """recorder: a `done` inside a file begins a new game."""
    allow_mixed: bool = False
    """check: read recorder files and feedback streams together."""

    def is_named(self, path: Path) -> bool:
        """Whether a file, or one of a folder, is called like those of this format."""
        return any(super(_TickFormat, self).is_named(file) for file in _files(path))

    def load(self, paths: Sequence[str | Path], kinds: Sequence[str] = ()) -> SequenceSet:
        """As `load_sequences`, with these options."""
        from .load import load_sequences
        from .recorder import Reading

        return load_sequences(
            paths,
            Reading(bins=None if self.bins is None else bins_of(self.bins), strict=not self.clamp),
            skip_bad=self.skip_bad,
            split_on_done=self.split_on_done,
            allow_mixed=self.allow_mixed,
            kinds=kinds,
        )

    def read(self, files: Sequence[str | Path], game: Game | None = None) -> StoredGames:
        """As `as_trajectories`, of the files of this format."""
        from .as_trajectories import as_trajectories

        data = self.load(files, self.kinds)
        if data.features != self.features:
            raise OptionError(f"--from {self.id}: the files hold {data.features}, not {self.features}")
        header, columns = as_trajectories(data, game)
        notes = [f"left out, fewer than 2 steps: {stream}" for stream in data.short]
        return StoredGames(header, [columns], list(map(str, data.flaws)), notes)

    def check(self, paths: Sequence[str], game: Game | None = None) -> CheckedGames:
        """Sum up all files, of both formats."""
        from .summary import summary_lines, summary_of

        data = self.load(paths)
        summary = summary_of(data)
        lines = [*summary_lines(summary), *(f"left out: {flaw}" for flaw in data.flaws)]
        return CheckedGames(summary, lines, not data.flaws)


class RecorderFormat(_TickFormat):
    """Ticks of the arena or a game like it, one file for each seat in each game."""

    id = "recorder"
    title = "recorder files of the arena or a game like it"
    files = ("*.jsonl.gz",)
    features = "seed19"
    kinds = ("recorder",)
    beside = ("recorder",)

    def holds(self, path: Path) -> bool:
        """Whether a file, or one of a folder, begins with a recorded tick."""
        return any(GameFormat.is_named(self, file) and _keys(file) >= FIELDS for file in _files(path))

    def write(self, dataset: TrajectoryDataset, folder: Path) -> str:
        """As `write_recorder`."""
        from .recorder_writer import write_recorder

        files = write_recorder(dataset, folder)
        return f"{len(files):,} recorder files in {folder}; `ludory check data {as_typed(folder)}` sums them up"

    def check_game(self, game: Game, word: str) -> None:
        """Refuse all but the arena."""
        if game.facts.name != "Arena":
            raise OptionError(
                f"--format {word} is for the arena, got {game.id}; leave it out, or name Arena2P-v0 or another"
            )

    def write_beside(self, folder: Path, word: str) -> str:
        """Write them to the folder of this name in the recording's."""
        from .recorder_writer import write_recorder

        return f"{len(write_recorder(folder, folder / word)):,} recorder files in {folder / word}"


class FeedbackFormat(_TickFormat):
    """Streams of a live client, and the manifests that say how its runs ended."""

    id = "feedback"
    title = "feedback of a live client"
    files = ("feedback_stream.jsonl", "manifest.jsonl")
    features = "live19"
    kinds = ("live_feedback", "manifest")

    def holds(self, path: Path) -> bool:
        """Whether a file, or one of a folder, is called like these."""
        return self.is_named(path)


def bins_of(text: str) -> int | tuple[int, int]:
    """11 for "11", (5, 9) for "5,9".

    Raises:
        OptionError: neither.
    """
    numbers = [int(part) for part in text.split(",") if part.strip().isdecimal()]
    if len(numbers) != text.count(",") + 1 or len(numbers) > 2 or min(numbers) < 2:
        raise OptionError(f"--bins {text}: must be a number of bins such as 11, or two (move, aim) such as 5,9")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _files(path: Path) -> list[Path]:
    return list(islice(path.rglob("*"), MOST_FILES)) if path.is_dir() else [path]


def _keys(file: Path) -> set[str]:
    """Names of the fields of the first line; empty if it cannot be read."""
    try:
        with gzip.open(file) as lines:
            first = parse_json(lines.readline(LINE).decode("utf-8-sig"))
    except (OSError, EOFError, ValueError):
        return set()
    return set(first) if isinstance(first, dict) else set()
