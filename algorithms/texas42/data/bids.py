"""P(make) of the hand that seat 0 gets in a seed's deal, as a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ludory.agents.texas42.bidding.make_probability import Chances, double_dummy, rollout
from ludory.data.formats.texas42.bid_tables import BidName, BidTable, write_bids
from ludory.envs import hash_rows
from ludory.envs.texas42.start import seed_deal
from ludory.envs.texas42.tiles import TILE_NAMES, mask_of


def make_bids(file: str | Path, name: BidName) -> int:
    """Find the chances of a hand and write them; returns the number of hands, 1.

    Raises:
        OutputError: the file cannot be written.
    """
    hand, found = seed_deal(name.seed)[0], chances_of(name)
    names = ",".join(TILE_NAMES[tile] for tile in hand)
    figures = np.stack([found.p, found.low, found.high]).astype(np.float32)
    write_bids(file, name, BidTable(names, found.player, found.points, figures))
    return 1


def chances_of(name: BidName) -> Chances:
    """Of the hand of `name`; draws depend on its seed, the declaration and the sampler's seed."""
    hand, key = mask_of(seed_deal(name.seed)[0]), int(hash_rows(name.sampler_seed, name.seed))
    if name.mode == "double_dummy":
        return double_dummy(hand, name.samples, key)
    return rollout(hand, name.samples, key, worlds=name.worlds)
