"""Directions as integers in 1/16384: computed once at import and compared with a checksum, never computed in a game.

They are int16, because the compiler for GPUs copies a table for every place that reads it, and a kernel has 64 KiB for all copies.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

ONE = 16384
"""Length of a unit vector."""
ANGLES = 1024
HEAD_BINS = (5, 9, 11)
"""Numbers of bins that a pair of heads can have, in the order of `UNIT` and `MOVE`."""
SECOND, THIRD = HEAD_BINS[0] ** 2, HEAD_BINS[0] ** 2 + HEAD_BINS[1] ** 2
"""First rows of the pairs of 9 and of 11 bins."""

CHECKSUM = "057cd070d32dff9edd0ec22700434270cd7fb58c0e1b8019d4af1e9dd309d3c2"


def _circle() -> NDArray[np.int16]:
    turns = [2 * math.pi * k / ANGLES for k in range(ANGLES)]
    return np.array([(round(ONE * math.cos(a)), round(ONE * math.sin(a))) for a in turns], np.int16)


def _root() -> NDArray[np.int16]:
    return np.array([round(ONE * math.sqrt((k + 0.5) / ANGLES)) for k in range(ANGLES)], np.int16)


def _pairs(bins: int, full: bool) -> list[tuple[int, int]]:
    """Vectors of all pairs of bins, of length 1 if `full`, else of length at most 1."""
    vectors = []
    for a in range(1 - bins, bins, 2):
        for b in range(1 - bins, bins, 2):
            length = math.hypot(a, b) if full else max(bins - 1, math.hypot(a, b))
            vectors.append((round(ONE * a / length), round(ONE * b / length)) if a or b else (0, 0))
    return vectors


CIRCLE = _circle()
"""(1024, 2): direction k is at angle 2 pi k / 1024, from +x towards +y."""
ROOT = _root()
"""(1024,): distances from the centre of a disc of radius 1 that make points uniform in it."""
UNIT = np.array([vector for bins in HEAD_BINS for vector in _pairs(bins, full=True)], np.int16)
"""(227, 2): direction of a pair of bins, see `pair`; 0 at the centre pair."""
MOVE = np.array([vector for bins in HEAD_BINS for vector in _pairs(bins, full=False)], np.int16)
"""(227, 2): speed of a pair of bins: half steps stay half, diagonals are not faster."""


def checksum() -> str:
    """SHA-256 of all tables as little-endian int32."""
    digest = hashlib.sha256()
    for table in (CIRCLE, ROOT, UNIT, MOVE):
        digest.update(table.astype("<i4").tobytes())
    return digest.hexdigest()


if checksum() != CHECKSUM:
    raise ImportError(
        f"the arena's tables have checksum {checksum()}, must have {CHECKSUM}: "
        "this machine's sine or square root rounds differently, so its games would be different"
    )
