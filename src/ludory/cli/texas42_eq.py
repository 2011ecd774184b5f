"""`ludory texas42 eq`: fill a folder with hands played by E[Q], every decision recorded."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ludory.errors import OptionError

from .options import count
from .texas42_filling import add_filling, fill_folder, show_missing, wanted_seeds

if TYPE_CHECKING:
    from ludory.algorithms.texas42_data.eq import EqSettings

BYTES = 72e3


def run(argv: list[str]) -> int:
    """Fill gaps, or say which there are; gives the exit code."""
    chosen = _parser().parse_args(argv)

    from ludory.agents.texas42.solver import Solver
    from ludory.algorithms.texas42_data.eq import check_eq, eq_names, make_eq

    settings, solver = _settings(chosen), Solver()
    names = eq_names(wanted_seeds(chosen), chosen.start_seed)
    if chosen.dry_run:
        return show_missing(chosen, names, lambda file, name: check_eq(file, name, settings), BYTES)
    return fill_folder(
        chosen,
        names,
        lambda file, name: check_eq(file, name, settings),
        lambda file, name: make_eq(file, name, settings, solver),
        "decisions",
    )


def _settings(chosen: argparse.Namespace) -> EqSettings:
    from ludory.agents.texas42.decision_value import Adaptive, Sampling
    from ludory.agents.texas42.exploration import Exploration
    from ludory.agents.texas42.posterior import Posterior
    from ludory.algorithms.texas42_data.eq import EqSettings

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
    sampling = Sampling(chosen.n_samples, chosen.enumerate_below, adaptive, posterior)
    return EqSettings(sampling, exploration, chosen.objective, chosen.bid, chosen.callable, chosen.sampler_seed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory texas42 eq",
        description="Play hands by E[Q] over worlds solved exactly, and record every decision (schema 2.1).",
    )
    add_filling(parser, "data/texas42-eq")
    parser.add_argument("--n-samples", type=count, default=50, help="worlds of each decision (default 50)")
    parser.add_argument(
        "--enumerate-below",
        type=count,
        default=200,
        metavar="N",
        help="solve all worlds where there are no more (default 200)",
    )
    parser.add_argument("--objective", choices=("mean", "make"), default="mean", help="of the player (default mean)")
    parser.add_argument("--bid", type=count, default=30, help="of seat 0: 30..41, or 42 m for m marks (default 30)")
    parser.add_argument(
        "--callable",
        action="store_true",
        help="declare by seed %% 9 only what can be called in straight 42; else by seed %% 10, of which 8 is doubles as a suit",
    )
    parser.add_argument("--sampler-seed", type=count, default=0, help="of worlds and exploration (default 0)")
    weights = parser.add_argument_group("weights of worlds, by what the others played")
    weights.add_argument("--posterior", action="store_true", help="weigh worlds")
    weights.add_argument(
        "--posterior-window", type=count, default=8, metavar="K", help="last plays that count (default 8)"
    )
    weights.add_argument("--posterior-tau", type=float, default=10.0, metavar="T", help="points (default 10)")
    weights.add_argument(
        "--posterior-mix", type=float, default=0.1, metavar="B", help="share of careless plays (default 0.1)"
    )
    adaptive = parser.add_argument_group("draw worlds until the means are sure")
    adaptive.add_argument("--adaptive", action="store_true", help="do so")
    adaptive.add_argument("--min-samples", type=count, default=128, help="at least (default 128)")
    adaptive.add_argument("--max-samples", type=count, default=20_000, help="at most (default 20,000)")
    adaptive.add_argument("--adaptive-batch-size", type=count, default=64, help="at a time (default 64)")
    adaptive.add_argument(
        "--sem-threshold", type=float, default=0.5, help="largest standard error, points (default 0.5)"
    )
    explore = parser.add_argument_group("play otherwise than one thinks best")
    explore.add_argument("--exploration", choices=("greedy", "epsilon_greedy", "boltzmann"), default="greedy")
    explore.add_argument("--epsilon", type=float, default=0.1, help="rate of any legal tile (default 0.1)")
    explore.add_argument("--temperature", type=float, default=2.0, help="points (default 2)")
    explore.add_argument("--blunder", type=float, default=0.0, help="rate of tiles that lose something (default 0)")
    explore.add_argument("--blunder-cap", type=float, default=5.0, help="but at most so many points (default 5)")
    return parser
