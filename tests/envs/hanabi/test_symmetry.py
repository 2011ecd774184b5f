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
    ("Hanabi2P-v0", {"observation": "seer"}),
]


@pytest.fixture(scope="module", params=GAMES, ids=str)
def pair(request):
    id, options = request.param
    game = make_game(id, **options)
    return game, [make_engine(game, 1, seed=1) for _ in range(2)]


def played(pair, names, seed):
    """Views and masks of a game and of the renamed one, at every seat after every move: (plain, renamed, mask, renamed mask)."""
    game, (plain, renamed) = pair
    generator = np.random.default_rng(seed)
    options = game.analysis.symmetry.args[0]
    symmetry = rename_colors(options, names)
    deck = generator.permutation(
        np.repeat(np.arange(options.colors * options.ranks), np.tile(options.copies, options.colors))
    )
    other = names[deck // options.ranks] * options.ranks + deck % options.ranks
    plain.reset(options={"deck": deck[None]})
    renamed.reset(options={"deck": other[None]})
    while plain.to_move[0] >= 0:
        masks = plain.legal()[0], renamed.legal()[0]
        for seat in range(options.players):
            yield plain.observe(seat)[0], renamed.observe(seat)[0], *masks
        # every third game lets even the first cards of a colour go
        action = _move(plain, masks[0], options, generator, 0.7 if seed % 3 else 0.0)
        plain.step(np.array([action]))
        renamed.step(symmetry.actions[[action]])
        assert (plain.rewards == renamed.rewards).all()


def _move(engine, legal, options, generator, keen):
    """Mostly a card that can be played, though its holder may not know it: random moves alone never get far."""
    state, size = engine.state, options.hand_size
    seat, plays = int(engine.to_move[0]), slice(size, 2 * size)
    hand = state.hands[0, seat]
    fits = (hand % options.ranks == state.fireworks[0][np.minimum(hand // options.ranks, options.colors - 1)]) & (
        hand < 255
    )
    wanted = legal.copy()
    if (fits & legal[plays]).any() and generator.random() < keen:
        wanted[:] = False
        wanted[plays] = fits & legal[plays]
    elif generator.random() < 0.97:
        wanted[plays] = False
    return int(generator.choice(np.flatnonzero(wanted if wanted.any() else legal)))


@pytest.mark.slow
@settings(max_examples=15)
@given(seed=st.integers(0, 2**31))
def test_the_renamed_game_is_seen_under_the_new_names(pair, seed):
    options = pair[0].analysis.symmetry.args[0]
    names = np.random.default_rng(seed).permutation(options.colors)
    symmetry = rename_colors(options, names)
    for plain, renamed, legal, allowed in played(pair, names, seed):
        assert (renamed == plain[symmetry.observation]).all()
        assert (allowed[symmetry.actions] == legal).all()


@pytest.mark.slow
def test_an_index_that_is_not_renamed_would_be_seen(pair):
    options = pair[0].analysis.symmetry.args[0]
    names = np.roll(np.arange(options.colors), 1)
    symmetry = rename_colors(options, names)
    games = [
        np.stack(part) for part in zip(*(row for seed in range(60) for row in played(pair, names, seed)), strict=True)
    ]
    plain, renamed, legal, allowed = games
    # a table with the one entry k left as it is differs from the renamed game in column k alone
    moved = np.flatnonzero(symmetry.observation != np.arange(len(symmetry.observation)))
    unseen = [k for k in moved if (renamed[:, k] == plain[:, k]).all()]
    assert not unseen
    hints = np.flatnonzero(symmetry.actions != np.arange(len(symmetry.actions)))
    assert all((allowed[:, k] != legal[:, k]).any() for k in hints)


def test_all_renamings_are_drawn():
    game, generator = make_game("HanabiSmall2P-v0"), np.random.default_rng(0)
    drawn = {tuple(game.analysis.symmetry(generator).actions) for _ in range(50)}
    assert len(drawn) == 2
