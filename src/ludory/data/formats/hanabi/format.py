"""The format of games of hanab.live, as commands know it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ludory.data import GameFormat, StoredGames

if TYPE_CHECKING:
    from ludory.data import TrajectoryDataset
    from ludory.envs import Game


@dataclass(frozen=True, kw_only=True)
class HanabLiveFormat(GameFormat):
    """JSON objects of hanab.live, and the arrays of AH2AC2."""

    id = "hanab-live"
    title = "games of hanab.live"
    files = ("*.json", "*.jsonl", "*.json.gz", "*.jsonl.gz", "*.safetensors")

    keep_names: bool = False
    """hanab-live: keep the names of players, which are left out otherwise."""
    only_finished: bool = False
    """hanab-live: leave out games that did not end by the rules."""

    def holds(self, path: Path) -> bool:
        """Whether a file begins like games of the site, plain or gzip, or one of the first files in a folder does."""
        from .reading import files_in, is_of_site

        return path.exists() and any(map(is_of_site, files_in(path, self.files)[:20]))

    def read(self, files: Sequence[str | Path], game: Game | None = None) -> StoredGames:
        """Read games of one number of players and suits; `game` is of this size, if it is given."""
        from .reading import files_in, read_games

        every = [file for one in files for file in files_in(Path(one), self.files)]
        return read_games(
            every, game, skip_bad=self.skip_bad, only_finished=self.only_finished, keep_names=self.keep_names
        )

    def write(self, dataset: TrajectoryDataset, folder: Path) -> str:
        """As `write_games`."""
        from .writing import FILE, write_games

        games = write_games(dataset, folder)
        return f"{games:,} games in {folder / FILE}, one on each line; hanab.live shows one that is pasted as JSON Data under Watch Specific Replay"
