"""`ludory plot`: learning curves of trainings, as SVG, PNG or a page; runs that differ in their seed alone are one curve."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ludory.arguments import Arg
from ludory.cli.common.guard import say
from ludory.cli.common.options import File, Flag, Paths
from ludory.cli.common.parser import parse
from ludory.errors import DataError, OptionError

if TYPE_CHECKING:
    from ludory.algorithms.running.learning_curves import TrainingCurve
    from ludory.charts.curves import Series

MOST = 6
"""Curves that can be told apart."""
KINDS = (".svg", ".png", ".html")


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Learning curves of trainings.

    Runs whose names differ in their seed alone (ppo-seed1, ppo-seed2) are one curve, with the interval of their mean.

    Example: ludory plot runs/* --out curves.svg
    """

    runs: Annotated[Paths, Arg(metavar="RUN...")]
    """Models or tables of `ludory train`, or folders of these."""
    metric: str = "rollout/ep_rew_mean"
    """Column of the tables."""
    title: str = "Learning curves"
    """Above the plot."""
    smooth: int = 1
    """Iterations that a point is the mean of."""
    out: File = Path("curves.svg")
    """File to write: .svg, .png or .html."""
    json: Flag = False
    """Print the points of the curves as one JSON object, for programs, instead of drawing them."""


def run(argv: list[str]) -> int:
    """Draw the curves; returns the exit code."""
    chosen = parse(_Options, argv, "plot")
    if chosen.out.suffix not in KINDS:
        raise OptionError(f"--out {chosen.out}: must end in one of {', '.join(KINDS)}")
    if chosen.smooth < 1:
        raise OptionError(f"--smooth {chosen.smooth}: must be at least 1")
    from ludory.algorithms.running.learning_curves import by_name, curve, curves_json

    groups = by_name(_read(chosen))
    curves = [curve(name, group, chosen.smooth) for name, group in groups.items()]
    if chosen.json:
        print(json.dumps(curves_json(chosen.metric, chosen.smooth, curves, [len(group) for group in groups.values()])))
        return 0
    if len(curves) > MOST:
        raise OptionError(f"{len(curves)} curves: at most {MOST} can be told apart; name fewer runs")
    _write(chosen, curves, [len(group) for group in groups.values()])
    for one in curves:
        last = one.points[-1]
        print(
            f"{one.name}: {chosen.metric} {last.y:.3f} ({last.low:.3f} .. {last.high:.3f}) at {last.x:,.0f} timesteps"
        )
    print(f"curves in {chosen.out}")
    return 0


def _read(chosen: _Options) -> list[TrainingCurve]:
    """All runs that have the metric; the others are named on stderr, as in `runs/*` not all runs are alike."""
    from ludory.algorithms.running.learning_curves import found_tables, read_run

    runs, flaws = [], list[DataError]()
    for name, tables in found_tables(chosen.runs).items():
        try:
            runs.append(read_run(name, tables, chosen.metric))
        except DataError as error:
            flaws.append(error)
    if not runs:
        raise flaws[0]
    for flaw in flaws:
        say(f"left out: {flaw}")
    return runs


def _write(chosen: _Options, curves: Sequence[Series], sizes: Sequence[int]) -> None:
    from ludory.atomic import atomic_file
    from ludory.charts.curves import curve_drawing
    from ludory.charts.drawing import as_image, as_svg

    seeds = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else f"{max(sizes)}"
    band = f"Mean of {seeds} runs with its 95 % interval." if max(sizes) > 1 else "One run each."
    drawing = curve_drawing(chosen.title, curves, chosen.metric, [band])
    if chosen.out.suffix == ".png":
        with atomic_file(chosen.out, "wb") as handle:
            as_image(drawing, 2).save(handle, "PNG")
        return
    svg = as_svg(drawing)
    with atomic_file(chosen.out, "w") as handle:
        handle.write(svg if chosen.out.suffix == ".svg" else _page(chosen.title, svg))


def _page(title: str, svg: str) -> str:
    from ludory.charts.drawing import quoted

    return f'<!doctype html>\n<meta charset="utf-8"><title>{quoted(title)}</title>\n<body style="margin: 2em auto; max-width: 820px">\n{svg}</body>\n'
