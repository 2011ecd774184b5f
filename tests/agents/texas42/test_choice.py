"""How tiles are chosen: where no tile can be told from another, more worlds are drawn, at most twice."""

from __future__ import annotations

import numpy as np
import pytest

import ludory
from ludory.agents.texas42.play import choice
from ludory.agents.texas42.play.choice import Averager, Question, question_of
from ludory.agents.texas42.solver.solver import Solver
from ludory.envs.texas42.worlds import Worlds

SOLVER = Solver()


def questions(plays: int, bid: int, deals: range = range(12)) -> list[Question]:
    """Decisions with a choice and many worlds, each after some random plays of a deal."""
    found = []
    for deal in deals:
        engine = ludory.make_engine("Texas42Play-v0", num_games=1)
        engine.reset(options={"seed_deal": deal, "decl": deal % 7, "bid": bid})
        draw = np.random.default_rng(deal)
        for _ in range(plays):
            engine.step(np.array([draw.choice(np.flatnonzero(engine.legal()[0]))]))
        question = question_of(engine.state, 0, engine.legal()[0], deal)
        if question.legal & (question.legal - 1) and Worlds(question.known).count > 1000:
            found.append(question)
    return found


@pytest.fixture
def draws(monkeypatch):
    """How many worlds each draw asked for."""
    asked: list[int] = []

    class Counting(Worlds):
        def choose(self, n, key, enumerate_below=0):
            asked.append(n)
            return super().choose(n, key, enumerate_below)

    monkeypatch.setattr(choice, "Worlds", Counting)
    return asked


def tied(question: Question, worlds: int, attempt: int) -> bool:
    """Whether all legal tiles make the contract in as many of the worlds of an attempt, found out one by one."""
    others = Worlds(question.known).choose(worlds, question.key + (attempt << 32), 0)
    held = question.worlds(others)
    made = SOLVER.make_after(held, question.bid, question.banked).sum(axis=0)
    return len({int(made[tile]) for tile in range(28) if question.legal >> tile & 1}) == 1


@pytest.mark.slow
def test_fresh_worlds_are_drawn_as_long_as_all_tiles_tie_and_at_most_twice(draws):
    seen = set()
    for bid in (30, 84):
        for question in questions(9, bid):
            draws.clear()
            Averager(SOLVER, worlds=5).tiles([question])
            wanted = [5]
            for attempt, worlds in enumerate((5, 20)):
                if not tied(question, worlds, attempt):
                    break
                wanted.append(4 * worlds)
            assert draws == wanted
            seen.add(len(wanted))
    assert {1, 3} <= seen


@pytest.mark.slow
def test_by_the_mean_nothing_is_drawn_twice(draws):
    for question in questions(9, 84):
        draws.clear()
        Averager(SOLVER, worlds=5, objective="mean").tiles([question])
        assert draws == [5]


@pytest.mark.slow
def test_of_tied_tiles_the_mean_over_the_first_worlds_decides_then_the_lowest():
    decided = 0
    for question in questions(9, 84):
        if not (tied(question, 5, 0) and tied(question, 20, 1) and tied(question, 80, 2)):
            continue
        others = Worlds(question.known).choose(5, question.key, 0)
        q = SOLVER.q_values(question.worlds(others))[1].astype(int).sum(axis=0)
        tiles = [tile for tile in range(28) if question.legal >> tile & 1]
        best = max(tiles, key=lambda tile: (question.side * q[tile], -tile))
        assert Averager(SOLVER, worlds=5).tiles([question]) == [best]
        decided += 1
    assert decided > 2
