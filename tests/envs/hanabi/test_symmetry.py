"""Hanabi with renamed colours is the same game: renamed decks and moves give renamed observations, masks and equal rewards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.envs.hanabi.symmetry import rename_colors
from ludory.envs.make import make_engine, make_game

GAMES = [
    ("HanabiSmall3P-v0", {}),
    ("Hanabi2P-v0", {}),
    ("Hanabi2P-v0", {"observation": "v0_belief"}),
    ("Hanabi3P-v0", {"observation": "tactical"}),
    ("Hanabi3P-v0", {"observation": "conventions"}),
    ("Hanabi2P-v0", {"observation": "minimal"}),
]


@pytest.fixture(scope="module", params=GAMES, ids=str)
def pair(request):
    id, options = request.param
    game = make_game(id, **options)
    return game, [make_engine(game, 1, seed=1) for _ in range(2)]


@pytest.mark.slow
@settings(max_examples=15)
@given(seed=st.integers(0, 2**31))
def test_the_renamed_game_is_seen_under_the_new_names(pair, seed):
    game, (plain, renamed) = pair
    generator = np.random.default_rng(seed)
    options = game.analysis.symmetry.args[0]
    names = generator.permutation(options.colors)
    symmetry = rename_colors(options, names)
    deck = generator.permutation(
        np.repeat(np.arange(options.colors * options.ranks), np.tile(options.copies, options.colors))
    )
    other = names[deck // options.ranks] * options.ranks + deck % options.ranks
    plain.reset(options={"deck": deck[None]})
    renamed.reset(options={"deck": other[None]})
    while plain.to_move[0] >= 0:
        for seat in range(options.players):
            assert (renamed.observe(seat)[0] == plain.observe(seat)[0][symmetry.observation]).all()
        legal = plain.legal()[0]
        assert (renamed.legal()[0][symmetry.actions] == legal).all()
        action = int(generator.choice(np.flatnonzero(legal)))
        plain.step(np.array([action]))
        renamed.step(symmetry.actions[[action]])
        assert (plain.rewards == renamed.rewards).all()


def test_all_renamings_are_drawn():
    game, generator = make_game("HanabiSmall2P-v0"), np.random.default_rng(0)
    drawn = {tuple(game.analysis.symmetry(generator).actions) for _ in range(50)}
    assert len(drawn) == 2
