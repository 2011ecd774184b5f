"""Batches from a stream of rows: in order, or drawn from a pool that the stream refills."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from .columns import game_starts
from .decisions import Arrays, Decisions

POOL_BYTES = 1 << 25
"""Shuffled rows are drawn from a pool of about this size; half of it is given out before it is refilled."""

_GAMES = Decisions._fields.index("games")


def drawn(
    parts: Iterable[Arrays], size: int, draw: np.random.Generator | None, *, whole_games: bool
) -> Iterator[Arrays]:
    """Batches of `size` rows, or of the rows of `size` whole games, the last one smaller.

    Args:
        parts: the stream, each part some whole games.
        size: of a batch.
        draw: None keeps the order of the stream.
        whole_games: a batch is made of games, not of rows.
    """
    pool: list[Arrays] = []
    for part in parts:
        pool.append(part)
        if draw is None or sum(array.nbytes for one in pool for array in one) >= POOL_BYTES:
            pool = [(yield from _given_out(pool, size, draw, whole_games, last=False))]
    if pool:
        yield from _given_out(pool, size, draw, whole_games, last=True)


def _given_out(
    pool: list[Arrays], size: int, draw: np.random.Generator | None, whole_games: bool, last: bool
) -> Generator[Arrays, None, Arrays]:
    """Whole batches of the pool, or at the end all of it; returns what is left."""
    rows = tuple(map(np.concatenate, zip(*pool, strict=True)))
    starts = game_starts(rows[_GAMES]) if whole_games else np.arange(len(rows[_GAMES]))
    edges = np.append(starts, len(rows[_GAMES]))
    order = np.arange(len(starts)) if draw is None else draw.permutation(len(starts))
    stop = len(order) if last else (len(order) if draw is None else len(order) // 2) // size * size
    for first in range(0, stop, size):
        yield _taken(rows, edges, order[first : min(first + size, stop)])
    return _taken(rows, edges, order[stop:])


def _taken(rows: Arrays, edges: NDArray[np.int64], items: NDArray[np.int64]) -> Arrays:
    """The rows of items k, which reach from edges[k] to edges[k + 1]."""
    lengths = edges[items + 1] - edges[items]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    chosen = np.repeat(edges[items], lengths) + within
    return tuple(array.take(chosen, axis=0) for array in rows)  # faster than array[chosen]
