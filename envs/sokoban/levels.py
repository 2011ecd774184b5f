"""Rooms as arrays of codes: their checks, their packed form, and Boxoban's level files and sets (google-deepmind/boxoban-levels, Apache-2.0)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.envs.options import check_choice, integer_array
from ludory.errors import DataError, OptionError

from .state import BOX, BOX_ON_TARGET, FLOOR, PLAYER, PLAYER_ON_TARGET, TARGET, WALL

LEVEL_SYMBOLS = "# .*$@+"
"""Characters of a level file by code 0..6."""
_KNOWN = frozenset(LEVEL_SYMBOLS)
_CODES = np.zeros(128, np.uint8)
for _code, _symbol in enumerate(LEVEL_SYMBOLS):
    _CODES[ord(_symbol)] = _code
_TARGETS = (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET)


class Levels(NamedTuple):
    """Levels of a file."""

    codes: NDArray[np.uint8]
    """(n, R, C): codes 0..6."""
    numbers: NDArray[np.int64]
    """(n,): the numbers in the levels' headers."""


def checked_rooms(name: str, rooms: Any, boxes: int | None = None) -> NDArray[np.uint8]:
    """Rooms as uint8 (n, R, C), from codes 0..6 of one or many rooms.

    name: what the rooms are called in errors. boxes: how many each room must have; None: as many as it has targets.

    Raises:
        OptionError: wrong shape or code, not one player, another number of boxes than of targets or than `boxes`, or a room is solved.
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
    solved = np.flatnonzero(_count(codes, BOX_ON_TARGET) == targets)
    if len(solved):
        raise OptionError(f"{name}: room {int(solved[0])} is solved already: every target has a box; give another room")
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
    return np.where(np.isin(codes, _TARGETS), TARGET, np.minimum(codes, FLOOR)).astype(np.uint8)


def packed_width(rows: int, columns: int, boxes: int) -> int:
    """Bytes of a packed room."""
    return -(-rows * columns // 8) + (2 * boxes + 1) * (2 if rows * columns > 256 else 1)


def pack_levels(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rooms (n, R, C) with equally many boxes, as bytes (n, B): 22 bytes for a Boxoban level.

    A bit per cell for the walls, as `numpy.packbits` has them, then the cells of the boxes, of the targets and of the player, in row-major
    order. A cell's number has one byte, or two (the higher first) in rooms of more than 256 cells.
    """
    count, cells = len(codes), codes[0].size
    flat = codes.reshape(count, cells)
    places = [_places(np.isin(flat, kinds)) for kinds in (_BOXES, _TARGETS, _PLAYERS)]
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
    codes[each, places[:, boxes:-1]] = TARGET
    there = codes[each, places[:, :boxes]]
    codes[each, places[:, :boxes]] = np.where(there == TARGET, BOX_ON_TARGET, BOX)
    there = codes[each, places[:, -1:]]
    codes[each, places[:, -1:]] = np.where(there == TARGET, PLAYER_ON_TARGET, PLAYER)
    return codes.reshape(count, *shape)


def read_levels(path: str | Path) -> Levels:
    """The levels of a file in Boxoban's form, or of all files in a folder, in order of their names.

    A level is a header `; 7` and its rows: `#` wall, space floor, `@` player, `$` box, `.` target, `*` box on target, `+` player on
    target. All levels of a call have one size.

    Raises:
        DataError: no levels, an unknown character, rows or levels of different lengths, or wrong counts; the error names file, level and row.
    """
    place = Path(path)
    files = sorted(place.glob("*.txt")) if place.is_dir() else [place]
    codes: list[NDArray[np.uint8]] = []
    numbers: list[int] = []
    checked = 0
    for file in files:
        for number, rows in _levels_of(file):
            grid = _CODES[np.frombuffer("".join(rows).encode(), np.uint8)].reshape(len(rows), -1)
            if codes and grid.shape != codes[0].shape:
                raise DataError(f"{file}: level {number} has size {grid.shape}, earlier ones have {codes[0].shape}")
            codes.append(grid)
            numbers.append(number)
        _check_levels(file, codes[checked:], numbers[checked:])
        checked = len(codes)
    if not codes:
        raise DataError(f"{path}: no levels; a level file has a header `; 0` before each level")
    return Levels(np.stack(codes), np.array(numbers, np.int64))


def _check_levels(file: Path, codes: list[NDArray[np.uint8]], numbers: list[int]) -> None:
    """Check the counts of all levels of a file at once, and level by level only where one is wrong.

    Raises:
        DataError: names the first wrong level.
    """
    if not codes:
        return
    rooms = np.stack(codes)
    boxes, targets = _count(rooms, *_BOXES), _count(rooms, *_TARGETS)
    right = (boxes == targets) & (boxes > 0) & (_count(rooms, *_PLAYERS) == 1) & (_count(rooms, BOX) > 0)
    for place in np.flatnonzero(~right)[:1]:
        try:
            checked_rooms(f"{file}: level {numbers[place]}", rooms[place])
        except OptionError as error:
            raise DataError(str(error).split("; `boxes=`")[0]) from error


def _levels_of(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Number and checked rows of each level, also of the last one."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read as a level file ({error})") from error
    number, rows = -1, list[str]()
    for line, content in enumerate([*text.split("\n"), "; 0"], 1):
        if content.startswith(";"):
            if rows:
                yield number, rows
            head = content[1:].strip()
            if not head.isdecimal():
                raise DataError(f"{file}: line {line}: the header {content!r} must be `; ` and a number")
            number, rows = int(head), []
        elif content.strip("\r\n\t "):
            _check_row(file, number, len(rows), content, rows)
            rows.append(content)


def _check_row(file: Path, number: int, row: int, content: str, above: list[str]) -> None:
    where = f"{file}: level {number}, row {row}"
    if number < 0:
        raise DataError(f"{where}: comes before the first header; a level begins with a line such as `; 0`")
    if not _KNOWN.issuperset(content):
        column = next(k for k, symbol in enumerate(content) if symbol not in _KNOWN)
        raise DataError(f"{where}, column {column}: {content[column]!r} is not one of {' '.join(LEVEL_SYMBOLS)!r}")
    if above and len(content) != len(above[0]):
        raise DataError(f"{where}: {len(content)} characters, the rows above have {len(above[0])}")


def level_text(codes: NDArray[np.uint8], number: int = 0) -> str:
    """One room (R, C) in the form of a level file."""
    rows = ("".join(LEVEL_SYMBOLS[code] for code in row) for row in codes.tolist())
    return "\n".join([f"; {number}", *rows, ""])


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
    packed = folder.with_name(f"{folder.name}.packed.npy")
    if packed.exists():
        return unpack_levels(np.load(packed, allow_pickle=False), SHAPE)
    if not any(folder.glob("*.txt")):
        root = data_directory() / "boxoban"
        raise OptionError(f"levels={name!r}: not in {folder}; type: git clone --depth 1 {_SOURCE} {root}")
    levels = read_levels(folder).codes
    with atomic_file(packed) as handle:
        np.save(handle, pack_levels(levels))
    return levels
