"""What a person sees of Texas 42: text, SVG and words."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.pictures import plain
from ludory.envs.texas42 import make_hand
from ludory.envs.texas42.state import PLAY_0
from ludory.envs.texas42.tiles import TILE_NAMES, parse_tile, tiles_of

SVG = "{http://www.w3.org/2000/svg}"
DEAL = [
    "0-0,1-1,2-2,3-3,4-4,5-0,6-4",
    "5-5,6-6,1-0,2-0,3-0,4-0,6-0",
    "2-1,3-1,4-1,5-1,6-1,3-2,4-2",
    "5-2,6-2,4-3,5-3,6-3,5-4,6-5",
]


@pytest.fixture(scope="module")
def engine():
    """Seat 0 has bid 30, aces are trumps, a trick is over and two tiles lie."""
    engine = KernelEngine(make_hand(nello=("high",)), 1, seed=1)
    plays = [parse_tile(tile) for tile in ("6-4", "6-6", "6-1", "6-5", "4-1", "5-2")]
    engine.reset(options={"deal": DEAL, "shaker": 3, "bids": [1, 0, 0, 0], "decl": 1, "plays": plays})
    return engine


def lines(engine, seat):
    return plain(engine.game.look.text(engine.state, 0, seat)).splitlines()


def test_text(engine):
    assert lines(engine, 0) == [
        "Texas 42   points 11-0   tricks 1-0",
        "contract       seat 0: 30, aces",
        "led suit       trumps (aces)",
        "last move      seat 3 played 5-2",
        "",
        "> seat 0 you   0-0 1-1 2-2 3-3 4-4 5-0",
        "               bid 30",
        "  seat 1 left  ## ## ## ## ## ##",
        "               pass",
        "  seat 2 mate  ## ## ## ## ##",
        "               pass; no sixes",
        "               in the trick: 4-1",
        "  seat 3 right ## ## ## ## ##",
        "               pass; shook; no trumps (aces)",
        "               in the trick: 5-2",
        "",
        "trick 1        0: 6-4  1: 6-6  2: 6-1  3: 6-5   to seat 2, 11",
    ]


@pytest.mark.parametrize("draw", ["text", "svg"])
def test_a_seat_is_shown_its_own_tiles_only(engine, draw):
    picture = getattr(engine.game.look, draw)
    for seat in range(4):
        other = engine.clone()
        other.redeal(seat, seed=seat)
        assert (other.state.held != engine.state.held).any()
        assert picture(other.state, 0, seat) == picture(engine.state, 0, seat)
        assert picture(other.state, 0, None) != picture(engine.state, 0, None)


def test_svg_is_one_document_with_every_tile_that_may_be_seen(engine):
    for seat in (None, 0, 3):
        text = engine.game.look.svg(engine.state, 0, seat)
        root = ElementTree.fromstring(text)
        assert text.replace('xmlns="http://www.w3.org/2000/svg"', "").count("http") == 0
        used = {element.get("href") for element in root.iter(f"{SVG}use")}
        assert used <= {f"#{element.get('id')}" for element in root.iter() if element.get("id")}
        shown = {t.text for group in root.iter(f"{SVG}g") for t in group.findall(f"{SVG}title")}
        hands = range(4) if seat is None else [seat]
        seen = {TILE_NAMES[tile] for chair in hands for tile in tiles_of(int(engine.state.held[0, chair]))}
        played = {TILE_NAMES[tile] for tile in engine.state.tiles[0] if tile >= 0}
        assert shown == seen | played


def test_text_fits_into_80_columns_at_every_stage():
    games = KernelEngine(make_hand(nello=("high", "low"), plunge=4, splash=True, sevens=True), 30, seed=2)
    games.reset()
    generator = np.random.default_rng(1)
    for _ in range(33):
        for row in range(0, 30, 6):
            widths = map(len, plain(games.game.look.text(games.state, row, 0)).splitlines())
            assert max(widths) <= 80
        legal = games.legal()
        games.step(np.where(legal, generator.random(legal.shape), -1).argmax(axis=1))


def test_the_last_move_in_words(engine):
    game = engine.game
    assert game.look.last_move(engine.state, 0) == "seat 3 played 5-2"
    copy = engine.clone()
    for tile in ("1-1", "1-0"):
        copy.step([PLAY_0 + parse_tile(tile)])
    assert game.look.last_move(copy.state, 0) == "seat 1 played 1-0; seat 0 won the trick, 6 points"
    assert game.look.info(copy.state, 0)["points"] == [17, 0]
    while copy.to_move[0] >= 0:
        copy.step(copy.legal().argmax(axis=1))
    ending = game.look.last_move(copy.state, 0).split("; ")[-1]
    assert ending in ("seat 0 made 30: 1 mark to Team 0", "seat 0 was set on 30: 1 mark to Team 1")
    assert game.look.info(copy.state, 0)["result"] == ending


def test_names_of_actions():
    name = make_hand().look.action_name
    assert [name(0, action) for action in (0, 1, 13, 14, 20, 22, 35, 61)] == [
        "pass",
        "bid 30",
        "bid 1 mark",
        "bid 2 marks",
        "plunge",
        "declare blanks",
        "declare sevens",
        "play 6-4",
    ]
