"""Options of learning E[Q] of Texas 42."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ludory.algorithms import SupervisedConfig
from ludory.arguments import Arg
from ludory.limits import NonNegativeFloat, PositiveFloat, PositiveInt


@dataclass(frozen=True, slots=True)
class Texas42StudentConfig(SupervisedConfig):
    """Learning E[Q] of Texas 42; `dataset` is a folder of records of `ludory texas42 eq` with train/ and val/ in it."""

    learning_rate: Annotated[PositiveFloat, Arg(aliases=("--lr",))] = 3e-4
    """Step size of AdamW."""
    final_learning_rate: float | None = 0.0
    """Step size at the end of the last epoch, approached linearly; none: it stays."""
    num_epochs: Annotated[PositiveInt, Arg(aliases=("--epochs",))] = 20
    """Passes over the training data."""
    batch_size: PositiveInt = 256
    """Decisions per gradient step (and device)."""
    value_coef: NonNegativeFloat = 0.5
    """Weight of the squared error of the value against the best tile's E[Q] / 42."""
