"""The formats that are installed, which of them a file is of, and the two of no single game: Ludory's own, and Minari's."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ludory.errors import DataError, LudoryError, PluginError
from ludory.plugins import formats

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


@cache
def known_formats() -> dict[str, GameFormat]:
    """All formats by id, without those of packages that are broken, which `ludory doctor` names."""
    found: dict[str, GameFormat] = {}
    for id in formats.ids():
        with suppress(PluginError):
            found[id] = formats.load(id)()
    return found


def formats_of(path: str | Path) -> list[GameFormat]:
    """The formats whose games a file or folder holds."""
    return [one for one in known_formats().values() if _holds(one, Path(path))]


def format_of(path: str | Path, among: Iterable[GameFormat]) -> GameFormat | None:
    """The first of some formats that a path is of, else the first whose files are called like it: it says what is wrong with them."""
    path, among = Path(path), list(among)
    held = (one for one in among if _holds(one, path))
    return next(held, next((one for one in among if one.is_named(path)), None))


def _holds(known: GameFormat, path: Path) -> bool:
    try:
        return known.holds(path)
    except (OSError, EOFError, ValueError, zlib.error, LudoryError):  # it cannot be read
        return False


def foreign_dataset(path: Path, observation: str | None, remap_vocab: bool) -> Path:
    """The dataset that a format makes of a file where one of Ludory is wanted; `path` itself if it is of no other format.

    Raises:
        DataError: the file must be converted first, or is damaged.
    """
    found = formats_of(path)
    if not found:
        kinds = [one for one in known_formats().values() if one.can("as_dataset")]
        found = [one for one in kinds if one.is_named(path)][:1]
    if len(found) > 1:
        titles, commands = " and ".join(one.title for one in found), " and ".join(one.conversion(path) for one in found)
        mixed = f"`ludory train bc --data {found[0].id}-games --mix {found[1].id}-games=0.3` learns from both"
        raise DataError(f"{path}: {titles}; convert them first: {commands}; {mixed}")
    return found[0].as_dataset(path, observation, remap_vocab) if found else path
