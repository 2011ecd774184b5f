"""`ludory texas42 eq`: fill a folder with hands played by E[Q], every decision recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ludory.arguments import Arg
from ludory.cli.common import Count, Flag, Folder, Maybe, parse
from ludory.errors import OptionError

from .filling import SeedOptions
from .words import DeclOrRandom

if TYPE_CHECKING:
    from ludory.agents.texas42.solver.solver import OpenHandValues
    from ludory.algorithms.texas42.data.eq import EqSettings
    from ludory.data.formats.texas42.eq_records import EqName

BYTES = 72e3
PRESETS: dict[str, dict[str, Any]] = {
    "seed": {
        "n_samples": 50,
        "posterior_window": 4,
        "posterior_tau": 0.1,
        "posterior_mix": 0.1,
        "epsilon": 0.1,
        "temperature": 2.0,
        "min_samples": 5000,
        "max_samples": 2_000_000,
        "adaptive_batch_size": 1000,
        "sem_threshold": 0.1,
    }
}
"""Other defaults of the options, by name; seed: those that the first pipeline had on its command line."""


@dataclass(frozen=True, kw_only=True)
class _Options(SeedOptions):
    """Play hands by E[Q] over worlds solved exactly or by a network, and record every decision (schema 2.1).

    Example: ludory texas42 eq --seeds 0-9 --out data/eq
    """

    absent: ClassVar[Mapping[str, str]] = {
        "--device": "worlds are solved on the CPU, also by a network; leave it out",
        "--batch-size": "each decision stops by itself; leave it out, or choose --adaptive-batch-size",
    }
    out: Annotated[Folder, Arg(aliases=("--output-dir",))] = Path("data/texas42-eq")
    """Folder of the records."""
    preset: Maybe[Literal["seed"]] = None
    """Other defaults of the options; seed: those of the first pipeline (what is said besides wins)."""
    network: Annotated[str, Arg(aliases=("--checkpoint",))] = ""
    """Values of worlds by this network instead: texas42/oracle, which ships with Ludory, or a file of texas42_oracle. Many worlds take less
    time, and the first tricks are off by points."""
    n_samples: Count = 50
    """Worlds of each decision."""
    enumerate_below: Count = 200
    """Solve all worlds where there are no more than this."""
    objective: Literal["mean", "make"] = "mean"
    """What the player maximises: its mean points, or its chance to make the bid."""
    bid: Count = 30
    """Bid of seat 0: 30..41, or 42 m for m marks."""
    callable: Flag = False
    """Declare by seed % 9 only what can be called in straight 42; else by seed % 10, of which 8 is doubles as a suit."""
    decl: Maybe[DeclOrRandom] = None
    """Declaration, 0..9 or a name; random: one of the nine that can be called, drawn by the seed (default: seed % 10)."""
    sampler_seed: Count = 0
    """Seed of worlds and exploration."""
    posterior: Flag = False
    """Weigh worlds by what the others played."""
    posterior_window: Count = 8
    """With --posterior: last plays that count."""
    posterior_tau: float = 10.0
    """With --posterior: temperature in points."""
    posterior_mix: float = 0.1
    """With --posterior: share of careless plays."""
    adaptive: Flag = False
    """Draw worlds until the means are sure."""
    min_samples: Count = 128
    """With --adaptive: worlds at least."""
    max_samples: Count = 20_000
    """With --adaptive: worlds at most."""
    adaptive_batch_size: Count = 64
    """With --adaptive: worlds at a time."""
    sem_threshold: float = 0.5
    """With --adaptive: largest standard error, in points."""
    exploration: Literal["greedy", "epsilon_greedy", "boltzmann"] = "greedy"
    """How tiles are chosen: the best, sometimes any legal tile, or by a Boltzmann distribution."""
    epsilon: float = 0.1
    """With epsilon_greedy: rate of any legal tile."""
    temperature: float = 2.0
    """With boltzmann: temperature in points."""
    blunder: float = 0.0
    """Rate of tiles that lose something."""
    blunder_cap: float = 5.0
    """Points that such a tile loses at most."""


def run(argv: list[str]) -> int:
    """Write the records that are missing, or show which are; returns the exit code."""
    chosen = parse_eq(argv)

    from ludory.algorithms.texas42.data.eq import check_eq, eq_names, make_eq

    solver = _values(chosen.network)
    settings = replace(_settings(chosen), evaluator=solver.name)

    def check(file: Path, name: EqName) -> None:
        check_eq(file, name, settings)

    def make(file: Path, name: EqName) -> int:
        return make_eq(file, name, settings, solver)

    return chosen.do(eq_names(chosen.wanted_seeds(), chosen.start_seed), check, make, "decisions", BYTES)


def _values(network: str) -> OpenHandValues:
    """What tells the values of worlds."""
    if not network:
        from ludory.agents.texas42.solver.solver import Solver

        return Solver()
    from ludory.agents.texas42.networks.network_values import NetworkValues, open_hand_network  # imports torch

    return NetworkValues(open_hand_network(network))


def parse_eq(argv: list[str]) -> _Options:
    """The options, with the defaults of the preset."""
    chosen = parse(_Options, argv, "texas42 eq")
    if not chosen.preset:
        return chosen
    return parse(_Options, argv, "texas42 eq", default=replace(_Options(), **PRESETS[chosen.preset]))


def _settings(chosen: _Options) -> EqSettings:
    from ludory.agents.texas42.expected_value.decision_value import Adaptive, WorldSampling
    from ludory.agents.texas42.expected_value.exploration import Exploration
    from ludory.agents.texas42.expected_value.posterior import Posterior
    from ludory.algorithms.texas42.data.eq import EqSettings

    adaptive = (
        Adaptive(chosen.adaptive_batch_size, chosen.min_samples, chosen.max_samples, chosen.sem_threshold)
        if chosen.adaptive
        else None
    )
    posterior = (
        Posterior(chosen.posterior_window, chosen.posterior_tau, chosen.posterior_mix) if chosen.posterior else None
    )
    exploration = Exploration(
        chosen.blunder,
        chosen.blunder_cap,
        chosen.epsilon if chosen.exploration == "epsilon_greedy" else 0.0,
        chosen.temperature if chosen.exploration == "boltzmann" else 0.0,
    )
    if chosen.exploration == "boltzmann" and not chosen.temperature > 0:
        raise OptionError(
            f"--temperature {chosen.temperature}: must be above 0; --exploration greedy plays the best tile"
        )
    sampling = WorldSampling(chosen.n_samples, chosen.enumerate_below, adaptive, posterior)
    told = chosen.objective, chosen.bid, chosen.callable, chosen.sampler_seed, chosen.decl
    return EqSettings(sampling, exploration, *told)
