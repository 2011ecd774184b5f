"""Options of distilling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from ludory.algorithms.offline.config import OfflineConfig
from ludory.arguments import Arg
from ludory.errors import OptionError
from ludory.limits import AtLeast, Fraction, MoreThan, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

SEED: dict[str, Any] = {
    "seq_len": 1,
    "lambda_move": 1.0,
    "lambda_q": 0.0,
    "lambda_kl": 0.0,
    "advantage_weight": 0.0,
    "partner_weight": 1.0,
    "split_ratio": (1.0, 0.0, 0.0),
}
"""What `mode="seed"` means."""


class DistillWeights(NamedTuple):
    """Weights of the parts of the loss, as in `DistillConfig`."""

    move: float
    value: float
    entropy: float
    q: float
    kl: float
    override: float
    advantage: float
    partner: float
    tau: float


@dataclass(frozen=True, slots=True)
class DistillConfig(OfflineConfig):
    """Distilling a search: a network learns the moves, estimates and returns of recorded games, and stays near its blueprint."""

    dataset: Annotated[tuple[str, ...] | None, Arg(aliases=("--data",))] = None  # type: ignore[assignment]
    """Folder of `ludory record`, or one or more search logs (.jsonl or .json)."""
    init_from: Annotated[str | None, Arg(aliases=("--ckpt",))] = None
    """Checkpoint to start from, the blueprint: of ludory, or a .pt of HIKARU's HanabiGRUPolicy."""
    learning_rate: Annotated[PositiveFloat, Arg(aliases=("--lr",))] = 3e-5
    """Step size of Adam."""
    num_epochs: Annotated[PositiveInt, Arg(aliases=("--epochs",))] = 1
    """Passes over the training games."""
    batch_size: PositiveInt = 1024
    """Decisions per gradient step (and device); with sequences whole games of about as many decisions."""
    weight_decay: NonNegativeFloat = 0.0
    """Weight decay of AdamW; 0 is Adam."""
    max_grad_norm: PositiveFloat = 0.5
    """Maximum gradient norm."""
    lambda_move: Annotated[float, AtLeast(0, ", or none")] | None = None
    """Weight of the cross-entropy to the moves; none: 0.1 with a blueprint network (init_from or teacher), which `lambda_q` improves, else 1."""
    lambda_value: NonNegativeFloat = 0.5
    """Weight of the squared error of the value against the return."""
    lambda_entropy: NonNegativeFloat = 1e-3
    """Weight of the entropy bonus."""
    override_weight: NonNegativeFloat = 1.0
    """Weight of decisions in which the search left the blueprint's move; the others have 1."""
    advantage_weight: NonNegativeFloat = 0.0
    """More weight of these for every standard error of advantage, up to 5: override_weight * (1 + advantage_weight * advantage / error)."""
    partner_weight: NonNegativeFloat = 0.0
    """Weight of the moves of seats that did not search, which are the blueprint's, where the data say so."""
    discount: Fraction = 1.0
    """Discount of the returns, per move of the game."""
    seq_len: Annotated[int, AtLeast(1, ", or none for whole games")] | None = None
    """Decisions of a seat after which the memory is reset; none: only at the start of a game; 1: single decisions, shuffled."""
    lambda_q: NonNegativeFloat = 1.0
    """Weight of the squared error of tau * (log-odds of the actions, beyond the blueprint's) against their advantages."""
    tau: Annotated[float, MoreThan(0, " points")] = 0.2
    """Points of the game that a search must have found, on average, for each nat that the policy leaves the blueprint."""
    lambda_kl: NonNegativeFloat = 0.1
    """Weight of KL from the blueprint to the policy where the search kept the blueprint's move."""
    teacher: str | None = None
    """Checkpoint of the blueprint for `lambda_q` and `lambda_kl`; none: init_from."""
    mode: Literal["ludory", "seed"] = "ludory"
    """seed: as HIKARU's trainer: seq_len 1, nothing of Q and the blueprint, all games for training."""
    action_order: Literal["ludory", "play_first", "play_first_bw"] | None = None
    """Order of the action ids in search logs; none: as the log says, else ludory."""
    ckpt_action_order: Literal["play_first_bw", "play_first", "ludory"] = "play_first_bw"
    """Order of the action ids in a .pt."""
    bomb: Literal["zero", "keep"] | None = None
    """How rewards in search logs count a bomb; none: as the log says, else keep."""
    allow_truncated: bool = False
    """Accept games of search logs without an end as truncated; their returns are not learnt."""
    eval_games: NonNegativeInt = 1000
    """Games on new decks at the end, played by the network and by the blueprint; 0: none."""
    eval_against: str | None = None
    """Agent to compare with; none: init_from, else the blueprint that the recording names."""

    def __post_init__(self) -> None:
        if isinstance(self.dataset, str):
            object.__setattr__(self, "dataset", (self.dataset,))
        elif self.dataset is not None:
            object.__setattr__(self, "dataset", tuple(map(str, self.dataset)) or None)
        if self.mode == "seed":
            self._as_the_seed()
        OfflineConfig.__post_init__(self)

    def _as_the_seed(self) -> None:
        defaults = {name: DistillConfig.__dataclass_fields__[name].default for name in SEED}
        for name, value in SEED.items():
            given = getattr(self, name)
            if tuple_or(given) not in (value, defaults[name]):
                raise OptionError(f"{name}={given!r}: mode='seed' has {value!r}; leave one of them out")
            object.__setattr__(self, name, value)

    @property
    def weights(self) -> DistillWeights:
        """Weights of the parts of the loss."""
        move = (0.1 if self.init_from or self.teacher else 1.0) if self.lambda_move is None else self.lambda_move
        return DistillWeights(
            move,
            self.lambda_value,
            self.lambda_entropy,
            self.lambda_q,
            self.lambda_kl,
            self.override_weight,
            self.advantage_weight,
            self.partner_weight,
            self.tau,
        )


def tuple_or(value: object) -> Any:
    """A list as a tuple."""
    return tuple(value) if isinstance(value, list) else value
