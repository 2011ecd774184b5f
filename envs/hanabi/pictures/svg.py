"""Hanabi as one self-contained SVG document; every colour has a shape and a letter, so it is readable in monochrome."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from ludory.envs import State
from ludory.envs.hanabi.sight import LETTERS, HanabiSight, look
from ludory.envs.hanabi.variants import HanabiOptions
from ludory.envs.pictures import svg_document, words

from .board import BOARD_HEIGHT, board, board_width, burst
from .hands import hand_panel, panel_size
from .marks import FAINT, GOLD, NIGHT, SYMBOLS, TEXT, group

MARGIN, HEADER, FOOTER = 18, 46, 46
MOST_WIDTH = 1020
"""Hands are side by side up to this width."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions in pixels: header, board, hands in a grid, footer."""

    width: int
    height: int
    hands: tuple[tuple[float, float], ...]


def draw_svg(options: HanabiOptions, state: State, i: int, seat: int | None) -> str:
    """Game `i` as `seat` sees it; None: all cards are face up."""
    sight, layout = look(options, state, i, seat), _layout(options)
    width, height = layout.width, layout.height
    symbols = "".join(f'<path id="hanabi-{LETTERS[c]}" d="{SYMBOLS[c].path}"/>' for c in range(options.colors))
    lines = [
        words(
            MARGIN, 31, f'Hanabi<tspan dx="12" {_aside(FAINT)}>move {sight.turn}</tspan>{_end(sight)}', 20, TEXT, 700
        ),
        words(width - MARGIN, 31, f"score {sight.score} / {options.colors * options.ranks}", 18, GOLD, 700, "end"),
        *group(MARGIN, HEADER, board(options, sight, width - 2 * MARGIN)),
        *chain.from_iterable(
            group(*place, hand_panel(options, sight, holder)) for holder, place in enumerate(layout.hands)
        ),
        words(MARGIN, height - 18, sight.last or "no move yet", 15, TEXT),
    ]
    return svg_document(width, height, _title(options, sight), symbols + burst(), NIGHT, lines)


def _layout(options: HanabiOptions) -> Layout:
    panel_width, panel_height = panel_size(options)
    step_x, step_y = panel_width + MARGIN, panel_height + MARGIN
    rows = -(-options.players // ((MOST_WIDTH - MARGIN) // step_x))
    columns = -(-options.players // rows)
    width = max(board_width(options) + 2 * MARGIN, columns * step_x + MARGIN)
    top, hands = HEADER + BOARD_HEIGHT + MARGIN, []
    for seat in range(options.players):
        row, column = divmod(seat, columns)
        in_row = min(columns, options.players - row * columns)
        left = (width - in_row * step_x + MARGIN) / 2
        hands.append((left + column * step_x, float(top + row * step_y)))
    return Layout(width, top + rows * step_y - MARGIN + FOOTER, tuple(hands))


def _aside(fill: str) -> str:
    return f'font-size="15" font-weight="400" fill="{fill}"'


def _end(sight: HanabiSight) -> str:
    return sight.end and f'<tspan dx="12" {_aside(GOLD)}>{sight.end}</tspan>'


def _title(options: HanabiOptions, sight: HanabiSight) -> str:
    view = "all cards face up" if sight.seat is None else f"as seat {sight.seat} sees it"
    return f"Hanabi for {options.players}, move {sight.turn}, score {sight.score}, {view}"
