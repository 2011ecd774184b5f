"""The hands in Hanabi's SVG picture: cards, and below each card what its holder knows from hints."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ludory.envs.hanabi.sight import HanabiSight, SeenCard
from ludory.envs.hanabi.variants import HanabiOptions
from ludory.envs.pictures import at, words

from .marks import CARD_HEIGHT, CARD_WIDTH, FAINT, GOLD, LINE, PANEL, PITCH, SYMBOLS, TEXT, back, face, group, shape

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
