"""Options of learning from the oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from ludory.algorithms import SupervisedConfig
from ludory.arguments import Arg
from ludory.limits import Below, NonNegativeFloat, OneOf, PositiveFloat, PositiveInt

LossMode = Literal["qvalue", "policy"]


@dataclass(frozen=True, slots=True)
class Texas42OracleConfig(SupervisedConfig):
    """Learning from the oracle of Texas 42; `dataset` is a folder of labels or shards with train/ and val/ in it, none: new states in every epoch."""

    absent: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("--n-layers", "--n-heads", "--embed-dim", "--ff-dim"),
            'layers are the network\'s: --policy "domino(num_layers=4, num_heads=8, width=128, feedforward=512)"',
        ),
        "--no-wandb": "it is off; leave it out",
        "--fast-dev-run": "type `ludory bench texas42-network minute`",
    }
    learning_rate: Annotated[PositiveFloat, Arg(aliases=("--lr",))] = 3e-4
    """Step size of AdamW after warming up."""
    warmup: Annotated[float, Below(0, 1)] = 0.02
    """Share of all samples in which the step size rises from 0."""
    final_learning_rate: NonNegativeFloat | None = 0.0
    """Step size at the end, approached along a half cosine; none: it stays."""
    num_epochs: Annotated[PositiveInt, Arg(aliases=("--epochs",))] = 20
    """Passes over the training data."""
    batch_size: PositiveInt = 512
    """Decisions per gradient step (and device)."""
    loss_mode: Annotated[LossMode, OneOf("qvalue", "policy")] = "qvalue"
    """qvalue: what each tile is worth, in points; policy: which tile is best."""
    temperature: PositiveFloat = 3.0
    """policy: points by which the soft target is divided."""
    value_coef: NonNegativeFloat = 0.5
    """Weight of the squared error of the value / 42."""
    fresh_states: PositiveInt = 200_000
    """Without a dataset, states of an epoch: of deals that are drawn, played at random and solved for it, no deal twice."""
    fresh_deals: PositiveInt = 300
    """Without a dataset, deals of whose states the scores are."""
    per_decision: PositiveInt = 2000
    """Of a shard, states learnt from for each number of tiles played."""
    sampler_seed: int = 0
    """Of the draw of these."""
    keep_forced: bool = False
    """Learn from states of shards without a choice, too, which teach the value; scores are of states with a choice only."""
