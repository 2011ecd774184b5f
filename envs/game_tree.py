"""The tree of a small game: every history that can come about, enumerated through the game's engine, move by move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ludory.errors import OptionError
from ludory.limits import MAX_NODES

from .engine.protocol import Engine, on_host
from .game import Game
from .make import make_engine
from .parts import Outcomes
from .seats.player import Memory, Player

SAME = 1e-5
"""Probabilities that differ by less count as equal: networks round differently in batches of different sizes."""


class KnownPlayer(Player, Protocol):
    """A player that states the probabilities of its actions, as `ludory.agents.agent.Agent` does."""

    name: str

    def action_probabilities(
        self, engine: Engine, seat: int, rows: NDArray[np.int64], memory: Memory
    ) -> NDArray[np.floating[Any]]:
        """(m, A): probabilities of the actions of `seat`, which is to move in the games `rows`; updates `memory` as `choose` does."""


class TreeLevel(NamedTuple):
    """The n nodes that are reached after equally many moves."""

    parent: NDArray[np.int64]
    """(n,) place in the level before; -1 at the start."""
    action: NDArray[np.int64]
    """(n,) the action that led here; -1 at the start."""
    weight: NDArray[np.float64]
    """(n,) probability of what chance did, times that of the action if a given player chose it."""
    rewards: NDArray[np.float64]
    """(n, P) rewards of the step that led here."""
    mover: NDArray[np.int64]
    """(n,) seat to move, -1 where the game is over."""
    information_set: NDArray[np.int64]
    """(n,) the information set of a free seat that is to move, -1 elsewhere."""


@dataclass(frozen=True)
class GameTree:
    """A game as nodes in levels and information sets of the free seats, those without a given player.

    An information set is what a seat has seen and done so far: all nodes at which its observations after every move of the game,
    and its own actions, were the same. All of them are on one level.
    """

    game: Game
    levels: tuple[TreeLevel, ...]
    seats: NDArray[np.int64]
    """(I,) the seat to move in each information set."""
    masks: NDArray[np.bool_]
    """(I, A) its legal actions."""
    observations: NDArray[Any]
    """(I, *shape) what it sees."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes, finished games included."""
        return sum(len(level.parent) for level in self.levels)


def game_tree(game: Game, players: Sequence[KnownPlayer | None] | None = None, max_nodes: int = MAX_NODES) -> GameTree:
    """Enumerate a game.

    Args:
        game: a game in which seats move in turn, with one head of actions, whose engine can be copied. With chance, it needs
            `Analysis.chance`.
        players: a player per seat, or None for free seats, in which all legal actions are tried. The actions of players are
            followed where they have a probability above 0. None: all seats are free.
        max_nodes: most nodes of the tree.

    Raises:
        OptionError: the game is not of this kind, its tree is larger, or a player does not state its probabilities or reads what
            its seat cannot see.
    """
    _check(game)
    return _Enumeration(game, players or [None] * game.facts.players, max_nodes).run()


def _check(game: Game) -> None:
    facts, name = game.facts, game.name
    if facts.simultaneous:
        raise OptionError(f"exact values need seats that move in turn; in {name} all move at once: choose another game")
    if len(facts.heads) != 1:
        raise OptionError(f"exact values need actions of one head; those of {name} have {facts.action_size} parts")
    game.need("an exact value", "clones")
    if facts.chance and game.analysis.chance is None:
        raise OptionError(
            f"exact values need the distribution of chance, which {name} does not state: choose KuhnPoker-v0 or LeducPoker-v0, or give its Game chance=Chance(start, step), "
            "see ludory.envs.Chance"
        )


class _Enumeration:
    """Expands one level after the other. `known[s][k]` numbers what seat s knows at node k of the current level."""

    def __init__(self, game: Game, players: Sequence[KnownPlayer | None], max_nodes: int) -> None:
        self.game, self.players, self.max_nodes = game, players, max_nodes
        self.seats, self.nodes = range(game.facts.players), 0
        self.sets = 0
        self.set_seats: list[NDArray[np.int64]] = []
        self.set_masks: list[NDArray[np.bool_]] = []
        self.set_observations: list[NDArray[Any]] = []

    def run(self) -> GameTree:
        engine, weight = self._start()
        count = engine.num_games
        self.memories = [player.initial_memory(count) if player else None for player in self.players]
        known = [np.zeros(count, np.int64) for _ in self.seats]
        parent = action = np.full(count, -1)
        mover, rewards = parent, np.zeros((count, len(self.seats)))
        levels: list[TreeLevel] = []
        while True:
            self.nodes += engine.num_games
            known = [self._known(engine, seat, known[seat], np.where(mover == seat, action, -1)) for seat in self.seats]
            mover = on_host(engine.to_move).astype(np.int64)
            edges, chosen = self._edges(engine, mover, known)
            sets = self._information_sets(engine, mover, known)
            levels.append(TreeLevel(parent, action, weight, rewards, mover, sets))
            parent, action = np.nonzero(edges)
            if not len(parent):
                break
            self._check_size(len(levels), len(parent))
            engine, parent, action, weight = self._children(engine, parent, action, chosen[parent, action])
            rewards = on_host(engine.rewards).astype(np.float64)
            known, mover = [numbers[parent] for numbers in known], mover[parent]
        return self._tree(levels)

    def _tree(self, levels: list[TreeLevel]) -> GameTree:
        facts = self.game.facts
        empty = np.zeros((0, *facts.observation.shape), facts.observation.dtype)
        return GameTree(
            self.game,
            tuple(levels),
            np.concatenate([np.zeros(0, np.int64), *self.set_seats]),
            np.concatenate([np.zeros((0, facts.num_actions), bool), *self.set_masks]),
            np.concatenate([empty, *self.set_observations]),
        )

    def _start(self) -> tuple[Engine, NDArray[np.float64]]:
        """The games after `reset`, one per outcome of chance, and their probabilities."""
        engine = make_engine(self.game, 1, seed=0)
        engine.reset()
        if not self.game.facts.chance or self.game.analysis.chance is None:
            return engine, np.ones(1)
        outcomes = self.game.analysis.chance.start()
        _check_outcomes(self.game, outcomes)
        count = len(outcomes.probabilities)
        # a copy of the start for each outcome
        engine = engine.gather(np.zeros(count, np.int64))
        _set_fields(engine, [(np.arange(count), outcomes)])
        return engine, np.array(outcomes.probabilities, np.float64)

    def _known(
        self, engine: Engine, seat: int, before: NDArray[np.int64], own_action: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Equal numbers for nodes that are the same to `seat`: the same before, its own action, and what it sees now."""
        seen = np.ascontiguousarray(on_host(engine.observe(seat))).reshape(engine.num_games, -1).view(np.uint8)
        rows = np.concatenate([np.stack([before, own_action], axis=1).view(np.uint8), seen], axis=1)
        # a row as one value, so that whole rows are compared
        whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1])))[:, 0]
        return np.unique(whole, return_inverse=True)[1].reshape(-1)

    def _edges(
        self, engine: Engine, mover: NDArray[np.int64], known: list[NDArray[np.int64]]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """(n, A) which actions are followed, and their probabilities, 1 where the seat is free."""
        edges = on_host(engine.legal()) & (mover >= 0)[:, None]
        chosen = np.ones(edges.shape)
        for seat, player in enumerate(self.players):
            rows = np.flatnonzero(mover == seat)
            if player is not None and len(rows):
                stated = np.asarray(player.action_probabilities(engine, seat, rows, self.memories[seat]), np.float64)
                _check_blind(player, seat, known[seat][rows], stated)
                chosen[rows], edges[rows] = stated, edges[rows] & (stated > 0)
        return edges, chosen

    def _information_sets(
        self, engine: Engine, mover: NDArray[np.int64], known: list[NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        sets = np.full(len(mover), -1)
        masks = on_host(engine.legal())
        for seat, player in enumerate(self.players):
            rows = np.flatnonzero(mover == seat)
            if player is not None or not len(rows):
                continue
            _, first, numbers = np.unique(known[seat][rows], return_index=True, return_inverse=True)
            numbers = numbers.reshape(-1)
            if (masks[rows] != masks[rows[first]][numbers]).any():
                raise OptionError(
                    f"{self.game.name}: seat {seat} has other legal actions in games that look the same to it"
                )
            sets[rows] = self.sets + numbers
            self.sets += len(first)
            self.set_seats.append(np.full(len(first), seat))
            self.set_masks.append(masks[rows[first]])
            self.set_observations.append(on_host(engine.observe(seat, rows[first])))
        return sets

    def _check_size(self, moves: int, more: int) -> None:
        if self.nodes + more > self.max_nodes:
            raise OptionError(
                f"the tree of {self.game.name} is too large for exact values: {self.nodes + more:,} nodes in the first {moves} moves, "
                f"max_nodes={self.max_nodes:,}; choose a smaller game, or raise max_nodes"
            )

    def _children(
        self, engine: Engine, parent: NDArray[np.int64], action: NDArray[np.int64], weight: NDArray[np.float64]
    ) -> tuple[Engine, NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The next level: its games, and their parents, actions and weights. Chance may make several nodes of one action."""
        child = engine.gather(parent)
        self.memories = [_gathered(memory, parent) for memory in self.memories]
        rows = np.arange(len(parent))
        for seat, player in enumerate(self.players):
            if player is not None:
                # players hear of a move before it is played, as at a table
                player.notice(child, seat, rows, action, self.memories[seat])
        child.step(action)
        chance = self.game.analysis.chance
        if chance is None or chance.step is None:
            return child, parent, action, weight
        draw, state = chance.step, engine.state
        drawn = [draw(state, int(one), int(move)) for one, move in zip(parent, action, strict=True)]
        for outcomes in drawn:
            if outcomes is not None:
                _check_outcomes(self.game, outcomes)
        # a node for each outcome
        repeats = np.repeat(rows, [1 if outcomes is None else len(outcomes.probabilities) for outcomes in drawn])
        self._check_size(0, len(repeats))
        child = child.gather(repeats)
        self.memories = [_gathered(memory, repeats) for memory in self.memories]
        places = np.split(np.arange(len(repeats)), np.flatnonzero(np.diff(repeats)) + 1)
        _set_fields(child, [(place, outcomes) for place, outcomes in zip(places, drawn, strict=True) if outcomes])
        chances = np.concatenate([np.ones(1) if one is None else one.probabilities for one in drawn])
        return child, parent[repeats], action[repeats], weight[repeats] * chances


def _gathered(memory: Memory, rows: NDArray[np.int64]) -> Memory:
    if isinstance(memory, tuple):
        return tuple(_gathered(part, rows) for part in memory)
    return None if memory is None else memory[rows]


def _check_outcomes(game: Game, outcomes: Outcomes) -> None:
    probabilities = np.asarray(outcomes.probabilities)
    if not len(probabilities) or (probabilities <= 0).any() or abs(probabilities.sum() - 1) > 1e-9:
        raise OptionError(
            f"{game.name}: the probabilities of its `chance` must be positive and sum to 1, got {probabilities.tolist()}"
        )


def _set_fields(engine: Engine, drawn: Sequence[tuple[NDArray[np.int64], Outcomes]]) -> None:
    """Set what chance decided in some rows of a batch."""
    if not drawn:
        return
    fields = {name: np.array(on_host(values)) for name, values in engine.fields().items()}
    for rows, outcomes in drawn:
        for name, values in outcomes.fields.items():
            fields[name][rows] = values
    engine.load_fields(fields)


def _check_blind(player: KnownPlayer, seat: int, known: NDArray[np.int64], stated: NDArray[np.float64]) -> None:
    """Refuse a player that acts differently at nodes that are the same to its seat."""
    _, first, numbers = np.unique(known, return_index=True, return_inverse=True)
    if np.abs(stated - stated[first][numbers.reshape(-1)]).max() > SAME:
        raise OptionError(
            f"{player.name} acts differently in games that look the same to seat {seat}: it reads what the seat cannot see, so that it "
            "has no exact value; choose an agent that plays by its observations"
        )
