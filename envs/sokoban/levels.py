"""Rooms as arrays of codes: their checks, their packed form, and Boxoban's sets of levels (google-deepmind/boxoban-levels, Apache-2.0)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.atomic import atomic_file
from ludory.envs import check_choice, integer_array
from ludory.errors import DataError, OptionError
from ludory.reading import read_npz

from .level_files import Level, LevelFile, reached, read_levels
from .options import LARGEST_SIDE, MOST_BOXES
from .state import BOX, BOX_ON_TARGET, FLOOR, IS_DEAD, PLAYER, PLAYER_ON_TARGET, TARGET, WALL, start_bits

_TARGETS = (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET)


def checked_rooms(name: str, rooms: ArrayLike, boxes: int | None = None) -> NDArray[np.uint8]:
    """Rooms as uint8 (n, R, C), from codes 0..6 of one or many rooms.

    name: what the rooms are called in errors. boxes: how many each room must have; None: as many as it has targets.

    Raises:
        OptionError: wrong shape or code, not one player, or another number of boxes than of targets or than `boxes`.
    """
    codes = integer_array(name, rooms)
    codes = codes[None] if codes.ndim == 2 else codes
    if codes.ndim != 3:
        raise OptionError(f"{name}: shape {codes.shape}, must be (rows, columns) or (rooms, rows, columns)")
    wrong = np.argwhere((codes < 0) | (codes > PLAYER_ON_TARGET))
    if len(wrong):
        room, row, column = (int(k) for k in wrong[0])
        raise OptionError(
            f"{name}: code {codes[room, row, column]} at row {row}, column {column} of room {room}; codes are 0..6"
        )
    players, found, targets = (_count(codes, *kinds) for kinds in (_PLAYERS, _BOXES, _TARGETS))
    wanted = targets if boxes is None else np.full(len(codes), boxes)
    unfit = np.flatnonzero((players != 1) | (found != wanted) | (targets != wanted) | (found == 0))
    if len(unfit):
        room = int(unfit[0])
        raise OptionError(
            f"{name}: room {room} has {players[room]} players, {found[room]} boxes, {targets[room]} targets; "
            f"must be 1 player and {max(int(wanted[room]), 1)} of each; `boxes=` says how many boxes a game's rooms have"
        )
    return codes.astype(np.uint8)


_PLAYERS, _BOXES = (PLAYER, PLAYER_ON_TARGET), (BOX, BOX_ON_TARGET)


def _count(codes: NDArray[Any], *kinds: int) -> NDArray[np.int64]:
    """(n,): cells of each room that have one of the codes `kinds`."""
    return np.asarray(np.isin(codes, kinds).sum(axis=(1, 2)))


def combined(fixed: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
    """Codes 0..6 from `fixed` (0 wall, 1 floor, 2 target) and codes 0..5, which do not say what the player stands on."""
    return np.where((codes == PLAYER) & (fixed == TARGET), PLAYER_ON_TARGET, codes)


def fixed_of(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """What never changes in rooms of codes 0..6: 0 wall, 1 floor, 2 target."""
    # codes 0 and 1 are themselves; everything above stands on floor or target
    return np.where(np.isin(codes, _TARGETS), TARGET, np.minimum(codes, FLOOR)).astype(np.uint8)


def packed_width(rows: int, columns: int, boxes: int) -> int:
    """Bytes of a packed room."""
    # a bit for each cell, then places of boxes, targets and the player
    return -(-rows * columns // 8) + (2 * boxes + 1) * (2 if rows * columns > 256 else 1)


def pack_levels(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rooms (n, R, C) with equally many boxes, as bytes (n, B): 22 bytes for a Boxoban level.

    A bit per cell for the walls, as `numpy.packbits` has them, then the cells of the boxes, of the targets and of the player, in row-major
    order. A cell's number has one byte, or two (the higher first) in rooms of more than 256 cells.
    """
    count, cells = len(codes), codes[0].size
    flat = codes.reshape(count, cells)
    places = [_places(np.isin(flat, kinds)) for kinds in (_BOXES, _TARGETS, _PLAYERS)]
    # big-endian, so that a wide place is two bytes, the higher first
    numbers = np.concatenate(places, axis=1).astype(">u2")
    digits = numbers.view(np.uint8).reshape(count, -1) if cells > 256 else numbers.astype(np.uint8)
    return np.concatenate([np.packbits(flat == WALL, axis=1), digits], axis=1)


def _places(there: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(n, k): numbers of the cells that are True; equally many in every row."""
    return np.nonzero(there)[1].reshape(len(there), -1)


def unpack_levels(packed: NDArray[np.uint8], shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Rooms (n, R, C) from the bytes of `pack_levels`."""
    cells, count = shape[0] * shape[1], len(packed)
    walls = -(-cells // 8)
    codes = np.where(np.unpackbits(packed[:, :walls], axis=1)[:, :cells], WALL, FLOOR).astype(np.uint8)
    digits = np.ascontiguousarray(packed[:, walls:])
    places = digits.view(">u2").astype(np.int64) if cells > 256 else digits.astype(np.int64)
    boxes, each = (places.shape[1] - 1) // 2, np.arange(count)[:, None]
    # targets first: what stands on one gets the code for both
    codes[each, places[:, boxes:-1]] = TARGET
    there = codes[each, places[:, :boxes]]
    codes[each, places[:, :boxes]] = np.where(there == TARGET, BOX_ON_TARGET, BOX)
    there = codes[each, places[:, -1:]]
    codes[each, places[:, -1:]] = np.where(there == TARGET, PLAYER_ON_TARGET, PLAYER)
    return codes.reshape(count, *shape)


def alike(
    found: LevelFile, size: int | None = None, boxes: int | None = None, skip_bad: bool = False
) -> tuple[NDArray[np.uint8], LevelFile]:
    """Rooms (n, R, C) of levels that have one size and equally many boxes, as a bank of rooms needs them, and these levels.

    Args:
        found: levels.
        size: rows and columns of the rooms; smaller levels get walls below and to the right. None: all have the size of the first.
        boxes: boxes of each level; None: as many as the first has.
        skip_bad: leave out levels that do not fit, in place of an error.

    Raises:
        DataError: a level does not fit.
    """
    fitting = LevelFile([], list(found.wrong))
    for level in found.levels:
        first = fitting.levels[0] if fitting.levels else level
        what = _unfit(level, first, size, first.boxes if boxes is None else boxes)
        if what:
            fitting.wrong.append(f"{level.place}: {what}")
        else:
            codes = level.codes
            if size is not None and codes.shape != (size, size):
                codes = np.zeros((size, size), np.uint8)
                codes[: level.codes.shape[0], : level.codes.shape[1]] = level.codes
            fitting.levels.append(level._replace(codes=codes))
    fitting = fitting.without_wrong(skip_bad, "--skip-bad leaves such levels out of a bank")
    return np.stack([level.codes for level in fitting.levels]), fitting


def _unfit(level: Level, first: Level, size: int | None, boxes: int) -> str:
    rows, columns = level.codes.shape
    largest = LARGEST_SIDE if size is None else size
    if max(rows, columns) > largest:
        return f"{rows} rows and {columns} columns, rooms have at most {largest} of each"
    if size is None and level.codes.shape != first.codes.shape:
        return (
            f"{rows} rows and {columns} columns, the first level has {first.codes.shape[0]} and {first.codes.shape[1]}; "
            f"`ludory sokoban bank --levels FILE --size N` makes them all N rows and columns"
        )
    if level.boxes != boxes or boxes > MOST_BOXES:
        return f"{level.boxes} boxes, must be {boxes}; `--boxes N` says how many, at most {MOST_BOXES}"
    return ""


def remarks(levels: Sequence[Level]) -> list[str]:
    """Which levels are solved already, and which surely cannot be solved: a box can never reach a target, or no box can be pushed at all."""
    said = ((level, _remark(level.codes)) for level in levels)
    return [f"{level.place}: {what}" for level, what in said if what]


def _remark(codes: NDArray[np.uint8]) -> str:
    if not (codes == BOX).any():
        return "is solved already"
    for row, column in np.argwhere((codes == BOX) & (start_bits(codes[None])[0] & IS_DEAD != 0)).tolist()[:1]:
        return f"cannot be solved: the box in row {row + 1}, column {column + 1} can never reach a target"
    free = (codes != WALL) & (codes != BOX) & (codes != BOX_ON_TARGET)
    stands = np.zeros(np.add(codes.shape, 2), bool)
    # a frame of cells, so that the neighbours of every cell exist
    for row, column in reached(free, np.argwhere(codes >= PLAYER).tolist()):
        stands[row + 1, column + 1] = True
    free, boxes = np.pad(free, 1), np.pad((codes == BOX) | (codes == BOX_ON_TARGET), 1)
    # a box can be pushed if the player stands on one side and the other side is free
    pushed = [np.roll(stands, way, axis) & boxes & np.roll(free, -way, axis) for way in (1, -1) for axis in (0, 1)]
    return "" if np.any(pushed) else "cannot be solved: the player can push no box"


SAMPLE = "boxoban/sample"
"""The first 1,000 levels of boxoban/unfiltered/train, which come with the package."""
SETS = (
    SAMPLE,
    *(
        f"boxoban/{name}"
        for name in ("unfiltered/train", "unfiltered/valid", "unfiltered/test", "medium/train", "medium/valid", "hard")
    ),
)
SHAPE = (10, 10)
_SOURCE = "https://github.com/google-deepmind/boxoban-levels"


def data_directory() -> Path:
    """Folder of data sets: `LUDORY_DATA`, else `ludory` in the user's data folder."""
    named = os.environ.get("LUDORY_DATA")
    return Path(named) if named else Path(os.environ.get("XDG_DATA_HOME", "~/.local/share")).expanduser() / "ludory"


def boxoban_levels(name: str) -> NDArray[np.uint8]:
    """(n, 10, 10): codes of the set `name`, one of `SETS`. The packed levels are kept beside its files, 22 bytes a level.

    Raises:
        OptionError: no such set, or it is not in the data folder; the message is the command that fetches it.
        DataError: a level file is damaged.
    """
    check_choice("levels", name, SETS)
    if name == SAMPLE:
        return unpack_levels(np.load(Path(__file__).with_name("boxoban_sample.npy"), allow_pickle=False), SHAPE)
    folder = data_directory() / name
    packed = folder.with_name(f"{folder.name}.packed.npz")  # its members have checksums
    if packed.exists():
        try:
            return unpack_levels(read_npz(packed)["levels"], SHAPE)
        except (OSError, ValueError, KeyError, IndexError) as error:
            raise DataError(f"{packed}: damaged ({error}); remove it, then it is written anew") from error
    if not any(folder.glob("*.txt")):
        root = data_directory() / "boxoban"
        raise OptionError(f"levels={name!r}: not in {folder}; type: git clone --depth 1 {_SOURCE} {root}")
    levels = alike(read_levels(folder))[0]
    with atomic_file(packed) as handle:
        np.savez(handle, levels=pack_levels(levels))
    return levels
