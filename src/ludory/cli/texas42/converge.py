"""`ludory texas42 bids-converge`: how many samples P(make) takes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from ludory.arguments import Arg, Repeated
from ludory.cli.common import Count, File, Flag, Maybe, check_ending, parse, write_text
from ludory.errors import DataError, OptionError

from .words import Hand


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Show how good P(make) is after fewer hands: disjoint parts of the samples against all of them.

    Reads tables of `ludory texas42 bids`, or plays --hand.

    Example: ludory texas42 bids-converge data/texas42-bids --bid 34
    """

    paths: Annotated[tuple[Path, ...], Arg(positional=True, metavar="PATH...")] = ()
    """Tables, or folders of them."""
    hand: Repeated[tuple[Hand, ...]] = ()
    """Hand to play, "6-4,5-5,..."."""
    mode: Literal["rollout", "double_dummy"] = "rollout"
    """With --hand: play with hidden hands, or with all hands open."""
    samples: Count = 500
    """With --hand: samples for each declaration."""
    worlds: Count = 10
    """With --hand: worlds of texas42/pimc, which plays it."""
    seed: Count = 0
    """With --hand: seed of the deals."""
    bid: Count = 30
    """Bid, 30..41."""
    sizes: tuple[Count, ...] = (10, 25, 50, 100, 200)
    """Samples of a part."""
    json: Flag = False
    """Print one JSON list, for programs."""
    svg: Maybe[File] = None
    """Draw half width and error by samples."""


def converge(argv: list[str]) -> int:
    """Print how good P(make) is after fewer samples; returns the exit code."""
    chosen = parse(_Options, argv, "texas42 bids-converge")
    check_ending("--svg", chosen.svg, ".svg")
    if bool(chosen.paths) == bool(chosen.hand):
        raise OptionError("name tables of `ludory texas42 bids`, or a hand with --hand, and not both")

    from ludory.agents.texas42.bidding.make_probability import convergence

    points = _read_points(chosen.paths) if chosen.paths else _play_points(chosen)
    steps = convergence(points, chosen.bid, sorted(set(chosen.sizes)))
    if chosen.json:
        print(json.dumps([step._asdict() for step in steps], indent=2))
    else:
        most = min(one.shape[1] for one in points)
        print(f"{len(points)} hands, {most} samples each; P(make {chosen.bid}) by the best declaration:")
        print("samples  half width  covered  error  best  lost")
        for step in steps:
            print(
                f"{step.samples:7d}  {step.half_width:10.3f}  {step.covered:7.3f}  {step.error:.3f}  {step.best:.2f}  {step.lost:.3f}"
            )
        print(
            "half width of the 95 % interval; covered: how often it holds the chance by all samples; error: root mean square difference;\n"
            "best: how often the declaration is that of all samples; lost: what declaring by so few samples costs"
        )
    if chosen.svg:
        from ludory.charts import line_chart

        lines = {name: [(one.samples, getattr(one, name)) for one in steps] for name in ("half_width", "error", "lost")}
        write_text(chosen.svg, line_chart("P(make) by samples", "samples", "chance", lines))
    return 0


def _read_points(paths: tuple[Path, ...]) -> list[Any]:
    """Final points (9, n) of each table."""
    from ludory.data.formats.texas42.bid_tables import is_bids, read_bids

    found = []
    for path in paths:
        if not path.exists():
            raise DataError(f"{path}: no such file or folder")
        files = sorted(file for file in path.rglob("*.parquet") if is_bids(file)) if path.is_dir() else [path]
        if not files:
            raise DataError(f"{path}: no tables of bids; `ludory texas42 bids --out {path}` writes some")
        found += [read_bids(file).points for file in files]
    return found


def _play_points(chosen: _Options) -> list[Any]:
    """The same, of hands that are played now."""
    from ludory.agents.texas42.bidding.make_probability import double_dummy, rollout
    from ludory.envs import check_range
    from ludory.envs.texas42.tiles import mask_of

    for name in ("samples", "worlds"):
        check_range(f"--{name}", getattr(chosen, name), 1, 100_000)
    if chosen.mode == "double_dummy":
        return [double_dummy(mask_of(one), chosen.samples, chosen.seed).points for one in chosen.hand]
    return [
        rollout(mask_of(one), chosen.samples, chosen.seed, worlds=chosen.worlds, for_42=False).points
        for one in chosen.hand
    ]
