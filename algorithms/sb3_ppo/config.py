"""Options of sb3_ppo; names and defaults are Stable-Baselines3's."""

from __future__ import annotations

from dataclasses import dataclass

from ludory.algorithms.config import AlgorithmConfig
from ludory.errors import OptionError
from ludory.limits import Fraction, NonNegativeFloat, PositiveFloat, PositiveInt


@dataclass(frozen=True, slots=True)
class SB3PPOConfig(AlgorithmConfig):
    """`MaskablePPO` of sb3-contrib, or `PPO` of Stable-Baselines3."""

    num_envs: PositiveInt = 8
    """Games played side by side."""
    seats: str = "auto"
    """Seats that learn: "all" (shared rewards only), a seat number, or "auto": all under a shared reward, else 0."""
    activation: str = "auto"
    """"relu", "tanh", or "auto": as in init_from, else "tanh"."""
    separate_value: bool = True
    """The value function has hidden layers of its own; Stable-Baselines3 has nothing else."""
    masked: bool = True
    """True: MaskablePPO. False: PPO, for games without illegal actions; in other games an illegal action loses the game."""
    learning_rate: PositiveFloat = 3e-4
    """Step size of Adam."""
    anneal_learning_rate: bool = False
    """Lower the step size linearly to 0 over the run."""
    n_steps: PositiveInt = 2048
    """Decisions per game and iteration."""
    batch_size: PositiveInt = 64
    """Decisions per gradient step."""
    n_epochs: PositiveInt = 10
    """Passes over the decisions of an iteration."""
    gamma: Fraction = 0.99
    """Discount."""
    gae_lambda: Fraction = 0.95
    """Mixes one-step (0) and Monte Carlo (1) advantages."""
    clip_range: PositiveFloat = 0.2
    """Clipping range of the probability ratio."""
    normalize_advantage: bool = True
    """Scale the advantages of a batch to mean 0 and standard deviation 1."""
    ent_coef: NonNegativeFloat = 0.0
    """Weight of the entropy bonus."""
    vf_coef: NonNegativeFloat = 0.5
    """Weight of the value loss."""
    max_grad_norm: PositiveFloat = 0.5
    """Maximum gradient norm."""
    target_kl: NonNegativeFloat | None = None
    """Stop the passes of an iteration when the approximate KL exceeds 1.5 times this."""

    def __post_init__(self) -> None:
        AlgorithmConfig.__post_init__(self)
        if not self.separate_value:
            raise OptionError("separate_value=False: networks of Stable-Baselines3 share no layers; leave it out")
        if self.precision == "auto":
            object.__setattr__(self, "precision", "float32")
        if self.precision != "float32":
            raise OptionError(f"precision={self.precision!r}: Stable-Baselines3 computes in float32; leave it out")
        if self.normalize_advantage and self.batch_size < 2:
            raise OptionError(f"batch_size={self.batch_size}: must be at least 2")
        if self.num_envs * self.n_steps < 2:
            raise OptionError("num_envs=1, n_steps=1: one decision is too few to learn from; raise either")
