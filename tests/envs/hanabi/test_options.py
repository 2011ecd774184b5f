"""Hanabi's options: defaults, facts that follow from them, and the bounds of each."""

from __future__ import annotations

import pytest

from ludory.envs.hanabi import HanabiOptions, make_game
from ludory.errors import OptionError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"players": 1}, "players=1: must be an integer from 2 to 5"),
        ({"players": 6}, "players=6: must be an integer from 2 to 5"),
        ({"players": 2.0}, "players=2.0: must be an integer"),
        ({"players": True}, "players=True: must be an integer"),
        ({"players": "2"}, "players='2': must be an integer"),
        ({"colors": 0}, "colors=0: must be an integer from 1 to 5"),
        ({"colors": 6}, "colors=6: must be an integer from 1 to 5"),
        ({"ranks": 0}, "ranks=0: must be an integer from 1 to 5"),
        ({"ranks": 6}, "ranks=6: must be an integer from 1 to 5"),
        ({"hand_size": -1}, "hand_size=-1: must be an integer from 1 to 25"),
        ({"hand_size": 26}, "hand_size=26: must be an integer from 1 to 25"),
        ({"players": 5, "colors": 1, "hand_size": 3}, "hand_size=3: must be an integer from 1 to 2"),
        ({"max_information_tokens": -1}, "max_information_tokens=-1: must be an integer from 0 to 100"),
        ({"max_information_tokens": 101}, "max_information_tokens=101"),
        ({"max_life_tokens": 0}, "max_life_tokens=0: must be an integer from 1 to 100"),
        ({"max_life_tokens": 101}, "max_life_tokens=101"),
        (
            {"observation": "all"},
            "observation='all': must be one of 'card_knowledge', 'conventions', 'minimal', 'seer', 'tactical', 'v0_belief'",
        ),
        ({"bomb": "half"}, "bomb='half': must be one of 'zero', 'keep'"),
        ({"terminal_deal": 1}, "terminal_deal=1: must be True or False"),
        ({"random_start_player": "no"}, "random_start_player='no': must be True or False"),
        ({"player": 3}, "Hanabi has no option 'player'; it has players, colors, ranks"),
    ],
)
def test_a_value_that_is_not_allowed_is_named_with_what_is(options, message):
    with pytest.raises(OptionError) as caught:
        make_game(**options)
    assert message in str(caught.value)


@pytest.mark.parametrize(("players", "hand_size"), [(2, 5), (3, 5), (4, 4), (5, 4)])
def test_the_hand_size_follows_from_the_players_unless_given(players, hand_size):
    assert HanabiOptions(players).hand_size == hand_size
    assert HanabiOptions(players, hand_size=3).hand_size == 3


@pytest.mark.parametrize(
    ("colors", "ranks", "copies", "deck_size"),
    [(5, 5, (3, 2, 2, 2, 1), 50), (5, 1, (3,), 15), (1, 2, (3, 1), 4), (3, 4, (3, 2, 2, 1), 24)],
)
def test_copies_and_size_of_the_deck(colors, ranks, copies, deck_size):
    options = HanabiOptions(colors=colors, ranks=ranks, hand_size=1)
    assert (options.copies, options.deck_size) == (copies, deck_size)


@pytest.mark.parametrize(
    ("players", "actions", "sizes"),
    [(2, 20, (658, 308)), (3, 30, (956, 431)), (4, 38, (1041, 481)), (5, 48, (1280, 580))],
)
def test_numbers_of_actions_and_lengths_of_observations(players, actions, sizes):
    whole, minimal = make_game(players=players), make_game(players=players, observation="minimal")
    assert whole.facts.num_actions == actions
    assert (whole.facts.observation.size, minimal.facts.observation.size) == sizes
    assert [s.name for s in whole.facts.segments[:-1]] == [s.name for s in minimal.facts.segments]


def test_actions_are_named_in_words():
    game = make_game(players=3, colors=3, ranks=2, hand_size=2)
    assert [game.look.action_name(0, action) for action in range(game.facts.num_actions)] == [
        *("discard 1", "discard 2", "play 1", "play 2"),
        *("tell +1 red", "tell +1 yellow", "tell +1 green", "tell +2 red", "tell +2 yellow", "tell +2 green"),
        *("tell +1 rank 1", "tell +1 rank 2", "tell +2 rank 1", "tell +2 rank 2"),
    ]


def test_only_the_seer_variant_is_privileged():
    variants = ("card_knowledge", "conventions", "minimal", "seer", "tactical", "v0_belief")
    assert [name for name in variants if make_game(observation=name).facts.privileged_observation] == ["seer"]
