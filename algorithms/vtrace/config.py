"""Options of V-trace; names as in the specification of the loss and, where they exist there, in the papers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ludory.algorithms.config import AlgorithmConfig
from ludory.algorithms.losses.actor_critic import LossWeights
from ludory.errors import OptionError

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
    learning_rate: float = 2e-4
    """Step size of Adam."""
    max_grad_norm: float = 1.0
    """Maximum gradient norm."""
    n_steps: int = 64
    """Decisions of a lane in one sequence."""
    batch_columns: int = 512
    """Sequences per gradient step."""
    reuse: int = 2
    """How often every sequence is used."""
    replay_rollouts: int = 1
    """Rollouts that sequences are drawn from; more make the data older and more mixed."""
    max_lag: int = 1000
    """Sequences sampled by weights more gradient steps ago than this are dropped."""
    discount_per: str = "decision"
    """What the discount counts where a seat waits: its own "decision"s, or every "step" of the game."""
    ratios: str = "split"
    """"split": a ratio per head, or "joint": one for the whole action."""
    privileged_value: bool = False
    """Learn the value by a network of its own that sees the whole game, hidden things too; the policy does not."""
    value_warm_up: int = 0
    """Timesteps at the start in which only the privileged value learns, so that the policy is not led by a value that knows nothing yet."""
    teacher: str | None = None
    """Checkpoint of a frozen policy to stay close to; its weights' SHA-256 is kept in every checkpoint."""

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            OptionError: naming the field, the value and the range.
        """
        for name in ("n_steps", "batch_columns", "reuse", "replay_rollouts"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name}={getattr(self, name)}: must be at least 1")
        if self.n_steps < 2:
            raise OptionError(
                f"n_steps={self.n_steps}: must be at least 2; a sequence's last decision only gives a value"
            )
        if self.value_warm_up < 0:
            raise OptionError(f"value_warm_up={self.value_warm_up}: must be at least 0")
        if self.value_warm_up and not self.privileged_value:
            raise OptionError(
                "value_warm_up: needs privileged_value=True; a value that shares layers would change the policy"
            )
        if self.max_lag < 0:
            raise OptionError(f"max_lag={self.max_lag}: must be at least 0")
        if self.ratios not in ("split", "joint"):
            raise OptionError(f"ratios={self.ratios!r}: must be 'split' or 'joint'")
        if self.discount_per not in ("decision", "step"):
            raise OptionError(f"discount_per={self.discount_per!r}: must be 'decision' or 'step'")
        for name in ("gamma", "lam", "vtrace_lam"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(f"{name}={getattr(self, name)}: must lie in [0, 1]")
        for name in ("rho_bar", "c_bar", "pg_rho_bar", "c_pg", "c_upgo", "c_value", "c_kl", "c_entropy"):
            if not getattr(self, name) >= 0:
                raise OptionError(f"{name}={getattr(self, name)}: must be at least 0")
        for name in ("learning_rate", "max_grad_norm"):
            if not getattr(self, name) > 0:
                raise OptionError(f"{name}={getattr(self, name)}: must be greater than 0")
        if self.c_bar > self.rho_bar:
            raise OptionError(f"c_bar={self.c_bar}: must be at most rho_bar={self.rho_bar}")

    @classmethod
    def with_preset(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """`options`, and those of the preset that they name.

        Raises:
            OptionError: there is no such preset.
        """
        name = options.get("preset", "default")
        if name not in PRESETS:
            raise OptionError(f"preset={name!r}: must be one of {', '.join(map(repr, PRESETS))}")
        defaults = {field.name: field.default for field in dataclasses.fields(cls)}
        given = {key: value for key, value in options.items() if key not in defaults or value != defaults[key]}
        return {**PRESETS[name], **given}
