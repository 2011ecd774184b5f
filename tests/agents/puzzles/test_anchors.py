"""Random moves and perfect play in the rooms of a `TextEnv`."""

from __future__ import annotations

import numpy as np
import pytest
from games.corridor import LENGTH, corridor
from games.nim import nim

from ludory.agents.puzzles.anchors import anchors, optimal_chances, random_successes
from ludory.envs import TextEnv
from ludory.envs.frozen_lake import random_walk
from ludory.errors import OptionError


def walk(place: int, actions: int) -> float:
    """The exact chance that a random walk in the corridor, whose jumps land anywhere, reaches the goal."""
    values = np.eye(LENGTH)[LENGTH - 1]
    for _ in range(actions):
        jump = values[1:-1].mean()
        inner = [
            (values[p - 1] + values[p + 1] + (jump if p != 4 else 0)) / (3 if p != 4 else 2)
            for p in range(1, LENGTH - 1)
        ]
        values = np.array([0, *inner, 1])
    return values[place]


def test_random_moves_have_their_exact_chance():
    rooms = {"room": np.arange(1, LENGTH - 1)}
    found = random_successes(corridor(), rooms, 10, 4000) / 4000
    exact = np.array([walk(place, 10) for place in rooms["room"]])
    assert np.abs(found - exact).max() < 4 * np.sqrt(0.25 / 4000)


def test_more_rows_than_are_played_at_once_change_nothing(monkeypatch):
    rooms = {"room": np.array([4, 6])}
    whole = random_successes(corridor(), rooms, 10, 500)
    monkeypatch.setattr("ludory.agents.puzzles.anchors.ROWS", 300)
    assert np.abs(random_successes(corridor(), rooms, 10, 500) - whole).max() < 4 * np.sqrt(0.5 * 500)


@pytest.mark.parametrize(("id", "optimum"), [("FrozenLakeRagen1-v0", 0.502), ("FrozenLakeFirm-v0", 1.0)])
def test_anchors_of_lakes(id, optimum):
    env = TextEnv(id, 1600, group_size=2, seed=3, preset="ragen")
    env.reset()
    found = anchors(env, samples=50)
    assert found.random.shape == found.optimum.shape == (800,)
    assert found.optimum.mean() == pytest.approx(optimum, abs=0.03)
    exact = np.array([random_walk(room, 10) for room in env.rooms["room"][::2]])
    assert found.random.sum() / 40000 == pytest.approx(exact.mean(), abs=0.01)


@pytest.mark.slow
def test_anchors_of_sudoku_use_the_budget():
    env = TextEnv("Sudoku4-v0", 4, seed=3)
    env.reset()
    assert env.most_actions == 25
    assert anchors(env, samples=5).optimum.tolist() == [1.0] * 4
    short = TextEnv("Sudoku4-v0", 4, seed=3, turns=1)
    short.reset()
    assert anchors(short, samples=5).optimum.tolist() == [0.0] * 4


@pytest.mark.slow
def test_anchors_of_sokoban_are_those_of_the_table():
    env = TextEnv("Sokoban-v0", 400, seed=3, preset="ragen")
    env.reset()
    found = anchors(env, samples=100)
    assert found.random.sum() / 40000 == pytest.approx(0.196, abs=0.05)
    assert found.optimum.mean() == pytest.approx(0.98, abs=0.03)
    assert (found.random[found.optimum == 0] == 0).all()


def test_what_has_no_anchors_is_named():
    with pytest.raises(OptionError, match="no rooms were given"):
        random_successes(corridor(), {}, 10)
    with pytest.raises(OptionError, match="one seat with one head"):
        random_successes(nim(), {"heaps": np.ones((2, 3))}, 10)
    with pytest.raises(OptionError, match="Sokoban, FrozenLake and Sudoku only"):
        optimal_chances(corridor(), {"room": np.array([3])}, 10)
