"""The exact range of a seat's own hand: equal to counting everything out, and never without the true hand."""

from __future__ import annotations

import numpy as np
import pytest
from reference.hand_posterior import posterior
from support.chi_squared import assert_frequencies
from support.watched_hands import Watched

from ludory.agents.hanabi.beliefs.hand_sets import pack
from ludory.agents.seat import Seat

pytestmark = pytest.mark.slow

LISTED, DEFERRED = 10**6, 0


@pytest.mark.parametrize(
    ("id", "bot", "games", "seat"),
    [
        ("HanabiVerySmall2P-v0", "hanabi/smartbot", 12, 0),
        ("HanabiVerySmall2P-v0", "hanabi/iggi", 12, 1),
        ("HanabiSmall2P-v0", "hanabi/smartbot", 10, 1),
        ("HanabiSmall3P-v0", "hanabi/smartbot", 10, 1),
    ],
)
def test_the_range_is_what_counting_out_all_deals_gives_after_every_move(
    id: str, bot: str, games: int, seat: int
) -> None:
    watched, compared = Watched(id, bot, games, seat, (LISTED, DEFERRED)), 0
    for i in watched.moves():
        expected = posterior(watched.game, watched.bot, watched.engine, i, watched.draws[i], watched.histories[i])
        turn = f"game {i}, turn {watched.engine.state.turn[i]}"
        assert watched.own_hand(i) in expected, turn
        for limit in (LISTED, DEFERRED):
            assert watched.weights(i, limit) == expected, f"{turn}, limit {limit}"
        compared += 1
    assert compared > 5 * games
    assert not any(known.contradictions for ranges in watched.ranges for known in ranges.values())


@pytest.mark.parametrize("seat", [0, 1])
def test_on_the_full_game_the_true_hand_is_always_possible(seat: int) -> None:
    watched = Watched("Hanabi2P-v0", "hanabi/smartbot", 1, seat, (100_000,), stray=0.1)
    for i in watched.moves():
        known = watched.ranges[i][100_000]
        now = known.catch_up(watched.view(i))
        assert not known.contradictions
        if known.range.hands is not None:
            assert pack(np.array([watched.own_hand(i)]), now["hands"].shape[2])[0] in known.range.hands


@pytest.mark.parametrize("limit", [LISTED, DEFERRED])
def test_hands_are_drawn_by_their_weights(limit: int) -> None:
    watched, tested = Watched("HanabiSmall2P-v0", "hanabi/smartbot", 12, 1, (limit,)), 0
    for i in watched.moves():
        weights = watched.weights(i, limit)
        if watched.engine.state.turn[i] % 4 != 1 or len(weights) < 2:
            continue
        worlds = watched.copied(i, limit).draw(watched.view(i), 2000, key=i).worlds
        hands = zip(worlds["hands"][:, 1].tolist(), worlds["held"][:, 1], strict=True)
        drawn = [tuple(hand[:held]) for hand, held in hands]
        expected = np.array(list(weights.values())) * (len(drawn) / sum(weights.values()))
        assert set(drawn) <= weights.keys()
        assert_frequencies([drawn.count(hand) for hand in weights], expected)
        tested += 1
    assert tested > 20


@pytest.mark.parametrize("limit", [LISTED, DEFERRED])
def test_draws_depend_on_nothing_that_the_seat_does_not_know(limit: int) -> None:
    watched = Watched("HanabiSmall2P-v0", "hanabi/smartbot", 3, 1, (limit,))
    for i in watched.moves():
        other_world = watched.engine.clone()
        other_world.redeal(watched.seat, seed=i)
        elsewhere = Seat(other_world, watched.seat, i, watched.histories[i])
        here, there = (watched.copied(i, limit).draw(seat, 30, key=7) for seat in (watched.view(i), elsewhere))
        np.testing.assert_array_equal(here.worlds, there.worlds)
        np.testing.assert_array_equal(here.memories, there.memories)
