"""Successive halving spends the rollouts of a search on contenders, and stops when one is surely better."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ludory.agents.make import make_agent
from ludory.agents.search.belief import Draw
from ludory.agents.search.rollouts import PairedReturns, RolloutSearch
from ludory.envs.make import make_game

LEGAL = np.arange(3, 13)
CLOSE = np.array([0.0, 0.12, 0.10, 0.08, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1])
CLEAR = np.where(np.arange(10) == 7, 3.0, CLOSE)


def search(means, halving, rollouts=10_000, noise=1.0):
    """The result of a search in which action LEGAL[k] returns means[k] on average; the blueprint plays LEGAL[0]."""

    def draw(count, key):
        return Draw(np.random.default_rng(key % 2**32).normal(0, noise, (count, len(LEGAL))), np.zeros((count, 1)))

    def play(drawn, actions, seat):
        return (drawn.worlds + means)[:, actions - LEGAL[0]]

    blueprint = SimpleNamespace(rounds_between_checks=40, move=lambda *_: int(LEGAL[0]), play=play)
    return RolloutSearch(blueprint, rollouts, 0.05, 2.0, None, halving).run(draw, LEGAL, 0, key=5)


def test_contenders_get_most_rollouts_and_the_budget_is_kept():
    even, halved = search(CLOSE, False, noise=2.0), search(CLOSE, True, noise=2.0)
    assert even.paired.rounds.max() == 1000
    assert halved.paired.rounds[1] > 2 * even.paired.rounds[1]
    assert halved.paired.rounds[4:].max() < even.paired.rounds[4:].max()
    assert 9_000 < halved.paired.rounds.sum() <= 10_000
    assert halved.paired.stderrs[1] < 0.7 * even.paired.stderrs[1]


def test_a_sure_choice_ends_the_search():
    found = search(CLEAR, True)
    assert found.action == LEGAL[7]
    assert found.paired.rounds.sum() < 2_000


def test_among_equals_the_blueprint_is_kept():
    assert search(np.zeros(10), True).action == LEGAL[0]


@pytest.mark.parametrize("rollouts", [1, 7, 45])
def test_few_rollouts_are_enough_to_answer(rollouts):
    found = search(CLOSE, True, rollouts)
    assert found.action in LEGAL
    assert found.paired.rounds.sum() <= max(rollouts, 10 + 5 + 3 + 2 + 4)


def test_the_better_half_stays_beside_the_baseline():
    paired = PairedReturns(6, baseline=2, threshold=0.05)
    paired.add(np.array([[0.0, 5.0, 1.0, 4.0, 3.0, 2.0]]))
    paired.halve()
    assert paired.tried.tolist() == [1, 2, 3, 4]
    paired.halve()
    paired.halve()
    assert paired.tried.tolist() == [1, 2]
    paired.halve()
    assert paired.tried.tolist() == [1, 2]


@pytest.mark.parametrize("joint", [False, True])
def test_searching_agents_take_it_as_an_option(joint):
    made = make_agent(
        f"sparta(hanabi/smartbot, rollouts=20, joint={joint}, halving=True)", make_game("HanabiSmall2P-v0")
    )
    assert made.search.halving
    assert made.settings["halving"] is True
