"""`ludory texas42 bids`: fill a folder with P(make) of dealt hands, every declaration and bid."""

from __future__ import annotations

import argparse
from itertools import count as endless
from pathlib import Path
from typing import TYPE_CHECKING

from .options import count
from .texas42_filling import add_filling, fill_folder, show_missing, wanted_seeds

if TYPE_CHECKING:
    from ludory.data.texas42.bid_tables import BidName

BYTES = 160e3


def run(argv: list[str]) -> int:
    """Fill gaps, or say which there are; gives the exit code."""
    chosen = _parser().parse_args(argv)

    from ludory.algorithms.texas42_data.bids import make_bids
    from ludory.data.texas42.bid_tables import BidName, read_bids
    from ludory.envs.texas42.options import check_range

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
