"""The learner of behaviour cloning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rich.console import RenderableType

from ludory.algorithms.offline.algorithm import OfflineAlgorithm
from ludory.data.columns import USED

from .config import BCConfig
from .module import BCModule
from .table import epoch_table


class BC(OfflineAlgorithm):
    """Behaviour cloning; see `BCConfig` for its options.

    Networks without memory learn from shuffled decisions, networks with memory from whole games, with gradients through time.
    """

    id = "bc-v1"
    config_class: ClassVar[type[BCConfig]] = BCConfig
    config: BCConfig

    @property
    def extras(self) -> tuple[str, ...]:  # type: ignore[override]
        """Which heads had an effect, unless all are to count."""
        return (USED,) if self.config.used_heads_only else ()

    def make_module(self) -> BCModule:
        """What Lightning trains."""
        learner = self.policy, self.optimizer, self.config
        return BCModule(self.game, *learner, self.training_data, self.validation_data, self)

    @property
    def num_samples(self) -> int:
        """Decisions of an epoch."""
        return min(len(self.training_data), self.config.max_samples or len(self.training_data))

    def epoch_report(self, metrics: Mapping[str, float]) -> RenderableType:
        """The policy beside the class prior and uniform play."""
        return epoch_table(self.position.epoch, self.config.num_epochs, metrics)
