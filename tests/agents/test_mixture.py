"""`mixture(a, b)`: one member plays each game to its end."""

from __future__ import annotations

import numpy as np
import pytest

import ludory
from ludory.errors import OptionError, UnknownIdError

GAME = "HanabiTiny2P-v0"


def test_a_mixture_scores_between_its_members() -> None:
    scores = [
        ludory.evaluate(agent, game=GAME, games=400, seed=1).mean
        for agent in ("random", "mixture(random, hanabi/iggi)", "hanabi/iggi")
    ]
    assert scores[0] < scores[1] < scores[2]


def test_every_game_is_played_by_one_member() -> None:
    mixed = ludory.make_agent("mixture(hanabi/iggi, hanabi/piers)", GAME)
    members = [ludory.evaluate(one, game=GAME, games=60, seed=4).returns for one in ("hanabi/iggi", "hanabi/piers")]
    # Seats of a shared game draw members of their own, so only games in which both drew the same can be compared.
    found = ludory.evaluate([mixed, mixed], game=GAME, games=60, seed=4).returns
    same = [(found == one).all(axis=1) for one in members]
    assert np.logical_or(*same).mean() > 0.4


def test_it_repeats_from_a_seed() -> None:
    agent = "mixture(random, hanabi/iggi)"
    first, second = (ludory.evaluate(agent, game=GAME, games=50, seed=2).returns for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_bad_members() -> None:
    with pytest.raises(OptionError, match="mixture needs members"):
        ludory.make_agent("mixture()", GAME)
    with pytest.raises(UnknownIdError, match="hanabi/iggi"):
        ludory.make_agent("mixture(hanabi/igi)", GAME)
