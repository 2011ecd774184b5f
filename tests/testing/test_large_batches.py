"""Code that knows the sizes of its game plays the games of the code that all presets share."""

from __future__ import annotations

import numpy as np
import pytest

from ludory.envs.engine.kernel_engine import LARGE_BATCH, few_steps
from ludory.envs.make import make_engine, make_game
from ludory.testing.random_moves import random_moves

LARGE = ("Hanabi2P-v0", "Arena2P-v0", "Sokoban-v0", "Sudoku4-v0")
"""In turn and at once, with bits and with numbers, of one head and of several, with own and shared fields of every number of axes."""


@pytest.mark.slow
@pytest.mark.parametrize("id", LARGE)
def test_large_batches_play_the_games_of_small_ones(id: str) -> None:
    engines = []
    for few in (True, False):
        with few_steps(few):
            engine = make_engine(id, LARGE_BATCH, seed=3, threads=1)
            engine.reset()
            engines.append(engine)
    draws = np.random.default_rng(4)
    for step in range(40):
        actions = random_moves(engines[0].legal(), engines[0].facts, draws)
        seen = []
        for few, engine in zip((True, False), engines, strict=True):
            with few_steps(few):
                if engine.facts.simultaneous or step % 2:
                    engine.step(actions)
                else:
                    engine.play(actions, packed=engine.facts.observation.bits)
                seats = [engine.observe(seat) for seat in range(engine.facts.players)]
                seen.append(
                    [engine.legal(), engine.critic(), *seats, *(np.copy(part) for part in engine.fields().values())]
                )
                if len(over := np.flatnonzero(engine.terminated | engine.truncated)):
                    engine.reset(over)
        for one, other in zip(*seen, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_games_seen_as_another_variant_are_read_at_the_places_of_their_own_records() -> None:
    shown = {name: make_game("HanabiTiny2P-v0", observation=name) for name in ("conventions", "card_knowledge")}
    engine, same = (make_engine(game, 3, seed=6, threads=1) for game in shown.values())
    for one in (engine, same):
        one.reset()  # the places of the fields are known from here on
    seen = engine.seen_as(shown["card_knowledge"])  # type: ignore[attr-defined]
    np.testing.assert_array_equal(seen.observe(), same.observe())
    concluded = engine.state.concluded.copy()
    seen.redeal(0, 5)
    same.redeal(0, 5)
    np.testing.assert_array_equal(engine.state.concluded, concluded, err_msg="a field that the variant does not have")
    np.testing.assert_array_equal(seen.observe(1), same.observe(1))
