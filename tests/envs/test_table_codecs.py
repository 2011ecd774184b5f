"""Hanabi and Texas 42 in words: complete, exact about what may be played, and silent about what is hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ludory.envs.engine.protocol import Engine
from ludory.envs.make import make_engine, make_game

GAMES: list[tuple[str, dict[str, Any]]] = [
    ("HanabiTiny2P-v0", {}),
    ("Hanabi4P-v0", {}),
    ("Texas42-v0", {"nello": ("high", "low"), "sevens": True, "plunge": 4, "splash": True}),
    ("Texas42Play-v0", {}),
]


def positions(id: str, options: dict[str, Any], games: int = 8, moves: int = 40) -> Iterator[Engine]:
    """A batch of random games, before every move."""
    engine, generator = make_engine(make_game(id, **options), games, seed=5), np.random.default_rng(6)
    engine.reset()
    for _ in range(moves):
        yield engine
        legal = engine.legal()
        engine.step(np.where(legal, generator.random(legal.shape), -1).argmax(axis=1))


@pytest.mark.plain
@pytest.mark.parametrize(
    ("id", "options"), [pytest.param(*one, marks=pytest.mark.slow if one[0] == "Hanabi4P-v0" else []) for one in GAMES]
)
def test_a_text_does_not_change_with_what_the_seat_cannot_see(id, options):
    for step, engine in enumerate(positions(id, options)):
        write = engine.game.language.encode
        for seat in range(engine.facts.players) if step % 3 == 0 else ():
            other = engine.clone()
            other.redeal(seat, seed=step)
            for row in range(engine.num_games):
                assert write(other.state, row, seat) == write(engine.state, row, seat)


@pytest.mark.parametrize(("id", "options"), GAMES)
def test_the_whole_truth_does_change(id, options):
    engine = next(positions(id, options))
    other = engine.clone()
    other.redeal(0, seed=1)
    write = engine.game.language.encode
    assert any(write(other.state, row, None) != write(engine.state, row, None) for row in range(engine.num_games))


@pytest.mark.parametrize(("id", "options"), GAMES)
def test_the_actions_that_a_text_names_are_the_legal_ones(id, options):
    named = 0
    for engine in positions(id, options):
        codec, legal = engine.game.language, engine.legal()
        for row in np.flatnonzero(engine.to_move >= 0).tolist():
            text = codec.encode(engine.state, row, int(engine.to_move[row]))
            if found := re.search(r"You may: (.*)\.$", text):
                actions = [codec.decode(name).action for name in found[1].split(", ")]
                assert actions == np.flatnonzero(legal[row]).tolist()
                named += 1
    assert named > 50


def test_a_seat_of_hanabi_reads_this():
    engine = make_engine(make_game("HanabiTiny2P-v0"), seed=1)
    engine.reset(options={"deck": [3, 1, 0, 2, 0, 0, 2, 2]})
    for name in ("tell +1 red", "play 1"):
        engine.step(np.array([engine.game.language.decode(name).action]))
    assert engine.game.language.encode(engine.state, 0, 0) == (
        "Score 1 of 4. Hint tokens 7 of 8. Lives 3 of 3. Cards in the deck: 3.\n"
        "Stacks: red 1, yellow 0.\n"
        "Discarded: none.\n"
        "Last move: seat 1 played R1 from slot 1.\n"
        "Your hand (you are seat 0):\n"
        "slot 1: told nothing; may be red yellow, rank 1 2\n"
        "slot 2: told nothing; may be red yellow, rank 1 2\n"
        "Hand of seat 1 (+1):\n"
        "slot 1: yellow 1; told nothing; may be yellow, rank 1 2\n"
        "slot 2: red 1; told nothing; may be red yellow, rank 1 2\n"
        "It is your turn. You may: discard 1, discard 2, play 1, play 2, tell +1 red, tell +1 yellow, tell +1 rank 1."
    )


def test_a_seat_of_texas_42_reads_this():
    engine = make_engine(make_game("Texas42Play-v0", decl=6, bid=31), seed=1)
    deal = [
        "6-6,6-5,6-4,6-3,6-2,6-1,6-0",
        "5-5,5-4,5-3,5-2,5-1,5-0,4-4",
        "4-3,4-2,4-1,4-0,3-3,3-2,3-1",
        "3-0,2-2,2-1,2-0,1-1,1-0,0-0",
    ]
    engine.reset(options={"deal": deal})
    engine.step(np.array([engine.game.language.decode("play 6-4").action]))
    assert engine.game.language.encode(engine.state, 0, 1) == (
        "Seats 0 and 2 against seats 1 and 3: points 0-0, tricks 0-0.\n"
        "Phase: play. Contract: seat 0: 31, sixes.\n"
        "Seat 0 (on your right) holds 6 dominoes.\n"
        "You are seat 1 and hold: 4-4, 5-0 (5), 5-1, 5-2, 5-3, 5-4, 5-5 (10).\n"
        "Seat 2 (on your left) holds 7 dominoes.\n"
        "Seat 3 (your partner) holds 7 dominoes.\n"
        "This trick: seat 0 6-4. Suit led: trumps (sixes).\n"
        "Last move: seat 0 played 6-4.\n"
        "It is your turn. You may: play 4-4, play 5-0, play 5-1, play 5-2, play 5-3, play 5-4, play 5-5."
    )


def test_an_auction_is_told_in_words():
    engine = make_engine(make_game("Texas42-v0"), seed=1)
    engine.reset(options={"seed_deal": 3, "shaker": 0})
    codec = engine.game.language
    assert re.search(
        "It is your turn to bid. You may: pass, bid 30, .*, bid 2 marks.$", codec.encode(engine.state, 0, 1)
    )
    for name in ("bid 30", "pass", "bid 1 mark", "pass"):
        engine.step(np.array([codec.decode(name).action]))
    text = codec.encode(engine.state, 0, 3)
    assert "Seat 0 bids last. Bids: seat 0 pass, seat 1 bid 30, seat 2 pass, seat 3 bid 1 mark." in text
    assert "It is your turn to declare. You may: declare blanks, declare aces, " in text


@pytest.mark.parametrize(("id", "options"), GAMES)
def test_instructions_say_how_actions_are_written(id, options):
    codec = make_game(id, **options).language
    quoted = re.findall(r'"([^"]+)"', codec.instruction)
    assert quoted
    assert [text for text in quoted if codec.decode(text).action is None] == []


def test_house_rules_are_explained_where_they_hold():
    plain, house = (make_game("Texas42-v0", **options).language.instruction for options in ({}, GAMES[2][1]))
    for word in ("nello high", "nello low", "sevens", "plunge", "splash"):
        assert word in house
        assert word not in plain
