"""Rooms of puzzles: hashes that tell them apart on every machine, and the disjoint splits that follow from the hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ludory.errors import OptionError

Split = Literal["train", "valid", "test"]
SPLITS: tuple[str, ...] = get_args(Split)
"""Names of the parts of all rooms, by the numbers of `split_of`."""
SHARES = (80, 10, 10)
"""Percent of all rooms in each split."""


def room_hash(
    grids: Sequence[NDArray[np.uint8]],
    orbit: bool = False,
    relabel: Callable[[NDArray[np.uint8]], NDArray[np.uint8]] | None = None,
) -> int:
    """The first 8 bytes of the SHA-256 of a room, as an unsigned number.

    grids: arrays uint8 (R, C) that say what the room is, such as its fixed cells and its codes at the start.
    orbit: True: the smallest hash over the 8 symmetries of the square, so that rotated and mirrored rooms have the same.
    relabel: applied to every grid before it is hashed, such as renaming digits by their first appearance.
    """
    views = [list(grids)]
    if orbit:
        turned = [[np.rot90(grid, turns) for grid in grids] for turns in range(4)]
        views = [view for one in turned for view in (one, [np.fliplr(grid) for grid in one])]
    return min(_hash(view, relabel) for view in views)


def _hash(grids: Sequence[NDArray[np.uint8]], relabel: Callable[[NDArray[Any]], NDArray[Any]] | None) -> int:
    digest = hashlib.sha256(np.array(grids[0].shape, "<u2").tobytes())
    for grid in grids:
        digest.update(np.ascontiguousarray(relabel(grid) if relabel else grid, np.uint8).tobytes())
    return int.from_bytes(digest.digest()[:8], "big")


def split_of(hashes: NDArray[np.uint64] | int) -> NDArray[np.int8]:
    """Index in `SPLITS` of the split that each room belongs to, by its hash alone: disjoint for every generator and seed."""
    percent = np.asarray(hashes, np.uint64) % np.uint64(100)
    return np.searchsorted(np.cumsum(SHARES), percent, "right").astype(np.int8)


def check_split(split: str | None) -> None:
    """Raise an OptionError if `split` is neither None nor one of `SPLITS`."""
    if split is not None and split not in SPLITS:
        raise OptionError(f"split={split!r}: must be one of {', '.join(SPLITS)}, or None for all rooms")
