"""`BC`: the learner of behaviour cloning."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal

from rich.table import Table
from typing_extensions import Unpack

from ludory.agents import NeuralAgent, PolicySpec
from ludory.algorithms.keywords import BCKeywords
from ludory.algorithms.offline.algorithm import OfflineAlgorithm, report_skipped
from ludory.algorithms.offline.config import parse_shares
from ludory.algorithms.offline.mixture import MixedPart, MixedTrajectories
from ludory.algorithms.offline.stream import GameStream
from ludory.algorithms.running.callbacks import figures_table
from ludory.data import TrajectoryDataset
from ludory.data.columns import USED
from ludory.data.dataset import refuse_shared_games
from ludory.data.split import Split
from ludory.envs.make import EnvLike

from .config import BCConfig
from .module import BCModule

FIGURES = ("loss", "nll", "perplexity", "accuracy", "top3")
COLUMNS = {
    "train": "train/",
    "validation": "val/",
    "class prior": "val/prior_",
    "uniform": "val/uniform_",
    "max power": "val/max_power_",
}
"""Title and prefix of the metrics."""
_VALIDATION_SEEDS = 1 << 40
"""Added to the seed of a stream for its validation games."""
OTHER_NAMES = {"train_data_path": "dataset", "val_data_path": "val_dataset"}
"""Options under the names that a trainer of battle logs had."""


class BC(OfflineAlgorithm):
    """Behaviour cloning, with the options of `BCConfig`.

    Networks without memory learn from shuffled decisions, networks with memory from whole games, with gradients through time.
    """

    id = "bc-v1"
    config_class: ClassVar[type[BCConfig]] = BCConfig
    inputs: ClassVar[tuple[str, ...]] = (*OfflineAlgorithm.inputs, "val_dataset")
    changeable: ClassVar[tuple[str, ...]] = (*OfflineAlgorithm.changeable, "val_dataset")
    config: BCConfig

    def __init__(
        self, policy: str | PolicySpec = "auto", env: EnvLike | None = None, **config: Unpack[BCKeywords]
    ) -> None:
        options: dict[str, Any] = {OTHER_NAMES.get(name, name): value for name, value in config.items()}
        if isinstance(options.get("val_dataset"), os.PathLike):
            options["val_dataset"] = os.fspath(options["val_dataset"])
        super().__init__(policy, env, **options)

    def read_split(self, name: Literal["train", "val"]) -> Any:
        """Recorded games, or a stream of games."""
        config = self.config
        if config.stream is None:
            data = super().read_split(name)
            return self._mixed(data) if config.mix and name == "train" else data
        if name == "val":
            return GameStream(self.game, config.stream, config.stream_validation, _VALIDATION_SEEDS + config.seed)
        student = NeuralAgent(self.policy, "the student") if config.student_share else None
        return GameStream(self.game, config.stream, config.stream_decisions, config.seed, student, config.student_share)

    def _mixed(self, first: TrajectoryDataset) -> MixedTrajectories:
        """The training games and their shares of further sets."""
        config, others = self.config, []
        for path, share in parse_shares(config.mix):
            data = TrajectoryDataset(
                path,
                "train" if config.val_dataset is None else "all",
                skip_bad=config.skip_bad,
                split_ratio=config.split_ratio,
                split_seed=config.split_seed,
                extras=self.extras,
            )
            report_skipped(data)
            others.append(MixedPart(data, share))
        return MixedTrajectories(first, others)

    def data_size(self, data: TrajectoryDataset | MixedTrajectories | GameStream) -> dict[str, Any]:
        """Decisions and games; of a stream its teacher."""
        if not isinstance(data, GameStream):
            return super().data_size(data)
        return {"stream": self.config.stream, "decisions": len(data)}

    def _open_source(self) -> None:
        super()._open_source()
        if self.config.stream is not None:
            self.training_data, self.validation_data  # noqa: B018  # the teacher is made, so that a wrong one is refused at once

    def place_of(self, name: Literal["train", "val"]) -> tuple[str, Split]:
        """A set of its own for validation, or a part of the only one."""
        if self.config.val_dataset is None:
            return super().place_of(name)
        return (self.config.dataset or "" if name == "train" else self.config.val_dataset), "all"

    @cached_property
    def validation_data(self) -> Any:
        """The validation games, other games than the training's; None if there are none.

        Raises:
            DataError: a game is in both sets.
        """
        if self.config.stream is not None:
            return self.read_split("val")
        if self.config.val_dataset is None:
            return self.read_split("val") if self.config.split_ratio[1] else None
        found = self.read_split("val")
        refuse_shared_games(self.training_data, found)
        return found

    @property
    def extras(self) -> tuple[str, ...]:  # type: ignore[override]
        """The column that says which heads had an effect, unless all heads count."""
        return (USED,) if self.config.used_heads_only else ()

    @property
    def remap_vocab(self) -> bool:  # type: ignore[override]
        """As the config says."""
        return self.config.remap_vocab

    def make_module(self) -> BCModule:
        """The module that Lightning trains."""
        learner = self.policy, self.optimizer, self.config
        return BCModule(self.game, *learner, self.training_data, self.validation_data, self)

    @property
    def num_samples(self) -> int:
        """Decisions of an epoch."""
        return min(len(self.training_data), self.config.max_samples or len(self.training_data))

    def epoch_report(self, metrics: Mapping[str, float]) -> Table:
        """A column each for training, validation and, on the validation games, the baselines.

        Below the figures stand the accuracies of each head, where it has an effect, and of each kind of decision, with its share.
        """
        of = "val/" if "val/loss" in metrics else "train/"
        rows = {figure: figure for figure in FIGURES}
        heads = [name for name in self.game.facts.head_names if f"val/accuracy_{name}" in metrics]
        if len(heads) > 1:
            rows |= {f"accuracy_{head}": f"accuracy of head {head}" for head in heads}
        for name, share in metrics.items():
            if name.startswith(f"{of}share_"):
                kind = name.removeprefix(f"{of}share_")
                rows[f"accuracy_{kind}"] = f"accuracy, {kind} ({share:.1%} of decisions)"
        rows["mean_legal"] = "legal actions on average"
        title = f"{self.epoch_title}, {metrics['time/fps']:,.0f} samples/s"
        columns = {
            column: prefix for column, prefix in COLUMNS.items() if any(prefix + name in metrics for name in rows)
        }
        figures = {said: [metrics.get(prefix + name) for prefix in columns.values()] for name, said in rows.items()}
        return figures_table(title, columns, figures)
