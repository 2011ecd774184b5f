"""Sets of trajectories of no game in particular: seats move in turn, everything else is drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ludory.data.columns import UNKNOWN_SEED, WEIGHT, Columns
from ludory.data.header import TrajectoryHeader
from ludory.data.shards import Manifest, shard_file, write_manifest, write_shard
from ludory.envs.facts import Head, ObservationSpec

BITS = TrajectoryHeader("Bits", ObservationSpec("bits", (13,), "uint8", ()), (Head("move", 5), Head("to", 4)), 2)
FLOATS = TrajectoryHeader("Floats", ObservationSpec("floats", (3,), "float32", ()), (Head("move", 5),), 3)


def made_up(header: TrajectoryHeader, games: int, seed: int = 0, first: int = 0, moves: int = 9) -> Columns:
    """Games of 1 to `moves` moves in which seats move in turn; everything else is drawn."""
    draw = np.random.default_rng(seed)
    lengths = draw.integers(1, moves + 1, games)
    rows, ids = int(lengths.sum()), np.repeat(np.arange(first, first + games), lengths)
    steps = np.concatenate([np.arange(length) for length in lengths])
    size = header.observation.size
    bits, heads = header.observation.bits, [draw.integers(0, size, rows) for size in header.head_sizes]
    legal = [
        (draw.random((rows, one.size)) < 0.5) | (np.arange(one.size) == a[:, None])
        for one, a in zip(header.heads, heads, strict=True)
    ]
    last = np.minimum(steps + header.players, 10**6) >= np.repeat(lengths, lengths)
    return Columns(
        games=ids,
        seeds=np.full(rows, UNKNOWN_SEED),
        steps=steps,
        seats=steps % header.players,
        observations=draw.integers(0, 256, (rows, -(-size // 8)), np.uint8)
        if bits
        else draw.random((rows, size), np.float32),
        masks=np.packbits(np.concatenate(legal, 1), axis=1),
        actions=np.stack(heads, 1),
        log_probs=np.where(draw.random((rows, len(heads))) < 0.3, np.nan, -draw.random((rows, len(heads)))).astype(
            np.float32
        ),
        rewards=draw.integers(-3, 4, rows).astype(np.float32),
        terminated=last & (ids % 3 > 0),
        truncated=last & (ids % 3 == 0),
        extras={WEIGHT.name: draw.random(rows, np.float32)} if WEIGHT in header.extra_columns else {},
    )


def write_set(folder: Path, header: TrajectoryHeader, *shards: Columns, games: int) -> Path:
    write_manifest(folder, Manifest(header, games * len(shards), games))
    for number, columns in enumerate(shards):
        write_shard(shard_file(folder, number), header, columns)
    return folder


def a_set(folder: Path, header: TrajectoryHeader = BITS, shards: int = 3, games: int = 40) -> Path:
    return write_set(folder, header, *(made_up(header, games, k, first=k * games) for k in range(shards)), games=games)
