"""Options of V-trace; names as in the specification of the loss and, where they exist there, in the papers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

from ludory.algorithms.config import AlgorithmConfig
from ludory.errors import OptionError
from ludory.limits import AtLeast, Fraction, NonNegativeFloat, NonNegativeInt, OneOf, PositiveFloat, PositiveInt


@dataclass(frozen=True)
class LossWeights:
    """Coefficients and discounts; defaults suit games with one final reward. A config may inherit them."""

    gamma: Fraction = 1.0
    """Discount."""
    lam: Fraction = 0.8
    """Lambda of the value target, TD(lambda)."""
    vtrace_lam: Fraction = 1.0
    """Lambda of V-trace's trace."""
    rho_bar: NonNegativeFloat = 1.0
    """Clips the ratio in V-trace's temporal differences."""
    c_bar: NonNegativeFloat = 1.0
    """Clips the ratio along V-trace's trace."""
    pg_rho_bar: NonNegativeFloat = 1.0
    """Clips the ratio of V-trace's policy gradient."""
    c_pg: NonNegativeFloat = 1.0
    """Weight of the V-trace policy gradient."""
    c_upgo: NonNegativeFloat = 1.0
    """Weight of the UPGO policy gradient."""
    c_value: NonNegativeFloat = 10.0
    """Weight of half the squared error of the value."""
    c_kl: NonNegativeFloat = 0.02
    """Weight of KL(teacher to policy), where there is a teacher."""
    c_entropy: NonNegativeFloat = 1e-4
    """Weight of the entropy bonus, normalised by the number of legal values."""


PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "default": {},
        "alphastar": {"c_kl": 0.002},
        "seed": {"gamma": 0.99, "c_upgo": 0.2, "c_value": 0.5, "c_kl": 0.05, "c_entropy": 2e-3, "ratios": "joint"},
    }
)
"""Options by name of a preset, as the papers have them."""


@dataclass(frozen=True, slots=True)
class VTraceConfig(AlgorithmConfig, LossWeights):
    """Off-policy actor-critic with V-trace, TD(lambda) value targets, UPGO and KL to a frozen policy."""

    preset: str = "default"
    """"default", "alphastar" or "seed": options of the loss; options that are given and differ from their default win."""
    learning_rate: PositiveFloat = 2e-4
    """Step size of Adam."""
    max_grad_norm: PositiveFloat = 1.0
    """Maximum gradient norm."""
    n_steps: Annotated[int, AtLeast(2, "; a sequence's last decision only gives a value")] = 64
    """Decisions of a lane in one sequence."""
    batch_columns: PositiveInt = 512
    """Sequences per gradient step."""
    reuse: PositiveInt = 2
    """Number of times that each sequence is used."""
    replay_rollouts: PositiveInt = 1
    """Rollouts that sequences are drawn from; more make the data older and more mixed."""
    max_lag: NonNegativeInt = 1000
    """Sequences sampled more gradient steps ago than this are dropped."""
    discount_per: Annotated[str, OneOf("decision", "step")] = "decision"
    """What the discount counts where a seat waits: its own "decision"s, or each "step" of the game."""
    ratios: Annotated[str, OneOf("split", "joint")] = "split"
    """"split": a ratio per head, or "joint": one for the whole action."""
    other_play: bool = False
    """Every seat sees each game under a random symmetry of its own, such as a permutation of Hanabi's colours, for play with strangers (arXiv 2003.02979)."""
    privileged_value: bool = False
    """Learn the value with a separate network that sees the whole game, including hidden information; the policy does not."""
    value_warm_up: NonNegativeInt = 0
    """Timesteps at the start in which only the privileged value learns, so that an untrained value does not mislead the policy."""
    devices: PositiveInt = 1
    """Processes that learn together, each on a device of its own ("cuda": 0, 1, ...; "cpu": its part of the cores), with a share of the games and of every batch."""
    teacher: str | None = None
    """Checkpoint of a frozen policy to stay close to; its weights' SHA-256 is kept in every checkpoint."""

    def __post_init__(self) -> None:
        AlgorithmConfig.__post_init__(self)
        if self.value_warm_up and not self.privileged_value:
            raise OptionError(
                "value_warm_up: needs privileged_value=True; a value that shares layers would change the policy"
            )
        if self.c_bar > self.rho_bar:
            raise OptionError(f"c_bar={self.c_bar}: must be at most rho_bar={self.rho_bar}")

    @classmethod
    def with_preset(cls, options: Mapping[str, object]) -> dict[str, Any]:
        """`options`, and those of the preset that they name.

        Raises:
            OptionError: there is no such preset.
        """
        name = options.get("preset", "default")
        if not isinstance(name, str) or name not in PRESETS:
            raise OptionError(f"preset={name!r}: must be one of {', '.join(map(repr, PRESETS))}")
        defaults = {field.name: field.default for field in dataclasses.fields(cls)}
        given = {key: value for key, value in options.items() if key not in defaults or value != defaults[key]}
        return {**PRESETS[name], **given}
