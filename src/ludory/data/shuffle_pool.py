"""Batches from a stream of rows, in order or drawn from a pool that the stream refills."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from .columns import game_starts
from .decisions import Arrays, Decisions

POOL_BYTES = 1 << 25
"""Approximate size of the pool that shuffled rows are drawn from; half of it is used up before it is refilled."""

_GAMES = Decisions._fields.index("games")


def drawn(
    parts: Iterable[Arrays], size: int, draw: np.random.Generator | None, *, whole_games: bool
) -> Iterator[Arrays]:
    """Yield batches of `size` rows, or of the rows of `size` whole games; the last one may be smaller.

    Args:
        parts: the stream; each part holds whole games.
        size: rows or games of a batch.
        draw: random generator; None keeps the order of the stream.
        whole_games: batches consist of games instead of rows.
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
    """Yield full batches of the pool (at the end all of it), and return what is left."""
    rows = tuple(map(np.concatenate, zip(*pool, strict=True)))
    starts = game_starts(rows[_GAMES]) if whole_games else np.arange(len(rows[_GAMES]))
    edges = np.append(starts, len(rows[_GAMES]))
    order = np.arange(len(starts)) if draw is None else draw.permutation(len(starts))
    stop = len(order) if last else (len(order) if draw is None else len(order) // 2) // size * size
    for first in range(0, stop, size):
        yield _taken(rows, edges, order[first : min(first + size, stop)])
    return _taken(rows, edges, order[stop:])


def _taken(rows: Arrays, edges: NDArray[np.int64], items: NDArray[np.int64]) -> Arrays:
    """The rows of the given items; item k has the rows edges[k] to edges[k + 1] - 1."""
    lengths = edges[items + 1] - edges[items]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    chosen = np.repeat(edges[items], lengths) + within
    return tuple(array.take(chosen, axis=0) for array in rows)  # faster than array[chosen]
