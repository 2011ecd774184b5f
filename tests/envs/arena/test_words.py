"""The arena in words: silent about what is hidden, exact about what may be done, and read back as it was meant."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ludory.envs import Engine, TextEnv, make_engine, make_game
from ludory.testing.random_moves import RandomMoves

GAME = make_game("Arena3P-v0")
CODEC = GAME.language


def positions(games: int = 4, decisions: int = 60) -> Iterator[Engine]:
    engine = make_engine(GAME, games, seed=5)
    engine.reset()
    play = RandomMoves(GAME.facts, games, np.random.default_rng(6))
    for _ in range(decisions):
        yield engine
        engine.step(play(engine.legal()))


def test_a_text_does_not_change_with_what_the_seat_cannot_see():
    changed = 0
    for step, engine in enumerate(positions()):
        for seat in range(3) if step % 10 == 0 else ():
            other = engine.clone()
            other.redeal(seat, seed=step)
            for row in range(engine.num_games):
                assert CODEC.encode(other.state, row, seat) == CODEC.encode(engine.state, row, seat)
                changed += CODEC.encode(other.state, row, None) != CODEC.encode(engine.state, row, None)
    assert changed > 10


def test_a_text_names_what_is_legal():
    phrases = {"fire": (4, 1), "dash": (5, 1), "shield": (5, 2), "nova": (5, 3), "mine": (5, 4), "open crate": (6, 1)}
    starts = np.cumsum((0, *GAME.facts.head_sizes))
    named = set()
    for engine in positions():
        legal = engine.legal()
        for row in range(engine.num_games):
            *_, last = CODEC.encode(engine.state, row, 0).split("\n")
            if last.startswith("It is your turn. You may: "):
                told = set(last.removeprefix("It is your turn. You may: ").rstrip(".").split(", "))
                assert told == {"move", "aim", "wait"} | {
                    phrase for phrase, (head, value) in phrases.items() if legal[row, 0, starts[head] + value]
                }
                named |= told
    assert {"fire", "dash", "mine"} <= named


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("wait", (2, 2, 4, 4, 0, 0, 0)),
        ("Move up left, aim right, FIRE", (0, 0, 8, 4, 1, 0, 0)),
        ("aim 0.25 -1,  nova", (2, 2, 5, 0, 0, 3, 0)),
        ("move 7 -.4", (4, 1, 4, 4, 0, 0, 0)),
        (f"move {'9' * 400} 0, aim 0. .5", (4, 2, 4, 6, 0, 0, 0)),
        ("open crate", (2, 2, 4, 4, 0, 0, 1)),
    ],
)
def test_phrases_are_read(text, action):
    assert CODEC.decode(text).action == action


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("fly", "'fly' is no action of the arena; name one"),
        ("", "'' is no action"),
        ("move", "'move' is no action"),
        ("move up, move down", "'move down': said twice"),
        ("dash, mine", "'mine': said twice"),
        ("aim 1 2 3", "'aim 1 2 3' is no action"),
    ],
)
def test_what_cannot_be_read_has_a_reason(text, reason):
    assert CODEC.decode(text).action is None
    assert reason in CODEC.decode(text).reason


def test_a_seat_reads_this():
    env = TextEnv("Arena2P-v0", spawn_jitter=False, seed=1)
    env.reset()
    told = env.observation.split("State:\n")[1].split("\nActions left")[0].split("\n")
    assert told[0] == "0.0 s. 2 of 2 alive. Safe zone: centre (0.0, 0.0), radius 14.6. Wall: radius 14.6."
    assert told[1].startswith("You (seat 0): at (")
    assert told[2] == "Seat 1: out of sight."
    assert told[-1] == "It is your turn. You may: move, aim, fire, dash, shield, nova, mine, wait."


def test_a_model_plays_to_the_end():
    env = TextEnv("Arena2P-v0", opponents="arena/rusher", seed=4, history="none")
    env.reset()
    done = False
    while not done:
        text, _, terminated, truncated, info = env.step("<think>.</think><answer>aim left, fire</answer>")
        if env.records[0][-1].illegal:
            text, _, terminated, truncated, info = env.step("<think>.</think><answer>wait</answer>")
        done = terminated or truncated
    assert text.endswith(("The game is over.", "You are out."))
    assert sum(sum(record.rewards) for record in env.records[0]) in (-1, 0, 1)
    assert info["success"] == (sum(sum(record.rewards) for record in env.records[0]) > 0)
