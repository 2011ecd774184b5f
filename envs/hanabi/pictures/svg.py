"""Hanabi as one self-contained SVG document: symbols and cards, the board with its fireworks, and hands with what is known of them.

Every colour has a fill, an ink that is readable on it and a shape, so that no colour is told by hue alone. Hues after Okabe and Ito,
"Color Universal Design" (2008), which stay apart under the common kinds of colour blindness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ludory.envs import State
from ludory.envs.hanabi.sight import LETTERS, HanabiSight, SeenCard, look
from ludory.envs.hanabi.variants import HanabiOptions
from ludory.envs.pictures import at, svg_document, words

NIGHT, PANEL, LINE, TEXT, FAINT, GOLD = "#0d1630", "#19264a", "#48598a", "#eef2fd", "#a3b1d6", "#ffd166"
CARD_WIDTH, CARD_HEIGHT, PITCH = 62, 86, 74
DARK, LIGHT = "#101a30", "#ffffff"


class Symbol(NamedTuple):
    """How a colour is drawn; `path` is centred on 0, 0 and fits in a circle of radius 12."""

    fill: str
    ink: str
    path: str


SYMBOLS = (
    Symbol(
        "#d55e00", LIGHT, "M0 10C-4 6.500-11 2-11-4A5.600 5.600 0 0 1 0-6A5.600 5.600 0 0 1 11-4C11 2 4 6.500 0 10Z"
    ),
    Symbol(
        "#f0e442",
        DARK,
        "M0-11.500L3-4L11-3.500L4.800 1.700L6.800 9.500L0 5.200L-6.800 9.500L-4.800 1.700L-11-3.500L-3-4Z",
    ),
    Symbol(
        "#009e73",
        DARK,
        "M-1.300 2.500A5 5 0 1 1-4.600-3.600A5 5 0 1 1 4.600-3.600A5 5 0 1 1 1.300 2.500Q1.600 7.500 4.500 10.500H-4.500Q-1.600 7.500-1.300 2.500Z",
    ),
    Symbol("#ffffff", DARK, "M4-10A10.500 10.500 0 1 0 4 10A8.500 10 0 0 1 4-10Z"),
    Symbol("#3f8fd8", DARK, "M0-11.500C4-5 8-1 8 4A8 7.500 0 0 1-8 4C-8-1-4-5 0-11.500Z"),
)
"""Red heart, yellow star, green clover, white moon, blue drop."""


def shape(color: int, x: float, y: float, radius: float, fill: str, extra: str = "") -> str:
    """The symbol of a colour around (x, y)."""
    place = f'transform="translate({x:g} {y:g}) scale({radius / 12:.3g})"'
    return f'<use href="#hanabi-{LETTERS[color]}" {place} fill="{fill}"{extra and " " + extra}/>'


def group(x: float, y: float, lines: Iterable[str]) -> list[str]:
    """Lines of the document drawn with their origin at (x, y)."""
    return [f'<g transform="translate({x:g} {y:g})">', *lines, "</g>"]


def frame(fill: str, stroke: str, extra: str = "") -> str:
    """The outline of a card."""
    size = f'width="{CARD_WIDTH}" height="{CARD_HEIGHT}" rx="8"'
    return f'<rect {size} fill="{fill}" stroke="{stroke}" stroke-width="1.5"{extra and " " + extra}/>'


def face(color: int, rank: int) -> str:
    """A card face up: rank, symbol and letter on its colour."""
    symbol = SYMBOLS[color]
    return (
        frame(symbol.fill, NIGHT)
        + words(8, 28, str(rank + 1), 26, symbol.ink, 800)
        + shape(color, CARD_WIDTH / 2 + 2, 51, 17, symbol.ink)
        + words(CARD_WIDTH - 7, CARD_HEIGHT - 8, LETTERS[color], 12, symbol.ink, 700, "end")
    )


def back(color: int | None, rank: int | None) -> str:
    """A card face down with what hints told of it."""
    size = f'width="{CARD_WIDTH - 10}" height="{CARD_HEIGHT - 10}"'
    marks = [
        frame("#2a3b68", "#8fa3d4"),
        f'<rect x="5" y="5" {size} rx="5" fill="none" stroke="#5f74ab" stroke-dasharray="3 3"/>',
    ]
    if color is None and rank is None:
        return "".join(marks) + words(CARD_WIDTH / 2, 55, "?", 32, FAINT, 700, "middle")
    marks.append(words(11, 30, "?" if rank is None else str(rank + 1), 22, FAINT if rank is None else TEXT, 800))
    if color is None:
        return "".join(marks) + words(CARD_WIDTH / 2 + 2, 64, "?", 30, FAINT, 700, "middle")
    marks.append(shape(color, CARD_WIDTH / 2 + 2, 51, 16, SYMBOLS[color].fill, f'stroke="{TEXT}" stroke-width=".9"'))
    marks.append(words(CARD_WIDTH - 11, CARD_HEIGHT - 11, LETTERS[color], 12, TEXT, 700, "end"))
    return "".join(marks)


BOARD_HEIGHT = 152
SKY = 54
"""Space above the stacks for their fireworks."""
COUNTERS_WIDTH, DISCARDS_LEFT = 176, 22
COPY_WIDTH, COPY_HEIGHT, COPY_GAP = 18, 24, 3
MOST_DOTS = 10
"""Counters with a larger maximum are written as a number only."""


def board_width(options: HanabiOptions) -> int:
    """Width of the board without margins."""
    return (
        options.colors * PITCH + COUNTERS_WIDTH + DISCARDS_LEFT + max(sum(options.copies) * COPY_WIDTH - COPY_GAP, 60)
    )


def board(options: HanabiOptions, sight: HanabiSight, width: int) -> list[str]:
    """Lines of the board, drawn from (0, 0); extra width beyond `board_width` is put around the counters."""
    left, spare = options.colors * PITCH, width - board_width(options)
    stacks = [_stack(options, color, height) for color, height in enumerate(sight.fireworks)]
    counters = _counters(options, sight, left + 8 + spare // 2)
    return [*stacks, *counters, *_discards(options, sight, left + COUNTERS_WIDTH + spare)]


def burst() -> str:
    """Definition of a firework of radius 1: rays of two lengths."""
    rays = "".join(f'<path d="M0-.4V-{1 - k % 2 * 0.25:g}" transform="rotate({30 * k})"/>' for k in range(12))
    return f'<g id="hanabi-burst" fill="none" stroke-width=".1" stroke-linecap="round">{rays}</g>'


def _stack(options: HanabiOptions, color: int, height: int) -> str:
    """The top card of a stack; the firework above it grows with its height."""
    if height == 0:
        empty = frame("none", LINE, 'stroke-dasharray="5 5"') + shape(color, CARD_WIDTH / 2, 45, 16, LINE)
        return at(color * PITCH, SKY, empty)
    place = f'transform="translate({CARD_WIDTH / 2:g} -27) scale({8 + 17 * height / options.ranks:.3g})"'
    firework = f'<use href="#hanabi-burst" {place} stroke="{SYMBOLS[color].fill}"/>'
    return at(color * PITCH, SKY, firework, face(color, height - 1))


def _counters(options: HanabiOptions, sight: HanabiSight, x: int) -> list[str]:
    deck = str(sight.deck) if sight.turns_left is None else f"{sight.deck}, moves left {sight.turns_left}"
    return [
        at(x, 30, *_counter("hints", sight.tokens, options.max_information_tokens, _disc)),
        at(x, 80, *_counter("lives", sight.lives, options.max_life_tokens, _diamond)),
        at(x, 130, words(0, 0, "deck", 14, FAINT), words(46, 0, deck, 16, TEXT, 700)),
    ]


def _counter(label: str, count: int, most: int, token: Callable[[int, str], str]) -> list[str]:
    marks = [words(0, 0, label, 14, FAINT), words(46, 0, f"{count} / {most}", 16, TEXT, 700)]
    if most <= MOST_DOTS:
        full, spent = f'fill="{GOLD}" stroke="{GOLD}"', f'fill="none" stroke="{LINE}"'
        marks += [token(6 + 16 * k, full if k < count else spent) for k in range(most)]
    return marks


def _disc(x: int, paint: str) -> str:
    return f'<circle cx="{x}" cy="17" r="5.5" {paint} stroke-width="1.5"/>'


def _diamond(x: int, paint: str) -> str:
    return f'<path d="M{x} 10l7 7l-7 7l-7-7Z" {paint} stroke-width="1.5"/>'


def _discards(options: HanabiOptions, sight: HanabiSight, x: int) -> list[str]:
    """A box for every copy of every card; boxes of discarded copies are filled."""
    rows = [
        at(x, 42 + color * COPY_HEIGHT, shape(color, 8, 9, 8, SYMBOLS[color].fill), *_copies(options, color, counts))
        for color, counts in enumerate(sight.discards)
    ]
    return [at(x, 30, words(0, 0, "discards", 14, FAINT)), *rows]


def _copies(options: HanabiOptions, color: int, counts: tuple[int, ...]) -> list[str]:
    marks, x = [], DISCARDS_LEFT
    for rank, count in enumerate(counts):
        for copy in range(options.copies[rank]):
            marks.append(_copy(x, color, rank, copy < count))
            x += COPY_WIDTH
    return marks


def _copy(x: int, color: int, rank: int, gone: bool) -> str:
    symbol = SYMBOLS[color]
    box = f'<rect x="{x}" width="{COPY_WIDTH - COPY_GAP}" height="19" rx="3" fill="{symbol.fill if gone else "none"}" stroke="{LINE}"/>'
    number = words(
        x + (COPY_WIDTH - COPY_GAP) / 2,
        14,
        str(rank + 1),
        13,
        symbol.ink if gone else LINE,
        700 if gone else 400,
        "middle",
    )
    return box + number


SLOTS = 5
"""Cards side by side; a larger hand continues below."""
PADDING, NAME_HEIGHT, LINE_HEIGHT = 16, 38, CARD_HEIGHT + 50
STEP = 12
"""Distance between the possible colours or ranks below a card."""


def panel_size(options: HanabiOptions) -> tuple[int, int]:
    """Width and height of one hand's panel."""
    across, lines = min(options.hand_size, SLOTS), -(-options.hand_size // SLOTS)
    return max((across - 1) * PITCH + CARD_WIDTH + 2 * PADDING, 214), NAME_HEIGHT + lines * LINE_HEIGHT


def hand_panel(options: HanabiOptions, sight: HanabiSight, holder: int) -> list[str]:
    """Lines of one seat's panel, drawn from (0, 0)."""
    width, height = panel_size(options)
    across = min(options.hand_size, SLOTS)
    left = (width - (across - 1) * PITCH - CARD_WIDTH) / 2
    mover = sight.to_move == holder
    border = f'stroke="{GOLD}" stroke-width="2.5"' if mover else f'stroke="{LINE}"'
    marks = [
        f'<rect width="{width}" height="{height}" rx="12" fill="{PANEL}" {border}/>',
        _name(sight, options, holder),
    ]
    if mover:
        marks.append(words(width - PADDING, 25, "to move", 14, GOLD, 700, "end"))
    places = [
        (left + slot % across * PITCH, NAME_HEIGHT + slot // across * LINE_HEIGHT) for slot in range(options.hand_size)
    ]
    cards = [
        group(*place, [f'<g data-action="{_actions(options, sight, holder, slot)}">', *_card(card), "</g>"])
        for slot, (card, place) in enumerate(zip(sight.hands[holder], places, strict=False))
    ]
    return ["".join(marks), *chain.from_iterable(cards)]


def _actions(options: HanabiOptions, sight: HanabiSight, holder: int, slot: int) -> str:
    """What a click on a card may mean: to play or discard one's own, to tell the colour or the rank of another's."""
    seat = sight.to_move if sight.seat is None else sight.seat
    hand, card = options.hand_size, sight.hands[holder][slot].card
    if holder == seat:
        return f"{hand + slot} {slot}"
    if seat is None or card is None:
        return ""
    offset, others = (holder - seat) % options.players - 1, options.players - 1
    color, rank = card
    first = 2 * hand
    return (
        f"{first + offset * options.colors + color} {first + others * options.colors + offset * options.ranks + rank}"
    )


def _name(sight: HanabiSight, options: HanabiOptions, holder: int) -> str:
    if sight.seat is None:
        return words(PADDING, 25, f"seat {holder}", 16, TEXT, 700)
    distance = (holder - sight.seat) % options.players
    aside = f'<tspan dx="8" font-weight="400" fill="{FAINT}">{f"+{distance}" if distance else "you"}</tspan>'
    return words(PADDING, 25, f"seat {holder}{aside}", 16, TEXT, 700)


def _card(card: SeenCard) -> list[str]:
    lines = [back(card.told_color, card.told_rank) if card.card is None else face(*card.card)]
    if card.touched:
        size = f'width="{CARD_WIDTH + 8}" height="{CARD_HEIGHT + 8}" rx="11"'
        lines.append(f'<rect x="-4" y="-4" {size} fill="none" stroke="{GOLD}" stroke-width="2.5"/>')
    lines.append(at(CARD_WIDTH / 2, CARD_HEIGHT + 15, *_open_colors(card)))
    lines.append(at(CARD_WIDTH / 2, CARD_HEIGHT + 34, *_open_ranks(card)))
    return lines


def _open_colors(card: SeenCard) -> Iterator[str]:
    for color, x in enumerate(_across(len(card.colors))):
        yield _told_mark(x) if color == card.told_color else ""
        yield shape(color, x, 0, 5.5, SYMBOLS[color].fill) if card.colors[color] else _ruled_out(x)


def _open_ranks(card: SeenCard) -> Iterator[str]:
    for rank, x in enumerate(_across(len(card.ranks))):
        yield _told_mark(x) if rank == card.told_rank else ""
        yield words(x, 4.5, str(rank + 1), 13, TEXT, 700, "middle") if card.ranks[rank] else _ruled_out(x)


def _across(count: int) -> list[float]:
    return [(k - (count - 1) / 2) * STEP for k in range(count)]


def _told_mark(x: float) -> str:
    """A ring around what a hint named, as opposed to what follows from hints."""
    return f'<circle cx="{x:g}" r="8.5" fill="none" stroke="{GOLD}" stroke-width="1.5"/>'


def _ruled_out(x: float) -> str:
    return f'<circle cx="{x:g}" r="1.5" fill="{LINE}"/>'


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
