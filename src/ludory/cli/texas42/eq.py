"""`ludory texas42 eq | eq-analyse`: fill a folder with hands played by E[Q], every decision recorded; and say what such records show."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludory.atomic import atomic_file
from ludory.cli.common.options import count
from ludory.errors import OptionError

from .filling import add_filling, fill_folder, show_missing, wanted_seeds
from .words import declaration_or_random

if TYPE_CHECKING:
    from ludory.algorithms.texas42.data.eq import EqSettings

BYTES = 72e3
PRESETS = {
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


def run(argv: list[str]) -> int:
    """Fill gaps, or say which there are; returns the exit code."""
    chosen = parse(argv)

    from ludory.agents.texas42.solver.solver import Solver
    from ludory.algorithms.texas42.data.eq import check_eq, eq_names, make_eq

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


def parse(argv: list[str]) -> argparse.Namespace:
    """The options, with the defaults of the preset."""
    parser = _parser()
    chosen = parser.parse_args(argv)
    if not chosen.preset:
        return chosen
    parser.set_defaults(**PRESETS[chosen.preset])
    return parser.parse_args(argv)


def _settings(chosen: argparse.Namespace) -> EqSettings:
    from ludory.agents.texas42.expected_value.decision_value import Adaptive, Sampling
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
    sampling = Sampling(chosen.n_samples, chosen.enumerate_below, adaptive, posterior)
    told = chosen.objective, chosen.bid, chosen.callable, chosen.sampler_seed, chosen.decl
    return EqSettings(sampling, exploration, *told)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory texas42 eq",
        description="Play hands by E[Q] over worlds solved exactly, and record every decision (schema 2.1).",
    )
    add_filling(parser, "data/texas42-eq")
    parser.add_argument(
        "--preset",
        choices=tuple(PRESETS),
        help="other defaults of the options below; seed: those of the first pipeline (what is said besides wins)",
    )
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
    parser.add_argument(
        "--decl",
        type=declaration_or_random,
        help="declaration, 0..9 or a name; random: one of the nine that can be called, drawn by the seed (default: seed %% 10)",
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


COLUMNS = {
    "choices": "choices",
    "spread": "spread",
    "spread_p10": "p10",
    "spread_p90": "p90",
    "lead": "lead",
    "sem": "sem",
    "unsure": "unsure",
    "n_samples": "worlds",
    "ess_share": "ess",
    "whole": "all",
    "error": "error",
    "error_mae": "mae",
    "within_1_deviation": "within",
}
"""Figures of the table -> their headings."""
EXPLAINED = """choices: decisions with two legal tiles or more, of which the next ten columns are; spread, p10, p90: best minus worst mean, in points;
lead: best minus second; sem: largest standard error; unsure: share in which the lead is below 2 standard errors; worlds: solved; ess: effective
worlds, share of these; all: share in which every world was solved; error, mae: mean of the tile played minus what the hand then brought;
within: share in which that is at most one deviation; other N, lost: how often N other worlds make another tile the best, and what it loses"""


def analyse(argv: list[str]) -> int:
    """Print figures of recorded hands; returns the exit code."""
    parser = argparse.ArgumentParser(
        "ludory texas42 eq-analyse", description="How far tiles lie apart in recorded hands, and how sure that is."
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="records (.safetensors, .pt), or folders")
    parser.add_argument(
        "--samples",
        nargs="*",
        type=count,
        default=[],
        metavar="N",
        help="draw N other worlds, and compare the best tile",
    )
    parser.add_argument("--seed", type=count, default=0, help="of these (default 0)")
    parser.add_argument("--json", action="store_true", help="one JSON object, for programs")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw spread, lead and standard error by trick")
    chosen = parser.parse_args(argv)
    if min(chosen.samples, default=1) < 1:
        raise OptionError("--samples: must be at least 1")
    if chosen.svg and chosen.svg.suffix.lower() != ".svg":
        raise OptionError(f"--svg {chosen.svg}: the name must end in .svg")

    from ludory.algorithms.texas42.data.eq_analysis import analyse as analysed
    from ludory.algorithms.texas42.data.eq_analysis import read_records

    found = analysed(read_records(chosen.paths), chosen.samples, chosen.seed)
    print(json.dumps(found, indent=2) if chosen.json else _table(found, chosen.samples))
    if chosen.svg:
        from ludory.charts.curves import line_chart

        lines = {
            name: [(int(k), one[name]) for k, one in found["by_trick"].items() if one[name] is not None]
            for name in ("spread", "lead", "sem")
        }
        with atomic_file(chosen.svg, "w") as handle:
            handle.write(line_chart("E[Q] by trick", "trick", "points", lines))
    return 0


def _table(found: dict[str, Any], samples: list[int]) -> str:
    """A row for each trick and one for all."""
    names = COLUMNS | {
        key: head for n in samples for key, head in ((f"changed_{n}", f"other {n}"), (f"lost_{n}", "lost"))
    }
    rows = [("trick", *names.values())]
    for title, one in {**found["by_trick"], "all": found["overall"]}.items():
        rows.append((title, *(_cell(one[name]) for name in names)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    modes = ", ".join(
        f"{name} {100 * one['share']:.1f} %" for name, one in found["exploration"].items() if one["share"]
    )
    return "\n".join([f"{found['hands']} hands, {found['decisions']} decisions: {modes}", *lines, EXPLAINED])


def _cell(number: float | None) -> str:
    return "" if number is None else str(number) if isinstance(number, int) else f"{number:.3f}"
