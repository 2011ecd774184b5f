"""The value of a zero-sum game of two seats by linear programming over realization plans.

Koller, Megiddo and von Stengel (1996), "Efficient Computation of Equilibria for Extensive Two-Person Games".
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import bmat, coo_matrix

from ludory.envs.game_tree import GameTree


def value_of_seat_0(tree: GameTree) -> float:
    """max over plans x of seat 0 of min over plans y of seat 1 of x U y, where plans obey E x = e and F y = f."""
    actions = tree.masks.shape[1]
    size = 1 + tree.masks.size  # sequence 0 is empty; sequence 1 + set * A + action ends with that action
    sequences = [np.zeros(len(tree.levels[0].parent), int)] * 2
    chance, constraints, payoffs = tree.levels[0].weight, ([], []), []
    for above, level in zip(tree.levels, tree.levels[1:], strict=False):
        for seat in (0, 1):
            own = np.flatnonzero(above.mover == seat)
            constraints[seat].extend(zip(above.information_set[own], sequences[seat][own], strict=True))
        mover = above.mover[level.parent]
        made = 1 + above.information_set[level.parent] * actions + level.action
        sequences = [np.where(mover == seat, made, sequences[seat][level.parent]) for seat in (0, 1)]
        chance = chance[level.parent] * level.weight
        payoffs.append((chance * level.rewards[:, 0], sequences[0], sequences[1]))
    amounts, rows, columns = (np.concatenate(parts) for parts in zip(*payoffs, strict=True))
    utility = coo_matrix((amounts, (rows, columns)), shape=(size, size))
    plans = []
    for seat in (0, 1):
        found = sorted(set(constraints[seat]))
        entries = [(0, 0, 1.0)]
        for row, (number, before) in enumerate(found, 1):
            legal = np.flatnonzero(tree.masks[number])
            entries += [(row, before, -1.0), *((row, 1 + number * actions + action, 1.0) for action in legal)]
        at, to, amount = zip(*entries, strict=True)
        plans.append(coo_matrix((amount, (at, to)), shape=(len(found) + 1, size)))
    first, second = plans
    goal = np.zeros(size + second.shape[0])
    goal[size] = -1  # maximise the value of the empty constraint
    start = np.zeros(first.shape[0])
    start[0] = 1
    solved = linprog(
        goal,
        A_ub=bmat([[-utility.T, second.T]]).tocsr(),
        b_ub=np.zeros(size),
        A_eq=bmat([[first, coo_matrix((first.shape[0], second.shape[0]))]]).tocsr(),
        b_eq=start,
        bounds=[(0, None)] * size + [(None, None)] * second.shape[0],
        method="highs",
    )
    return float(-solved.fun)
