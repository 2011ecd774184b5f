"""Options of what learns from stored decisions, and of what learns from recorded games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from ludory.algorithms.config import LearnerConfig
from ludory.arguments import Arg
from ludory.errors import OptionError
from ludory.limits import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt


@dataclass(frozen=True, slots=True)
class SupervisedConfig(LearnerConfig):
    """The stored decisions, and the passes over them."""

    dataset: Annotated[str | None, Arg(aliases=("--data", "--train-data-path"))] = None
    """Folder or file to learn from."""
    learning_rate: Annotated[PositiveFloat, Arg(aliases=("--lr",))] = 1e-4
    """Step size of AdamW."""
    final_learning_rate: NonNegativeFloat | None = None
    """Step size at the end of the last epoch, approached linearly; none: it stays."""
    weight_decay: NonNegativeFloat = 0.01
    """Weight decay of AdamW."""
    num_epochs: Annotated[PositiveInt, Arg(aliases=("--epochs",))] = 10
    """Passes over the training data."""
    batch_size: PositiveInt = 64
    """Decisions per gradient step (and device); networks with memory take whole games of about as many decisions."""
    max_grad_norm: PositiveFloat = 1.0
    """Maximum gradient norm."""
    patience: PositiveInt | None = None
    """Stop after so many epochs without a smaller validation loss."""
    checkpoint_dir: str | None = None
    """Folder of best, epoch_N, last and final .ludory and of the logs; none: nothing is written during training."""
    save_every: Annotated[NonNegativeInt, Arg(name="save-every-epochs")] = 1
    """Epochs between epoch_N files; 0: none."""
    save_every_minutes: PositiveFloat = 5.0
    """Minutes between two writes of last.ludory within an epoch."""
    log_every: PositiveInt = 100
    """Gradient steps between lines in the logs."""
    use_wandb: Annotated[bool, Arg(aliases=("--wandb",))] = False
    """Log to Weights & Biases too."""
    accelerator: str = "auto"
    """Lightning's name of the accelerator; "auto": as `device` says."""
    devices: PositiveInt = 1
    """Number of devices; each takes its own batches."""
    strategy: str = "auto"
    """Lightning's name of the strategy, e.g. "ddp"; with value_coef=0 "ddp_find_unused_parameters_true"."""


@dataclass(frozen=True, slots=True)
class OfflineConfig(SupervisedConfig):
    """The recorded games that an algorithm learns from; `dataset` is a folder or file of trajectories, as `ludory record` writes them."""

    split_ratio: tuple[float, float, float] = (0.9, 0.05, 0.05)
    """Shares of the games for training, validation and test."""
    split_seed: int = 0
    """Seed of the split."""
    skip_bad: bool = False
    """Skip damaged rows and report their number instead of stopping."""
    augment: bool = False
    """Apply a random symmetry of the game to every batch, such as a permutation of Hanabi's colours."""


def parse_shares(mix: Sequence[str]) -> list[tuple[str, float]]:
    """[("feedback", 0.2)] of ["feedback=0.2"].

    Raises:
        OptionError: a text is not DIR=SHARE, or the shares leave nothing for the first set.
    """
    found = []
    for text in mix:
        path, _, share = text.rpartition("=")
        try:
            number = float(share)
        except ValueError:
            number = 0.0
        if not path or not 0 < number < 1:
            raise OptionError(f"mix={text!r}: must be DIR=SHARE with a share between 0 and 1, such as feedback=0.2")
        found.append((path, number))
    if sum(share for _, share in found) >= 1:
        raise OptionError(f"mix={list(mix)}: shares must add up to less than 1; the rest is that of dataset")
    return found
