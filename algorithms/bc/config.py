"""Options of behaviour cloning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ludory.algorithms.offline.config import OfflineConfig, parse_shares
from ludory.arguments import Arg
from ludory.errors import OptionError
from ludory.limits import Below, Between, NonNegativeFloat, PositiveInt


@dataclass(frozen=True, slots=True)
class BCConfig(OfflineConfig):
    """Behaviour cloning: supervised imitation of recorded decisions."""

    val_dataset: Annotated[str | None, Arg(aliases=("--val-data", "--val-data-path"))] = None
    """Folder or file of validation games; then all of `dataset` is for training. None: a part of `dataset`, see `split_ratio`."""
    mix: Annotated[tuple[str, ...], Arg(metavar="DIR=SHARE...")] = ()
    """Further recorded games to learn from, and their share of the decisions; sizes of observations and heads must be those of `dataset`,
    whose games alone are for validation."""
    stream: str | None = None
    """Agent that plays games while they are learnt from, such as "hanabi/iggi", instead of `dataset`; no game comes twice."""
    stream_decisions: PositiveInt = 1_000_000
    """Decisions of an epoch of `stream`."""
    stream_validation: PositiveInt = 20_000
    """Decisions of the validation games of `stream`."""
    student_share: Annotated[float, Between(0, 1)] = 0.0
    """Share of the decisions of `stream` that the network plays itself, while it learns what the agent would have played (DAgger)."""
    label_smoothing: Annotated[float, Below(0, 1)] = 0.1
    """Share of the target that is spread evenly over the legal values."""
    value_coef: NonNegativeFloat = 0.0
    """Weight of the squared error of the value against the return."""
    entropy_coef: NonNegativeFloat = 0.0
    """Weight of the entropy bonus."""
    max_samples: PositiveInt | None = None
    """Learn from this many decisions only (whole games with memory), the same ones in every epoch."""
    min_return: float | None = None
    """Imitate only decisions after which a seat still gets at least this much, such as those of winners; values are learnt from all."""
    remap_vocab: bool = False
    """Learn from battles of Pokémon recorded with other vocabularies: their names get the numbers of this version."""
    used_heads_only: bool = True
    """Imitate a head only where its value had an effect, in recordings that say so (the arena's `used`); False: everywhere."""

    def __post_init__(self) -> None:
        OfflineConfig.__post_init__(self)
        object.__setattr__(self, "mix", tuple(self.mix))  # a list in checkpoints
        if parse_shares(self.mix) and self.stream is not None:
            raise OptionError(
                f"mix={list(self.mix)} needs dataset=, the games whose game is learnt, instead of stream="
            )
        if self.stream is not None and (self.dataset is not None or self.val_dataset is not None):
            raise OptionError(
                f"stream={self.stream!r} and dataset={self.dataset!r}: games are played or read; give one of them"
            )
        if self.student_share and self.stream is None:
            raise OptionError(f"student_share={self.student_share} needs stream=, the agent to learn from")
        if self.stream is None and self.patience is not None and self.split_ratio[1] == 0 and self.val_dataset is None:
            raise OptionError(
                f"patience={self.patience} needs validation games, split_ratio={self.split_ratio} has none"
            )
