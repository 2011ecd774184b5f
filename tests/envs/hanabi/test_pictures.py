"""What a person sees of Hanabi: the text and the SVG picture of a seat."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.engine.storage import new_records, views
from ludory.envs.hanabi import make_game
from ludory.envs.hanabi.pictures.svg import SYMBOLS, draw_svg
from ludory.envs.hanabi.pictures.text import draw_text
from ludory.envs.hanabi.state import COLOR_KNOWN, RANK_KNOWN
from ludory.envs.hanabi.variants import HanabiOptions
from ludory.envs.parts import State
from ludory.envs.pictures import plain

FULL: dict[str, Any] = {}
SMALL = {"colors": 2, "hand_size": 2, "max_information_tokens": 3, "max_life_tokens": 1}
VERY_SMALL = SMALL | {"colors": 1}
TINY = {"colors": 2, "ranks": 2, "hand_size": 2}
SVG = "{http://www.w3.org/2000/svg}"
VARIANTS = [
    *({"players": players, **numbers} for numbers in (FULL, SMALL, VERY_SMALL) for players in range(2, 6)),
    {"players": 2, **TINY},
    {"players": 2, "hand_size": 12, "max_information_tokens": 30, "max_life_tokens": 20},
    {"players": 2, "hand_size": 1, "colors": 1, "ranks": 1},
]
PICTURES = pytest.mark.parametrize("draw", [draw_text, draw_svg])


def deal(options: HanabiOptions, generator: np.random.Generator) -> State:
    """A state with shuffled hands, hints that agree with them, and any counters; no kernel is compiled for it."""
    game = make_game(**{name: getattr(options, name) for name in ("players", "colors", "ranks", "hand_size")})
    records = new_records(game.rules.fields, 1)
    state = views(game.rules.fields, records)
    cards = np.repeat(np.arange(options.colors * options.ranks), np.tile(options.copies, options.colors))
    state.deck[0] = generator.permutation(cards)
    hands = state.deck[0, : options.players * options.hand_size].reshape(options.players, options.hand_size)
    state.hands[0], state.held[0] = hands, options.hand_size
    state.deck_top[0] = options.players * options.hand_size
    state.hinted[0] = generator.integers(0, 4, hands.shape)
    told_color, told_rank = state.hinted[0] & COLOR_KNOWN > 0, state.hinted[0] & RANK_KNOWN > 0
    state.colors[0] = np.where(told_color, 1 << hands // options.ranks, (1 << options.colors) - 1)
    state.ranks[0] = np.where(told_rank, 1 << hands % options.ranks, (1 << options.ranks) - 1)
    state.fireworks[0] = generator.integers(0, options.ranks + 1, options.colors)
    state.discards[0] = generator.integers(0, np.tile(options.copies, options.colors) + 1)
    state.lives[0], state.tokens[0] = options.max_life_tokens, options.max_information_tokens
    return state


def variants() -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from(VARIANTS)


@PICTURES
@given(numbers=variants(), seed=st.integers(0, 2**32), seat=st.integers(0, 4))
@settings(max_examples=60)
def test_own_cards_and_the_order_of_the_deck_change_nothing(
    draw: Callable[..., str], numbers: dict[str, Any], seed: int, seat: int
) -> None:
    options, generator = HanabiOptions(**numbers), np.random.default_rng(seed)
    state, seat = deal(options, generator), seat % options.players
    before, all_before = draw(options, state, 0, seat), draw(options, state, 0, None)
    own = state.hands[0, seat].copy()
    state.hands[0, seat] = generator.integers(0, options.colors * options.ranks, options.hand_size)
    state.deck[0] = generator.permutation(state.deck[0])
    assert draw(options, state, 0, seat) == before
    assert (draw(options, state, 0, None) == all_before) == np.array_equal(own, state.hands[0, seat])


@PICTURES
@given(numbers=variants(), seed=st.integers(0, 2**32))
@settings(max_examples=30)
def test_every_seat_sees_the_cards_of_the_others(draw: Callable[..., str], numbers: dict[str, Any], seed: int) -> None:
    options = HanabiOptions(**numbers)
    state = deal(options, np.random.default_rng(seed))
    for seat in range(options.players):
        before, other = draw(options, state, 0, seat), (seat + 1) % options.players
        state.hands[0, other, 0] = (state.hands[0, other, 0] + 1) % (options.colors * options.ranks)
        changed = options.colors * options.ranks > 1
        assert (draw(options, state, 0, seat) != before) == changed


@PICTURES
def test_a_redealt_game_looks_the_same_to_its_seat(draw: Callable[..., str], small_game: list[KernelEngine]) -> None:
    options = HanabiOptions(players=3, **SMALL)
    redealt_pictures = 0
    for engine in small_game:
        for seat in range(3):
            other = engine.clone()
            other.redeal(seat, seed=seat)
            assert draw(options, other.state, 0, seat) == draw(options, engine.state, 0, seat)
            redealt_pictures += draw(options, other.state, 0, None) != draw(options, engine.state, 0, None)
    assert redealt_pictures > len(small_game)


@pytest.fixture(scope="module")
def small_game() -> list[KernelEngine]:
    """All positions of a game of HanabiSmall3P, chosen so that it does not end at once."""
    engine = KernelEngine(make_game(players=3, **SMALL), seed=5)
    engine.reset()
    positions, generator = [engine.clone()], np.random.default_rng(5)
    while engine.to_move[0] >= 0:
        legal = np.flatnonzero(engine.legal()[0])
        careful = legal[(legal < 2) | (legal >= 4)]  # no plays: a wrong one would end the game
        engine.step(np.array([generator.choice(careful)]))
        positions.append(engine.clone())
    return positions


@given(numbers=variants(), seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_text_fits_into_80_columns(numbers: dict[str, Any], seed: int) -> None:
    options = HanabiOptions(**numbers)
    state = deal(options, np.random.default_rng(seed))
    for seat in (None, *range(options.players)):
        assert max(map(len, plain(draw_text(options, state, 0, seat)).splitlines())) <= 80


def test_no_color_leaves_out_the_escapes_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    options = HanabiOptions(players=5)
    state = deal(options, np.random.default_rng(1))
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = draw_text(options, state, 0, 0)
    monkeypatch.setenv("NO_COLOR", "1")
    without = draw_text(options, state, 0, 0)
    assert "\x1b[" in coloured
    assert "\x1b" not in without
    assert plain(coloured) == without


@pytest.fixture(scope="module")
def tiny() -> KernelEngine:
    return KernelEngine(make_game(players=2, **TINY), seed=1)


def play(engine: KernelEngine, *names: str) -> str:
    """What seat 0 sees after the named actions, from the deck R1 R2 | Y1 R1 | R1 Y1 Y1 Y2."""
    engine.reset(options={"deck": [0, 1, 2, 0, 0, 2, 2, 3]})
    actions = {engine.game.look.action_name(0, action): action for action in range(engine.facts.num_actions)}
    for name in names:
        engine.step(np.array([actions[name]]))
    lines = plain(draw_text(HanabiOptions(players=2, **TINY), engine.state, 0, 0)).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def test_text_before_the_first_move(tiny: KernelEngine) -> None:
    assert (
        play(tiny)
        == """\
Hanabi   move 0   score 0/4   hints 8/8   lives 3/3   deck 4
stacks        R-   Y-
discards      R -  Y -
last move     none yet

              slot 1       slot 2
> seat 0 you  ??           ??
  may be      RY 12        RY 12

  seat 1 +1   Y1           R1
  told        ??           ??
  may be      RY 12        RY 12"""
    )


def test_text_tells_what_hints_named_and_what_they_left_open(tiny: KernelEngine) -> None:
    assert (
        play(tiny, "tell +1 red", "tell +1 rank 1", "play 1")
        == """\
Hanabi   move 3   score 1/4   hints 6/8   lives 3/3   deck 3
stacks        R1   Y-
discards      R -  Y -
last move     seat 0 played R1 from slot 1

              slot 1       slot 2
  seat 0 you  ??           ??
  may be      RY .2        RY 12

> seat 1 +1   Y1           R1
  told        ??           R?
  may be      .Y 12        R. 12"""
    )


def test_text_of_a_lost_game(tiny: KernelEngine) -> None:
    picture = play(tiny, "play 2", "play 1", "play 2", "play 2", "play 2")
    assert "lives 0/3" in picture
    assert "last move     seat 0 misplayed" in picture
    assert "game over     all lives are lost, score 0" in picture


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["tell +1 rank 1"], "seat 0 told seat 1 rank 1: slots 1, 2"),
        (["tell +1 yellow"], "seat 0 told seat 1 yellow: slot 1"),
        (["tell +1 red", "discard 2"], "seat 1 discarded R1 from slot 2"),
        (["play 2"], "seat 0 misplayed R2 from slot 2, a life is lost"),
        (
            ["tell +1 red", "tell +1 red", "play 1", "tell +1 red", "play 1"],
            "seat 0 played R2 from slot 1, a hint is back",
        ),
    ],
)
def test_the_last_move_in_words(tiny: KernelEngine, names: list[str], words: str) -> None:
    assert f"last move     {words}\n" in play(tiny, *names)
    assert tiny.game.look.last_move is not None
    assert tiny.game.look.last_move(tiny.state, 0) == words


@pytest.mark.parametrize("numbers", VARIANTS, ids=str)
def test_svg_is_one_document_that_needs_nothing_else(numbers: dict[str, Any]) -> None:
    options = HanabiOptions(**numbers)
    state = deal(options, np.random.default_rng(3))
    for seat in (None, 0):
        text = draw_svg(options, state, 0, seat)
        root = ElementTree.fromstring(text)
        assert root.tag == f"{SVG}svg"
        assert text.replace('xmlns="http://www.w3.org/2000/svg"', "").count("http") == 0
        used = {element.get("href") for element in root.iter(f"{SVG}use")}
        assert used <= {f"#{element.get('id')}" for element in root.iter() if element.get("id")}


def test_svg_names_rank_and_colour_of_every_card_without_colour() -> None:
    options = HanabiOptions(players=2)
    state = deal(options, np.random.default_rng(4))
    state.fireworks[0] = 0
    root = ElementTree.fromstring(draw_svg(options, state, 0, None))
    words = [text.text for text in root.iter(f"{SVG}text") if text.get("font-weight") in ("700", "800")]
    expected = ["RYGWB"[card // 5] for card in state.hands[0].ravel()]
    assert [word for word in words if word and re.fullmatch("[RYGWB]", word)] == expected
    assert len({symbol.path for symbol in SYMBOLS}) == len({symbol.fill for symbol in SYMBOLS}) == 5


@pytest.mark.parametrize("numbers", VARIANTS, ids=str)
def test_every_hand_has_its_place_inside_the_svg(numbers: dict[str, Any]) -> None:
    options = HanabiOptions(**numbers)
    root = ElementTree.fromstring(draw_svg(options, deal(options, np.random.default_rng(2)), 0, 0))
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    places = set()
    for panel in root.findall(f"{SVG}g")[-options.players :]:
        x, y = map(float, re.findall(r"[\d.]+", panel.get("transform", "")))
        box = panel.find(f"{SVG}rect")
        assert box is not None
        assert x + float(box.get("width", 0)) < width
        assert y + float(box.get("height", 0)) < height
        places.add((x, y))
    assert len(places) == options.players
