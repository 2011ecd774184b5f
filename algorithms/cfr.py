"""`CFR`: the tables of counterfactual regret, and the learner around them. A timestep is an iteration over the whole game tree.

CFR: Zinkevich et al. (2007), "Regret Minimization in Games with Incomplete Information". CFR+: Tammelin (2014), "Solving Large
Imperfect Information Games Using CFR+" (arXiv 1407.5042).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from typing_extensions import Self, Unpack

from ludory.agents.evaluation.exploitability import (
    Table,
    check_told_apart,
    expected_returns,
    exploitability_of_table,
    tabular_agent,
)
from ludory.agents.networks.build import PolicySpec
from ludory.agents.tabular import TabularAgent
from ludory.algorithms.config import make_options
from ludory.algorithms.keywords import CFRKeywords
from ludory.algorithms.learner import Learner, game_to_load, needed_game
from ludory.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from ludory.envs import EnvLike, Game
from ludory.envs.game_tree import GameTree, game_tree
from ludory.errors import CheckpointError, OptionError

from .cfr_config import CFRConfig


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


class CFR(Learner):
    """Counterfactual regret minimisation over the whole tree of a game, without sampling.

    In games of two seats with opposed interests the average strategy converges to a Nash equilibrium. There is no network:
    `as_agent` returns a `TabularAgent`. Sources: see `ludory.algorithms.cfr`.

    Args:
        policy: "auto"; there is no network.
        env: id of a game, a `Game`, or an environment of it.
        config: fields of `CFRConfig`.

    Raises:
        OptionError: the game is not of two seats with zero-sum rewards, its tree is too large or cannot be enumerated, or its
            observations do not tell the situations of a seat apart.
    """

    id = "cfr-v1"
    config_class = CFRConfig
    changeable = ("report_every",)
    config: CFRConfig

    def __init__(self, policy: str | PolicySpec, env: EnvLike | None = None, **config: Unpack[CFRKeywords]) -> None:
        if policy != "auto":
            raise OptionError(f"policy={policy!r}: {self.id} learns a table, without a network; leave policy out")
        game = needed_game(env, self.id)
        if game.facts.players != 2 or game.facts.reward != "zero_sum":
            raise OptionError(
                f"{self.id} learns games of two seats with zero-sum rewards; {game.name} has {game.facts.players} with "
                f"{game.facts.reward} rewards: choose ppo or vtrace"
            )
        super().__init__(game, make_options(CFRConfig, config))
        tree = game_tree(game, max_nodes=self.config.max_nodes)
        check_told_apart(tree)
        self.tables = RegretTables(tree, self.config.variant == "cfr+")
        """Regrets and averages."""

    @property
    def planned_timesteps(self) -> int:
        """Default number of iterations."""
        return 1000

    @property
    def average(self) -> Table:
        """(I, A) the average strategy, in the order of the information sets of `tables.tree`."""
        return self.tables.averages.table

    @property
    def exploitability(self) -> float:
        """Exact exploitability of the average strategy, see `ludory.exploitability`."""
        return exploitability_of_table(self.tables.tree, self.average)

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """`report_every` iterations, then the exploitability and the value for seat 0."""
        for _ in range(self.config.report_every):
            self.tables.iterate()
            if not on_step():
                return None
        value = float(expected_returns(self.tables.tree, self.average)[0])
        return {"cfr/exploitability": self.exploitability, "cfr/value_seat_0": value}

    def as_agent(self, deterministic: bool = False, seed: int = 0) -> TabularAgent:
        """The average strategy as an agent; it draws its actions, as an equilibrium must."""
        return tabular_agent(self.tables.tree, self.average, self.id, deterministic, seed)

    def save(self, file: str | Path) -> None:
        """Write the tables, atomically."""
        tree = self.tables.tree
        tensors = {
            "regrets": self.tables.regrets,
            "sums": self.tables.averages.sums,
            "seats": tree.seats,
            "observations": tree.observations,
        }
        header = {
            "algorithm": self.id,
            "config": dataclasses.asdict(self.config),
            "env": {"id": self.game.id, "options": dict(self.game.options)},
            "num_timesteps": self.num_timesteps,
            "iterations": self.tables.iterations,
        }
        write_checkpoint(file, header, {name: torch.from_numpy(np.array(values)) for name, values in tensors.items()})

    @classmethod
    def load(cls, file: str | Path, env: EnvLike | None = None, **changes: Any) -> Self:
        """As `Learner.load`.

        Raises:
            CheckpointError: also where the game has other information sets now.
        """
        header, tensors = read_checkpoint(file)
        game: Game = game_to_load(cls, file, header, env)
        model = cls("auto", game, **{**header["config"], **changes})
        tables, tree = model.tables, model.tables.tree
        kept = {name: tensor.numpy() for name, tensor in tensors.items()}
        same = np.array_equal(kept["seats"], tree.seats) and np.array_equal(kept["observations"], tree.observations)
        if not same or kept["sums"].shape != tables.averages.sums.shape:
            raise CheckpointError(f"{file}: the rules or observations of {game.name} have changed since; train anew")
        tables.regrets[:], tables.averages.sums[:] = kept["regrets"], kept["sums"]
        tables.iterations, model.num_timesteps = int(header["iterations"]), int(header["num_timesteps"])
        return model
