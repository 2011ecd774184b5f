"""Hanabi's `redeal`: own hand and deck order, drawn exactly from what a seat cannot know."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from support.chi_squared import assert_frequencies

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.engine.storage import new_records, views
from ludory.envs.hanabi import make_game
from ludory.envs.hanabi.redeal import _draw_wide
from ludory.errors import NotResetError, OptionError
from ludory.testing.kernels.interpreted import interpreted

TINY = make_game(colors=2, ranks=2, hand_size=2, max_life_tokens=9)
"""Action ids: 0, 1 discard; 2, 3 play; 4 red, 5 yellow; 6 rank 1, 7 rank 2. Cards: red 0 and 1, yellow 2 and 3."""

TELL_YELLOW, TELL_1, TELL_2 = 5, 6, 7


@pytest.fixture(scope="module")
def engine():
    """400 games at all stages, some finished, some with an empty deck."""
    engine = KernelEngine(TINY, 400, seed=3)
    engine.reset()
    generator = np.random.default_rng(5)
    for _ in range(16):
        rows = np.flatnonzero(generator.random(400) < np.linspace(0.1, 0.9, 400))
        noise = generator.random((400, TINY.facts.num_actions))
        engine.step(np.where(engine.legal(), noise, -1).argmax(1)[rows], rows)
    stages = set(engine.state.deck_top.tolist())
    assert stages == {4, 5, 6, 7, 8}
    assert 0 < engine.terminated.sum() < 400
    return engine


@pytest.mark.parametrize("seat", [0, 1])
def test_only_the_own_hand_and_the_order_of_the_deck_change(engine, seat):
    other = engine.clone()
    other.redeal(seat, seed=7)
    for name in set(engine.state._fields) - {"deck", "hands", "random", "ways"}:
        assert (getattr(other.state, name) == getattr(engine.state, name)).all(), name
    assert (other.state.hands[:, 1 - seat] == engine.state.hands[:, 1 - seat]).all()
    assert (other.state.hands[:, seat] != engine.state.hands[:, seat]).any()


@pytest.mark.parametrize("seat", [0, 1])
def test_what_the_seat_sees_and_may_do_does_not_change(engine, seat):
    other = engine.clone()
    other.redeal(seat, seed=7)
    assert (other.observe(seat) == engine.observe(seat)).all()
    mine = engine.to_move == seat
    assert (other.legal()[mine] == engine.legal()[mine]).all()


def test_the_masks_of_the_seats_that_see_the_new_hand_follow_it(engine):
    other = engine.clone()
    other.redeal(0, seed=7)
    rows = np.flatnonzero((engine.to_move == 1) & (engine.state.tokens > 0))
    assert (other.legal()[rows] != engine.legal()[rows]).any()
    for row in rows:
        hand = other.state.hands[row, 0]
        ranks = {int(card) % 2 for card in hand if card >= 0}
        assert set(np.flatnonzero(other.legal()[row, [TELL_1, TELL_2]])) == ranks


def test_cards_are_conserved(engine):
    other = engine.clone()
    other.redeal(np.arange(400) % 2, seed=7)
    state = other.state
    assert (np.sort(state.deck) == [0, 0, 0, 1, 2, 2, 2, 3]).all()
    for row in range(400):
        held = Counter(card for card in state.hands[row].ravel().tolist() if card >= 0)
        discarded = Counter({card: int(n) for card, n in enumerate(state.discards[row])})
        played = Counter(c * 2 + r for c, height in enumerate(state.fireworks[row]) for r in range(height))
        dealt = Counter(state.deck[row, : state.deck_top[row]].tolist())
        assert held + discarded + played == dealt


def test_a_seed_repeats_and_another_differs(engine):
    drawn = []
    for seed in (1, 1, 2):
        other = engine.clone()
        other.redeal(0, seed)
        drawn.append(other.state.hands.copy())
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != drawn[2]).any()


def test_games_that_were_never_started_and_large_hands_are_refused():
    with pytest.raises(NotResetError, match="never started"):
        KernelEngine(TINY, 2).redeal(0, 1)
    large = make_game(hand_size=9)
    with pytest.raises(OptionError, match="cannot be redealt"):
        KernelEngine(large, 2).redeal(0, 1)
    assert make_game(hand_size=8).rules.kernels.redeal is not None


# --- Exactness ------------------------------------------------------------------------------------------------------------

POSITIONS = {
    "at the start": [],
    "after a hint": [TELL_1],
    "after hints of both kinds, touching and not": [TELL_1, TELL_YELLOW, TELL_YELLOW],
    "after hints, plays and discards": [TELL_YELLOW, TELL_1, 0, 2, TELL_1],
    "with an empty deck": [TELL_1, 0, 2, 2, 2],
}


def position(moves, copies):
    """`copies` games in which `moves` were played."""
    engine = KernelEngine(TINY, 1, seed=0)
    engine.reset(options={"deck": [0, 2, 3, 2, 0, 1, 2, 0]})
    for action in moves:
        assert engine.legal()[0, action], TINY.look.action_name(0, action)
        engine.step([action])
    return engine.gather(np.zeros(copies, int))


def worlds(engine, seat):
    """Every (own hand, deck order) that agrees with the seat's hints, with its weight, by enumeration of physical cards."""
    state, held = engine.state, int(engine.state.held[0, seat])
    own = state.hands[0, seat, :held].tolist()
    unseen = own + state.deck[0, state.deck_top[0] :].tolist()
    found: Counter[tuple[int, ...]] = Counter()
    for order in permutations(unseen):
        fits = all(
            state.colors[0, seat, slot] >> order[slot] // 2 & 1 and state.ranks[0, seat, slot] >> order[slot] % 2 & 1
            for slot in range(held)
        )
        found[order] += fits
    return {order: weight for order, weight in found.items() if weight}


def drawn_worlds(engine, seat):
    state = engine.state
    held, top = int(state.held[0, seat]), int(state.deck_top[0])
    drawn = np.concatenate([state.hands[:, seat, :held], state.deck[:, top:]], axis=1)
    return Counter(map(tuple, drawn.tolist()))


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("moves", POSITIONS.values(), ids=POSITIONS)
@pytest.mark.parametrize("times", [1, 2])
def test_frequencies_are_those_of_enumeration(moves, seat, times):
    """Redealt once, and redealt again after that: the distribution is the same."""
    engine = position(moves, 12_000)
    expected = worlds(engine, seat)
    for seed in range(times):
        engine.redeal(seat, seed)
    drawn = drawn_worlds(engine, seat)
    assert set(drawn) <= set(expected)
    if len(expected) > 1:
        weights = np.array(list(expected.values()), float)
        assert_frequencies([drawn[world] for world in expected], 12_000 * weights / weights.sum())


def test_a_known_card_stays():
    engine = position([TELL_YELLOW, TELL_1, TELL_2], 500)  # seat 1: told yellow 2, and yellow that is no 2
    engine.redeal(1, seed=1)
    assert (engine.state.hands[:, 1] == [3, 2]).all()


def test_draws_from_large_counts_are_uniform():
    state = views(TINY.rules.fields, new_records(TINY.rules.fields, 1))
    draw_wide, n = interpreted(_draw_wide), 5 * 2**40 + 12_345
    with np.errstate(over="ignore"):
        drawn = np.array([draw_wide(state, 0, n) for _ in range(5000)])
    assert drawn.min() >= 0
    assert drawn.max() < n
    assert_frequencies(np.histogram(drawn, 20, (0, n))[0], np.full(20, 250))
    assert_frequencies(np.bincount(drawn % 8, minlength=8), np.full(8, 625))
