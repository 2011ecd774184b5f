"""`ludory texas42 generate`: fill a folder with shards of the oracle."""

from __future__ import annotations

import argparse

from ludory.cli.common.options import count
from ludory.errors import OptionError

from .filling import add_filling, fill_folder, show_missing, wanted_seeds
from .words import declaration_or_random

STANDARD, MARGINALISED = "data/shards-standard", "data/shards-marginalized"
BYTES, BYTES_A_STATE = 165e6, 5.5
"""Of a whole shard, on average, and of a state."""


def run(argv: list[str]) -> int:
    """Fill gaps, or say which there are; returns the exit code."""
    parser = _parser()
    chosen = parser.parse_args(argv)
    opp_seeds = (3 if chosen.n_opp_seeds is None else chosen.n_opp_seeds) if chosen.marginalized else 0
    if chosen.n_opp_seeds is not None and not (chosen.marginalized and chosen.n_opp_seeds >= 1):
        raise OptionError(f"--n-opp-seeds {chosen.n_opp_seeds}: must be at least 1, together with --marginalized")
    if chosen.max_states is not None and chosen.max_states < 1:
        raise OptionError(f"--max-states {chosen.max_states}: must be at least 1")
    if chosen.marginalized and str(chosen.out) == STANDARD:
        chosen.out = type(chosen.out)(MARGINALISED)

    from ludory.algorithms.texas42.data.shards import make_shard, shard_names
    from ludory.data.formats.texas42.shards import CheckShard

    names = shard_names(wanted_seeds(chosen), chosen.start_seed, chosen.decl, opp_seeds)
    check = CheckShard(chosen.max_states)
    if chosen.dry_run:
        return show_missing(chosen, names, check, min(BYTES, BYTES_A_STATE * (chosen.max_states or 1e9)))
    return fill_folder(chosen, names, check, lambda file, name: make_shard(file, name, chosen.max_states), "states")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory texas42 generate",
        description="Write every state that a deal can reach, with exact values, one Parquet file a deal (3 to 190 million rows, "
        "165 MB on average), in DIR/train, DIR/val and DIR/test. Files that are there stay; several processes may share a folder.",
    )
    add_filling(parser, STANDARD)
    parser.add_argument(
        "--decl",
        type=declaration_or_random,
        help="declaration, 0..9 or a name; random: one of the nine that can be called, drawn by the seed (default: seed %% 10)",
    )
    parser.add_argument(
        "--marginalized",
        "--marginalised",
        action="store_true",
        help="several deals of the other three hands for each hand of seat 0",
    )
    parser.add_argument(
        "--n-opp-seeds", type=count, metavar="N", help="how many (default 3); a larger number adds files"
    )
    parser.add_argument(
        "--max-states", type=count, metavar="N", help="keep so many states of each deal, drawn uniformly"
    )
    return parser
