"""Options of behaviour cloning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import arg

from ludory.errors import OptionError

from ..offline import OfflineConfig


@dataclass(frozen=True, slots=True)
class BCConfig(OfflineConfig):
    """Behaviour cloning: supervised imitation of recorded decisions."""

    learning_rate: float = 1e-4
    """Step size of AdamW."""
    final_learning_rate: float | None = None
    """Step size at the end of the last epoch, approached linearly; none: it stays."""
    weight_decay: float = 0.01
    """Of AdamW."""
    num_epochs: int = 10
    """Passes over the training games."""
    batch_size: int = 64
    """Decisions per gradient step (and device); networks with memory take whole games of about as many decisions."""
    label_smoothing: float = 0.1
    """Share of the target that is spread evenly over the legal values."""
    value_coef: float = 0.0
    """Weight of the squared error of the value against the return."""
    entropy_coef: float = 0.0
    """Weight of the entropy bonus."""
    max_grad_norm: float = 1.0
    """Longest gradient that is not shortened."""
    augment: bool = False
    """Rename every batch by a symmetry of the game, such as Hanabi's colours; for players who treat all names alike."""
    max_samples: int | None = None
    """Learn from this many decisions only (whole games with memory), the same ones in every epoch."""
    min_return: float | None = None
    """Imitate only decisions after which a seat still gets at least this much, such as those of winners; values are learnt from all."""
    patience: int | None = None
    """Stop after so many epochs without a smaller validation loss."""
    checkpoint_dir: str | None = None
    """Folder of best, epoch_N, last and final .ludory and of the logs; none: nothing is written while learning."""
    save_every: Annotated[int, arg(name="save-every-epochs")] = 1
    """Epochs between epoch_N files; 0: none."""
    save_every_minutes: float = 5.0
    """Between writings of last.ludory within an epoch."""
    log_every: int = 100
    """Gradient steps between lines in the logs."""
    use_wandb: bool = False
    """Log to Weights & Biases too."""
    accelerator: str = "auto"
    """As Lightning names them; "auto": what `device` says."""
    devices: int = 1
    """How many of them; every one takes its own batches."""
    strategy: str = "auto"
    """As Lightning names them, e.g. "ddp"; with value_coef=0 "ddp_find_unused_parameters_true"."""

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            OptionError: naming the field, the value and the range.
        """
        for name in ("num_epochs", "batch_size", "log_every", "devices", "max_samples", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise OptionError(f"{name}={value}: must be at least 1")
        for name in ("learning_rate", "max_grad_norm", "save_every_minutes"):
            if not getattr(self, name) > 0:
                raise OptionError(f"{name}={getattr(self, name)}: must be greater than 0")
        for name in ("weight_decay", "value_coef", "entropy_coef", "save_every"):
            if not getattr(self, name) >= 0:
                raise OptionError(f"{name}={getattr(self, name)}: must be at least 0")
        if not 0 <= self.label_smoothing < 1:
            raise OptionError(f"label_smoothing={self.label_smoothing}: must lie in [0, 1)")
        if self.patience is not None and self.split_ratio[1] == 0:
            raise OptionError(
                f"patience={self.patience} needs validation games, split_ratio={self.split_ratio} has none"
            )
