"""Options of PPO; names as in Stable-Baselines3 where it has them."""

from __future__ import annotations

from dataclasses import dataclass

from ludory.algorithms.config import AlgorithmConfig
from ludory.errors import OptionError


@dataclass(frozen=True, slots=True)
class PPOConfig(AlgorithmConfig):
    """Proximal policy optimisation (arXiv 1707.06347)."""

    learning_rate: float = 5e-4
    """Step size of Adam."""
    final_learning_rate: float | None = None
    """Step size at the end of the run, approached linearly; none: it stays."""
    n_steps: int = 64
    """Decisions per game and iteration."""
    batch_size: int = 8192
    """Decisions per gradient step."""
    n_epochs: int = 2
    """Passes over the decisions of an iteration."""
    gamma: float = 0.99
    """Discount."""
    discount_per: str = "decision"
    """What the discount counts where a seat waits: its own "decision"s, or every "step" of the game."""
    gae_lambda: float = 0.95
    """Mixes one-step (0) and Monte Carlo (1) advantages."""
    clip_range: float = 0.2
    """How far the probability ratio may move from 1."""
    normalize_advantage: bool = True
    """Scale the advantages of a batch to mean 0, deviation 1."""
    ent_coef: float = 0.01
    """Weight of the entropy bonus."""
    final_ent_coef: float | None = None
    """Weight of the entropy bonus at the end of the run, approached linearly; none: it stays."""
    vf_coef: float = 0.5
    """Weight of the value loss."""
    max_grad_norm: float = 0.5
    """Maximum gradient norm."""
    target_kl: float | None = None
    """Stop the passes of an iteration when the policy moved further than 1.5 times this."""
    teacher: str | None = None
    """Checkpoint of a policy to stay close to; of any algorithm, with the same observations and actions."""
    kl_coef: float = 0.1
    """Weight of KL(teacher to policy), where there is a teacher."""
    privileged_value: bool = False
    """Learn the value by a network of its own that sees the whole game, hidden things too; the policy does not."""
    normalize_values: bool = False
    """Divide errors of the value by the running deviation of returns."""
    normalize_observations: bool = False
    """Scale float observations by their running mean and deviation; not what a privileged value sees."""
    compiled: bool | None = None
    """Learn by the compiled twin of the loss: multi-layer perceptrons over bits, on the CPU; none: wherever it applies."""

    normalize_rewards: bool = False
    """Divide rewards by the running deviation of discounted returns; scores are counted without it."""

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            OptionError: naming the field, the value and the range.
        """
        for name in ("n_steps", "batch_size", "n_epochs"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name}={getattr(self, name)}: must be at least 1")
        if self.discount_per not in ("decision", "step"):
            raise OptionError(f"discount_per={self.discount_per!r}: must be 'decision' or 'step'")
        for name in ("gamma", "gae_lambda"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(f"{name}={getattr(self, name)}: must lie in [0, 1]")
        for name in ("kl_coef", "ent_coef", "vf_coef"):
            if getattr(self, name) < 0:
                raise OptionError(f"{name}={getattr(self, name)}: must be at least 0")
        for name in ("learning_rate", "clip_range", "max_grad_norm"):
            if not getattr(self, name) > 0:
                raise OptionError(f"{name}={getattr(self, name)}: must be greater than 0")
