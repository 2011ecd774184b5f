"""Regrets and average strategies on an enumerated game, and the iterations of CFR and CFR+.

CFR: Zinkevich et al. (2007), "Regret Minimization in Games with Incomplete Information". CFR+: Tammelin (2014), "Solving Large
Imperfect Information Games Using CFR+" (arXiv 1407.5042).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs.game_tree import GameTree

Table = NDArray[np.float64]


def matched(regrets: Table, masks: NDArray[np.bool_]) -> Table:
    """(I, A) regret matching: probabilities in proportion to positive regrets; uniform where none is positive."""
    positive = np.maximum(regrets, 0.0)
    total = positive.sum(axis=1, keepdims=True)
    return np.where(total > 0, positive / np.where(total > 0, total, 1.0), masks / masks.sum(axis=1, keepdims=True))


class Reach(NamedTuple):
    """Probabilities with which the nodes of a tree are reached; for each level, n nodes."""

    own: list[NDArray[np.float64]]
    """(n, P) of the own actions of each seat up to the node."""
    chance: list[NDArray[np.float64]]
    """(n,) of what chance did."""
    chosen: list[NDArray[np.float64]]
    """(n,) of the last action alone."""


def reach_of(tree: GameTree, table: Table) -> Reach:
    """With which probabilities the nodes of a tree without given players are reached if all seats follow `table`."""
    first, *others = tree.levels
    own = [np.ones((len(first.parent), tree.game.facts.players))]
    chance, chosen = [first.weight], [np.ones(len(first.parent))]
    for above, level in zip(tree.levels, others, strict=False):
        probability = table[above.information_set[level.parent], level.action]
        here = own[-1][level.parent]
        here[np.arange(len(here)), above.mover[level.parent]] *= probability
        own.append(here)
        chance.append(chance[-1][level.parent] * level.weight)
        chosen.append(probability)
    return Reach(own, chance, chosen)


class AverageStrategy:
    """The average of strategies over time; each counts in an information set as often as its own actions lead there."""

    def __init__(self, tree: GameTree) -> None:
        self.tree, self.sums = tree, np.zeros(tree.masks.shape)
        sets = np.concatenate([level.information_set for level in tree.levels])
        found, first = np.unique(sets, return_index=True)
        self._first = first[found >= 0]

    def add(self, seat: int, table: Table, reach: Reach, weight: float = 1.0) -> None:
        """Count the strategy of `seat` in `table`, whose reach is known, `weight` times."""
        mine = self.tree.seats == seat
        # the same at all nodes of an information set: a seat forgets nothing
        own = np.concatenate(reach.own)[self._first[mine], seat]
        self.sums[mine] += weight * own[:, None] * table[mine]

    @property
    def table(self) -> Table:
        """(I, A) the average; uniform where nothing led."""
        total, masks = self.sums.sum(axis=1, keepdims=True), self.tree.masks
        uniform = masks / masks.sum(axis=1, keepdims=True)
        average: Table = np.where(total > 0, self.sums / np.where(total > 0, total, 1.0), uniform)
        return average


class RegretTables:
    """Regrets (I, A) of all information sets of a game, and the average strategy.

    Args:
        tree: the game with all seats free.
        plus: CFR+: negative regrets become 0, seats take turns within an iteration, and iteration t counts t times in the average.
            Otherwise all seats learn at once, and all iterations count the same.
    """

    def __init__(self, tree: GameTree, plus: bool) -> None:
        self.tree, self.plus = tree, plus
        self.iterations = 0
        self.regrets, self.averages = np.zeros(tree.masks.shape), AverageStrategy(tree)

    def iterate(self) -> None:
        """One iteration, in which every seat learns once."""
        self.iterations += 1
        seats = range(self.tree.game.facts.players)
        for learning in [[seat] for seat in seats] if self.plus else [list(seats)]:
            current = matched(self.regrets, self.tree.masks)
            reach = reach_of(self.tree, current)
            for seat in learning:
                mine = self.tree.seats == seat
                self.averages.add(seat, current, reach, float(self.iterations) if self.plus else 1.0)
                self.regrets[mine] += self._regrets(seat, current, reach)[mine]
            if self.plus:
                np.maximum(self.regrets, 0.0, out=self.regrets)

    def _regrets(self, seat: int, current: Table, reach: Reach) -> Table:
        """(I, A) counterfactual regrets of `seat`: the gain of each action, weighted by how often the others lead to it."""
        levels, (sets, actions) = self.tree.levels, self.tree.masks.shape
        others = [other for other in range(self.tree.game.facts.players) if other != seat]
        worth = np.zeros(sets * actions)
        values: NDArray[Any] = np.zeros(len(levels[-1].parent))
        for depth in range(len(levels) - 1, 0, -1):
            level, above = levels[depth], levels[depth - 1]
            paid = level.rewards[:, seat] + values
            own = above.mover[level.parent] == seat
            counterfactual = reach.chance[depth] * reach.own[depth][:, others].prod(axis=1)
            at = above.information_set[level.parent] * actions + level.action
            worth += np.bincount(at[own], (counterfactual * paid)[own], sets * actions)
            values = np.bincount(level.parent, level.weight * reach.chosen[depth] * paid, len(above.parent))
        table = worth.reshape(sets, actions)
        regrets: Table = np.where(self.tree.masks, table - (current * table).sum(axis=1, keepdims=True), 0.0)
        return regrets
