"""A simple baseline for networks: win the trick if possible, with most points; else lose the fewest; lead the strongest tile."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.solver.states import movers
from ludory.envs.texas42.tiles import CALLED, COUNT, LED, RANK


def greedy_tiles(
    deal: NDArray[Any], decl: NDArray[Any], states: NDArray[np.int64], legal: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """(n,) local index of the mover's tile that would be best if the trick ended with it.

    Leaders play their strongest tile, trumps first. Others maximise what their side would get; ties go to the weakest tile, then the first.

    Args:
        deal: (n, 28) tile ids, seat after seat, each hand ascending.
        decl: (n,) declarations.
        states: (n,) of 41 bits.
        legal: (n, 7)
    """
    n, hands, decl = len(states), np.asarray(deal, np.int64).reshape(-1, 4, 7), np.asarray(decl, np.int64)
    rows, mover = np.arange(n), movers(states)
    leader, length, own = states >> 28 & 3, states >> 30 & 3, hands[rows, mover]
    lead = hands[rows, leader, np.minimum(states >> 32 & 7, 6)]
    suit = np.where(length[:, None] > 0, LED[decl, lead][:, None], LED[decl[:, None], own])
    top, owner, points = np.zeros(n, np.int64), leader.copy(), np.zeros(n, np.int64)
    for place in range(3):
        seat = (leader + place) & 3
        tile = hands[rows, seat, np.minimum(states >> 32 + 3 * place & 7, 6)]
        strength = np.where(place < length, RANK[decl, suit[:, 0], tile], 0)
        owner, top = np.where(strength > top, seat, owner), np.maximum(top, strength)
        points += np.where(place < length, COUNT[tile], 0)
    strength = RANK[decl[:, None], suit, own].astype(np.int64)
    ours = (strength > top[:, None]) | (owner == (mover + 2) & 3)[:, None]
    gain = np.where(ours, 1, -1) * (1 + points[:, None] + COUNT[own])
    trump = suit == CALLED
    score = np.where(length[:, None] > 0, 100 * gain - strength, strength + 100 * trump)
    best: NDArray[np.int64] = np.where(legal, score, -(10**6)).argmax(axis=1)
    return best
