"""Worlds of Texas 42: their number, their enumeration, and that samples and `redeal` are uniform over them."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chi_squared import assert_frequencies
from support.golden_texas42 import load

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.texas42 import make_hand
from ludory.envs.texas42.redeal import count_worlds, groups_of
from ludory.envs.texas42.state import DECLARE_0, ONE_MARK, PASS, PLUNGE, SPLASH
from ludory.envs.texas42.tiles import DOUBLE_TILES, FOLLOW, mask_of, tiles_of
from ludory.envs.texas42.worlds import Knowledge, Worlds, knowledge
from ludory.errors import OptionError
from ludory.testing.kernels.interpreted import interpreted

closed_form, groups = interpreted(count_worlds), interpreted(groups_of)


def of_row(row):
    unseen = mask_of(row["unseen"])
    may = []
    for voids in row["voids"]:
        excluded = 0
        for suit in voids:
            excluded |= int(FOLLOW[row["decl"], suit])
        may.append(unseen & ~excluded)
    return Knowledge(mask_of(row["hand"]), unseen, tuple(row["sizes"]), tuple(may))


def count_in_closed_form(known):
    doubles = groups(known.unseen & DOUBLE_TILES, *known.may)
    others = groups(known.unseen & ~DOUBLE_TILES, *known.may)
    return int(closed_form(doubles, others, *known.sizes, *known.doubles))


def counts_by_owner(known, hands):
    tiles = np.array(tiles_of(known.unseen))
    return ((hands[:, None, :] >> tiles[None, :, None]) & 1).sum(axis=0)  # (T, 3)


@pytest.fixture(scope="module")
def golden():
    return [(row, of_row(row)) for row in load("worlds.json")]


def test_numbers_of_worlds(golden):
    for row, known in golden:
        assert Worlds(known).count == row["worlds"] == count_in_closed_form(known)


def test_numbers_of_worlds_by_owner_of_each_tile(golden):
    for row, known in golden:
        for tile, counts in zip(row["unseen"], row["owner_counts"], strict=True):
            for seat, count in enumerate(counts):
                may = tuple(mask if k == seat else mask & ~(1 << tile) for k, mask in enumerate(known.may))
                found = Worlds(known._replace(may=may)).count if known.may[seat] >> tile & 1 and count else 0
                assert found == count


def assert_valid(known, hands):
    assert (np.bitwise_or.reduce(hands, axis=1) == known.unseen).all()
    assert (hands.sum(axis=1) == known.unseen).all()  # disjoint
    for seat in range(3):
        assert not (hands[:, seat] & ~known.may[seat]).any()
        assert (((hands[:, seat, None] >> np.arange(28)) & 1).sum(axis=1) == known.sizes[seat]).all()
        doubles = ((hands[:, seat, None] & DOUBLE_TILES) >> np.arange(28)) & 1
        assert (doubles.sum(axis=1) >= known.doubles[seat]).all()


def test_every_rank_is_another_world_and_all_agree_with_what_is_known(golden):
    small = [(row, known) for row, known in golden if row["worlds"] <= 3000]
    assert len(small) > 100
    for row, known in small:
        hands = Worlds(known).all()
        assert len(np.unique(hands, axis=0)) == row["worlds"]
        assert_valid(known, hands)
        assert (counts_by_owner(known, hands) == row["owner_counts"]).all()


def test_samples_are_uniform(golden):
    for row, known in golden[::8]:
        if row["worlds"] > 1:
            hands = Worlds(known).sample(4000, key=row["worlds"])
            assert_valid(known, hands[:50])
            counts, expected = counts_by_owner(known, hands), np.array(row["owner_counts"]) * 4000 / row["worlds"]
            spread = np.sqrt(expected * (1 - expected / 4000))
            assert (np.abs(counts - expected) <= 5 * spread).all()
    known = next(known for row, known in golden if 100 < row["worlds"] < 300)
    worlds = Worlds(known)
    drawn = Counter(map(tuple, worlds.sample(100 * worlds.count, key=5).tolist()))
    assert set(drawn) <= set(map(tuple, worlds.all().tolist()))
    assert_frequencies([drawn[tuple(world)] for world in worlds.all().tolist()], np.full(worlds.count, 100.0))


def test_choosing_takes_all_then_distinct_then_independent_worlds(golden):
    known = next(known for row, known in golden if 2000 < row["worlds"] < 6000)
    worlds = Worlds(known)
    assert len(worlds.choose(10, 1, enumerate_below=10_000)) == worlds.count
    distinct = worlds.choose(1500, 1)
    assert len(np.unique(distinct, axis=0)) == 1500
    assert_valid(known, distinct)
    assert (worlds.choose(100, 1, 0) == worlds.sample(100, 1)).all()
    assert (worlds.sample(100, 1) != worlds.sample(100, 2)).any()


def test_knowledge_that_no_game_gives_is_refused():
    with pytest.raises(OptionError, match=r"no deal agrees with hand 0-0, unseen 1-0; \+1 holds 1"):
        Worlds(Knowledge(1, 2, (1, 0, 0), (0, 2, 2)))


# --- Promised doubles -----------------------------------------------------------------------------------------------------


def brute_force(known):
    tiles, found = tiles_of(known.unseen), set()
    for owners in product(range(3), repeat=len(tiles)):
        hands = [0, 0, 0]
        for tile, owner in zip(tiles, owners, strict=True):
            hands[owner] |= 1 << tile
        if all(
            not hands[k] & ~known.may[k]
            and hands[k].bit_count() == known.sizes[k]
            and (hands[k] & DOUBLE_TILES).bit_count() >= known.doubles[k]
            for k in range(3)
        ):
            found.add(tuple(hands))
    return found


@st.composite
def small_knowledge(draw):
    """A true deal of at most 9 tiles, from which limits are read off, so that at least one world agrees."""
    tiles = draw(st.lists(st.integers(0, 27), min_size=3, max_size=9, unique=True))
    owners = draw(st.lists(st.integers(0, 2), min_size=len(tiles), max_size=len(tiles)))
    hands = [mask_of(t for t, o in zip(tiles, owners, strict=True) if o == k) for k in range(3)]
    sizes = tuple(hand.bit_count() for hand in hands)
    if max(sizes) > 7:
        return draw(small_knowledge())
    unseen = mask_of(tiles)
    may = tuple(unseen & (hand | draw(st.integers(0, 2**28 - 1))) for hand in hands)
    doubles = tuple(draw(st.integers(0, (hand & DOUBLE_TILES).bit_count())) for hand in hands)
    return Knowledge(0, unseen, sizes, may, doubles)


@pytest.mark.slow
@given(small_knowledge())
@settings(max_examples=60)
def test_worlds_are_those_of_brute_force(known):
    expected = brute_force(known)
    worlds = Worlds(known)
    assert worlds.count == len(expected) == count_in_closed_form(known)
    assert set(map(tuple, worlds.all().tolist())) == expected


# --- redeal ---------------------------------------------------------------------------------------------------------------

EVERYTHING = {"nello": ("high", "suit", "low"), "plunge": 4, "splash": True, "sevens": True}
DEAL = [
    "0-0,1-1,2-2,3-3,1-0,5-0,6-4",
    "5-5,4-1,2-1,2-0,3-0,4-0,6-0",
    "4-4,6-6,3-1,5-1,6-1,3-2,4-2",
    "5-2,6-2,4-3,5-3,6-3,5-4,6-5",
]


@pytest.fixture(scope="module")
def game():
    return make_hand(**EVERYTHING)


def positions(game):
    """Late positions of a plunge, a straight hand, nello and sevens."""
    contracts = {
        "plunge": ([PLUNGE, PASS, PASS, PASS], 3),
        "straight": ([1, PASS, PASS, PASS], 0),
        "nello": ([ONE_MARK, PASS, PASS, PASS], 10),
        "sevens": ([ONE_MARK, PASS, PASS, PASS], 13),
    }
    for name, (bids, decl) in contracts.items():
        engine = KernelEngine(game, 1, seed=1)
        engine.reset(options={"deal": DEAL, "shaker": 3, "bids": bids, "decl": decl})
        generator = np.random.default_rng(3)
        left = 12 if name != "nello" else 9
        while (engine.state.held & -1).sum() and sum(int(h).bit_count() for h in engine.state.held[0]) > left + 4:
            legal = engine.legal()[0]
            engine.step([generator.choice(np.flatnonzero(legal))])
        yield name, engine


@pytest.mark.slow
def test_redeal_is_uniform_over_the_worlds(game):
    tried = 0
    for name, engine in positions(game):
        for seat in range(4):
            known = knowledge(engine.state, 0, seat)
            worlds = Worlds(known)
            if not 2 <= worlds.count <= 2000:
                continue
            tried += 1
            copies = engine.gather(np.zeros(40 * worlds.count, int))
            copies.redeal(seat, seed=worlds.count)
            others = [(seat + k) % 4 for k in (1, 2, 3)]
            drawn = Counter(map(tuple, copies.state.held[:, others].tolist()))
            every = list(map(tuple, worlds.all().tolist()))
            assert set(drawn) <= set(every), name
            assert_frequencies([drawn[world] for world in every], np.full(worlds.count, 40.0))
    assert tried >= 6


@pytest.mark.slow
def test_redeal_keeps_promised_doubles_at_the_first_lead(game):
    engine = KernelEngine(game, 1, seed=1)
    engine.reset(options={"deal": DEAL, "shaker": 3, "bids": [SPLASH, PASS, PASS, PASS]})
    engine.step([DECLARE_0])
    copies = engine.gather(np.zeros(3000, int))
    copies.redeal(3, seed=1)
    doubles = (((copies.state.held & DOUBLE_TILES)[:, :, None] >> np.arange(28)) & 1).sum(axis=2)
    assert doubles[:, 0].min() == 3
    known = knowledge(engine.state, 0, 3)
    assert known.doubles == (3, 0, 0)
    more = Worlds(known._replace(doubles=(4, 0, 0))).count / Worlds(known).count
    assert abs((doubles[:, 0] >= 4).mean() - more) < 5 * np.sqrt(more * (1 - more) / 3000)


@pytest.mark.slow
def test_a_redealt_deal_is_whole_and_keeps_what_was_played(game):
    for _, engine in positions(game):
        for seat in range(4):
            other = engine.clone()
            other.redeal(seat, seed=2)
            played, again = (e.state.dealt & ~e.state.held for e in (engine, other))
            assert (played == again).all()
            assert np.bitwise_or.reduce(other.state.dealt[0]) == 2**28 - 1
            assert other.state.dealt[0].sum() == 2**28 - 1
            assert other.state.held[0, seat] == engine.state.held[0, seat]
