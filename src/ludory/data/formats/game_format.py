"""`GameFormat`: what can be done with recorded games in one format of files. `known.py` finds the formats that are installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from ludory.arguments import as_typed
from ludory.errors import DataError, OptionError

if TYPE_CHECKING:
    from ludory.data.columns import Columns
    from ludory.data.dataset import TrajectoryDataset
    from ludory.data.header import TrajectoryHeader
    from ludory.envs.game import Game

MOST_LISTED = 20


class StoredGames(NamedTuple):
    """What `GameFormat.read` found."""

    header: TrajectoryHeader
    parts: Iterable[Columns]
    """Whole games, a few at a time; the rows of a game follow each other in the order of its moves."""
    left_out: Sequence[str] = ()
    """What `skip_bad` left out, and why."""
    notes: Sequence[str] = ()
    """Further lines for people."""


class CheckedGames(NamedTuple):
    """What `GameFormat.check` found."""

    summary: dict[str, Any]
    """Plain values for JSON."""
    lines: list[str]
    """The same for people."""
    sound: bool
    """False if something is wrong, or was left out."""


@dataclass(frozen=True, kw_only=True)
class GameFormat:
    """A format of recorded games, which `ludory convert`, `check data` and `record` and learners know by its id.

    A subclass overrides what its format can do. Its fields are its options, each with a default and a docstring: `ludory convert` and
    `ludory check data` have them by the same names, and formats share a name that both have. A subclass with fields of its own is
    decorated with `@dataclass(frozen=True, kw_only=True)`. Commands import the modules of all formats: large libraries are better
    imported in methods.

    Attributes:
        id: name of its entry point in the group `ludory.formats`.
        title: what messages call such a file or folder.
        files: patterns of the names of its files, such as `*.jsonl`.
        default_game: id of the game whose recordings do not say what was played; None: the header is made without a game.
        beside: words of `ludory record --format` for which `write_beside` is called.
        of_part: whether that is done for a recording that was stopped, too.
        family: formats of one family are checked together; "": alone.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    files: ClassVar[tuple[str, ...]] = ()
    default_game: ClassVar[str | None] = None
    beside: ClassVar[tuple[str, ...]] = ()
    of_part: ClassVar[bool] = False
    family: ClassVar[str] = ""

    skip_bad: bool = False
    """Leave out whole games with a problem and list them, instead of stopping at the first."""

    @property
    def on_error(self) -> Literal["raise", "skip-game"]:
        """`skip_bad` as Ludory's own readers of files take it: "raise" or "skip-game"."""
        return "skip-game" if self.skip_bad else "raise"

    @classmethod
    def can(cls, method: str) -> bool:
        """Whether the format overrides a method, such as "read" or "write"."""
        return getattr(cls, method) is not getattr(GameFormat, method)

    def is_named(self, path: Path) -> bool:
        """Whether `path` is called like a file of this format."""
        return any(fnmatch(path.name, pattern) for pattern in self.files) and path.is_file()

    def holds(self, path: Path) -> bool:
        """Whether `path` is a file or folder of this format, by its name and at most by the beginning of its files."""
        return self.is_named(path)

    def read(self, files: Sequence[str | Path], game: Game | None = None) -> StoredGames:
        """Read games; everything is checked before the first part is handed out.

        Args:
            files: those that were named: one or more files, or a folder if `holds` accepts folders.
            game: what was played, if the user named it or the format has a `default_game`.

        Raises:
            DataError: a file is not of this format; the message says the file, the place, and what is allowed there.
            OptionError: the game, or an option, does not fit.
        """
        raise NotImplementedError

    def write(self, dataset: TrajectoryDataset, folder: Path) -> str:
        """Write a dataset to a folder; returns a line that says what is where.

        Raises:
            DataError, OptionError: its games cannot be written in this format, or the folder has some.
        """
        raise NotImplementedError

    def check(self, paths: Sequence[str], game: Game | None = None) -> CheckedGames:
        """Read all of every path, as `read`, and sum it up."""
        stored = {path: self.read([path], game) for path in paths}
        summaries = {path: _summary(one) for path, one in stored.items()}
        lines = [line for path, one in summaries.items() for line in _lines(path, one, stored[path].notes)]
        return CheckedGames(summaries, lines, not any(one.left_out for one in stored.values()))

    def as_dataset(self, path: Path, observation: str | None, remap_vocab: bool) -> Path:
        """A dataset that is made of a file where learners are given it, such as one in the cache folder.

        Args:
            path: the file, or a folder.
            observation: what to compute of the recorded games, None: the format's choice.
            remap_vocab: accept files of other vocabularies.

        Raises:
            DataError: by default, with the command that converts the file.
        """
        raise DataError(f"{path}: {self.title}; convert them first: {self.conversion(path)}")

    def conversion(self, path: Path) -> str:
        """The command that makes a dataset of a file."""
        return f"`ludory convert {as_typed(path)} --from {self.id} --out {self.id}-games`"

    def check_game(self, game: Game, word: str) -> None:
        """Refuse a game that `ludory record --format word` cannot write, before it is played.

        Raises:
            OptionError: names games that it can write.
        """

    def write_beside(self, folder: Path, word: str) -> str:
        """Write the games of the recording in `folder` into it in this format, in place of what is there; returns a line."""
        raise NotImplementedError

    def is_beside(self, folder: Path, word: str) -> bool:
        """Whether a recording has files of `write_beside` already, which must not stay behind its games."""
        return False

    def only_one(self, files: Sequence[str | Path]) -> Path:
        """The only one of `files`.

        Raises:
            OptionError: there are several.
        """
        if len(files) > 1:
            raise OptionError(f"--from {self.id} takes one dataset, got {len(files)}: {', '.join(map(str, files))}")
        return Path(files[0])


def _summary(stored: StoredGames) -> dict[str, Any]:
    from ludory.data.columns import game_starts

    header, games, decisions = stored.header, 0, 0
    rewards = [0.0] * header.players
    for part in stored.parts:
        games, decisions = games + len(game_starts(part.games)), decisions + len(part.games)
        for seat in range(header.players):
            rewards[seat] += float(part.rewards[part.seats == seat].sum())
    return {
        "game": header.game,
        "options": dict(header.options),
        "seed": header.seed,
        "agents": list(header.agents) or [f"seat {seat}" for seat in range(header.players)],
        "games": games,
        "decisions": decisions,
        "returns_from_first_decision": [total / max(games, 1) for total in rewards],
        "left_out": list(stored.left_out),
    }


def _lines(path: str, one: dict[str, Any], notes: Sequence[str]) -> list[str]:
    returns = zip(one["agents"], one["returns_from_first_decision"], strict=True)
    return [
        f"{path}: {one['games']:,} games of {one['game']}, {one['decisions']:,} decisions, all sound",
        f"  mean return by seat, from its first decision on: {', '.join(f'{who} {mean:.3f}' for who, mean in returns)}",
        *(f"  left out: {problem}" for problem in one["left_out"][:MOST_LISTED]),
        *(f"  {note}" for note in notes),
    ]
