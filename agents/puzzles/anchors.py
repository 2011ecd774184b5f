"""What random moves and perfect play achieve in given rooms under a budget of actions: the scores beside which a model's score is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs import Game, TextEnv, make_engine
from ludory.envs.frozen_lake.rules import ALL
from ludory.envs.frozen_lake.rules import step as lake_step
from ludory.envs.frozen_lake.transitions import optimum as lake_optimum
from ludory.envs.sokoban.rules import step_move9, step_push4
from ludory.envs.sudoku.rules import step as sudoku_step
from ludory.errors import OptionError

from .sokoban_search import shortest_moves

Rooms = Mapping[str, NDArray[Any]]
"""Reset options by name, one value per room."""
ROWS = 1 << 16
"""Games played at once."""


class Anchors(NamedTuple):
    """Scores of R rooms. With enough samples, the mean of `random / samples` is Pass@1 of random moves."""

    random: NDArray[np.int64]
    """(R,): episodes of uniformly random legal actions that succeeded, among `samples`."""
    samples: int
    optimum: NDArray[np.float64]
    """(R,): largest probability of success within the budget, for a player that sees the state after every action."""


def anchors(env: TextEnv, samples: int = 1000, seed: int = 0) -> Anchors:
    """Anchors of the rooms of a `TextEnv` that has been reset, one per group, under its budget of actions.

    Raises:
        OptionError: the game has no rooms, or its optimum is not known.
    """
    rooms = {name: values[:: env.group_size] for name, values in env.rooms.items()}
    return Anchors(
        random_successes(env.game, rooms, env.most_actions, samples, seed),
        samples,
        optimal_chances(env.game, rooms, env.most_actions),
    )


def random_successes(game: Game, rooms: Rooms, actions: int, samples: int = 1000, seed: int = 0) -> NDArray[np.int64]:
    """(R,): how many of `samples` episodes of uniformly random legal actions, at most `actions` each, succeed in each room.

    Raises:
        OptionError: there are no rooms, or the game has several seats or heads.
    """
    count = _count(game, rooms)
    if game.facts.players > 1 or len(game.facts.heads) != 1:
        raise OptionError(f"{game.name}: random moves in rooms need a game of one seat with one head")
    draw, tried = np.random.default_rng(seed), np.repeat(np.arange(count), samples)
    successes = np.zeros(count, np.int64)
    for start in range(0, len(tried), ROWS):
        part = tried[start : start + ROWS]
        engine = make_engine(game, len(part), "cpu", seed, first_game=start)
        engine.reset(options={name: np.asarray(values)[part] for name, values in rooms.items()})
        for _ in range(actions):
            legal = engine.legal()
            engine.step(np.where(legal, draw.random(legal.shape, np.float32), -1).argmax(1))
        won = [row for row in np.flatnonzero(engine.terminated) if game.look.info(engine.state, int(row))["success"]]
        successes += np.bincount(part[won], minlength=count)
    return successes


def optimal_chances(game: Game, rooms: Rooms, actions: int) -> NDArray[np.float64]:
    """(R,): the largest probability of success within `actions` actions.

    Sokoban: 1 where the shortest solution is short enough. FrozenLake: finite-horizon value iteration. Sudoku: 1 where there are no more
    blanks than actions.

    Raises:
        OptionError: there are no rooms, or the game is another one.
    """
    _count(game, rooms)
    if game.has_kernel("step", step_push4) or game.has_kernel("step", step_move9):
        lengths = shortest_moves(np.asarray(rooms["room"], np.uint8))
        return np.asarray((lengths >= 0) & (lengths <= actions), np.float64)
    if game.has_kernel("step", lake_step):
        success_rate = game.rules.fields["setup"].fill[1] / ALL
        return np.array([lake_optimum(room, success_rate, actions) for room in rooms["room"]])
    if game.has_kernel("step", sudoku_step):
        return np.asarray((np.asarray(rooms["puzzle"]) == 0).sum(axis=(1, 2)) <= actions, np.float64)
    raise OptionError(f"{game.name}: perfect play is known for Sokoban, FrozenLake and Sudoku only")


def _count(game: Game, rooms: Rooms) -> int:
    if not rooms:
        raise OptionError(f"{game.name}: no rooms were given; choose a game with rooms (Analysis.rooms)")
    return len(next(iter(rooms.values())))
