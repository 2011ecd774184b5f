"""Options of learning from the oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ludory.algorithms.offline.supervised import SupervisedConfig
from ludory.envs.options import check_choice
from ludory.errors import OptionError

LossMode = Literal["qvalue", "policy"]


@dataclass(frozen=True, slots=True)
class Texas42OracleConfig(SupervisedConfig):
    """Learning from the oracle of Texas 42; `dataset` is a folder of labels or shards with train/ and val/ in it."""

    learning_rate: float = 3e-4
    """Step size of AdamW after warming up."""
    warmup: float = 0.02
    """Share of all samples in which the step size rises from 0."""
    final_learning_rate: float | None = 0.0
    """Step size at the end, approached along a half cosine; none: it stays."""
    num_epochs: int = 20
    """Passes over the training data."""
    batch_size: int = 512
    """Decisions per gradient step (and device)."""
    loss_mode: LossMode = "qvalue"
    """qvalue: what each tile is worth, in points; policy: which tile is best."""
    temperature: float = 3.0
    """policy: points by which the soft target is divided."""
    value_coef: float = 0.5
    """Weight of the squared error of the value / 42."""
    per_decision: int = 2000
    """Of a shard, states learnt from for each number of tiles played."""
    sampler_seed: int = 0
    """Of the draw of these."""

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            OptionError: naming the field, the value and the range.
        """
        SupervisedConfig.__post_init__(self)
        check_choice("loss_mode", self.loss_mode, ("qvalue", "policy"))
        if not 0 <= self.warmup < 1:
            raise OptionError(f"warmup={self.warmup}: must lie in [0, 1)")
        if not self.temperature > 0:
            raise OptionError(f"temperature={self.temperature}: must be greater than 0")
        if not self.value_coef >= 0:
            raise OptionError(f"value_coef={self.value_coef}: must be at least 0")
        if self.per_decision < 1:
            raise OptionError(f"per_decision={self.per_decision}: must be at least 1")
