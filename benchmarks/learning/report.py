"""What a suite's curves add up to: JSON, a plot and a table on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ludory.benchmarks.harness.terminal import Shown, table
from ludory.charts.curves import Point, Series, curve_plot

from .curves import RESAMPLES, Band, band, lead
from .run import TrainingRun
from .suites import Contender, Suite

Curve = Mapping[str, Any]


def curve_line(run: TrainingRun, curve: Curve) -> str:
    """One line about a run that has finished."""
    return f"{run.name}: {curve['scores'][-1]:.2f} after {curve['timesteps'][-1]:,} decisions, {curve['seconds']:.0f} s"


def summary(suite: Suite, curves: Sequence[Curve]) -> dict[str, Any]:
    """The content of a suite's result file."""
    first = curves[0]["run"]
    of = {
        one.key: [curve for curve in curves if curve["run"]["contender"]["key"] == one.key] for one in suite.contenders
    }
    scores = {key: np.array([curve["scores"] for curve in found]) for key, found in of.items()}
    return {
        "suite": suite.key,
        "title": suite.title,
        "game": suite.game,
        "score": f"mean return of greedy self-play over the same {first['games']} deals (seed {first['decks']}); a bomb scores 0",
        "statistic": f"interquartile mean over seeds; 95 % percentile bootstrap, {RESAMPLES:,} resamples of the seeds of each contender",
        "seeds": sorted({curve["run"]["seed"] for curve in curves}),
        "budgets": first["budgets"],
        "commits": sorted({str(curve["commit"]) for curve in curves}),
        "contenders": [
            _contender(one, of[one.key]) | {"iqm": band(scores[one.key]).as_json()} for one in suite.contenders
        ],
        "claims": [claim._asdict() | _judged(lead(scores[claim.one], scores[claim.other])) for claim in suite.claims],
    }


def _contender(one: Contender, curves: Sequence[Curve]) -> dict[str, Any]:
    run = curves[0]["run"]
    return {
        **run["contender"],
        "bc": run["bc"],
        "timesteps": curves[0]["timesteps"],
        "scores": {str(curve["run"]["seed"]): curve["scores"] for curve in curves},
        "seconds": {str(curve["run"]["seed"]): curve["seconds"] for curve in curves},
    }


def _judged(found: Band) -> dict[str, Any]:
    return {
        "lead": found.as_json(),
        "ahead_at_every_budget": bool((found.middle > 0).all()),
        "surely_ahead_at_every_budget": bool((found.low > 0).all()),
        "ahead_at_the_end": bool(found.middle[-1] > 0),
        "surely_ahead_at_the_end": bool(found.low[-1] > 0),
    }


def suite_plot(result: Mapping[str, Any]) -> str:
    """The SVG document of a result."""
    lines = [_series(one["name"], one["timesteps"], one["iqm"]) for one in result["contenders"]]
    caption = (
        f"{result['game']}, {_seeds(result)}: interquartile mean, 95 % bootstrap interval",
        f"{result['machine']['name']}; {result['date']}",
    )
    return curve_plot(result["title"], lines, "score (points per game)", caption)


def _series(name: str, timesteps: Sequence[int], iqm: Mapping[str, Sequence[float]]) -> Series:
    values = zip(timesteps, iqm["middle"], iqm["low"], iqm["high"], strict=True)
    return Series(name, [Point(*value) for value in values])


def shown(result: Mapping[str, Any]) -> Iterator[Shown]:
    """A table of the final scores, and a line for each claim."""
    rows = []
    for one in result["contenders"]:
        final = {name: part[-1] for name, part in one["iqm"].items()}
        interval, seconds = f"{final['low']:.2f} to {final['high']:.2f}", np.mean(list(one["seconds"].values()))
        rows.append([one["name"], f"{one['timesteps'][-1]:,}", f"{final['middle']:.2f}", interval, f"{seconds:.0f}"])
    title = f"{result['title']}, {result['game']}, {_seeds(result)}"
    yield table(title, ("contender", "decisions", "score", "95 % interval", "seconds a run"), rows)
    names = {one["key"]: one["name"] for one in result["contenders"]}
    for claim in result["claims"]:
        final = {name: part[-1] for name, part in claim["lead"].items()}
        ahead = sum(value > 0 for value in claim["lead"]["middle"])
        yield (
            f"{names[claim['one']]} less {names[claim['other']]}: {final['middle']:+.2f} "
            f"({final['low']:+.2f} to {final['high']:+.2f}) at the end; ahead at {ahead} of {len(claim['lead']['middle'])} checkpoints"
        )


def _seeds(result: Mapping[str, Any]) -> str:
    count = len(result["seeds"])
    return "1 seed" if count == 1 else f"{count} seeds"
