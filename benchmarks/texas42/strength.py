"""Measure how often players make and break the same contracts of Texas 42, each against the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import comb, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ludory.agents.evaluation.evaluation_result import bootstrap_interval
from ludory.agents.make import make_agent
from ludory.arguments import Positional
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.benchmarks.harness.terminal import Shown, progress, table
from ludory.errors import OptionError

from .duels import GAME, Duel, Outcome, columns, play_duel, player_files, read_outcomes

PIMC = "texas42/pimc"
"""The baseline: PIMC with 10 worlds."""


class Anchor(NamedTuple):
    """A pair whose make rates, the first's and the second's as declarer, were measured by a prototype, in percent."""

    first: str
    second: str
    rates: tuple[float, float]
    deals: int = 150
    """Number of deals that the prototype played."""


ANCHORS = (
    Anchor(PIMC, "random", (81.3, 23.3)),
    Anchor(PIMC, PIMC, (49.0, 49.0), 600),
    Anchor(PIMC, "texas42/pimc(worlds=1)", (56.5, 30.0)),
    Anchor(PIMC, "texas42/pimc(worlds=3)", (51.5, 45.0)),
    Anchor("texas42/pimc(worlds=50)", PIMC, (52.0, 48.7)),
    Anchor("texas42/seer", PIMC, (85.3, 38.0)),
    Anchor("texas42/seer", "texas42/seer", (75.3, 75.3)),
)


@dataclass(frozen=True, slots=True)
class StrengthOptions:
    """Options of `ludory bench texas42-strength`."""

    agent: Positional[str | None] = None
    """Spec, e.g. 'texas42/pimc(worlds=50)'; none: --anchors."""
    rival: str = PIMC
    """Spec; texas42/pimc draws 10 worlds."""
    anchors: bool = False
    """All pairs whose rates a prototype has measured."""
    deals: Count = 200
    """Each is played twice."""
    first: Natural = 0
    """Number of the first deal."""
    seed: Natural = 0
    """Of the deals and the draws."""
    processes: Count = 1
    """Processes that share the deals."""
    out: Path = Path("runs/texas42-strength")
    """Folder; what lies there is not played again."""


@benchmark("texas42-strength")
def run(options: StrengthOptions) -> Result:
    """Play what is missing."""
    if bool(options.agent) == options.anchors:
        raise OptionError("name either an agent or --anchors")
    pairs = [(one.first, one.second) for one in ANCHORS] if options.anchors else [(options.agent or "", options.rival)]
    for spec in {spec for pair in pairs for spec in pair}:
        make_agent(spec, GAME)  # a wrong name fails before a file is written
    deals = range(options.first, options.first + options.deals)
    results = []
    for first, second in pairs:
        duel = Duel(first, second, options.seed, files=player_files([first, second]))
        results.append(_result(duel, _played(duel, options, deals)))
    name = "anchors.json" if options.anchors else Path(duel.file_name).with_suffix(".json")
    return Result(options.out / name, {"deals": [deals.start, deals.stop], "duels": results}, _shown)


def _played(duel: Duel, options: StrengthOptions, deals: range) -> list[Outcome]:
    file = options.out / duel.file_name
    with progress(f"{duel.first} v {duel.second}", len(deals), len(read_outcomes(file, duel))) as tick:
        return play_duel(duel, file, deals, options.processes, lambda _: tick())


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


def _shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    heads = ["first", "second", "deals", "first makes %", "second makes %", "both/neither/first/second", "z"]
    rates = {(one.first, one.second): _anchored(one) for one in ANCHORS}
    rows = [[*_cells(one), rates.get((one["first"], one["second"]), "")] for one in report["duels"]]
    yield table("", [*heads, "marks a hand", "ms a choice", "prototype %"], rows, left=2)


def _cells(one: Mapping[str, Any]) -> list[str]:
    pairs, marks, p = PairTable(**one["pairs"]), one["marks_per_hand"], one["exact_p"]
    rates = zip(one["make_rates"], one["make_rate_errors"], strict=True)
    return [
        one["first"],
        one["second"],
        str(pairs.pairs),
        *(f"{100 * rate:.1f} +- {100 * error:.1f}" for rate, error in rates),
        "/".join(map(str, pairs)),
        f"{one['mcnemar_z']:+.1f}" + ("" if p is None else f" (p {p:.3f})"),
        f"{marks['mean']:+.3f} [{marks['low']:+.3f}, {marks['high']:+.3f}]",
        " / ".join(f"{ms:.1f}" for ms in one["milliseconds_per_choice"]),
    ]


def _anchored(anchor: Anchor) -> str:
    """The prototype's rates, with the standard errors that its number of deals leaves."""
    errors = [100 * (rate / 100 * (1 - rate / 100) / anchor.deals) ** 0.5 for rate in anchor.rates]
    return " / ".join(f"{rate:.1f} +- {error:.1f}" for rate, error in zip(anchor.rates, errors, strict=True))


EXACT_BELOW = 25
"""The exact binomial test is used below this number of discordant pairs."""


class PairTable(NamedTuple):
    """Number of tasks solved by both, by neither, only by the first, only by the second."""

    both: int
    neither: int
    first: int
    second: int

    @property
    def pairs(self) -> int:
        """Number of tasks."""
        return sum(self)

    @property
    def rates(self) -> tuple[float, float]:
        """Share of the tasks that each solved."""
        return (self.both + self.first) / self.pairs, (self.both + self.second) / self.pairs

    @property
    def rate_errors(self) -> tuple[float, float]:
        """Standard error of each rate."""
        a, b = (sqrt(rate * (1 - rate) / self.pairs) for rate in self.rates)
        return a, b

    @property
    def lead(self) -> float:
        """The first's rate minus the second's."""
        return (self.first - self.second) / self.pairs

    @property
    def lead_error(self) -> float:
        """Standard error of `lead`, over pairs."""
        return sqrt(max((self.first + self.second) / self.pairs - self.lead**2, 0) / self.pairs)

    @property
    def z(self) -> float:
        """McNemar's statistic (doi:10.1007/BF02295996), without correction; 0 if no pair is discordant."""
        discordant = self.first + self.second
        return (self.first - self.second) / sqrt(discordant) if discordant else 0.0

    @property
    def exact_p(self) -> float | None:
        """Two-sided p-value of the binomial test; None with `EXACT_BELOW` or more discordant pairs, where `z` is used."""
        discordant, fewer = self.first + self.second, min(self.first, self.second)
        if discordant >= EXACT_BELOW:
            return None
        return float(min(1.0, 2 * sum(comb(discordant, k) for k in range(fewer + 1)) / 2**discordant))


def pair_table(first: ArrayLike, second: ArrayLike) -> PairTable:
    """The table of two bool arrays (n,)."""
    a, b = np.asarray(first, bool), np.asarray(second, bool)
    return PairTable(*(int(part.sum()) for part in (a & b, ~a & ~b, a & ~b, ~a & b)))
