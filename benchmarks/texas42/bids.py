"""Contracts from auctions of bidders, played out; and the files in which the benchmark keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ludory.agents.make import make_agent
from ludory.agents.texas42.bidding.bidder import BidderAgent
from ludory.agents.texas42.bidding.fitted_make_probability import calibrated
from ludory.agents.texas42.bidding.make_probability import BIDS
from ludory.agents.texas42.play.choice import Averager
from ludory.agents.texas42.play.rollout import deals_around, play_out
from ludory.agents.texas42.solver.solver import Solver, positions
from ludory.atomic import atomic_file
from ludory.envs.chance import hash_rows
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.make import make_game
from ludory.envs.texas42.state import ALL_PASSED, MADE, SETTLED
from ludory.errors import DataError

LARGEST_SEED = 2**63 - 1
HANDS, OPEN = 50, 20
"""Hands dealt for one file of contracts; deals with open hands behind each share."""


class Contract(NamedTuple):
    """A contract of an auction, its predicted chances, and its outcome."""

    hand: int
    decl: int
    bid: int
    made: bool
    calibrated: float
    rollout: float
    open_hands: float


class PartName(NamedTuple):
    """A file of the benchmark."""

    kind: str
    number: int
    settings: str
    """Everything that its content depends on."""

    @property
    def path(self) -> Path:
        """The file, relative to the folder."""
        return Path(f"{self.kind}_{self.number:05d}.json")


def write_part(file: Path, name: PartName, rows: Iterable[Any]) -> None:
    """Write a file, whole or not at all."""
    with atomic_file(file, "w") as handle:
        json.dump({"settings": name.settings, "rows": list(rows)}, handle)
        handle.write("\n")


def read_part(file: Path, name: PartName) -> list[Any]:
    """The rows of a file.

    Raises:
        DataError: it is damaged, or was made with other settings.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        settings, rows = content["settings"], content["rows"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file} cannot be read ({error}); delete it, and the same command makes it again") from error
    if settings != name.settings:
        raise DataError(f"{file} was made with {settings}, asked for {name.settings}; name another folder with --out")
    return list(rows)


def play_contracts(bidder: str, number: int, rollouts: int, worlds: int, seed: int) -> list[Contract]:
    """Deal some hands to four seats of one bidder, play the contracts, and compute what was to be expected of each.

    The players choose by `texas42/pimc(worlds)`. Expectations are of the bidder's seven tiles only: other deals are drawn around them.
    """
    game = make_game("Texas42-v0")
    agent = make_agent(bidder, game)
    assert isinstance(agent, BidderAgent)
    engine = KernelEngine(game, HANDS, seed=int(hash_rows(seed, number)) & LARGEST_SEED)
    engine.reset()
    while not engine.over.all():
        actions = np.zeros(HANDS, np.int64)
        for seat in range(4):
            rows = np.flatnonzero((engine.to_move == seat) & ~engine.over)
            if len(rows):
                actions[rows] = agent.choose(engine, seat, rows, None)
        engine.step(actions)
    state, averager = engine.state, Averager(Solver(), worlds)
    reached = [k for k in range(HANDS) if int(state.last[k, SETTLED]) != ALL_PASSED]
    found = []
    for k in reached:
        hand, decl, bid = int(state.dealt[k, state.bidder[k]]), int(state.decl[k]), int(state.bid[k])
        key = int(hash_rows(hash_rows(seed, number), k))
        rolled = play_out(averager, deals_around(hand, rollouts, key), decl, bid, key=key).made(bid)
        value = averager.solver.value(positions(deals_around(hand, OPEN, key + 1), decl, 0)).astype(np.int64)
        chance = calibrated(hand, (decl,)).chance(decl, bid)
        made = int(state.last[k, SETTLED]) == MADE
        opened = float(((42 + value) // 2 >= min(bid, BIDS[-1])).mean())
        found.append(Contract(hand, decl, bid, made, chance, float(rolled.mean()), opened))
    return found
