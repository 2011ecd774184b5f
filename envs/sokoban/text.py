"""Sokoban as text: ways to write a room, their inverses, and the codec for language models."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs import State, TextCodec, WorkedExample, WriteRows, decoder_of_names
from ludory.errors import OptionError

from .options import SokobanOptions
from .pictures import SYMBOLS
from .state import BOX, BOX_ON_TARGET, FLOOR, PLAYER, PLAYER_ON_TARGET, TARGET, drawn_codes

MEANINGS = ("wall", "floor", "target", "box on target", "box", "player", "player on target")
"""What the symbols of the codes 0..6 mean."""
_LINES = (
    ("Targets", (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET)),
    ("Boxes", (BOX,)),
    ("Boxes on target", (BOX_ON_TARGET,)),
    ("Player", (PLAYER,)),
    ("Player on target", (PLAYER_ON_TARGET,)),
)
"""Lines of the style `coord`, and the codes of each."""
COORDINATES, GRID_MAP = "Coordinates: ", "Grid Map: "
_KINDS = (
    ("player", (PLAYER, PLAYER_ON_TARGET)),
    ("box", (BOX, BOX_ON_TARGET)),
    ("target", (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET)),
)
"""What a list of places names, and the codes of each."""


def symbols_of(options: SokobanOptions) -> tuple[str, ...]:
    """The symbol of each code 0..6.

    Raises:
        OptionError: not seven symbols, an unknown meaning, or symbols that cannot be told apart.
    """
    chosen = list(SYMBOLS)
    if isinstance(options.symbols, str):
        chosen = list(options.symbols)
    elif options.symbols is not None:
        for name, symbol in options.symbols.items():
            meaning = str(name).replace("_", " ")
            if meaning not in MEANINGS:
                raise OptionError(f"symbols: no cell is called {name!r}; they are {', '.join(MEANINGS)}")
            chosen[MEANINGS.index(meaning)] = str(symbol)
    plain = len(chosen) == len(MEANINGS) == len(set(chosen))
    if not plain or any(not symbol or re.search(r"\s", symbol) for symbol in chosen):
        raise OptionError(
            f"symbols={options.symbols!r}: must be {len(MEANINGS)} different symbols, for {', '.join(MEANINGS)}"
        )
    if any(len(symbol) > 1 for symbol in chosen) and not options.spaced:
        raise OptionError(f"symbols={options.symbols!r}: symbols of several characters need spaced=True")
    return tuple(chosen)


class RoomText:
    """Writes and reads rooms with given symbols. Rooms are codes 0..6, (n, R, C) or (R, C)."""

    def __init__(self, options: SokobanOptions) -> None:
        self.symbols, self.between = symbols_of(options), " " if options.spaced else ""
        self._code_of = {symbol: code for code, symbol in enumerate(self.symbols)}
        single = all(len(symbol) == 1 for symbol in self.symbols)
        self._points = np.array([ord(symbol) for symbol in self.symbols], "<u4") if single else None

    def grids(self, rooms: NDArray[np.uint8], between: str | None = None, end: str = "\n") -> list[str]:
        """One symbol per cell, `between` the cells of a row, `end` between rows."""
        between = self.between if between is None else between
        if self._points is None:
            rows = [[between.join([self.symbols[code] for code in row]) for row in room] for room in rooms.tolist()]
            return [end.join(room) for room in rows]
        # All rooms as one array of characters, whose text is then cut into rooms.
        count, height, width = rooms.shape
        step = 1 + len(between)
        text = np.full((count, height, width * step + (len(end) if not between else 0)), ord(end), "<u4")
        # codes index the code points of their symbols
        text[:, :, 0 : width * step : step] = self._points[rooms]
        if between:
            text[:, :, 1 : width * step - 1 : 2] = ord(between)
        size = text.shape[1] * text.shape[2]
        whole = text.tobytes().decode("utf-32-le")
        # less the last end of line
        return [whole[k : k + size - 1] for k in range(0, count * size, size)]

    def write_grid(self, rooms: NDArray[np.uint8]) -> list[str]:
        """Style `grid`: rows of symbols."""
        return self.grids(rooms)

    def write_coord(self, rooms: NDArray[np.uint8]) -> list[str]:
        """Style `coord`: the size, and what stands where; the walls are left out."""
        rows, columns = rooms.shape[1:]
        head = f"Board size: {rows} rows x {columns} cols (zero-indexed)."
        names = [f"({row}, {column})" for row in range(rows) for column in range(columns)]
        lines = [(f"\n{name}: ", _cells_of(rooms, codes)) for name, codes in _LINES]
        return [
            head + "".join([name + ", ".join([names[cell] for cell in cells[k]]) for name, cells in lines if cells[k]])
            for k in range(len(rooms))
        ]

    def write_grid_coord(self, rooms: NDArray[np.uint8]) -> list[str]:
        """Style `grid_coord`: `coord`, then `grid`, each under a heading."""
        both = zip(self.write_coord(rooms), self.grids(rooms), strict=True)
        return [f"{COORDINATES}\n{coord}\n{GRID_MAP}\n{grid}" for coord, grid in both]

    def write_sentence(self, rooms: NDArray[np.uint8]) -> list[str]:
        """Style `sentence`: `grid`, then a sentence that says where player, boxes and targets are."""
        return [f"{grid}\n{text}" for grid, text in zip(self.grids(rooms), self._sentences(rooms), strict=True)]

    def _sentences(self, rooms: NDArray[np.uint8]) -> list[str]:
        rows, columns = rooms.shape[1:]
        names = [f"({row},{column})" for row in range(rows) for column in range(columns)]
        kinds = [
            (f"{name} ({self.symbols[sign]}) is at ", f"{_PLURALS[name]} ({self.symbols[sign]}) are at ", cells)
            for (name, cells), sign in zip(_cells_by_kind(rooms), (PLAYER, BOX, TARGET), strict=True)
        ]
        texts = []
        for k in range(len(rooms)):
            clauses = [
                (one if len(cells[k]) == 1 else many) + ", ".join([names[cell] for cell in cells[k]])
                for one, many, cells in kinds
            ]
            text = "; ".join(clauses)
            texts.append(f"{text[0].upper()}{text[1:]}.")
        return texts

    def write_places(self, rooms: NDArray[np.uint8]) -> list[str]:
        """Style `places`: words such as `P 4 1 X 4 2 O 4 3`: the player, all boxes, all targets."""
        rows, columns = rooms.shape[1:]
        kinds = [
            ([f"{self.symbols[sign]} {row} {column}" for row in range(rows) for column in range(columns)], cells)
            for (_, cells), sign in zip(_cells_by_kind(rooms), (PLAYER, BOX, TARGET), strict=True)
        ]
        return [" ".join([names[cell] for names, cells in kinds for cell in cells[k]]) for k in range(len(rooms))]

    def write_compact(self, rooms: NDArray[np.uint8]) -> list[str]:
        """Style `compact`: one word per cell, then `places`, all joined by single spaces."""
        grids = self.grids(rooms, " ", " ")
        return [f"{grid} {places}" for grid, places in zip(grids, self.write_places(rooms), strict=True)]

    def read_grid(self, text: str) -> NDArray[np.uint8]:
        """The room of a text in the style `grid`.

        Raises:
            ValueError: an unknown symbol, or rows of different lengths; the error names line and symbol.
        """
        rows = []
        for number, line in enumerate(text.split("\n"), 1):
            cells = line.split(" ") if self.between else list(line)
            for symbol in cells:
                if symbol not in self._code_of:
                    raise ValueError(f"line {number}: {symbol!r} is not one of {' '.join(self.symbols)}")
            rows.append([self._code_of[symbol] for symbol in cells])
            if len(rows[0]) != len(rows[-1]):
                raise ValueError(f"line {number}: {len(rows[-1])} cells, the first line has {len(rows[0])}")
        return np.array(rows, np.uint8)

    def parse_grid(self, text: str) -> dict[str, NDArray[Any]]:
        """Fields of a `grid`: room, player, boxes, targets."""
        return _fields(self.read_grid(text))

    def parse_coord(self, text: str) -> dict[str, NDArray[Any]]:
        """Fields of a `coord`: size, player, boxes, targets; it does not say where the walls are."""
        return _read_coordinates(text)

    def parse_grid_coord(self, text: str) -> dict[str, NDArray[Any]]:
        """Fields of a `grid_coord`, whose parts must agree."""
        head, middle = f"{COORDINATES}\n", f"\n{GRID_MAP}\n"
        if not text.startswith(head) or middle not in text:
            raise ValueError(f"line 1: must be {COORDINATES!r}, and a later line {GRID_MAP!r}")
        coord, grid = text.removeprefix(head).split(middle, 1)
        return _agreeing(self.parse_grid(grid), self.parse_coord(coord), "the coordinates")

    def parse_sentence(self, text: str) -> dict[str, NDArray[Any]]:
        """Fields of a `sentence`, whose parts must agree."""
        grid, _, sentence = text.rpartition("\n")
        found = self.parse_grid(grid)
        if sentence != self._sentences(found["room"][None])[0]:
            raise ValueError(f"line {text.count(chr(10)) + 1}: {sentence!r} does not fit the grid above")
        return found

    def parse_places(self, text: str) -> dict[str, NDArray[Any]]:
        """Fields of a `places`: player, boxes, targets."""
        return self._read_places(text.split())

    def parse_compact(self, text: str) -> dict[str, NDArray[Any]]:
        """Fields of a `compact`, whose parts must agree: room, player, boxes, targets."""
        # the places begin one word before the first number
        words = text.split()
        end = next((k for k, word in enumerate(words) if word.isdecimal()), len(words) + 1) - 1
        places = self._read_places(words[end:])
        # the shape is not written: try all that fit, the squarest first
        sizes = [(rows, end // rows) for rows in range(1, end + 1) if end % rows == 0]
        for rows, columns in sorted(sizes, key=lambda size: abs(size[0] - size[1])):
            lines = (" ".join(words[row * columns : (row + 1) * columns]) for row in range(rows))
            room = self._read_words("\n".join(lines))
            found = _fields(room)
            if all(np.array_equal(found[name], places[name]) for name in places):
                return found
        raise ValueError("line 1: the places do not fit the cells before them")

    def _read_words(self, text: str) -> NDArray[np.uint8]:
        rows = [line.split(" ") for line in text.split("\n")]
        for symbol in (symbol for row in rows for symbol in row):
            if symbol not in self._code_of:
                raise ValueError(f"line 1: {symbol!r} is not one of {' '.join(self.symbols)}")
        return np.array([[self._code_of[symbol] for symbol in row] for row in rows], np.uint8)

    def _read_places(self, words: Sequence[str]) -> dict[str, NDArray[Any]]:
        found: dict[str, list[list[int]]] = {"player": [], "boxes": [], "targets": []}
        names = dict(zip((self.symbols[code] for code in (PLAYER, BOX, TARGET)), found, strict=True))
        if len(words) % 3:
            raise ValueError(f"line 1: {len(words)} words of places, must be a symbol, a row and a column each")
        for symbol, row, column in zip(words[::3], words[1::3], words[2::3], strict=True):
            if symbol not in names or not row.isdecimal() or not column.isdecimal():
                raise ValueError(
                    f"line 1: {symbol!r} {row!r} {column!r} is not a symbol of {' '.join(names)}, a row and a column"
                )
            found[names[symbol]].append([int(row), int(column)])
        return _as_arrays(found)


_PLURALS = {"player": "players", "box": "boxes", "target": "targets"}


def _places(room: NDArray[np.uint8], codes: tuple[int, ...]) -> list[list[int]]:
    """[row, column] of the cells with one of `codes`, in row-major order."""
    columns = room.shape[1]
    return [[*divmod(k, columns)] for k, code in enumerate(room.ravel().tolist()) if code in codes]


def _cells_of(rooms: NDArray[np.uint8], codes: tuple[int, ...]) -> list[list[int]]:
    """Of each room (n, R, C) the numbers of the cells with one of `codes`, in row-major order."""
    wanted = np.zeros(PLAYER_ON_TARGET + 1, bool)
    wanted[list(codes)] = True
    there = wanted[rooms.reshape(len(rooms), -1)]
    cells, ends = np.nonzero(there)[1].tolist(), there.sum(1).cumsum().tolist()
    return [cells[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _cells_by_kind(rooms: NDArray[np.uint8]) -> list[tuple[str, list[list[int]]]]:
    """Name and cells of the players, boxes and targets of each room."""
    return [(name, _cells_of(rooms, codes)) for name, codes in _KINDS]


_SIZE = re.compile(r"Board size: (\d{1,4}) rows x (\d{1,4}) cols \(zero-indexed\)\.")
_PLACE = re.compile(r"\((\d{1,4}), (\d{1,4})\)")


def _read_coordinates(text: str) -> dict[str, NDArray[Any]]:
    first, *lines = text.split("\n")
    size = _SIZE.fullmatch(first)
    if not size:
        raise ValueError(f"line 1: {first!r} does not say the board's size")
    codes = dict(_LINES)
    room = np.full((int(size[1]), int(size[2])), FLOOR, np.uint8)
    for number, line in enumerate(lines, 2):
        name, _, rest = line.partition(": ")
        places = [(int(place[1]), int(place[2])) for place in _PLACE.finditer(rest)]
        if name not in codes or ", ".join(f"({row}, {column})" for row, column in places) != rest or not places:
            raise ValueError(f"line {number}: {line!r} is not one of {', '.join(codes)} with places such as (1, 2)")
        for row, column in places:
            if row >= room.shape[0] or column >= room.shape[1]:
                raise ValueError(f"line {number}: ({row}, {column}) lies outside the board")
            # targets first in `_LINES`: what stands on one overwrites it
            room[row, column] = codes[name][-1] if name != "Targets" else TARGET
    fields = _fields(room)
    del fields["room"]
    return {"size": np.array(room.shape), **fields}


def _as_arrays(found: Mapping[str, list[list[int]]]) -> dict[str, NDArray[Any]]:
    """Player (2,), boxes and targets (k, 2), as (row, column)."""
    if len(found["player"]) != 1:
        raise ValueError(f"line 1: {len(found['player'])} players, must be 1")
    arrays = {name: np.array(places, np.int64).reshape(-1, 2) for name, places in found.items()}
    return {**arrays, "player": arrays["player"][0]}


def _fields(room: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    names = ("player", "boxes", "targets")
    found = {name: _places(room, codes) for name, (_, codes) in zip(names, _KINDS, strict=True)}
    return {"room": room, **_as_arrays(found)}


def _agreeing(found: dict[str, NDArray[Any]], other: Mapping[str, NDArray[Any]], what: str) -> dict[str, NDArray[Any]]:
    for name in ("player", "boxes", "targets"):
        if not np.array_equal(found[name], other[name]):
            raise ValueError(f"line 1: {what} and the grid do not agree on {name}")
    return found


STYLES = ("grid", "coord", "grid_coord", "sentence", "compact", "places")


def codec(options: SokobanOptions) -> TextCodec:
    """The game as a language model reads and plays it."""
    text, names = RoomText(options), options.action_names
    styles = {style: _writer(getattr(text, f"write_{style}")) for style in STYLES}
    return TextCodec(
        instruction="This is Sokoban. A warehouse keeper walks up, down, left and right and has to bring every box onto a target. "
        "Stepping against a box moves it one cell further, if that cell is free: no wall and no other box. Boxes are never pulled, "
        "so a box in a corner stays there.",
        encode=lambda state, i, seat: styles["grid"](state, [i], seat)[0],
        decode=decoder_of_names(lambda head, action: names[action], len(names)),
        symbols=dict(zip(text.symbols, MEANINGS, strict=True)),
        action_names=options.action_order,
        styles=styles,
        parsers={style: getattr(text, f"parse_{style}") for style in STYLES},
        example=partial(_example, text, options),
    )


def _writer(write: Callable[[NDArray[np.uint8]], list[str]]) -> WriteRows:
    def rows_as_text(state: State, rows: Sequence[int], seat: int | None) -> list[str]:
        return write(drawn_codes(state, rows)) if len(rows) else []

    return rows_as_text


def _example(text: RoomText, options: SokobanOptions, style: str) -> WorkedExample:
    """A room that two pushes solve."""
    before = np.array(
        [[0, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 0], [0, 5, 4, 1, 2, 0], [0, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0]], np.uint8
    )
    after = before.copy()
    after[2, 1:5] = FLOOR, FLOOR, PLAYER, BOX_ON_TARGET
    write = getattr(text, f"write_{style or STYLES[0]}")
    push = "Right" if options.actions == "push4" else "Push Right"
    return WorkedExample(
        write(before[None])[0],
        "The box is one step to my right, and the target is two steps further in the same row. Two pushes to the right move the box onto it.",
        (push, push),
        write(after[None])[0],
    )
