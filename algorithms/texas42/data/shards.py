"""Write shards: tabulate a deal, list its states, write them with their values; prove that a shard is right; P(make) of hands as files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.bidding.make_probability import Chances, double_dummy, rollout
from ludory.agents.texas42.solver.solver import Solver, positions
from ludory.agents.texas42.solver.states import root
from ludory.agents.texas42.solver.tabulator import Tabulation
from ludory.data import Problem
from ludory.data.formats.texas42.bid_tables import BidName, BidTable, write_bids
from ludory.data.formats.texas42.names import LAST_SEED, Asked, ShardName, decl_of
from ludory.data.formats.texas42.shards import StateRows, read_shard, shard_info, write_shard
from ludory.envs import hash_rows
from ludory.envs.texas42.start import seed_deal
from ludory.envs.texas42.tiles import TILE_NAMES, mask_of
from ludory.errors import DataError

ROOT = root(0)
"""The first state of every shard's deal: seat 0 leads."""


def shard_names(seeds: range | None, start: int = 0, decl: Asked = None, opp_seeds: int = 0) -> Iterator[ShardName]:
    """Names in order of seeds; endless without `seeds`.

    Args:
        seeds: whose deals.
        start: first seed where `seeds` is None.
        decl: declaration, as in `decl_of`.
        opp_seeds: deals of the other three hands for each hand of seat 0; 0: the seed's own deal.
    """
    for seed in seeds if seeds is not None else count(start):
        if seed > LAST_SEED:
            return
        for other in range(opp_seeds) if opp_seeds else (None,):
            yield ShardName(seed, decl_of(seed, decl), other)


def make_shard(file: str | Path, name: ShardName, max_states: int | None = None) -> int:
    """Write the shard of a deal and declaration; returns the number of rows.

    max_states: keep so many states at most, the root and others drawn uniformly; the same ones every time.

    Raises:
        OutputError: the file cannot be written.
    """
    table = Tabulation(name.deal, name.decl)
    parts = table.reachable()
    if max_states is not None and max_states < table.states:
        parts = _thinned(parts, table.states, max_states, [name.seed, name.decl, (name.opp_seed or 0) + 1])
    rows = (StateRows(states, *table.look_up(states)) for states in parts)
    return write_shard(file, name, rows, table.states, max_states)


def _thinned(parts: Iterator[NDArray[np.int64]], states: int, keep: int, key: list[int]) -> Iterator[NDArray[np.int64]]:
    """The root and keep - 1 of the other states, every choice equally probable."""
    draws, left, keep = np.random.default_rng(key), states - 1, keep - 1
    for part in parts:
        others = part[part != ROOT]
        taken = int(draws.hypergeometric(keep, left - keep, len(others))) if left else 0
        chosen = draws.choice(len(others), taken, replace=False, shuffle=False)
        left, keep = left - len(others), keep - taken
        kept = np.sort(np.append(others[chosen], part[part == ROOT]))
        if len(kept):
            yield kept


def verify_shard(file: str | Path) -> int:
    """Read a shard from end to end and compare its root with the solver; returns the number of rows.

    Raises:
        DataError: damaged; rows are not ascending; V is not the best of q; or the root, which every shard has, is not there or is worth
            something else: then the shard is of another deal or declaration.
    """
    info, rows, root_seen = shard_info(file), 0, False
    for part in read_shard(file):
        rows += len(part.states)
        at = np.flatnonzero(part.states == ROOT)
        if len(at):
            _check_root(str(file), info.name, int(part.values[at[0]]), part.q[at[0]])
            root_seen = True
    if not root_seen:
        raise DataError(Problem(str(file), None, "state", "no root", f"{ROOT}, in every shard"))
    return rows


def _check_root(file: str, name: ShardName, value: int, q: NDArray[np.int8]) -> None:
    hands = [name.deal[k : k + 7] for k in range(0, 28, 7)]
    exact, of_tile = Solver(threads=1).q_values(positions([mask_of(hand) for hand in hands], name.decl, 0))
    wanted = int(exact[0]), of_tile[0, hands[0]].tolist()
    if (value, q.tolist()) != wanted:
        raise DataError(
            Problem(
                file,
                None,
                "root",
                f"V {value}, q {q.tolist()}",
                f"V {wanted[0]}, q {wanted[1]}, for the deal that the name says",
            )
        )


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
