"""`StudentData`: decisions of E[Q] records, as the seat to move saw them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.algorithms.texas42.data.eq_analysis import READERS, read_records
from ludory.data.formats.texas42.eq_records import EqGame
from ludory.data.formats.texas42.names import Split, split_of
from ludory.envs.texas42.tiles import TILES
from ludory.errors import DataError


class StudentData(NamedTuple):
    """n decisions with a choice, or a batch of them, by tile id."""

    observation: Tensor
    """(n, 289) uint8: `observation="transcript"`, the length and then the tokens."""
    mean: Tensor
    """(n, 28) float32: E[Q] of each tile in points, 0 where it may not be played."""
    legal: Tensor
    """(n, 28) bool"""
    decision: Tensor
    """(n,) int64: tiles played before."""

    def rows(self, rows: Tensor) -> StudentData:
        """Some of the decisions."""
        return StudentData(*(column[rows] for column in self))


def read_split(folder: str | Path, split: Split) -> StudentData:
    """All decisions with a choice of a split.

    Raises:
        DataError: no such folder, no records in it, or one is damaged or of another split.
    """
    place = Path(folder) / split
    if not any(file.suffix in READERS for file in place.glob("*")):
        seeds = {"train": "0-899", "val": "900-949", "test": "950-999"}[split]
        raise DataError(
            f"{place}: no E[Q] records ({' or '.join(READERS)}); write some with `ludory texas42 eq --seeds {seeds} --out {folder}`"
        )
    parts = [_decisions(game, place, split) for game in read_records([place])]
    return StudentData(*(torch.from_numpy(np.concatenate(column)) for column in zip(*parts, strict=True)))


def _decisions(game: EqGame, place: Path, split: Split) -> tuple[NDArray[np.generic], ...]:
    """The columns of `StudentData`."""
    columns, seed = game.columns, game.header["seed"]
    if split_of(seed) != split:
        raise DataError(f"{place}: seed {seed} belongs to {split_of(seed)}; put its file there")
    rows = np.flatnonzero(columns["legal_mask"].sum(axis=1) > 1)
    hands = np.array(game.header["deal"]).reshape(4, 7)[columns["seat"][rows]]  # (rows, 7) tile ids by slot
    legal, mean = np.zeros((len(rows), TILES), bool), np.zeros((len(rows), TILES), np.float32)
    of_slot = columns["legal_mask"][rows]
    np.put_along_axis(legal, hands, of_slot, 1)
    np.put_along_axis(mean, hands, np.where(of_slot, columns["e_q_mean"][rows], 0).astype(np.float32), 1)
    tokens = columns["transcript_tokens"][rows].reshape(len(rows), -1)
    observation = np.concatenate([columns["transcript_lengths"][rows, None].astype(np.uint8), tokens], axis=1)
    return observation, mean, legal, columns["decision_idx"][rows]


def batches(data: StudentData, size: int, seed: int | None = None, epoch: int = 0) -> Iterator[StudentData]:
    """The rows in an order that depends on seed and epoch; without a seed in their own."""
    n = len(data.decision)
    order = np.arange(n) if seed is None else np.random.default_rng([seed, epoch]).permutation(n)
    for start in range(0, n, size):
        yield data.rows(torch.from_numpy(order[start : start + size]))
