"""`ludory bench texas42-bidding`: what P(make) says of contracts against how often they are made, and what bidding by it is worth.

Contracts come from auctions of four bidders, so the other hands are not quite any hands. Deciles are of the calibrated prediction, which does not
depend on the sample of rollouts: the mean of the rollouts of a decile is then free of the luck by which an entry came into it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from ludory.agents.evaluation.evaluate import check_count
from ludory.agents.evaluation.intervals import wilson
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.player_files import player_files
from ludory.benchmarks.harness.result_file import write_result
from ludory.data.formats.texas42.jobs import fill
from ludory.errors import OptionError

from .bids import Contract, PartName, play_contracts, read_part, write_part
from .matches import Pair, Reached, play_pairs
from .matches import summary as matches_summary

DECILES = 10
TOLERANCE = 0.03
"""A decile is met where expectation and outcome differ by no more."""


def run(argv: list[str]) -> int:
    """Play what is missing, print, write; returns the exit code."""
    options = _parser().parse_args(argv)
    for option, least in (("contracts", 0), ("rollouts", 1), ("worlds", 1), ("matches", 0), ("seed", 0)):
        check_count(f"--{option}", getattr(options, option), least)
    if not (options.contracts or options.matches):
        raise OptionError("--contracts 0 and --matches 0: nothing is left to do; give one of them")
    started_from = origin()
    play = f"play='texas42/pimc(worlds={options.worlds})'"
    bidder = f"texas42/bidder({play})"
    report: dict[str, Any] = {
        "benchmark": "texas42-bidding",
        "bidder": bidder,
        "rival": f"texas42/bid30({play})",
        "seed": options.seed,
    }
    if options.contracts:
        report["calibration"] = summary(_contracts(options, bidder))
    if options.matches:
        report["matches"] = _matches(options, bidder, report["rival"])
    what = "-".join(name for name in ("calibration", "matches") if name in report)
    target = options.out / f"texas42-bidding-{what}.json"
    write_result(target, report | started_from)
    _print(report)
    print(f"result in {target}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("ludory bench texas42-bidding", description=__doc__)
    parser.add_argument(
        "--contracts", type=int, default=5000, help="at least so many played contracts (default 5000; 0: none)"
    )
    parser.add_argument("--rollouts", type=int, default=10, help="hands played for each prediction (default 10)")
    parser.add_argument("--worlds", type=int, default=10, help="of texas42/pimc, which plays everything (default 10)")
    parser.add_argument("--matches", type=int, default=0, help="pairs of matches against texas42/bid30 (default 0)")
    parser.add_argument("--seed", type=int, default=0, help="of the deals (default 0)")
    folder = Path("runs/texas42-bidding")
    parser.add_argument(
        "--out", type=Path, default=folder, help=f"folder; what lies there is not played again (default {folder})"
    )
    return parser


def _contracts(options: argparse.Namespace, bidder: str) -> list[Contract]:
    """Played until there are enough; several processes may share the folder."""
    files = player_files([bidder])
    settings = f"{bidder}, files {files}, {options.rollouts} rollouts, {options.worlds} worlds, seed {options.seed}"
    found: list[Contract] = []
    number = 0
    while len(found) < options.contracts:
        name = PartName("contracts", number, settings)
        _fill(
            options.out,
            name,
            lambda name: play_contracts(bidder, name.number, options.rollouts, options.worlds, options.seed),
            f"{len(found)} of {options.contracts} contracts",
        )
        found += [Contract(*row) for row in read_part(options.out / name.path, name)]
        number += 1
    return found


def _matches(options: argparse.Namespace, first: str, second: str) -> dict[str, Any]:
    """See `texas42_matches.summary`."""
    settings, number = f"{first} v {second}, files {player_files([first, second])}, seed {options.seed}", 0
    pairs: list[Pair] = []
    while len(pairs) < options.matches:
        name = PartName("matches", number, settings)
        _fill(
            options.out,
            name,
            lambda name: play_pairs(first, second, name.number, options.seed),
            f"{len(pairs)} of {options.matches} pairs of matches",
        )
        for ahead, reached in read_part(options.out / name.path, name):
            pairs.append(Pair(tuple(ahead), [Reached(*one) for one in reached]))
        number += 1
    return matches_summary(pairs)


def _fill(folder: Path, name: PartName, make: Any, words: str) -> None:
    def write(file: Path, one: PartName) -> None:
        Console(stderr=True).print(words, highlight=False)
        write_part(file, one, make(one))

    while fill(folder, [name], lambda file, one: None, write).elsewhere:  # wait for the process that makes it
        sleep(1)


def summary(contracts: list[Contract]) -> dict[str, Any]:
    """Figures of all contracts, and of each decile of the calibrated prediction."""
    columns = {name: np.array([getattr(one, name) for one in contracts], float) for name in Contract._fields}
    parts = np.array_split(np.argsort(columns["calibrated"], kind="stable"), DECILES)
    deciles = [_figures(columns, part) for part in parts if len(part)]
    return {
        "contracts": len(contracts),
        "all": _figures(columns, np.arange(len(contracts))),
        "deciles": deciles,
        "met": {
            name: all(abs(d[name] - d["made"]) <= TOLERANCE for d in deciles)
            for name in ("calibrated", "rollout", "open_hands")
        },
    }


def _figures(columns: dict[str, NDArray[np.float64]], rows: NDArray[np.int64]) -> dict[str, float]:
    low, high = wilson(columns["made"][rows].sum(), len(rows))
    means = {name: float(columns[name][rows].mean()) for name in ("calibrated", "rollout", "open_hands", "made")}
    return {"n": len(rows), **means, "made_low": float(low), "made_high": float(high)}


def _print(report: dict[str, Any]) -> None:
    if "calibration" in report:
        found = report["calibration"]
        table = Table(
            "", "contracts", "calibrated", "rollout", "open hands", "made", "95 %", title="P(make) and what was made, %"
        )
        for name, one in [("all", found["all"]), *((str(k + 1), one) for k, one in enumerate(found["deciles"]))]:
            cells = [f"{100 * one[key]:.1f}" for key in ("calibrated", "rollout", "open_hands", "made")]
            table.add_row(name, str(one["n"]), *cells, f"{100 * one['made_low']:.1f}..{100 * one['made_high']:.1f}")
        Console().print(table)
    if "matches" in report:
        found = report["matches"]
        ahead = found["marks_per_game"]
        print(
            f"{report['bidder']} v {report['rival']}: {ahead['mean']:+.2f} marks a game [{ahead['low']:+.2f}, {ahead['high']:+.2f}], "
            f"wins {100 * found['wins']:.1f} %, {found['pairs']} pairs of matches"
        )
        for name, side in (("bidder", found["first"]), ("rival", found["second"])):
            bids = ", ".join(f"{bid}: {count}" for bid, count in side["bids"].items())
            won, made = 100 * side["auctions_won"], 100 * side["made"]
            print(f"{name} wins {won:.1f} % of the auctions and makes {made:.1f} % of its contracts; bids {bids}")
