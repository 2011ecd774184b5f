"""Hanabi of OpenSpiel from Python, one game at a time, what a seat sees taken in one of two ways."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.observation import make_observation

MOVES = 64


def start(way: str) -> tuple[dict[str, str], Callable[[bool], int]]:
    """Hanabi for two; a burst is 64 moves.

    way: "tensor", `State.observation_tensor`, a list that becomes an array, as OpenSpiel's own learners do; or "observer", an
    `Observation` that writes into an array.
    """
    game = pyspiel.load_game("hanabi", {"players": 2})
    look = {"tensor": _tensor, "observer": _observer(game)}[way]
    generator = random.Random(1)
    state = game.new_initial_state()

    def play(observe: bool) -> int:
        nonlocal state
        for _ in range(MOVES):
            if state.is_terminal():
                state = game.new_initial_state()
            while state.is_chance_node():
                cards, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(generator.choices(cards, weights)[0])
            if observe:
                look(state)
            state.apply_action(generator.choice(state.legal_actions()))
        return MOVES

    play(True)
    return {"open_spiel": version("open_spiel")}, play


def _tensor(state: Any) -> Any:
    return np.array(state.observation_tensor(state.current_player()), np.float32)


def _observer(game: Any) -> Callable[[Any], Any]:
    observation = make_observation(game)

    def look(state: Any) -> Any:
        observation.set_from(state, state.current_player())
        return observation.tensor

    return look
