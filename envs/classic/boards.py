"""Boards of squares on which two seats place marks: text, SVG and words for language models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from numpy.typing import NDArray

from ludory.envs.parts import Look, State
from ludory.envs.pictures import as_wanted, at, clickable, pad, paint, svg_document, words
from ludory.envs.text_codec import TextCodec, decoder_of_names

NOBODY = -1
"""`state.winner` of a game that nobody has won."""
SQUARE, MARGIN, HEADER, LEAST_WIDTH = 64, 20, 52, 360
GROUND, PAPER, LINE, TEXT, FRAME = "#22303c", "#f6f3ea", "#8d8a7f", "#f4f2e8", "#2f5d8a"
COLORS = ("#d1495b", "#edae49")
"""Of the marks of seat 0 and seat 1."""
TERMINAL_COLORS = ("1;91", "1;93")


@dataclass(frozen=True, slots=True)
class SquareBoard:
    """How a board game is drawn and described."""

    title: str
    rows: int
    columns: int
    marks: str
    """The mark of seat 0 and that of seat 1, one letter each."""
    action_names: tuple[str, ...]
    instruction: str
    """The rules, for a language model."""
    cells: Callable[[State, int], NDArray]  # type: ignore[type-arg]  # integers of any size
    """`cells(state, i)`: (rows * columns,), from the top left; 0 empty, else 1 + the seat whose mark it is."""
    cell_of_last: Callable[[State, int], int]
    """`cell_of_last(state, i)`: the cell that was marked last, -1 before the first move."""
    discs: bool = False
    """Whether marks are drawn as discs in a frame."""

    def last_move(self, state: State, i: int) -> str:
        """The last move in words; "" before the first."""
        action = int(state.last[i])
        return f"seat {1 - int(state.to_move[i])}: {self.action_names[action]}" if action >= 0 else ""

    def situation(self, state: State, i: int) -> str:
        """Who is to move, or who won."""
        if not state.terminated[i]:
            seat = int(state.to_move[i])
            return f"seat {seat} ({self.marks[seat]}) is to move"
        winner = int(state.winner[i])
        return "the game is over: draw" if winner == NOBODY else f"the game is over: seat {winner} wins"


def _rows(board: SquareBoard, state: State, i: int) -> list[list[int]]:
    cells: list[list[int]] = board.cells(state, i).reshape(board.rows, board.columns).tolist()
    return cells


def _labels(board: SquareBoard) -> tuple[list[str], list[str]]:
    """Names of the columns, and of the rows if actions name them."""
    if board.discs:
        return [str(column + 1) for column in range(board.columns)], [" "] * board.rows
    return list("abcdefghi"[: board.columns]), [str(row + 1) for row in range(board.rows)]


def draw_text(board: SquareBoard, state: State, i: int, seat: int | None) -> str:
    """Game `i` as coloured text; without colours if NO_COLOR is set."""
    letters = [".", *(paint(mark, color) for mark, color in zip(board.marks, TERMINAL_COLORS, strict=True))]
    across, down = _labels(board)
    lines = [
        f"{name} {' '.join(letters[cell] for cell in row)}"
        for name, row in zip(down, _rows(board, state, i), strict=True)
    ]
    return as_wanted("\n".join([*lines, f"  {' '.join(across)}", board.situation(state, i)]))


def draw_svg(board: SquareBoard, state: State, i: int, seat: int | None) -> str:
    """Game `i` as one SVG document; the last mark has a ring."""
    width = max(board.columns * SQUARE + 2 * MARGIN + 20, LEAST_WIDTH)
    left, height = (width - board.columns * SQUARE) / 2, HEADER + board.rows * SQUARE + 2 * MARGIN
    across, down = _labels(board)
    ground = f'<rect width="{board.columns * SQUARE}" height="{board.rows * SQUARE}" rx="6" fill="{FRAME if board.discs else PAPER}"/>'
    said = board.situation(state, i)
    lines = [words(MARGIN, 33, said[0].upper() + said[1:], 17, TEXT, 600), at(left, HEADER, ground)]
    last = board.cell_of_last(state, i)
    for row, cells in enumerate(_rows(board, state, i)):
        for column, cell in enumerate(cells):
            marks = _disc(cell) if board.discs else _drawn_mark(cell)
            ring = _ring(board) if row * board.columns + column == last else ""
            action = column if board.discs else row * board.columns + column
            place = clickable([action], pad(f'rect width="{SQUARE}" height="{SQUARE}"'), marks, ring)
            lines.append(at(left + column * SQUARE, HEADER + row * SQUARE, place))
    bottom = HEADER + board.rows * SQUARE + 24
    lines += [
        words(left + (column + 0.5) * SQUARE, bottom, name, 14, TEXT, anchor="middle")
        for column, name in enumerate(across)
    ]
    lines += [
        words(left - 12, HEADER + (row + 0.5) * SQUARE + 5, name, 14, TEXT, anchor="middle")
        for row, name in enumerate(down)
        if name.strip()
    ]
    return svg_document(width, height, board.title, "", GROUND, lines)


def _disc(cell: int) -> str:
    fill = COLORS[cell - 1] if cell else GROUND
    return f'<circle cx="{SQUARE / 2:g}" cy="{SQUARE / 2:g}" r="25" fill="{fill}"/>'


def _drawn_mark(cell: int) -> str:
    square = f'<rect width="{SQUARE}" height="{SQUARE}" fill="none" stroke="{LINE}"/>'
    if cell == 1:
        return (
            square
            + f'<path d="M18 18L46 46M46 18L18 46" stroke="{COLORS[0]}" stroke-width="7" stroke-linecap="round"/>'
        )
    if cell == 2:
        return square + f'<circle cx="32" cy="32" r="15" fill="none" stroke="{COLORS[1]}" stroke-width="7"/>'
    return square


def _ring(board: SquareBoard) -> str:
    if board.discs:
        return '<circle cx="32" cy="32" r="14" fill="none" stroke="#ffffff" stroke-width="3"/>'
    return f'<rect x="3" y="3" width="58" height="58" rx="6" fill="none" stroke="{FRAME}" stroke-width="3"/>'


def board_look(board: SquareBoard) -> Look:
    """The game for people."""
    return Look(
        action_name=lambda head, action: board.action_names[action],
        text=partial(draw_text, board),
        svg=partial(draw_svg, board),
        last_move=board.last_move,
    )


def board_codec(board: SquareBoard) -> TextCodec:
    """The game in words."""
    return TextCodec(
        instruction=board.instruction,
        encode=lambda state, i, seat: _write(board, state, i, seat),
        decode=decoder_of_names(lambda head, action: board.action_names[action], len(board.action_names)),
        symbols={".": "empty", board.marks[0]: "seat 0", board.marks[1]: "seat 1"},
        action_names=board.action_names,
    )


def _write(board: SquareBoard, state: State, i: int, seat: int | None) -> str:
    across, down = _labels(board)
    letters = "." + board.marks
    rows = _rows(board, state, i)
    lines = [f"{name} {' '.join(letters[cell] for cell in row)}" for name, row in zip(down, rows, strict=True)]
    lines = [*lines, f"  {' '.join(across)}"]
    if seat is not None:
        lines.append(f"You are seat {seat} ({board.marks[seat]}).")
    said = board.situation(state, i)
    if seat is None or state.terminated[i] or int(state.to_move[i]) != seat:
        return "\n".join([*lines, f"{said[0].upper()}{said[1:]}."])
    free = [name for name, open_ in zip(board.action_names, _open(board, rows), strict=True) if open_]
    return "\n".join([*lines, f"It is your turn. You may: {', '.join(free)}."])


def _open(board: SquareBoard, rows: list[list[int]]) -> list[bool]:
    """The legal actions: columns with a free place, or empty squares."""
    return [cell == 0 for cell in rows[0]] if board.discs else [cell == 0 for row in rows for cell in row]
