"""What `ludory bench learning` trains: suites of contenders, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

GAMES = 500
"""Of one evaluation."""
DECKS = 1_000_003
"""Seed of the evaluations' decks, unlike every training's."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One line of a plot: an algorithm with its network and options."""

    key: str
    name: str
    algorithm: str
    policy: str
    settings: Mapping[str, Any]
    lag: int = 0
    """Games are played with the weights of this many iterations ago."""
    taken_for_fresh: bool = False
    """The learner takes them for games of the current weights."""
    from_bc: bool = False
    """Starts from the checkpoint named by --bc, and stays close to it."""


class Claim(NamedTuple):
    """`one` should score more than `other`."""

    one: str
    other: str


@dataclass(frozen=True, slots=True)
class Suite:
    """Contenders that learn the same game and are compared."""

    key: str
    title: str
    game: str
    steps: int
    """Budget: decisions of one run."""
    shares: tuple[float, ...]
    """Shares of the budget at which the score is taken, besides 0."""
    contenders: tuple[Contender, ...]
    claims: tuple[Claim, ...] = ()

    @property
    def from_bc(self) -> bool:
        """Whether a checkpoint is needed."""
        return any(one.from_bc for one in self.contenders)

    def budgets(self, steps: int | None) -> tuple[int, ...]:
        """Decisions at which the score is taken, from 0 to `steps`; None: the suite's own number."""
        return (0, *(round(share * (steps or self.steps)) for share in self.shares))


def evenly(count: int) -> tuple[float, ...]:
    """Shares 1 / count to 1."""
    return tuple(k / count for k in range(1, count + 1))


MLP = "mlp(hidden=(64, 64))"
GRU = "gru(hidden=(64,), memory_size=64)"
FEW_GAMES: dict[str, Any] = {"num_envs": 64, "n_steps": 16}
PPO: dict[str, Any] = FEW_GAMES | {"batch_size": 256, "n_epochs": 4, "learning_rate": 1e-3}
SB3: dict[str, Any] = {"num_envs": 16, "n_steps": 128}
"""A rollout has 2,048 decisions, as in Stable-Baselines3 with one environment; everything else is its default, layers included."""
VTRACE: dict[str, Any] = FEW_GAMES | {"batch_columns": 16, "reuse": 4, "learning_rate": 1e-3}

ALGORITHMS = Suite(
    key="algorithms",
    title="Algorithms on a tiny Hanabi",
    game="HanabiTiny2P-v0",
    steps=300_000,
    shares=evenly(15),
    contenders=(
        Contender("ppo-mlp", "ppo, mlp", "ppo-v1", MLP, PPO),
        Contender("ppo-gru", "ppo, gru", "ppo-v1", GRU, PPO),
        Contender("vtrace-mlp", "vtrace, mlp", "vtrace-v1", MLP, VTRACE),
        Contender("vtrace-gru", "vtrace, gru", "vtrace-v1", GRU, VTRACE),
        Contender("sb3-ppo", "sb3_ppo, mlp", "sb3_ppo-v1", "mlp", SB3),
    ),
)

LAG = 32
FAST = {"learning_rate": 3e-3}
"""Large enough that the weights change much within the lag."""
STALE = Suite(
    key="stale",
    title=f"Learning from games played by weights {LAG} iterations old",
    game="HanabiTiny2P-v0",
    steps=300_000,
    shares=evenly(15),
    contenders=(
        Contender("vtrace", "V-trace", "vtrace-v1", MLP, VTRACE | FAST, LAG),
        Contender("ppo", "PPO", "ppo-v1", MLP, PPO | FAST, LAG),
        Contender("ppo-uncorrected", "PPO without correction", "ppo-v1", MLP, PPO | FAST, LAG, taken_for_fresh=True),
        Contender(
            "vtrace-uncorrected",
            "V-trace without correction",
            "vtrace-v1",
            MLP,
            VTRACE | FAST,
            LAG,
            taken_for_fresh=True,
        ),
    ),
    claims=(Claim("vtrace", "ppo-uncorrected"), Claim("ppo", "ppo-uncorrected")),
)

REAL: dict[str, Any] = {
    "num_envs": 512,
    "n_steps": 32,
    "batch_size": 4096,
    "n_epochs": 1,
    "learning_rate": 5e-4,
    "normalize_values": True,
}
AS_IN_BC = "auto"
"""The network of the checkpoint named by --bc takes its place."""
IMITATION = Suite(
    key="imitation",
    title="PPO from a behaviour-cloning checkpoint and from scratch",
    game="Hanabi2P-v0",
    steps=5_000_000,
    shares=(0.004, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0),
    contenders=(
        Contender("from-bc", "from BC, with KL to it", "ppo-v1", AS_IN_BC, REAL | {"kl_coef": 0.02}, from_bc=True),
        Contender("from-scratch", "from scratch", "ppo-v1", AS_IN_BC, REAL),
    ),
    claims=(Claim("from-bc", "from-scratch"),),
)

SUITES: Mapping[str, Suite] = {suite.key: suite for suite in (ALGORITHMS, STALE, IMITATION)}
