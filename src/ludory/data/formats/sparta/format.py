"""The format of search logs in Hanabi, as commands know it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ludory.data import GameFormat, StoredGames
from ludory.errors import DataError, OptionError

if TYPE_CHECKING:
    from ludory.data import TrajectoryDataset
    from ludory.envs import Game

NAME = "sparta_games"
"""Name without suffix of the file that `ludory record` writes."""
HEAD = 1 << 16
"""Bytes at the beginning of a file by which a log is recognised."""


@dataclass(frozen=True, kw_only=True)
class SpartaFormat(GameFormat):
    """One JSON record per decision, as JSON lines or one JSON array."""

    id = "sparta"
    title = "a log of a search (SPARTA)"
    default_game = "Hanabi2P-v0"
    beside = ("jsonl", "json")
    of_part = True

    action_order: str | None = None
    """sparta: ludory, play_first or play_first_bw (default: what the log says)."""
    bomb: str | None = None
    """sparta: zero or keep, how rewards count a bomb (default: what the log says)."""
    allow_truncated: bool = False
    """sparta: read games without an end as cut off."""

    def holds(self, path: Path) -> bool:
        """Whether a file begins with a record of a search log, plain or gzip."""
        from ludory.reading import unpacked

        if not path.is_file():
            return False
        with unpacked(path).handle as handle:
            head = handle.read(HEAD)
        return any(f'"{name}"'.encode() in head for name in ("obs_vec", "action_sparta"))

    def read(self, files: Sequence[str | Path], game: Game | None = None) -> StoredGames:
        """As `read_sparta_log`."""
        from .log import read_sparta_log

        log = read_sparta_log(
            files,
            game or self.default_game,
            action_order=self.action_order,
            bomb=self.bomb,
            on_error=self.on_error,
            allow_truncated=self.allow_truncated,
        )
        notes = [f"left out {log.skipped_games:,} games"] if log.skipped_games else []
        notes += [f"ignored: field {name!r} of {count:,} records" for name, count in log.unknown_fields.items()]
        return StoredGames(log.header, [log.columns], log.problems, notes)

    def as_dataset(self, path: Path, observation: str | None, remap_vocab: bool) -> Path:
        """Say what learns from logs.

        Raises:
            DataError: always.
        """
        raise DataError(
            f"{path}: {self.title}, which does not say which game was played; name it, such as --env Hanabi2P-v0 "
            '(env="Hanabi2P-v0"), with `ludory train distill`'
        )

    def write(self, dataset: TrajectoryDataset, folder: Path) -> str:
        """As `write_sparta_log`, JSON lines."""
        from .writer import write_sparta_log

        file = folder / f"{NAME}.jsonl"
        return f"{write_sparta_log(file, dataset.header, dataset.tables()):,} records in {file}"

    def check_game(self, game: Game, word: str) -> None:
        """Refuse all but Hanabi."""
        if game.facts.name != "Hanabi":
            raise OptionError(f"--format {word} is for Hanabi, got {game.id}; leave it out, or name Hanabi2P-v0")

    def is_beside(self, folder: Path, word: str) -> bool:
        """Whether the recording has a log."""
        return (folder / f"{NAME}.{word}").exists()

    def write_beside(self, folder: Path, word: str) -> str:
        """Write all whole games so far."""
        from ludory.claims import claimed
        from ludory.data import read_manifest
        from ludory.data.recording.search_record import recorded_games

        from .writer import write_sparta_log

        file = folder / f"{NAME}.{word}"
        with claimed(file, wait=True):  # the log of a process that ends earlier must not come behind
            manifest = read_manifest(folder)
            records = write_sparta_log(file, manifest.header, recorded_games(folder, manifest), word)  # type: ignore[arg-type]
        return f"{records:,} records in {file}"
