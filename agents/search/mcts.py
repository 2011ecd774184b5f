"""`mcts(simulations=1000)`: Monte Carlo tree search (UCT with random rollouts) for games in which nothing is hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.agent import DrawingAgent
from ludory.agents.draws import ONE_MORE, Keys
from ludory.envs import Array, Engine, Game, KernelEngine, Memory, hash_rows, on_host, run_parts
from ludory.errors import OptionError

TEMPLATE = Path(__file__).parent / "uct.py"
MOST_PLAIN_MOVES = 100_000
"""Moves of a search, at most, that plain Python plays where the kernels are not compiled yet; it takes about two seconds."""


class SearchedActions(NamedTuple):
    """What the search found for the seat to move in m games, (m, A)."""

    counts: NDArray[np.int64]
    """Simulations that began with an action."""
    values: NDArray[np.float64]
    """Their mean return; NaN where there are none."""


class MCTS(DrawingAgent):
    """Builds a tree by simulations and plays the action that most of them began with.

    Each simulation follows UCB1 to a position that is not in the tree, adds it, and plays random moves to the end. Every seat is
    taken to maximise its own return. Equal games with equal pasts get equal moves.

    Args:
        game: a game with kernels, in which seats move in turn, nothing is hidden and no random numbers are drawn.
        simulations: per move.
        exploration: weight of UCB1's bound; 1 means half the range of returns.
        seed: of the random moves.

    Raises:
        OptionError: another kind of game, or a value that is not allowed.
    """

    deterministic = True

    def __init__(self, game: Game, simulations: int = 1000, exploration: float = 1.4, seed: int = 0) -> None:
        if not isinstance(simulations, int) or simulations < 1:
            raise OptionError(f"simulations={simulations!r}: must be an integer of at least 1")
        if not exploration > 0:
            raise OptionError(f"exploration={exploration!r}: must be greater than 0, such as 1.4")
        _check(game)
        self.name, self.game, self.simulations = f"mcts({simulations})", game, simulations
        facts = game.facts
        self._exploration = exploration * (facts.max_return - facts.min_return) / 2
        self._kernels = {name: getattr(game.needed_kernels("mcts"), name) for name in ("legal", "step")}
        super().__init__(seed)

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of `seat` in the games `rows`: the most simulated ones, among equals those of the best value."""
        where = on_host(rows)
        found = self.search(engine, where, hash_rows(memory[where, 0], memory[where, 1]))
        memory[where] += ONE_MORE
        counts = found.counts.astype(np.float64)
        best = counts == counts.max(axis=1, keepdims=True)
        return np.where(best, found.values, -np.inf).argmax(axis=1)

    def search(self, engine: Engine, rows: NDArray[np.int64], keys: Keys) -> SearchedActions:
        """Search the games `rows`, which are not over; `keys` (m,) seed the simulations.

        Raises:
            OptionError: the engine does not run compiled kernels on the CPU.
        """
        if not isinstance(engine, KernelEngine):
            raise OptionError(f"{self.name} plays on engines of compiled games on the CPU, got {type(engine).__name__}")
        short = self.simulations * engine.facts.longest_game * len(rows) <= MOST_PLAIN_MOVES
        kernels: Any = engine.bound(str(TEMPLATE.with_suffix("")), self._kernels, plain_start=short)
        roots = np.ascontiguousarray(engine.records[rows])
        as_bytes, facts, nodes = roots.view(np.uint8).reshape(len(roots), -1), engine.facts, self.simulations + 1
        counts, values = np.zeros((len(roots), facts.num_actions), np.int64), np.empty((len(roots), facts.num_actions))

        def search_part(start: int, stop: int) -> None:
            scratch = roots[:1].copy()
            kernels.search_rows(
                *engine.state_of(scratch),
                scratch.view(np.uint8).reshape(1, -1),
                as_bytes,
                keys,
                self._exploration,
                np.empty((nodes, facts.num_actions), np.int32),
                np.empty(nodes, np.int32),
                np.empty(nodes, np.int64),
                np.empty(nodes),
                np.empty(nodes + 1, np.int64),
                np.empty(facts.num_actions, np.bool_),
                np.empty(facts.players),
                counts,
                values,
                start,
                stop,
            )

        run_parts(search_part, len(roots), threads=engine.threads, rows_per_thread=1)
        return SearchedActions(counts, values)


def _check(game: Game) -> None:
    facts, name = game.facts, game.name
    game.needed_kernels("mcts")
    if facts.simultaneous or len(facts.heads) != 1:
        raise OptionError(f"mcts plays games in which seats move in turn, with one head of actions; {name} is not one")
    if facts.hidden_information:
        raise OptionError(f"mcts would look at what is hidden in {name}; use sparta(BLUEPRINT), or train an agent")
    if facts.chance:
        raise OptionError(f"mcts would know the next random numbers of {name}; it plays games without chance")


def make(game: Game, simulations: int = 1000, exploration: float = 1.4, seed: int = 0) -> MCTS:
    """`mcts`, or `mcts(simulations=5000)`."""
    return MCTS(game, simulations, exploration, seed)
