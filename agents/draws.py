"""`Draws`: random numbers of an agent, each a function of the agent's seed, the game, the seat and the number of earlier draws."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludory.envs import cached_kernel, hash_rows, mix

Keys = NDArray[np.int64]
"""(m,) one 64-bit number per game."""


class Draws:
    """Keys of an agent's games. Kept in its memory, they make draws independent of the other games of a batch.

    Args:
        seed: None: games that come without a key get a fresh one in every process.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._seed, self._handed_out = seed, 0

    def seed(self, seed: int) -> None:
        """Restart from `seed`."""
        self._seed, self._handed_out = seed, 0

    def keys(self, seat: int, games: Keys) -> Keys:
        """Keys of `seat` in games with the keys `games`."""
        return hash_rows(hash_rows(self._seed or 0, seat), games)

    def fresh(self, rows: int) -> Keys:
        """Keys of `rows` games that come without one; different in every call."""
        if self._seed is None:
            return np.random.default_rng().integers(-(2**63), 2**63, rows)
        first, self._handed_out = self._handed_out, self._handed_out + rows
        return self.keys(-1, np.arange(first, first + rows))


ONE_MORE = np.array([0, 1])
"""Added to the memory of `undrawn` after each draw."""


def undrawn(keys: Keys) -> NDArray[np.int64]:
    """(m, 2) memory of an agent that draws: a game's key, and 0 draws so far."""
    return np.stack([keys, np.zeros_like(keys)], axis=1)


def uniforms(keys: Keys, drawn: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """(m, count) numbers in [0, 1) with 53 random bits: draw number `drawn` (m,) of the streams `keys`."""
    numbers = np.empty((len(keys), count))
    # columns of a memory, too, as whole arrays: it would be compiled again for others
    _fill(np.ascontiguousarray(keys), np.ascontiguousarray(drawn), numbers)
    return numbers


@cached_kernel(error_model="numpy", nogil=True)
def _fill(keys, drawn, numbers):
    for i in range(numbers.shape[0]):
        # a stream for this draw, whatever `count` other draws have
        key = mix(keys[i], drawn[i])
        for k in range(numbers.shape[1]):
            # the upper 53 bits, as many as a float64 in [0, 1) holds
            numbers[i, k] = np.float64(np.uint64(mix(key, k)) >> np.uint64(11)) * 2.0**-53
