"""Hanabi's reset options: a given deck, the first cards of one, a given seat to start."""

from __future__ import annotations

import numpy as np
import pytest
from support.chi_squared import assert_frequencies

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.hanabi import make_game
from ludory.errors import OptionError

DECK = [0, 0, 0, 1, 2, 2, 2, 3]
"""The eight cards of the 2x2 game: three of each lower card, one of each higher one."""


@pytest.fixture(scope="module")
def engine():
    return KernelEngine(make_game(colors=2, ranks=2, hand_size=2), 4, seed=1)


def reset(engine, rows=None, **options):
    engine.reset(rows, options=options)


# --- What is given is played ----------------------------------------------------------------------------------------------


def test_one_deck_for_all_games_is_dealt_hand_by_hand(engine):
    reset(engine, deck=[3, 1, 0, 2, 0, 0, 2, 2])
    assert (engine.state.hands == [[3, 1], [0, 2]]).all()
    assert (engine.state.deck == [3, 1, 0, 2, 0, 0, 2, 2]).all()


def test_every_game_can_have_a_deck_of_its_own(engine):
    decks = np.array([np.random.default_rng(k).permutation(DECK) for k in range(4)], np.uint8)
    reset(engine, deck=decks)
    assert (engine.state.deck == decks).all()


def test_a_deck_goes_to_the_rows_that_are_reset(engine):
    reset(engine)
    before = engine.state.deck.copy()
    decks = np.array([[3, 1, 0, 2, 0, 0, 2, 2], [1, 3, 0, 2, 0, 0, 2, 2]])
    reset(engine, [2, 0], deck=decks)
    assert (engine.state.deck[[2, 0]] == decks).all()
    assert (engine.state.deck[[1, 3]] == before[[1, 3]]).all()


def test_a_given_start_holds_for_one_game_only(engine):
    reset(engine, deck=DECK, start_player=1)
    assert (engine.to_move == 1).all()
    reset(engine)
    assert (engine.to_move == 0).all()
    assert (engine.state.deck != DECK).any(axis=1).sum() >= 3


def test_every_game_can_have_a_start_player_of_its_own(engine):
    reset(engine, start_player=[1, 0, 0, 1])
    assert engine.to_move.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("seat", [0, 1])
def test_a_given_start_player_goes_before_a_drawn_one(seat):
    drawn = KernelEngine(make_game(colors=2, ranks=2, hand_size=2, random_start_player=True), 64, seed=1)
    drawn.reset(options={"start_player": seat})
    assert (drawn.to_move == seat).all()
    drawn.reset()
    assert set(drawn.to_move.tolist()) == {0, 1}


def test_a_prefix_comes_first_and_the_rest_is_a_uniform_completion():
    many = KernelEngine(make_game(colors=2, ranks=2, hand_size=2), 5000, seed=2)
    many.reset(options={"deck_prefix": [3, 0, 2, 2, 0]})
    decks = many.state.deck
    assert (decks[:, :5] == [3, 0, 2, 2, 0]).all()
    assert (np.sort(decks) == DECK).all()
    orders, counts = np.unique(decks[:, 5:], axis=0, return_counts=True)
    assert len(orders) == 6  # of the cards 0, 1 and 2
    assert_frequencies(counts, np.full(6, 5000 / 6))


def test_an_empty_prefix_is_an_ordinary_deal_and_a_whole_one_a_deck(engine):
    engine.reset(seed=9)
    ordinary = engine.state.deck.copy()
    engine.reset(seed=9, options={"deck_prefix": np.empty(0, int)})
    assert (engine.state.deck == ordinary).all()
    reset(engine, deck_prefix=DECK)
    assert (engine.state.deck == DECK).all()


def test_prefixes_can_differ_from_game_to_game(engine):
    reset(engine, deck_prefix=[[3], [1], [0], [2]])
    assert engine.state.deck[:, 0].tolist() == [3, 1, 0, 2]


# --- What cannot be played is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deck": DECK[:7]}, "deck: 7 cards, must be 8; give fewer as deck_prefix"),
        ({"deck": [*DECK, 0]}, "deck: 9 cards, must be 8"),
        ({"deck_prefix": [*DECK, 0]}, "deck_prefix: 9 cards, must be at most 8"),
        ({"deck": [0, 0, 0, 1, 2, 4, 2, 3]}, "deck: card 4 at position 5 of game 0, ids are 0..3"),
        ({"deck": [0, 0, 0, 1, 2, -1, 2, 3]}, "deck: card -1 at position 5 of game 0"),
        ({"deck": [0, 0, 0, 0, 2, 2, 2, 3]}, "deck: card 0 is given 4 times in game 0, the deck has 3"),
        ({"deck": [DECK, DECK, [1, 1, *DECK[2:]], DECK]}, "card 0 is given 1 times in game 2, the deck has 3"),
        ({"deck_prefix": [3, 3]}, "deck_prefix: card 3 is given 2 times in game 0, the deck has 1"),
        ({"deck": [DECK, DECK]}, r"deck: shape (2, 8), must be (length,) or (4, length)"),
        ({"deck": np.zeros((1, 4, 8), int)}, "deck: shape (1, 4, 8)"),
        ({"deck": 3}, "deck: shape ()"),
        ({"deck": [DECK, DECK[:3], DECK, DECK]}, "deck: must be integers in rows of one length"),
        ({"deck": np.array(DECK, float)}, "deck: must be integers, got dtype float64"),
        ({"deck": "deck"}, "deck: must be integers"),
        ({"deck": DECK, "deck_prefix": [0]}, "give either deck or deck_prefix, not both"),
        ({"start_player": 2}, "start_player=2: must be a seat 0..1, one or 4 of them"),
        ({"start_player": -1}, "start_player=-1: must be a seat"),
        ({"start_player": [0, 1]}, "start_player=[0, 1]: must be a seat"),
        ({"start_player": 0.5}, "start_player: must be integers"),
        (
            {"decks": DECK},
            "Hanabi has no reset option 'decks'; did you mean 'deck'? (it has deck, deck_prefix, start_player)",
        ),
        ({"first_player": 0}, "did you mean 'start_player'?"),
    ],
)
def test_a_start_that_can_not_be_played_is_refused_and_nothing_is_started(engine, options, message):
    engine.reset(seed=5)
    before = engine.state.deck.copy()
    with pytest.raises(OptionError) as caught:
        reset(engine, **options)
    assert message in str(caught.value)
    assert (engine.state.deck == before).all()
    engine.reset()
    assert (engine.to_move == 0).all()
    assert (np.sort(engine.state.deck) == DECK).all()
