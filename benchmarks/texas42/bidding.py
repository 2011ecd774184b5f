"""Compare P(make) of contracts with how often they are made, and measure what bidding by it is worth.

Contracts come from auctions of four bidders, so the other hands are not uniformly random. Deciles are of the calibrated prediction,
which does not depend on the sample of rollouts: the mean of the rollouts in a decile is then free of selection bias.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ludory.agents.evaluation.intervals import wilson
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.data.formats.texas42.jobs import fill
from ludory.errors import OptionError

from .bids import Contract, PartName, play_contracts, read_part, write_part
from .duels import player_files
from .matches import Pair, Reached, play_pairs
from .matches import summary as matches_summary

DECILES = 10
TOLERANCE = 0.03
"""A decile is met where expectation and outcome differ by no more."""


@dataclass(frozen=True, slots=True)
class BiddingOptions:
    """Options of `ludory bench texas42-bidding`."""

    contracts: Natural = 5000
    """At least so many played contracts; 0: none."""
    rollouts: Count = 10
    """Hands played for each prediction."""
    worlds: Count = 10
    """Of texas42/pimc, which plays everything."""
    matches: Natural = 0
    """Pairs of matches of --agent against --rival."""
    agent: str | None = None
    """Spec of who bids in the matches; none: texas42/bidder, which plays by texas42/pimc."""
    rival: str | None = None
    """Spec of its rival; none: texas42/bid30, which plays by texas42/pimc."""
    seed: Natural = 0
    """Of the deals."""
    out: Path = Path("runs/texas42-bidding")
    """Folder; what lies there is not played again."""


@benchmark("texas42-bidding")
def run(options: BiddingOptions) -> Result:
    """Play what is missing."""
    if not (options.contracts or options.matches):
        raise OptionError("--contracts 0 and --matches 0: nothing is left to do; give one of them")
    if (options.agent or options.rival) and (options.contracts or not options.matches):
        raise OptionError("--agent and --rival are for matches alone; add --contracts 0 --matches 100")
    play = f"play='texas42/pimc(worlds={options.worlds})'"
    bidder = f"texas42/bidder({play})"
    first, second = options.agent or bidder, options.rival or f"texas42/bid30({play})"
    report: dict[str, Any] = {"bidder": first, "rival": second, "seed": options.seed}
    if options.contracts:
        report["calibration"] = summary(_contracts(options, bidder))
    if options.matches:
        report["matches"] = matches_summary(_matches(options, first, second))
    what = "-".join(name for name in ("calibration", "matches") if name in report)
    return Result(options.out / f"texas42-bidding-{what}.json", report, _shown)


def _contracts(options: BiddingOptions, bidder: str) -> list[Contract]:
    """Played until there are enough."""
    settings = f"{bidder}, files {player_files([bidder])}, {options.rollouts} rollouts, {options.worlds} worlds, seed {options.seed}"

    def make(number: int) -> list[Contract]:
        return play_contracts(bidder, number, options.rollouts, options.worlds, options.seed)

    return [Contract(*row) for row in _rows("contracts", options.contracts, settings, options.out, make)]


def _matches(options: BiddingOptions, first: str, second: str) -> list[Pair]:
    settings = f"{first} v {second}, files {player_files([first, second])}, seed {options.seed}"

    def make(number: int) -> list[Pair]:
        return play_pairs(first, second, number, options.seed)

    rows = _rows("matches", options.matches, settings, options.out, make)
    return [Pair(tuple(ahead), [Reached(*one) for one in reached]) for ahead, reached in rows]


def _rows(kind: str, wanted: int, settings: str, folder: Path, make: Callable[[int], list[Any]]) -> list[Any]:
    """At least `wanted` rows of the files of a kind; missing files are made, by several processes if they share the folder."""
    found: list[Any] = []
    number = 0

    def write(file: Path, name: PartName) -> None:
        Console(stderr=True).print(f"{len(found)} of {wanted} {kind}", highlight=False)
        write_part(file, name, make(name.number))

    while len(found) < wanted:
        name = PartName(kind, number, settings)
        while fill(folder, [name], lambda file, one: None, write).elsewhere:  # wait for the process that makes it
            sleep(1)
        found += read_part(folder / name.path, name)
        number += 1
    return found


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


def _shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    if found := report.get("calibration"):
        columns = ("", "contracts", "calibrated", "rollout", "open hands", "made", "95 %")
        rows = [("all", found["all"]), *((str(k + 1), one) for k, one in enumerate(found["deciles"]))]
        yield table("P(make) and what was made, %", columns, [_cells(name, one) for name, one in rows])
    if found := report.get("matches"):
        ahead = found["marks_per_game"]
        yield (
            f"{report['bidder']} v {report['rival']}: {ahead['mean']:+.2f} marks a game [{ahead['low']:+.2f}, {ahead['high']:+.2f}], "
            f"wins {100 * found['wins']:.1f} %, {found['pairs']} pairs of matches"
        )
        for name, side in (("bidder", found["first"]), ("rival", found["second"])):
            bids = ", ".join(f"{bid}: {count}" for bid, count in side["bids"].items())
            won, made = 100 * side["auctions_won"], 100 * side["made"]
            yield f"{name} wins {won:.1f} % of the auctions and makes {made:.1f} % of its contracts; bids {bids}"


def _cells(name: str, one: Mapping[str, float]) -> list[str]:
    shares = [f"{100 * one[key]:.1f}" for key in ("calibrated", "rollout", "open_hands", "made")]
    return [name, str(one["n"]), *shares, f"{100 * one['made_low']:.1f}..{100 * one['made_high']:.1f}"]
