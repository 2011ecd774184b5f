"""`fresh_states`: states of deals that are drawn, played at random and solved for it, as many as are asked for, and no deal twice.

A state of three tricks is solved in microseconds, so that a network can learn from new states for ever; stored ones would be learnt by heart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.solver.solver import Solver, positions_of
from ludory.algorithms.texas42.data.labels import pack_states
from ludory.envs import make_engine
from ludory.envs.texas42.tiles import STRAIGHT

from .data import FORCED, OracleData
from .tally import REACHED

DEALS = 4096
"""Deals that are played at once."""
POWER = 0.7
"""States are drawn in proportion to this power of their share of all that a deal can reach: else the first tricks would never be seen."""
OF_A_DEAL = 6
"""States of a deal, about."""
UNSEEN = 1 << 33
"""In the seed of deals that a network is scored on in the end, in place of an epoch; a training looks at others on its way."""


def fresh_states(count: int, seed: Sequence[int]) -> OracleData:
    """(count) states in which the mover has a choice, most of them of the last tricks, as most of all states are; equal for equal seeds.

    They are drawn as often as they are to count in a loss.
    """
    shares = np.array(REACHED[:FORCED]) ** POWER
    chances, draws, parts = OF_A_DEAL * shares / shares.sum(), np.random.default_rng(seed), list[OracleData]()
    while sum(len(part.state) for part in parts) < count:
        parts.append(_played(DEALS, draws, chances))
    found = _joined(parts)
    # they are in the order of their decisions
    return found.rows(draws.permutation(len(found.state))[:count])


def states_of_deals(deals: int, seed: Sequence[int]) -> OracleData:
    """All states with a choice of deals that are played at random."""
    return _played(deals, np.random.default_rng(seed), np.ones(FORCED))


def unseen_states(deals: int, seed: int) -> OracleData:
    """All states with a choice of deals that a training with this seed neither learns from nor looks at."""
    return states_of_deals(deals, (seed, UNSEEN))


def _played(deals: int, draws: np.random.Generator, chances: NDArray[np.float64]) -> OracleData:
    """States of new deals, each with the chance of its number of tiles played."""
    deal = np.sort(draws.permuted(np.tile(np.arange(28), (deals, 1)), axis=1).reshape(-1, 4, 7)).reshape(-1, 28)
    decl, leader = draws.choice(STRAIGHT, deals), draws.integers(4, size=deals)
    engine, solver = make_engine("Texas42Play-v0", deals), Solver()
    engine.reset(options={"deal": deal, "decl": decl, "bidder": leader, "leader": leader})
    parts = []
    for chance in chances:
        legal = engine.legal()
        # with one legal tile there is nothing to learn
        rows = np.flatnonzero((legal.sum(axis=1) > 1) & (draws.random(deals) < chance))
        values, q = solver.q_values(positions_of(engine.state, rows))
        tiles = deal.reshape(-1, 4, 7)[rows, engine.to_move[rows]]
        state = pack_states(engine.state, deal)[rows]
        kept = deal[rows].astype(np.int8), decl[rows].astype(np.int8), state, values.astype(np.int8)
        parts.append(OracleData(*kept, np.take_along_axis(q, tiles, 1).astype(np.int8)))
        # the largest of uniform numbers is a uniform choice among legal tiles
        engine.step(np.where(legal, draws.random(legal.shape), -1).argmax(axis=1))
    return _joined(parts)


def _joined(parts: Sequence[OracleData]) -> OracleData:
    deal, decl, state, value, q = (np.concatenate(column) for column in zip(*(part[:5] for part in parts), strict=True))
    return OracleData(deal, decl, state, value, q)
