"""`OfflineAlgorithm`: learns from recorded decisions instead of playing; its timesteps are samples."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from ludory.agents.networks.build import PolicySpec
from ludory.data import TrajectoryDataset, TrajectoryHeader
from ludory.data.dataset import header_at
from ludory.data.split import Split
from ludory.envs import EnvLike, Game, make_game
from ludory.errors import DataError, OptionError, PluginError, UnknownIdError
from ludory.plugins import games

from .config import OfflineConfig
from .supervised import SupervisedAlgorithm

if TYPE_CHECKING:
    from .mixture import MixedTrajectories

Dataset: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None"


def game_for(env: EnvLike | None, dataset: Dataset, remap_vocab: bool = False) -> EnvLike | None:
    """`env`, or the game of the dataset where `env` is None or the id of a game that is not installed.

    Args:
        env: as `Algorithm` takes it.
        dataset: a path, a sequence of one path, or None.
        remap_vocab: as for `TrajectoryDataset`.

    Raises:
        DataError: the dataset is missing or damaged.
    """
    named = paths_of(dataset)
    if len(named) != 1 or not isinstance(env, str | None) or (env is not None and _is_known(env)):
        return env
    header = header_at(named[0], remap_vocab)
    return game_of_data(header) if env in (None, header.game) else env


def paths_of(dataset: Dataset) -> list[Path]:
    """A path, a sequence of paths or None as a list."""
    return [Path(path) for path in ([dataset] if isinstance(dataset, str | os.PathLike) else dataset or ())]


def _is_known(id: str) -> bool:
    try:
        games.get(id)
    except UnknownIdError:
        return False
    except PluginError:  # it is known, and broken
        return True
    return True


def game_of_data(header: TrajectoryHeader) -> Game:
    """The game of recorded games: the installed one, else as much as the header describes.

    Raises:
        OptionError, PluginError: the game is installed, but not with these options, or its package is broken.
    """
    return make_game(header.game, **header.options) if _is_known(header.game) else Game.of_header(header)


class OfflineAlgorithm(SupervisedAlgorithm):
    """A supervised learner from trajectories.

    Raises:
        DataError: the dataset is of another game, damaged, or a split of it is empty.
    """

    config_class: ClassVar[type[OfflineConfig]] = OfflineConfig
    extras: tuple[str, ...] = ()
    """Extra columns to read from a dataset that has them."""
    remap_vocab: bool = False
    """Whether to accept data of other vocabularies, see `TrajectoryDataset`."""
    config: Any

    def __init__(self, policy: str | PolicySpec = "auto", env: EnvLike | None = None, **config: Any) -> None:
        if "split_ratio" in config:
            config["split_ratio"] = tuple(config["split_ratio"])
        super().__init__(policy, game_for(env, config.get("dataset"), config.get("remap_vocab", False)), **config)

    def setup(self) -> None:
        """Make the optimiser.

        Raises:
            OptionError: no symmetry to augment by.
        """
        if self.config.augment and self.game.analysis.symmetry is None:
            raise OptionError(f"augment: no symmetry of {self.game.id} is known; leave it out")
        super().setup()

    @cached_property
    def validation_data(self) -> TrajectoryDataset | None:
        """The validation split, other games than the training's; None if its share is 0."""
        return self.read_split("val") if self.config.split_ratio[1] else None

    def place_of(self, name: Literal["train", "val"]) -> tuple[str, Split]:
        """The set, and the split of it, that games for training or validation come from."""
        return self.config.dataset, name

    def data_size(self, data: TrajectoryDataset | MixedTrajectories) -> dict[str, int]:
        """Decisions and games of a split."""
        return {"decisions": len(data), "games": data.num_games}

    def read_split(self, name: Literal["train", "val"]) -> TrajectoryDataset:
        """The split as a `TrajectoryDataset`, checked against the algorithm's game."""
        config = self.config
        if config.dataset is None:
            raise OptionError(f"{self.id} needs dataset=: a folder of trajectories (`ludory record` writes them)")
        path, split = self.place_of(name)
        data = TrajectoryDataset(
            path,
            split,
            observation=self.game.options.get("observation"),
            skip_bad=config.skip_bad,
            split_ratio=config.split_ratio,
            split_seed=config.split_seed,
            extras=self.extras,
            remap_vocab=self.remap_vocab,
        )
        self.check_data(data)
        if name == "train":
            report_skipped(data)
        return data

    def check_data(self, data: TrajectoryDataset, ignored: Collection[str] = ()) -> None:
        """Check that a dataset is of the algorithm's game; `ignored`: options of the game that may differ.

        Raises:
            DataError: it is of another game.
        """
        header, free = data.header, {*ignored, *self.game.records.playing_options}
        recorded, wanted = (
            (id, {name: value for name, value in options.items() if name not in free})
            for id, options in ((header.game, header.options), (self.game.id, self.game.options))
        )
        if recorded != wanted:
            ours = self.game.records.conventions
            theirs = game_of_data(header).records.conventions if ours else {}
            told = [
                f"; {name} is {theirs[name]!r} in the data and {value!r} in the game"
                for name, value in ours.items()
                if theirs.get(name, value) != value
            ]
            raise DataError(
                f"{data.path}: trajectories of {recorded[0]} with options {recorded[1]}, the algorithm's game is "
                f"{wanted[0]} with options {wanted[1]}; name the game that was recorded with env=, or leave env= out{''.join(told)}"
            )
        header.check_fits(self.game.facts)


def report_skipped(data: TrajectoryDataset, most: int = 10) -> None:
    """Print what was left out as damaged."""
    if data.skipped:
        shown = "".join(f"\n  {problem}" for problem in data.skipped[:most])
        more = f"\n  and {len(data.skipped) - most} more" if len(data.skipped) > most else ""
        print(
            f"ludory: games with {len(data.skipped)} problems are left out of {data.path}:{shown}{more}",
            file=sys.stderr,
        )
