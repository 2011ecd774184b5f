"""Random numbers of kernels: uniform, exact, and functions of (seed, game, episode, counter) only."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chi_squared import assert_frequencies

from ludory.envs import chance
from ludory.envs.chance import COUNTER, EPISODE, KEY, STREAM
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.engine.storage import new_records, views
from ludory.envs.hanabi import make_game
from ludory.envs.parts import header
from ludory.testing.kernels.interpreted import interpreted

draw, begin_episode, mix = (interpreted(kernel) for kernel in (chance.draw, chance.begin_episode, chance.mix))


@pytest.fixture(autouse=True)
def _wrap_around():
    with np.errstate(over="ignore"):
        yield


def streams(count, seed=1):
    """A state of `count` games whose first episode has begun."""
    state = views(header(2), new_records(header(2), count))
    state.random[:, STREAM] = chance.hash_rows(seed, np.arange(count))
    for game in range(count):
        begin_episode(state, game)
    return state


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 50])
def test_draws_are_uniform_within_a_game(n):
    state = streams(1)
    drawn = np.array([draw(state, 0, n) for _ in range(6000)])
    assert drawn.min() >= 0
    assert drawn.max() < n
    if n > 1:
        assert_frequencies(np.bincount(drawn, minlength=n), np.full(n, 6000 / n))


def test_successive_draws_are_independent():
    state = streams(1)
    drawn = np.array([draw(state, 0, 5) for _ in range(10_000)])
    assert_frequencies(np.bincount(drawn[:-1] * 5 + drawn[1:], minlength=25), np.full(25, 9999 / 25))


def test_first_draws_of_neighbouring_games_episodes_and_seeds_are_independent():
    games = streams(4000)
    first = [draw(games, game, 6) for game in range(4000)]
    episode, episodes, seeds = streams(1), [], []
    for number in range(4000):
        begin_episode(episode, 0)
        episodes.append(draw(episode, 0, 6))
        seeds.append(draw(streams(1, seed=number), 0, 6))
    for drawn in map(np.array, (first, episodes, seeds)):
        assert_frequencies(np.bincount(drawn[:-1] * 6 + drawn[1:], minlength=36), np.full(36, 3999 / 36))


@given(st.integers(1, 200))
def test_every_value_has_exactly_the_same_chance(n):
    """`draw` with a generator of 8 instead of 32 bits: of its 256 values, those not rejected fall equally on 0..n-1."""
    state, tried = streams(1), interpreted(chance.draw)
    counts = np.zeros(n, int)
    for value in range(2**8):
        outputs = iter([value])
        small = {"mix": lambda key, counter, outputs=outputs: np.int64(next(outputs) << 8)}
        tried.__globals__.update(small | {"_LOW": np.uint64(0xFF), "_S32": np.uint64(8)})
        with suppress(StopIteration):  # rejected: another value is asked for
            counts[tried(state, 0, n)] += 1
    assert counts.tolist() == [2**8 // n] * n


def test_a_rejected_value_is_drawn_again(monkeypatch):
    """n = 2**31 - 1 rejects when the low half of the product is below 2."""
    state = streams(1)
    values = iter([0, 2**63 - 2**33])  # 0 is rejected
    redrawn = interpreted(chance.draw)
    redrawn.__globals__["mix"] = lambda key, counter: np.int64(next(values))
    assert redrawn(state, 0, 2**31 - 1) == (2**31 - 2) * (2**31 - 1) >> 32
    assert state.random[0, COUNTER] == 2


def test_the_counter_counts_and_an_episode_starts_it_anew():
    state = streams(1)
    for _ in range(3):
        draw(state, 0, 6)
    assert state.random[0, COUNTER] == 3
    key = state.random[0, KEY]
    begin_episode(state, 0)
    assert state.random[0, [EPISODE, COUNTER]].tolist() == [2, 0]
    assert state.random[0, KEY] != key


def test_the_mixer_is_splitmix64():
    """First outputs for seed 1234567, as in the reference code's published test vector."""
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert [int(mix(np.int64(1234567), np.int64(k))) % 2**64 for k in range(5)] == expected


def test_compiled_draws_are_those_of_plain_python():
    """A shuffled deck of the compiled engine is what the interpreted kernels give for the same key."""
    game = make_game(colors=2, ranks=2, hand_size=2)
    engine = KernelEngine(game, 30, seed=5)
    engine.reset()
    state = views(game.rules.fields, new_records(game.rules.fields, 30))
    state.random[:, STREAM] = chance.hash_rows(5, np.arange(30))
    for row in range(30):
        interpreted(game.rules.kernels.reset)(state, row)
    assert (state.deck == engine.state.deck).all()
    assert (state.random == engine.state.random).all()


def test_shuffles_are_uniform():
    """All 1,120 orders of the 8 cards of the 2x2 game, and every card in every place."""
    engine = KernelEngine(make_game(colors=2, ranks=2, hand_size=2), 40_000, seed=6)
    engine.reset()
    orders, counts = np.unique(engine.state.deck, axis=0, return_counts=True)
    assert len(orders) == 1120
    assert_frequencies(counts, np.full(1120, 40_000 / 1120))
    for place in engine.state.deck.T:
        assert_frequencies(np.bincount(place, minlength=4), [15_000, 5_000, 15_000, 5_000])
