"""Go on 9 x 9 points, with area scoring: the game, and its board for people and language models. Seat 0 has black.

Point = size * row + column, from the top left; the last action is the pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine.protocol import on_host
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.options import check_range
from ludory.envs.parts import Analysis, Kernels, Look, Rules, State, Symmetry
from ludory.envs.pictures import as_wanted, at, clickable, labelled_pad, pad, paint, svg_document, words
from ludory.envs.text_codec import TextCodec, decoder_of_names
from ludory.errors import OptionError

from .boards import GROUND, MARGIN, NOBODY, SQUARE, TERMINAL_COLORS, TEXT
from .go_rules import LARGEST, PLANES, consistent, fields, legal, longest_game, observe, points_of, reset, step

LETTERS = "ABCDEFGHJ"
"""Names of columns: Go has no I."""
MARKS, COLORS = "XO", ("black", "white")
WOOD, EDGE, LINE = "#dcb468", "#a9823f", "#4a3820"
STONES = ("#1b1b1e", "#f6f3ec")
SHINE = (
    '<radialGradient id="go-black" cx="0.36" cy="0.32" r="0.75"><stop offset="0" stop-color="#6b6b74"/>'
    '<stop offset="1" stop-color="#08080a"/></radialGradient>'
    '<radialGradient id="go-white" cx="0.36" cy="0.32" r="0.8"><stop offset="0.2" stop-color="#ffffff"/>'
    '<stop offset="1" stop-color="#c3beb1"/></radialGradient>'
)
HEADER, FOOTER = 56, 60


@dataclass(frozen=True, slots=True)
class GoBoard:
    """How a board of `size` x `size` points is named, drawn and described."""

    size: int
    komi: float

    @property
    def passing(self) -> int:
        """The action that is a pass."""
        return self.size * self.size

    def action_name(self, head: int, action: int) -> str:
        """A point as "D4", columns from the left and rows from below, or "pass"."""
        row, column = divmod(action, self.size)
        return "pass" if action == self.passing else f"{LETTERS[column]}{self.size - row}"

    def cells(self, state: State, i: int) -> NDArray[np.int64]:
        """(size, size), rows from the top: 0 empty, 1 black, 2 white."""
        black, white = points_of(on_host(state.stones[i])[0], self.size).astype(np.int64)
        cells: NDArray[np.int64] = black + 2 * white
        return cells

    def last_move(self, state: State, i: int) -> str:
        """The last move in words; "" before the first."""
        action = int(state.last[i])
        return f"seat {1 - int(state.to_move[i])}: {self.action_name(0, action)}" if action >= 0 else ""

    def margin(self, state: State, i: int) -> float:
        """Of a game that is over: points by which black is ahead, with komi."""
        black, white = points_of(on_host(state.owned[i]), self.size).sum(axis=(1, 2)).tolist()
        return float(black - white - self.komi)

    def info(self, state: State, i: int) -> dict[str, Any]:
        """Number of moves, and the margin of seat 0, 0 until the game is over."""
        return {"moves": int(state.moves[i]), "margin": self.margin(state, i) if state.terminated[i] else 0.0}

    def situation(self, state: State, i: int) -> str:
        """Who is to move and whether the other seat passed, or who won by how much."""
        if state.terminated[i]:
            winner = int(state.winner[i])
            if winner == NOBODY:
                return "the game is over: draw"
            return f"the game is over: seat {winner} ({COLORS[winner]}) wins by {abs(self.margin(state, i)):g}"
        seat, passed = int(state.to_move[i]), int(state.passed[i])
        after = f", {COLORS[1 - seat]} passed" if passed else ""
        return f"seat {seat} ({COLORS[seat]}) is to move{after}"

    def draw_text(self, state: State, i: int, seat: int | None) -> str:
        """Game `i` as coloured text; without colours if NO_COLOR is set. A + is an empty star point."""
        stones = [paint(mark, color) for mark, color in zip(MARKS, TERMINAL_COLORS, strict=True)]
        stars = self._stars()
        rows = [
            [stones[cell - 1] if cell else ".+"[(row, column) in stars] for column, cell in enumerate(cells)]
            for row, cells in enumerate(self.cells(state, i).tolist())
        ]
        last = self.last_move(state, i)
        return as_wanted(
            "\n".join([*self._lines(rows), self.situation(state, i), *([f"last move: {last}"] if last else [])])
        )

    def _lines(self, rows: list[list[str]]) -> list[str]:
        """Rows of symbols between the names of rows and columns."""
        lines = [f"{self.size - row} {' '.join(cells)}" for row, cells in enumerate(rows)]
        return [*lines, f"  {' '.join(LETTERS[: self.size])}"]

    def _stars(self) -> set[tuple[int, int]]:
        """The dots of a board: the middle, and four points nearer to the corners."""
        middle, edge = self.size // 2, 2
        around = (edge, self.size - 1 - edge) if self.size >= 7 else ()
        return {(row, column) for row in around for column in around} | (
            {(middle, middle)} if self.size % 2 and self.size > 3 else set()
        )

    def codec(self) -> TextCodec:
        """The game in words."""
        corner, size, komi = f"{LETTERS[self.size - 1]}{self.size}", self.size, f"{self.komi:g}"
        instruction = (
            f"You are playing Go on a board of {size} x {size} points. Seat 0 has the black stones, X, and moves first; seat 1 has "
            "the white stones, O. On your turn, place a stone on an empty point or pass. Stones of one colour that are connected "
            "along the lines are a chain; a chain without an empty point beside it is captured and taken off the board. A stone "
            "may not be placed where its own chain would be captured at once, nor where the board would look as it did after "
            f"an earlier move. The game ends after two passes in a row, at the latest after {2 * size * size} moves. All stones on "
            "the board count as alive then: capture dead ones before you pass. Whoever has more points wins: a point for every "
            "stone on the board and for every empty point that is surrounded by stones of that colour only. Seat 1 gets "
            f"{komi} points more.\n"
            f"A point is named by its column, from the left {', '.join(LETTERS[:size])}, and its row, 1 to {size} from "
            f'below: "{corner}" is the top right corner. Answer with the name of a point, or "pass".'
        )
        return TextCodec(
            instruction=instruction,
            encode=self._write,
            decode=decoder_of_names(self.action_name, self.passing + 1),
            symbols={".": "empty", "X": "black stone, seat 0", "O": "white stone, seat 1"},
        )

    def _write(self, state: State, i: int, seat: int | None) -> str:
        symbols = "." + MARKS
        lines = self._lines([[symbols[cell] for cell in row] for row in self.cells(state, i).tolist()])
        if last := self.last_move(state, i):
            lines.append(f"Last move: {last}.")
        if seat is not None:
            lines.append(f"You are seat {seat} ({COLORS[seat]}, {MARKS[seat]}).")
        if seat is None or state.terminated[i] or int(state.to_move[i]) != seat:
            said = self.situation(state, i)
            return "\n".join([*lines, f"{said[0].upper()}{said[1:]}."])
        free = np.flatnonzero(points_of(on_host(state.open[i]), self.size).ravel())
        names = [self.action_name(0, action) for action in (*free.tolist(), self.passing)]
        return "\n".join([*lines, f"It is your turn. You may: {', '.join(names)}."])

    def draw_svg(self, state: State, i: int, seat: int | None) -> str:
        """Game `i` as one SVG document: the last stone has a ring; at the end small squares mark the areas."""
        side = self.size * SQUARE
        width, height = max(side + 2 * MARGIN + 20, 360), HEADER + side + FOOTER
        left, said = (width - side) / 2, self.situation(state, i)
        lines = [words(MARGIN, 35, said[0].upper() + said[1:], 17, TEXT, 600), at(left, HEADER, self._grid())]
        cells, last = self.cells(state, i), int(state.last[i])
        owned = points_of(on_host(state.owned[i]), self.size)
        for row, column in np.ndindex(self.size, self.size):
            action, cell = row * self.size + column, int(cells[row, column])
            marks = _stone(cell, action == last) if cell else _area(owned[0, row, column], owned[1, row, column])
            place = clickable([action], pad(f'rect width="{SQUARE}" height="{SQUARE}"'), marks)
            lines.append(at(left + column * SQUARE, HEADER + row * SQUARE, place))
        for k in range(self.size):
            middle = (k + 0.5) * SQUARE
            lines.append(words(left + middle, HEADER + side + 22, LETTERS[k], 14, TEXT, anchor="middle"))
            lines.append(words(left - 14, HEADER + middle + 5, f"{self.size - k}", 14, TEXT, anchor="middle"))
        lines.append(labelled_pad([self.passing], left + side - 96, HEADER + side + 28, 96, 26, "pass"))
        return svg_document(width, height, "Go", SHINE, GROUND, lines)

    def _grid(self) -> str:
        """The wood with its lines and dots."""
        side, half = self.size * SQUARE, SQUARE / 2
        paths = "".join(
            f"M{half:g} {at_:g}H{side - half:g}M{at_:g} {half:g}V{side - half:g}"
            for at_ in ((k + 0.5) * SQUARE for k in range(self.size))
        )
        dots = "".join(
            f'<circle cx="{(column + 0.5) * SQUARE:g}" cy="{(row + 0.5) * SQUARE:g}" r="4.5" fill="{LINE}"/>'
            for row, column in sorted(self._stars())
        )
        wood = f'<rect width="{side}" height="{side}" rx="4" fill="{WOOD}" stroke="{EDGE}" stroke-width="2"/>'
        return f'{wood}<path d="{paths}" stroke="{LINE}" stroke-width="1.5" stroke-linecap="square" fill="none"/>{dots}'


def _stone(cell: int, is_last: bool) -> str:
    name, other = ("black", STONES[1]) if cell == 1 else ("white", STONES[0])
    half = SQUARE / 2
    ring = f'<circle cx="{half:g}" cy="{half:g}" r="13" fill="none" stroke="{other}" stroke-width="3"/>'
    shadow = f'<circle cx="{half + 1.5:g}" cy="{half + 2.5:g}" r="30" fill="#000000" fill-opacity="0.28"/>'
    return f'{shadow}<circle cx="{half:g}" cy="{half:g}" r="30" fill="url(#go-{name})"/>{ring if is_last else ""}'


def _area(black: bool, white: bool) -> str:
    if not black and not white:
        return ""
    return f'<rect x="24" y="24" width="16" height="16" rx="2" fill="{STONES[0 if black else 1]}"/>'


SMALLEST, MOST = 2, LARGEST * LARGEST


def draw_symmetry(size: int, generator: np.random.Generator) -> Symmetry:
    """One of the eight rotations and reflections of the board; the pass stays what it is."""
    board = np.rot90(np.arange(size * size).reshape(size, size), int(generator.integers(4)))
    points = (board.T if generator.integers(2) else board).ravel()
    planes = np.arange(len(PLANES))[:, None] * size * size + points
    return Symmetry(planes.ravel(), np.append(np.argsort(points), size * size))


def make_game(size: int = 9, komi: float = 7) -> Game:
    """Make Go.

    Args:
        size: rows and columns of the board, 2 to 9.
        komi: points that seat 1 gets for moving second, a multiple of 0.5. With a whole number a game may be a draw.

    Raises:
        OptionError: a value is not allowed.
    """
    check_range("size", size, SMALLEST, LARGEST)
    points = size * size
    number = isinstance(komi, int | float) and not isinstance(komi, bool)
    if not number or not -MOST <= komi <= MOST or 2 * komi != round(2 * komi):
        raise OptionError(f"komi={komi!r}: must be a multiple of 0.5 from -{MOST} to {MOST}, such as 7 or 6.5")
    facts = GameFacts(
        name=f"Go {size}x{size}",
        players=2,
        turns="sequential",
        reward="zero_sum",
        hidden_information=False,
        chance=False,
        heads=(Head("point", points + 1),),
        observation=ObservationSpec(
            "planes", (len(PLANES), size, size), "uint8", flat_segments(dict.fromkeys(PLANES, points))
        ),
        longest_game=longest_game(size),
        min_return=-1,
        max_return=1,
    )
    board = GoBoard(size, komi)
    return Game(
        facts,
        Rules(fields=fields(size, komi), kernels=Kernels(reset, step, legal, observe), consistent=consistent),
        look=Look(
            action_name=board.action_name,
            info=board.info,
            text=board.draw_text,
            svg=board.draw_svg,
            last_move=board.last_move,
        ),
        language=board.codec(),
        analysis=Analysis(symmetry=partial(draw_symmetry, size)),
    )
