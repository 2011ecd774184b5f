"""Options of PPO, named as in Stable-Baselines3 where it has them; other defaults for games whose rules run elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ludory.algorithms.config import AlgorithmConfig
from ludory.errors import OptionError
from ludory.limits import Fraction, NonNegativeFloat, OneOf, PositiveFloat, PositiveInt

if TYPE_CHECKING:
    from ludory.envs.game import Game

LONE_TIMESTEPS = 150_000
"""Default length of a training run in a game of one seat."""
LONE: dict[str, Any] = {
    "num_envs": 16,
    "n_steps": 128,
    "batch_size": 256,
    "n_epochs": 8,
    "learning_rate": 1e-3,
    "final_learning_rate": 0.0,
    "ent_coef": 0.0,
    "hidden": (64, 64),
    "activation": "tanh",
    "separate_value": True,
}
"""For one seat with rewards at every step, as classic control has them."""
TABLE: dict[str, Any] = {
    "num_envs": 64,
    "n_steps": 128,
    "batch_size": 256,
    "n_epochs": 4,
    "gae_lambda": 0.9,
    "ent_coef": 0.003,
    "others": "self",
}
"""For several seats: self-play, or one policy in all seats."""


@dataclass(frozen=True, slots=True)
class PPOConfig(AlgorithmConfig):
    """Proximal policy optimisation (arXiv 1707.06347)."""

    learning_rate: PositiveFloat = 5e-4
    """Step size of Adam."""
    final_learning_rate: NonNegativeFloat | None = None
    """Step size at the end of the run, approached linearly; none: it stays."""
    n_steps: PositiveInt = 64
    """Decisions per game and iteration."""
    batch_size: PositiveInt = 8192
    """Decisions per gradient step."""
    n_epochs: PositiveInt = 2
    """Passes over the decisions of an iteration."""
    gamma: Fraction = 0.99
    """Discount."""
    discount_per: Annotated[str, OneOf("decision", "step")] = "decision"
    """What the discount counts where a seat waits: its own "decision"s, or each "step" of the game."""
    gae_lambda: Fraction = 0.95
    """Mixes one-step (0) and Monte Carlo (1) advantages."""
    clip_range: PositiveFloat = 0.2
    """Clipping range of the probability ratio."""
    normalize_advantage: bool = True
    """Scale the advantages of a batch to mean 0 and standard deviation 1."""
    ent_coef: NonNegativeFloat = 0.01
    """Weight of the entropy bonus."""
    final_ent_coef: NonNegativeFloat | None = None
    """Weight of the entropy bonus at the end of the run, approached linearly; none: it stays."""
    vf_coef: NonNegativeFloat = 0.5
    """Weight of the value loss."""
    max_grad_norm: PositiveFloat = 0.5
    """Maximum gradient norm."""
    target_kl: NonNegativeFloat | None = None
    """Stop the passes of an iteration when the approximate KL exceeds 1.5 times this."""
    teacher: str | None = None
    """Checkpoint of a policy to stay close to; of any algorithm, with the same observations and actions."""
    kl_coef: NonNegativeFloat = 0.1
    """Weight of KL(teacher to policy), where there is a teacher."""
    final_kl_coef: NonNegativeFloat | None = None
    """Weight of that KL at the end of the run, approached linearly; none: it stays."""
    symmetry_augmentation: bool = False
    """Learn from every minibatch under a random symmetry of the game, such as a permutation of Hanabi's colours."""
    other_play: bool = False
    """Every seat sees each game under a random symmetry of its own, such as a permutation of Hanabi's colours, for play with strangers (arXiv 2003.02979)."""
    privileged_value: bool = False
    """Learn the value with a separate network that sees the whole game, including hidden information; the policy does not."""
    normalize_values: bool = False
    """Divide errors of the value by the running standard deviation of returns."""
    normalize_observations: bool = False
    """Scale float observations by their running mean and standard deviation; not the input of a privileged value."""
    devices: PositiveInt = 1
    """Processes that learn together, each on a device of its own ("cuda": 0, 1, ...; "cpu": its part of the cores), with a share of the games and of every minibatch."""
    compiled: bool | None = None
    """Use the compiled twin of the update: multi-layer perceptrons over bits, in float32 on the CPU; none: where it applies and is faster on this machine."""
    cuda_graphs: bool = False
    """Play rollouts without waiting for the GPU and replay them, and gradient steps of networks without memory, as CUDA graphs; not yet measured on a card. On the CPU the same steps are plain calls."""

    normalize_rewards: bool = False
    """Divide rewards by the running standard deviation of discounted returns; scores are not scaled."""


@dataclass(frozen=True, slots=True)
class OBLConfig(PPOConfig):
    """Off-belief learning by PPO (arXiv 2103.04000): one level; `gamma` discounts from one turn of a seat to its next."""

    base: str | None = None
    """Checkpoint of the level below, whose policy others are believed to have played so far; none: level 1, over random play."""
    worlds: PositiveInt = 8
    """Worlds that are drawn for a decision where there is a base, of which one is kept by the base's probability of the last moves."""
    doubt: Fraction = 0.1
    """Share of the base's moves that are taken for random, so that no move is impossible."""
    gae_lambda: Fraction = 0.0
    """0: what comes after the next turn is drawn anew there, so that longer advantages do not exist."""
    kl_coef: NonNegativeFloat = 0.0
    """0: there is no teacher."""

    def __post_init__(self) -> None:
        """As `PPOConfig`; options that drawn worlds do not have are refused."""
        AlgorithmConfig.__post_init__(self)
        fixed = {"gae_lambda": 0, "kl_coef": 0, "shaping": 0, "devices": 1, "device": "cpu", "teacher": None}
        fixed |= {"privileged_value": False, "other_play": False}
        for name, value in fixed.items():
            if getattr(self, name) != value:
                raise OptionError(f"{name}={getattr(self, name)!r}: obl has {name}={value!r} only; leave it out")


def suited_to(game: Game) -> dict[str, Any]:
    """Fields of `PPOConfig` with other defaults for `game`; none for games with kernels."""
    if game.rules.kernels is not None:
        return {}
    facts = game.facts
    fields = dict(LONE if facts.players == 1 else TABLE)
    if facts.observation.dtype == "float32" and facts.network is None:
        fields["normalize_observations"] = True
    if facts.box is not None:
        fields["normalize_rewards"] = True
    count = getattr(game.rules.engine, "num_envs", None)
    if count is not None:  # environments that were handed in: as many steps in all
        fields["n_steps"] = max(fields["n_steps"], fields["n_steps"] * fields["num_envs"] // count)
        fields["num_envs"] = count
    return fields
