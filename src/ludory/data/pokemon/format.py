"""The format of trajectories of battles, as commands know it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ludory.data import CheckedGames, GameFormat, StoredGames

if TYPE_CHECKING:
    from ludory.envs import Game


class BattleTrajectoryFormat(GameFormat):
    """JSON lines with the trajectory of one player each."""

    id = "battle-jsonl"
    title = "trajectories of battles"
    files = ("*.jsonl", "*.json", "*.jsonl.gz", "*.json.gz")

    def holds(self, path: Path) -> bool:
        """Whether the first line of a file is a trajectory of a battle, or looks like a damaged one."""
        from ludory.reading import unpacked

        if not path.is_file():
            return False
        with unpacked(path).handle as handle:
            return b'"replay_id"' in handle.read(400)

    def read(self, files: Sequence[str | Path], game: Game | None = None) -> StoredGames:
        """As `BattleTrajectories`."""
        from ludory.data.formats.battles import BattleTrajectories

        battles = BattleTrajectories(files, on_error=self.on_error)
        notes = [f"left out {battles.skipped_battles:,} games"] if battles.skipped_battles else []
        notes += [f"absent, read as 0: {name} in {count:,} steps" for name, count in battles.absent.items()]
        notes += [f"ignored, no number: {name} in {count:,} steps" for name, count in battles.ignored.items()]
        return StoredGames(battles.header, battles.parts(), battles.skipped, notes)

    def check(self, paths: Sequence[str], game: Game | None = None) -> CheckedGames:
        """Statistics; labels from which nothing can be learned are a fault."""
        from .statistics import statistics_lines, statistics_of

        skipped: list[str] = []
        found = statistics_of(paths, skipped)
        faults = found.problems()
        lines = [f"left out: {one}" for one in skipped] + [f"fault: {one}" for one in faults]
        summary = found.as_json() | {"problems": faults, "skipped": skipped}
        return CheckedGames(summary, [*statistics_lines(found), *lines], not skipped and not faults)

    def as_dataset(self, path: Path, observation: str | None, remap_vocab: bool) -> Path:
        """As `cached_shards`."""
        from .shards import cached_shards

        return cached_shards(path, observation, remap_vocab)
