"""`Draws`: random numbers of an agent. Each is a function of the agent's seed, the game, the seat and how many were drawn there before."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludory.envs.chance import hash_rows, mix
from ludory.envs.engine.binding.cached_kernel import cached_kernel

Keys = NDArray[np.int64]
"""(m,) one 64-bit number for each game."""


class Draws:
    """Keys of an agent's games. They belong into its memory: what is drawn then does not depend on other games of a batch.

    Args:
        seed: None: keys of games that come without one are other ones in every process.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._seed, self._handed_out = seed, 0

    def seed(self, seed: int) -> None:
        """Start anew."""
        self._seed, self._handed_out = seed, 0

    def keys(self, seat: int, games: Keys) -> Keys:
        """Keys of `seat` in games that have the keys `games`."""
        return hash_rows(hash_rows(self._seed or 0, seat), games)

    def fresh(self, rows: int) -> Keys:
        """Keys of `rows` games that come without one; other ones in every call."""
        if self._seed is None:
            return np.random.default_rng().integers(-(2**63), 2**63, rows)
        first, self._handed_out = self._handed_out, self._handed_out + rows
        return self.keys(-1, np.arange(first, first + rows))


ONE_MORE = np.array([0, 1])
"""To be added to what `undrawn` gave, after a draw."""


def undrawn(keys: Keys) -> NDArray[np.int64]:
    """(m, 2) memory of an agent that draws: the key of a game, and that nothing was drawn in it yet."""
    return np.stack([keys, np.zeros_like(keys)], axis=1)


def uniforms(keys: Keys, drawn: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """(m, count) numbers in [0, 1) with 53 random bits, the ones of draw number `drawn` (m,) under `keys`."""
    numbers = np.empty((len(keys), count))
    _fill(keys, drawn, numbers)
    return numbers


@cached_kernel(error_model="numpy", nogil=True)
def _fill(keys, drawn, numbers):
    for i in range(numbers.shape[0]):
        key = mix(keys[i], drawn[i])
        for k in range(numbers.shape[1]):
            numbers[i, k] = np.float64(np.uint64(mix(key, k)) >> np.uint64(11)) * 2.0**-53
