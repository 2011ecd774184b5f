"""Sudoku in words: the text styles, their parsers, and the codec for language models. Rows and columns of actions count from 1."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs import Decoded, State, TextCodec, WorkedExample, on_host

BLANK = "."
RULES = {4: 9, 9: 20}
"""Hyphens of a line between bands, by N."""
SIZES = {math.isqrt(size): size for size in RULES}


def write_grid(state: State, rows: Sequence[int], seat: int | None = None) -> list[str]:
    """Cells joined by spaces, " | " between boxes, a line of hyphens between bands."""
    codes = on_host(state.codes)[np.asarray(rows, np.int64)]
    size = codes.shape[-1]
    frame, places = _frame(size)
    texts = np.tile(frame, (len(codes), 1))
    texts[:, places] = np.array([BLANK, *map(str, range(1, size + 1))])[codes.reshape(len(codes), -1)]
    # the characters of a game lie side by side: they are read as one string
    return [text[0] for text in texts.view(f"<U{len(frame)}").tolist()]


def _frame(size: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The characters of an empty grid, and the places of the cells."""
    box = math.isqrt(size)
    row = " | ".join([" ".join(BLANK * box)] * box)
    text = f"\n{'-' * RULES[size]}\n".join(["\n".join([row] * box)] * box)
    letters = np.array(list(text))
    return letters, np.flatnonzero(letters == BLANK)


def write_row(state: State, rows: Sequence[int], seat: int | None = None) -> list[str]:
    """One line, "| " before each row."""
    return [_row(codes) for codes in on_host(state.codes)[np.asarray(rows, np.int64)].tolist()]


def _row(codes: list[list[int]]) -> str:
    return " ".join(" ".join(["|", *(str(value) if value else BLANK for value in line)]) for line in codes)


def write_sentence(state: State, rows: Sequence[int], seat: int | None = None) -> list[str]:
    """The line of `write_row`, then the blank cells."""
    return [f"{_row(codes)}\n{_blanks(codes)}" for codes in on_host(state.codes)[np.asarray(rows, np.int64)].tolist()]


def _blanks(codes: list[list[int]]) -> str:
    places = [f"({r},{c})" for r, line in enumerate(codes, 1) for c, value in enumerate(line, 1) if not value]
    if not places:
        return "No positions are empty."
    return f"Empty positions to be filled are at {', '.join(places)}."


def parse_grid(text: str) -> dict[str, NDArray[Any]]:
    """`codes` int8 [N, N] of a grid.

    Raises:
        ValueError: names the line that cannot be read.
    """
    lines = text.split("\n")
    size = SIZES.get(lines[0].count("|") + 1)
    if size is None:
        raise ValueError(f"line 1: {lines[0][:100]!r} is no row of a grid with 2 or 3 boxes side by side")
    box = math.isqrt(size)
    expected = size + box - 1
    if len(lines) != expected:
        raise ValueError(f"line {len(lines)}: a grid of {size} x {size} has {expected} lines, got {len(lines)}")
    found = []
    for number, line in enumerate(lines, 1):
        if number % (box + 1) == 0:
            if line != "-" * RULES[size]:
                raise ValueError(f"line {number}: {line[:100]!r}, must be {RULES[size]} hyphens")
            continue
        boxes = [part.split(" ") for part in line.split(" | ")]
        if [len(part) for part in boxes] != [box] * box:
            raise ValueError(f"line {number}: {line[:100]!r}, must be {box} boxes of {box} cells, as in '. 1 | 2 .'")
        found.append([_value(cell, size, number) for part in boxes for cell in part])
    return {"codes": np.array(found, np.int8)}


def _value(cell: str, size: int, line: int) -> int:
    if cell == BLANK:
        return 0
    if len(cell) == 1 and "1" <= cell <= str(size):
        return int(cell)
    raise ValueError(f"line {line}: symbol {cell[:20]!r}, must be {BLANK!r} or 1 to {size}")


def parse_row(text: str) -> dict[str, NDArray[Any]]:
    """`codes` int8 [N, N] of one line.

    Raises:
        ValueError: names what cannot be read.
    """
    lines = [line.split() for line in text.removeprefix("| ").split(" | ")]
    size = len(lines)
    # exactly as it would be written, spaces included
    if not text.startswith("| ") or size not in RULES or text != _joined(lines):
        raise ValueError(f"line 1: {text[:100]!r}, must be '| ' before each of 4 or 9 rows, as in '| . 1 | 2 .'")
    for number, line in enumerate(lines, 1):
        if len(line) != size:
            raise ValueError(f"line 1: row {number} has {len(line)} cells, must be {size}")
    return {"codes": np.array([[_value(cell, size, 1) for cell in line] for line in lines], np.int8)}


def _joined(lines: list[list[str]]) -> str:
    return " ".join(" ".join(["|", *line]) for line in lines)


def parse_sentence(text: str) -> dict[str, NDArray[Any]]:
    """`codes` int8 [N, N] of one line and its blank cells, which must agree.

    Raises:
        ValueError: names what cannot be read, or the sentence that should stand there.
    """
    line, _, sentence = text.partition("\n")
    found = parse_row(line)
    expected = _blanks(found["codes"].tolist())
    if sentence != expected:
        raise ValueError(f"line 2: {sentence[:200]!r}, must be {expected!r}")
    return found


def write_compact(state: State, rows: Sequence[int], seat: int | None = None) -> list[str]:
    """One word per cell, row by row."""
    codes = on_host(state.codes)[np.asarray(rows, np.int64)]
    return [
        " ".join(str(value) if value else BLANK for value in cells) for cells in codes.reshape(len(codes), -1).tolist()
    ]


def parse_compact(text: str) -> dict[str, NDArray[Any]]:
    """`codes` int8 [N, N] of one word per cell.

    Raises:
        ValueError: names what cannot be read.
    """
    cells = text.split(" ")
    size = math.isqrt(len(cells))
    if size not in RULES or size * size != len(cells):
        raise ValueError(f"line 1: got {len(cells)} words, must be 16 or 81, one per cell")
    return {"codes": np.array([_value(cell, size, 1) for cell in cells], np.int8).reshape(size, size)}


STYLES: dict[str, tuple[Callable[[State, Sequence[int], int | None], list[str]], Callable[[str], dict[str, Any]]]] = {
    "grid": (write_grid, parse_grid),
    "row": (write_row, parse_row),
    "sentence": (write_sentence, parse_sentence),
    "compact": (write_compact, parse_compact),
}
"""Writer and parser of each style."""


def render_text(state: State, i: int, style: str = "grid") -> str:
    """Game `i` in a style of `STYLES`."""
    return STYLES[style][0](state, [i], None)[0]


def parse_text(text: str, style: str = "grid") -> dict[str, NDArray[Any]]:
    """`codes` int8 [N, N] of a text.

    Raises:
        ValueError: names what cannot be read.
    """
    return STYLES[style][1](text)


def action_name(size: int, action: int) -> str:
    """An action as "row,column,value", counted from 1."""
    cell, value = divmod(action, size)
    return f"{cell // size + 1},{cell % size + 1},{value + 1}"


_NUMBERS = re.compile(r"(\d{1,3})(?:\s*,\s*|\s+)(\d{1,3})(?:\s*,\s*|\s+)(\d{1,3})", re.ASCII)
_WORDS = re.compile(
    r"place\s+(\d{1,3})\s+(?:at|in)\s+row\s+(\d{1,3}),?\s+col(?:umn)?\s+(\d{1,3})", re.ASCII | re.IGNORECASE
)


def decode(size: int, text: str) -> Decoded:
    """The placement of "row,col,value", "row col value" or "place v at row r col c"."""
    wanted = text.strip()
    if len(wanted) > 100:
        return Decoded(None, f"a placement is short, such as '1,2,{size}' (row, column, value)")
    if numbers := _NUMBERS.fullmatch(wanted):
        row, column, value = (int(number) for number in numbers.groups())
    elif numbers := _WORDS.fullmatch(wanted):
        value, row, column = (int(number) for number in numbers.groups())
    else:
        return Decoded(None, f"{wanted!r} is no placement; write row,column,value, such as '1,2,{size}'")
    for name, number in (("row", row), ("column", column), ("value", value)):
        if not 1 <= number <= size:
            return Decoded(None, f"{wanted!r}: {name} {number} is outside 1 to {size}")
    return Decoded(((row - 1) * size + column - 1) * size + value - 1)


def codec(size: int) -> TextCodec:
    """Sudoku for language models."""
    box = math.isqrt(size)
    return TextCodec(
        instruction=(
            f"You are solving a Sudoku of {size} x {size} cells. Fill the blank cells so that every row, every column and every "
            f"box of {box} x {box} cells has each of the numbers 1 to {size} once.\n"
            "An action places one number, written as row,column,value; rows and columns count from 1 at the top left. "
            f"For example, 2,1,{size} places {size} in row 2, column 1. "
            "A number is refused in a given cell, and where its row, column or box already has it. "
            "Numbers that you placed can be replaced. The puzzle is solved when every cell is filled."
        ),
        encode=lambda state, i, seat: write_grid(state, [i])[0],
        decode=partial(decode, size),
        symbols={BLANK: "blank cell"},
        styles={name: write for name, (write, _) in STYLES.items()},
        parsers={name: parse for name, (_, parse) in STYLES.items()},
        example=partial(_example, size),
    )


@dataclass(frozen=True)
class _Still:
    """The part of a state that is written."""

    codes: NDArray[np.int8]


def _example(size: int, style: str) -> WorkedExample:
    box = math.isqrt(size)
    before = np.array([[(r * box + r // box + c) % size + 1 for c in range(size)] for r in range(size)], np.int8)
    after = before.copy()
    last = int(before[1, 1])
    before[0, 0] = before[1, 1] = 0

    def shown(codes: NDArray[np.int8]) -> str:
        return STYLES[style][0](_Still(codes[None]), [0], None)[0]

    thought = (
        f"Row 1 lacks only 1, which goes to row 1, column 1. Row 2 lacks only {last}, which goes to row 2, column 2."
    )
    return WorkedExample(shown(before), thought, ("1,1,1", f"2,2,{last}"), shown(after))
