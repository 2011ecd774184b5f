"""The formats of no single game: Ludory's own, and Minari's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .game_format import GameFormat, StoredGames

if TYPE_CHECKING:
    from ludory.data.dataset import TrajectoryDataset
    from ludory.envs.game import Game


class LudoryFormat(GameFormat):
    """Folders of `ludory record` and `ludory convert`."""

    id = "ludory"
    title = "a folder of `ludory record`"
    files = ("dataset.json", "part-*.parquet")

    def holds(self, path: Path) -> bool:
        """Whether it is a folder with a manifest, or a file of one."""
        return (path / self.files[0]).is_file() or (path.suffix == ".parquet" and path.is_file())

    def as_dataset(self, path: Path, observation: str | None, remap_vocab: bool) -> Path:
        """The path itself."""
        return path

    def open(self, path: Path) -> TrajectoryDataset:
        """The dataset, checked."""
        from ludory.data.dataset import TrajectoryDataset

        return TrajectoryDataset(path, skip_bad=self.skip_bad)

    def read(self, files: Sequence[str | Path], game: Game | None = None) -> StoredGames:
        """As `GameFormat.read`, of one dataset."""
        from ludory.data.columns import from_table

        dataset = self.open(self.only_one(files))
        parts = (from_table(table, dataset.header) for table in dataset.tables())
        return StoredGames(dataset.header, parts, list(map(str, dataset.skipped)))


class MinariFormat(GameFormat):
    """Datasets of the Farama Foundation's Minari, one episode for each seat of each game."""

    id = "minari"
    title = "a Minari dataset"

    def holds(self, path: Path) -> bool:
        """Whether it is a folder with Minari's metadata."""
        return any((path / folder / "metadata.json").is_file() for folder in ("data", "."))

    def read(self, files: Sequence[str | Path], game: Game | None = None) -> StoredGames:
        """As `GameFormat.read`, of one folder or id."""
        from .minari_sets import MinariTrajectories

        self.only_one(files)
        source = MinariTrajectories(files[0])
        return StoredGames(source.header, source.parts())

    def write(self, dataset: TrajectoryDataset, folder: Path) -> str:
        """As `GameFormat.write`."""
        from .minari_sets import write_minari

        episodes = write_minari(dataset, folder)
        return f'{episodes:,} episodes in {folder}; read them with minari.MinariDataset("{folder / "data"}")'
