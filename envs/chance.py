"""Counter-based random numbers for kernels: a 64-bit key made of (seed, game, episode) and a counter, both in the state.

The generator is SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014), used as a hash of key and counter.
The state field `random` holds four int64 per game: stream (a hash of seed and game number), episode, key, counter.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import numba
import numpy as np
from numpy.typing import NDArray

from .kernels import kernel

STREAM, EPISODE, KEY, COUNTER = 0, 1, 2, 3
"""Columns of the state field `random`: a hash of seed and game number, the episode, the key of its draws, and how many were made."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@kernel
def mix(key, counter):
    """Hash of two 64-bit integers, as int64."""
    # In plain Python a key may be an int, and NumPy makes no uint64 of a negative one.
    z = np.uint64(np.int64(key)) + (np.uint64(counter) + np.uint64(1)) * _GOLDEN
    z = (z ^ (z >> _S30)) * _MIX_A
    z = (z ^ (z >> _S27)) * _MIX_B
    return np.int64(z ^ (z >> _S31))


# In the CUDA simulator kernels run as Python, where NumPy warns of overflow; the hash overflows on purpose.
if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    mix = np.errstate(over="ignore")(mix)


@kernel
def begin_episode(state, i):
    """Start row `i`'s next episode: its key depends on (seed, game index, episode number) and on nothing else."""
    state.random[i, KEY] = mix(mix(state.random[i, STREAM], np.int64(0)), state.random[i, EPISODE])
    state.random[i, EPISODE] += 1
    state.random[i, COUNTER] = 0


@kernel
def draw(state, i, n):
    """Uniform integer in 0..n-1 (1 <= n < 2**31), exact: Lemire's multiply-and-reject (arXiv 1805.10941)."""
    bound = np.uint64(n)
    # 2^32 mod n: below it products are drawn again, so that every result comes of equally many
    threshold = ((_LOW + np.uint64(1)) - bound) % bound
    while True:
        bits = np.uint64(mix(state.random[i, KEY], state.random[i, COUNTER])) >> _S32
        state.random[i, COUNTER] += 1
        product = bits * bound
        if (product & _LOW) >= threshold:
            return np.int64(product >> _S32)


def hash_rows(seed: int | NDArray[np.int64], rows: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """`mix` of arrays, elementwise."""
    plain = getattr(mix, "py_func", mix)
    with np.errstate(over="ignore"):
        return np.asarray(plain(np.asarray(seed, np.int64), np.asarray(rows, np.int64)))


def redeal_streams(seed: int, count: int) -> NDArray[np.int64]:
    """The field `random` (count, 4) of games 0..count-1 after `redeal(..., seed)`."""
    random = np.zeros((count, 4), np.int64)
    random[:, STREAM] = hash_rows(seed, np.arange(count))
    random[:, KEY] = hash_rows(random[:, STREAM], -1)
    return random
