"""`ludory bench texas42-strength`: how often players make and break the same contracts of Texas 42, each against the other."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from ludory.agents.evaluation.evaluate import check_count
from ludory.agents.evaluation.evaluation_result import bootstrap_interval
from ludory.agents.evaluation.paired_shares import PairTable, pair_table
from ludory.agents.make import make_agent
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.player_files import player_files
from ludory.benchmarks.harness.result_file import write_result

from .duels import GAME, Duel, Outcome, columns, play_duel

PIMC = "texas42/pimc"
"""The baseline: PIMC with 10 worlds."""


class Anchor(NamedTuple):
    """A pair whose make rates, the first's and the second's as declarer, were measured by a prototype, in percent."""

    first: str
    second: str
    rates: tuple[float, float]
    deals: int = 150
    """That the prototype played, as far as it is known."""


ANCHORS = (
    Anchor(PIMC, "random", (81.3, 23.3)),
    Anchor(PIMC, PIMC, (49.0, 49.0), 600),
    Anchor(PIMC, "texas42/pimc(worlds=1)", (56.5, 30.0)),
    Anchor(PIMC, "texas42/pimc(worlds=3)", (51.5, 45.0)),
    Anchor("texas42/pimc(worlds=50)", PIMC, (52.0, 48.7)),
    Anchor("texas42/seer", PIMC, (85.3, 38.0)),
    Anchor("texas42/seer", "texas42/seer", (75.3, 75.3)),
)


def run(argv: list[str]) -> int:
    """Play what is missing, print, write; returns the exit code."""
    parser = argparse.ArgumentParser("ludory bench texas42-strength", description=__doc__)
    parser.add_argument("agent", nargs="?", help="spec, e.g. 'texas42/pimc(worlds=50)'; none: --anchors")
    parser.add_argument("--rival", default=PIMC, help=f"spec (default {PIMC}, which draws 10 worlds)")
    parser.add_argument("--anchors", action="store_true", help="all pairs whose rates a prototype has measured")
    parser.add_argument("--deals", type=int, default=200, help="each is played twice (default 200)")
    parser.add_argument("--first", type=int, default=0, help="number of the first deal (default 0)")
    parser.add_argument("--seed", type=int, default=0, help="of the deals and the draws (default 0)")
    parser.add_argument("--processes", type=int, default=1, help="that share the deals (default 1)")
    folder = Path("runs/texas42-strength")
    parser.add_argument(
        "--out", type=Path, default=folder, help=f"folder; what lies there is not played again (default {folder})"
    )
    options = parser.parse_args(argv)
    if bool(options.agent) == options.anchors:
        parser.error("name an agent or give --anchors, one of the two")
    for option, least in (("deals", 1), ("first", 0), ("seed", 0), ("processes", 1)):
        check_count(f"--{option}", getattr(options, option), least)
    pairs = [(one.first, one.second) for one in ANCHORS] if options.anchors else [(options.agent, options.rival)]
    for spec in {spec for pair in pairs for spec in pair}:
        make_agent(spec, GAME)  # a wrong name shows before a file is written
    deals = range(options.first, options.first + options.deals)
    started_from = origin()
    results = []
    with Progress(transient=True, console=Console(stderr=True)) as progress:
        for first, second in pairs:
            duel = Duel(first, second, options.seed, files=player_files([first, second]))
            bar = progress.add_task(f"{first} v {second}", total=len(deals))
            outcomes = play_duel(
                duel, options.out / duel.file_name, deals, options.processes, partial(_show, progress, bar)
            )
            results.append(_result(duel, outcomes))
    report = {"benchmark": "texas42-strength", "deals": [deals.start, deals.stop], "duels": results, **started_from}
    target = options.out / ("anchors.json" if options.anchors else Path(duel.file_name).with_suffix(".json"))
    write_result(target, report)
    _print(results, options.anchors)
    print(f"result in {target}")
    return 0


def _show(progress: Progress, bar: TaskID, done: int) -> None:
    progress.update(bar, completed=done)


def _result(duel: Duel, outcomes: list[Outcome]) -> dict[str, Any]:
    """Figures of a duel as they stand in the report. A mark is won or lost by every hand."""
    found = columns(outcomes)
    table = pair_table(found["first_made"], found["second_made"])
    margin = found["first_made"].astype(float) - found["second_made"]
    interval = bootstrap_interval(margin)
    milliseconds = [
        1e3 * float(found[f"{side}_seconds"].sum() / max(1, found[f"{side}_moves"].sum()))
        for side in ("first", "second")
    ]
    return {
        "first": duel.first,
        "second": duel.second,
        "seed": duel.seed,
        "files": duel.files,
        "pairs": table._asdict(),
        "make_rates": table.rates,
        "make_rate_errors": table.rate_errors,
        "lead": table.lead,
        "lead_error": table.lead_error,
        "mcnemar_z": table.z,
        "exact_p": table.exact_p,
        "marks_per_hand": {"mean": float(np.mean(margin)), "low": interval.low, "high": interval.high},
        "milliseconds_per_choice": milliseconds,
    }


def _print(results: list[dict[str, Any]], anchors: bool) -> None:
    """A table for people."""
    heads = [
        "first",
        "second",
        "deals",
        "first makes %",
        "second makes %",
        "both/neither/first/second",
        "z",
        "marks a hand",
        "ms a choice",
    ]
    table = Table(*heads, *(["prototype %"] if anchors else []))
    for k, one in enumerate(results):
        pairs = PairTable(**one["pairs"])
        rates = [
            f"{100 * rate:.1f} +- {100 * error:.1f}"
            for rate, error in zip(one["make_rates"], one["make_rate_errors"], strict=True)
        ]
        marks, p = one["marks_per_hand"], one["exact_p"]
        row = [one["first"], one["second"], str(pairs.pairs), *rates, "/".join(map(str, pairs))]
        row.append(f"{one['mcnemar_z']:+.1f}" + ("" if p is None else f" (p {p:.3f})"))
        row.append(f"{marks['mean']:+.3f} [{marks['low']:+.3f}, {marks['high']:+.3f}]")
        row.append(" / ".join(f"{ms:.1f}" for ms in one["milliseconds_per_choice"]))
        table.add_row(*row, *([_anchored(ANCHORS[k])] if anchors else []))
    Console(width=180).print(table)


def _anchored(anchor: Anchor) -> str:
    """The prototype's rates, with the standard errors that its number of deals leaves."""
    errors = [100 * (rate / 100 * (1 - rate / 100) / anchor.deals) ** 0.5 for rate in anchor.rates]
    return " / ".join(f"{rate:.1f} +- {error:.1f}" for rate, error in zip(anchor.rates, errors, strict=True))
