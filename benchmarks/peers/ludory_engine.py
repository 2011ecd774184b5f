"""Ludory's batched engine on the CPU; the number of threads comes from LUDORY_NUM_THREADS."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import numpy as np
from numba import njit

import ludory
from ludory.envs.chance import mix


@njit(error_model="numpy")
def random_legal(masks, key, actions):
    """actions[i] = a uniformly random legal action of masks [n, A]: draws until one is legal."""
    counter, count = 0, np.uint64(masks.shape[1])
    for i in range(masks.shape[0]):
        while True:
            action = np.int64((np.uint64(mix(key, counter)) >> np.uint64(32)) * count >> np.uint64(32))
            counter += 1
            if masks[i, action]:
                actions[i] = action
                break


def start(games: str) -> tuple[dict[str, str], Callable[[bool], int]]:
    """A batch of `games` games of Hanabi for two; a burst is one move in each."""
    count = int(games)
    engine = ludory.make_engine("Hanabi2P-v0", num_games=count, device="cpu", seed=1)
    engine.reset()
    actions, turn = np.zeros(count, np.int64), 0

    def play(observe: bool) -> int:
        nonlocal turn
        masks = engine.legal()
        if observe:
            engine.observe()
        turn += 1
        random_legal(masks, turn, actions)
        engine.step(actions)
        over = engine.terminated
        if over.any():
            engine.reset(rows=over)
        return count

    for observe in (True, False):
        play(observe)
    return {name: version(name) for name in ("ludory", "numba", "numpy")}, play
