"""The upper half of Hanabi's SVG picture: fireworks, counters, discards."""

from __future__ import annotations

from collections.abc import Callable

from ludory.envs.hanabi.sight import HanabiSight
from ludory.envs.hanabi.variants import HanabiOptions
from ludory.envs.pictures import at, words

from .marks import CARD_WIDTH, FAINT, GOLD, LINE, PITCH, SYMBOLS, TEXT, face, frame, shape

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
