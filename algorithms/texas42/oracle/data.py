"""`OracleData`: states with exact values, from labels or shards, every decision of a hand alike; also as NumPy files for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.agents.texas42.play.greedy import greedy_tiles
from ludory.agents.texas42.play.tokens import FEATURES, TOKENS, tokenise
from ludory.atomic import atomic_file
from ludory.data.formats.texas42.labels import is_labels, read_labels
from ludory.data.formats.texas42.names import Split, split_of
from ludory.data.formats.texas42.shards import read_shard, shard_info
from ludory.errors import DataError, OutputError

FORCED, LAST = 24, 28
"""The first decision of the last trick, in which nobody has a choice; the end of the hand."""
HELD = (1 << 28) - 1
MANIFEST = "manifest.json"
"""In a folder of tokens, see `token_files.write_tokens`."""


class OracleData(NamedTuple):
    """n states, of those in which the mover has a choice unless the others are kept."""

    deal: NDArray[np.int8]
    """(n, 28)"""
    decl: NDArray[np.int8]
    state: NDArray[np.int64]
    value: NDArray[np.int8]
    """Team 0's minus Team 1's points still to be won."""
    q: NDArray[np.int8]
    """(n, 7), -128 where a tile may not be played."""
    left_out: int = 0
    """States without a choice that the files have besides."""

    @property
    def decision(self) -> NDArray[np.int64]:
        """(n,) tiles played before."""
        held: NDArray[np.int64] = np.bitwise_count(self.state & HELD).astype(np.int64)
        return 28 - held

    def weights(self) -> NDArray[np.float32]:
        """(n,) of mean 1, with the same sum for every decision that occurs."""
        decision = self.decision
        counts = np.bincount(decision, minlength=28)
        each = len(decision) / np.maximum(counts, 1) / max(int((counts > 0).sum()), 1)
        return each[decision].astype(np.float32)

    def rows(self, rows: NDArray[np.int64]) -> OracleData:
        """Some of the states."""
        return OracleData(self.deal[rows], self.decl[rows], self.state[rows], self.value[rows], self.q[rows])


class OracleBatch(NamedTuple):
    """m states as tensors, values from the mover's side."""

    tokens: Tensor
    """(m, 32, 12) int8"""
    mask: Tensor
    """(m, 32) bool"""
    player: Tensor
    """(m,) the mover."""
    legal: Tensor
    """(m, 7) bool"""
    q: Tensor
    """(m, 7) float, 0 where a tile may not be played."""
    value: Tensor
    """(m,) float"""
    weights: Tensor
    decision: Tensor
    decl: Tensor
    greedy: Tensor
    """(m,) local index of the tile of `greedy_tiles`."""


def read_split(
    folder: str | Path, split: Split, per_decision: int, sampler_seed: int, keep_forced: bool = False
) -> OracleData:
    """All labels of a split, and a part of each of its shards: at most `per_decision` states for each number of tiles played.

    States without a choice, which labels lack and shards are full of, are left out unless `keep_forced`.

    Raises:
        DataError: no such folder, an empty split, or a file that is damaged, foreign, or of another split.
    """
    place = Path(folder) / split
    files = sorted(file for file in place.glob("*.parquet") if not file.name.startswith("."))
    if not files and (place / MANIFEST).exists():
        raise DataError(
            f"{place}: tokens (NumPy), for programs that learn without Ludory; training makes its own: name the labels or shards that they "
            "were made from, the --data of `ludory texas42 tokenise`"
        )
    if not files:
        seeds = {"train": "0-899", "val": "900-949", "test": "950-999"}[split]
        raise DataError(
            f"{place}: no labels or shards (Parquet); write some with `ludory texas42 labels --out {folder} --seeds {seeds}`"
        )
    parts = [
        _read_labels(file, split)
        if is_labels(file)
        else _read_shard(file, split, per_decision, sampler_seed, keep_forced)
        for file in files
    ]
    return OracleData(
        deal=np.concatenate([part.deal for part in parts]),
        decl=np.concatenate([part.decl for part in parts]),
        state=np.concatenate([part.state for part in parts]),
        value=np.concatenate([part.value for part in parts]),
        q=np.concatenate([part.q for part in parts]),
        left_out=sum(part.left_out for part in parts),
    )


def _read_labels(file: Path, split: Split) -> OracleData:
    labels = read_labels(file)
    _check_split(file, int(labels.seed[0]), split)
    found = OracleData(labels.deal, labels.decl, labels.state, labels.value, labels.q)
    return found.rows(np.flatnonzero(_choices(labels.q) > 1))


def _read_shard(file: Path, split: Split, per_decision: int, sampler_seed: int, keep_forced: bool) -> OracleData:
    info = shard_info(file)
    _check_split(file, info.name.seed, split)
    draws = np.random.default_rng(
        [sampler_seed, info.name.seed, info.name.decl, 0 if info.name.opp_seed is None else 1 + info.name.opp_seed]
    )
    parts = [part for part in read_shard(file) if len(part.states)]
    states, values, q = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    choices = _choices(q)
    kept = choices > (0 if keep_forced else 1)
    decision = np.where(kept, 28 - np.bitwise_count(states & HELD), LAST)
    chosen = []
    for number in range(LAST if keep_forced else FORCED):
        rows = np.flatnonzero(decision == number)
        chosen.append(draws.choice(rows, min(per_decision, len(rows)), replace=False))
    rows = np.sort(np.concatenate(chosen))
    deal = np.broadcast_to(np.array(info.deal, np.int8), (len(rows), 28))
    decl, left_out = np.full(len(rows), info.name.decl, np.int8), int(((choices == 1) & ~kept).sum())
    return OracleData(deal, decl, states[rows], values[rows], q[rows], left_out)


def _choices(q: NDArray[np.int8]) -> NDArray[np.int64]:
    """(n,) number of tiles that may be played; 0 at the end of a hand."""
    found: NDArray[np.int64] = (q != -128).sum(axis=1)
    return found


def _check_split(file: Path, seed: int, split: Split) -> None:
    if split_of(seed) != split:
        raise DataError(f"{file}: seed {seed} belongs to {split_of(seed)}; put the file there")


def to_batch(data: OracleData, weights: NDArray[np.float32], tokens_version: int) -> OracleBatch:
    """Tensors of all rows."""
    tokens = tokenise(data.deal, data.decl, data.state, tokens_version)
    side = np.where(tokens.player % 2 == 0, 1, -1)
    legal = data.q != -128
    q = np.where(legal, data.q * side[:, None], 0)
    greedy = greedy_tiles(data.deal, data.decl, data.state, legal)
    return OracleBatch(
        tokens=torch.from_numpy(tokens.tokens),
        mask=torch.from_numpy(tokens.mask),
        player=torch.from_numpy(tokens.player),
        legal=torch.from_numpy(legal),
        q=torch.from_numpy(q.astype(np.float32)),
        value=torch.from_numpy((data.value * side).astype(np.float32)),
        weights=torch.from_numpy(weights),
        decision=torch.from_numpy(data.decision),
        decl=torch.from_numpy(data.decl.astype(np.int64)),
        greedy=torch.from_numpy(greedy),
    )


def shuffled_batches(
    data: OracleData,
    size: int,
    tokens_version: int,
    seed: int,
    epoch: int,
    first: int = 0,
    weights: NDArray[np.float32] | None = None,
) -> Iterator[OracleBatch]:
    """The rows in an order that depends on seed and epoch, from batch `first` on; weights: of the rows, none: `OracleData.weights`."""
    order = np.random.default_rng([seed, epoch]).permutation(len(data.state))
    weights = data.weights() if weights is None else weights
    for start in range(first * size, len(order), size):
        rows = order[start : start + size]
        yield to_batch(data.rows(rows), weights[rows], tokens_version)


def stored_batches(data: OracleData, size: int, tokens_version: int) -> Iterator[OracleBatch]:
    """The rows in their own order."""
    weights = data.weights()
    for start in range(0, len(data.state), size):
        rows = np.arange(start, min(start + size, len(data.state)))
        yield to_batch(data.rows(rows), weights[rows], tokens_version)


CHUNK = 50_000


def write_tokens(data: OracleData, folder: str | Path, split: Split, version: int) -> int:
    """Write tokens.npy, masks.npy, players.npy, legal.npy, qvals.npy (Team 0's side), values.npy, targets.npy (first best tile), decisions.npy,
    decls.npy and manifest.json to `folder`/`split`; returns the number of states.

    Raises:
        OutputError: there are tokens already, or the folder cannot be written to.
    """  # noqa: D205
    place, n = Path(folder) / split, len(data.state)
    if (place / MANIFEST).exists():
        raise OutputError(f"{place / MANIFEST} exists; name another folder with --out")
    tokens, masks = np.empty((n, TOKENS, FEATURES), np.int8), np.empty((n, TOKENS), bool)
    players = np.empty(n, np.int8)
    for start in range(0, n, CHUNK):
        rows = np.arange(start, min(start + CHUNK, n))
        part = data.rows(rows)
        tokens[rows], masks[rows], players[rows] = tokenise(part.deal, part.decl, part.state, version)
    legal = data.q != -128
    signed = np.where(legal, data.q * np.where(players % 2 == 0, 1, -1)[:, None], -999)
    arrays = {
        "tokens": tokens,
        "masks": masks,
        "players": players,
        "legal": legal,
        "qvals": data.q,
        "values": data.value,
        "targets": signed.argmax(axis=1).astype(np.int8),
        "decisions": data.decision.astype(np.int8),
        "decls": data.decl,
    }
    for name, array in arrays.items():
        with atomic_file(place / f"{name}.npy") as handle:
            np.save(handle, array)
    shapes = {name: {"dtype": str(array.dtype), "shape": array.shape} for name, array in arrays.items()}
    manifest = {"format": "ludory texas42 tokens 1", "tokens": version, "split": split, "states": n, "arrays": shapes}
    with atomic_file(place / MANIFEST, "w") as handle:
        handle.write(json.dumps(manifest, indent=2) + "\n")
    return n
