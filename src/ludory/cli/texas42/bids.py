"""`ludory texas42 bids | bids-converge`: fill a folder with P(make) of dealt hands; and say how many samples it takes."""

from __future__ import annotations

import argparse
import json
from itertools import count as endless
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludory.atomic import atomic_file
from ludory.cli.common.options import count
from ludory.errors import DataError, OptionError

from .filling import add_filling, fill_folder, show_missing, wanted_seeds
from .words import hand

if TYPE_CHECKING:
    from ludory.data.formats.texas42.bid_tables import BidName

BYTES = 160e3


def run(argv: list[str]) -> int:
    """Fill gaps, or say which there are; returns the exit code."""
    chosen = _parser().parse_args(argv)

    from ludory.algorithms.texas42.data.bids import make_bids
    from ludory.data.formats.texas42.bid_tables import BidName, read_bids
    from ludory.envs.options import check_range

    for name in ("samples", "worlds"):
        check_range(f"--{name}", getattr(chosen, name), 1, 100_000)
    wanted = wanted_seeds(chosen)
    seeds = endless(chosen.start_seed) if wanted is None else wanted
    names = (BidName(seed, chosen.mode, chosen.samples, chosen.worlds, chosen.sampler_seed) for seed in seeds)

    def check(file: Path, name: BidName) -> None:
        read_bids(file, name)

    if chosen.dry_run:
        return show_missing(chosen, names, check, BYTES)
    return fill_folder(chosen, names, check, make_bids, "hands")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory texas42 bids",
        description="Write how likely the hand of seat 0 makes each bid under each declaration, one file a deal.",
    )
    add_filling(parser, "data/texas42-bids")
    parser.add_argument("--mode", choices=("rollout", "double_dummy"), default="rollout", help="how (default rollout)")
    parser.add_argument(
        "--samples", type=count, default=100, help="hands for each declaration (default 100: interval +-0.10)"
    )
    parser.add_argument("--worlds", type=count, default=10, help="of texas42/pimc, which plays them (default 10)")
    parser.add_argument("--sampler-seed", type=count, default=0, help="of the deals (default 0)")
    return parser


def converge(argv: list[str]) -> int:
    """Print how good P(make) is after fewer samples; returns the exit code."""
    parser = argparse.ArgumentParser(
        "ludory texas42 bids-converge",
        description="How good P(make) is after fewer hands: disjoint parts of samples against the whole of them. Reads tables of "
        "`ludory texas42 bids`, or plays --hand.",
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="tables, or folders of them")
    parser.add_argument("--hand", type=hand, action="append", default=[], help='"6-4,5-5,..."; may be repeated')
    parser.add_argument("--mode", choices=("rollout", "double_dummy"), default="rollout", help="of --hand (rollout)")
    parser.add_argument("--samples", type=count, default=500, help="of --hand, each declaration (default 500)")
    parser.add_argument("--worlds", type=count, default=10, help="of texas42/pimc, which plays --hand (default 10)")
    parser.add_argument("--seed", type=count, default=0, help="of the deals of --hand (default 0)")
    parser.add_argument("--bid", type=count, default=30, help="30..41 (default 30)")
    parser.add_argument(
        "--sizes", nargs="+", type=count, default=[10, 25, 50, 100, 200], help="samples of a part (10 25 50 100 200)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON list, for programs")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw half width and error by samples")
    chosen = parser.parse_args(argv)
    if chosen.svg and chosen.svg.suffix.lower() != ".svg":
        raise OptionError(f"--svg {chosen.svg}: the name must end in .svg")
    if bool(chosen.paths) == bool(chosen.hand):
        raise OptionError("name tables of `ludory texas42 bids`, or a hand with --hand, and not both")

    from ludory.agents.texas42.bidding.convergence import convergence

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
        from ludory.charts.curves import line_chart

        lines = {name: [(one.samples, getattr(one, name)) for one in steps] for name in ("half_width", "error", "lost")}
        with atomic_file(chosen.svg, "w") as handle:
            handle.write(line_chart("P(make) by samples", "samples", "chance", lines))
    return 0


def _read_points(paths: list[Path]) -> list[Any]:
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


def _play_points(chosen: argparse.Namespace) -> list[Any]:
    """The same, of hands that are played now."""
    from ludory.agents.texas42.bidding.make_probability import double_dummy, rollout
    from ludory.envs.options import check_range
    from ludory.envs.texas42.tiles import mask_of

    for name in ("samples", "worlds"):
        check_range(f"--{name}", getattr(chosen, name), 1, 100_000)
    if chosen.mode == "double_dummy":
        return [double_dummy(mask_of(one), chosen.samples, chosen.seed).points for one in chosen.hand]
    options = {"worlds": chosen.worlds, "for_42": False}
    return [rollout(mask_of(one), chosen.samples, chosen.seed, **options).points for one in chosen.hand]
