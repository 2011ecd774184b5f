"""`ludory texas42 generate | labels | bids`: fill a folder with shards of the oracle, with labels, or with P(make) of hands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count as endless
from pathlib import Path
from typing import Annotated, Literal

from ludory.arguments import Arg
from ludory.cli.common import Count, Folder, Maybe, common_fields, parse
from ludory.errors import OptionError

from .filling import SeedOptions
from .words import DeclOrRandom

STANDARD, MARGINALISED = Path("data/shards-standard"), Path("data/shards-marginalized")
SHARD_BYTES, STATE_BYTES, LABELS_BYTES, BIDS_BYTES = 165e6, 5.5, 45e3, 160e3
"""Sizes of a whole shard, of a state, of a file of labels with two paths and of a table of bids, on average."""


@dataclass(frozen=True, kw_only=True)
class _Generate(SeedOptions):
    """Write every state that a deal can reach, with exact values, to learn from: shards of the oracle.

    One Parquet file a deal (3 to 190 million rows, 165 MB on average), in DIR/train, DIR/val and DIR/test. Files that are there stay;
    several processes may share a folder.

    Example: ludory texas42 generate --seeds 0-9 --dry-run
    """

    out: Folder = STANDARD
    """Folder of the shards (with --marginalized: data/shards-marginalized)."""
    decl: Maybe[DeclOrRandom] = None
    """Declaration, 0..9 or a name; random: one of the nine that can be called, drawn by the seed (default: seed % 10)."""
    marginalized: Annotated[bool, Arg(aliases=("--marginalised",))] = False
    """Several deals of the other three hands for each hand of seat 0."""
    n_opp_seeds: Maybe[Count] = None
    """How many of these (default 3); a larger number adds files."""
    max_states: Maybe[Count] = None
    """Keep so many states of each deal, drawn uniformly."""


def generate(argv: list[str]) -> int:
    """Write the shards that are missing, or show which are; returns the exit code."""
    chosen = parse(_Generate, argv, "texas42 generate")
    opp_seeds = (3 if chosen.n_opp_seeds is None else chosen.n_opp_seeds) if chosen.marginalized else 0
    if chosen.n_opp_seeds is not None and not (chosen.marginalized and chosen.n_opp_seeds >= 1):
        raise OptionError(f"--n-opp-seeds {chosen.n_opp_seeds}: must be at least 1, together with --marginalized")
    if chosen.max_states is not None and chosen.max_states < 1:
        raise OptionError(f"--max-states {chosen.max_states}: must be at least 1")
    if chosen.marginalized and chosen.out == STANDARD:
        chosen = replace(chosen, out=MARGINALISED)

    from ludory.algorithms.texas42.data.shards import make_shard, shard_names
    from ludory.data.formats.texas42.shards import CheckShard

    states = chosen.max_states
    names = shard_names(chosen.wanted_seeds(), chosen.start_seed, chosen.decl, opp_seeds)
    size = min(SHARD_BYTES, STATE_BYTES * (states or 1e9))
    return chosen.do(names, CheckShard(states), lambda file, name: make_shard(file, name, states), "states", size)


@dataclass(frozen=True, kw_only=True)
class _Labels(SeedOptions):
    """Write states of played hands with exact values, to train networks on: 50 deals a file, every decision with a choice.

    Example: ludory texas42 labels --seeds 0-9999
    """

    out: Folder = Path("data/texas42-labels")
    """Folder of the labels."""
    paths: Count = 2
    """Hands of each deal, every other one played by texas42/pimc."""
    worlds: Count = 3
    """Worlds of texas42/pimc."""
    epsilon: float = 0.1
    """How often it plays any legal tile."""
    sampler_seed: Count = 0
    """Seed of leaders and moves."""


def labels(argv: list[str]) -> int:
    """Write the labels that are missing, or show which are; returns the exit code."""
    chosen = parse(_Labels, argv, "texas42 labels")

    from ludory.algorithms.texas42.data.labels import label_names, make_labels
    from ludory.data.formats.texas42.labels import CheckLabels, LabelSettings

    settings = LabelSettings(**common_fields(chosen, LabelSettings))
    names = label_names(chosen.wanted_seeds(), chosen.start_seed)
    size = LABELS_BYTES * settings.paths / 2
    return chosen.do(names, CheckLabels(settings), lambda file, name: make_labels(file, name, settings), "labels", size)


@dataclass(frozen=True, kw_only=True)
class _Bids(SeedOptions):
    """Write how likely the hand of seat 0 makes each bid under each declaration, one file a deal.

    Example: ludory texas42 bids --seeds 0-99 --samples 100
    """

    out: Folder = Path("data/texas42-bids")
    """Folder of the tables."""
    mode: Literal["rollout", "double_dummy"] = "rollout"
    """Hands are played with hidden hands, or with all hands open."""
    samples: Count = 100
    """Hands for each declaration (100: interval +-0.10)."""
    worlds: Count = 10
    """Worlds of texas42/pimc, which plays them."""
    sampler_seed: Count = 0
    """Seed of the deals."""


def bids(argv: list[str]) -> int:
    """Write the tables that are missing, or show which are; returns the exit code."""
    chosen = parse(_Bids, argv, "texas42 bids")

    from ludory.algorithms.texas42.data.shards import make_bids
    from ludory.data.formats.texas42.bid_tables import BidName, read_bids
    from ludory.envs import check_range

    check_range("--samples", chosen.samples, 1, 100_000)
    check_range("--worlds", chosen.worlds, 1, 100_000)
    wanted = chosen.wanted_seeds()
    seeds = endless(chosen.start_seed) if wanted is None else wanted
    names = (BidName(seed, chosen.mode, chosen.samples, chosen.worlds, chosen.sampler_seed) for seed in seeds)

    def check(file: Path, name: BidName) -> None:
        read_bids(file, name)

    return chosen.do(names, check, make_bids, "hands", BIDS_BYTES)
