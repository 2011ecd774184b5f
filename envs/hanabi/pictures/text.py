"""Hanabi in the terminal, at most 80 columns wide; every colour is also a letter."""

from __future__ import annotations

from collections.abc import Iterable

from ludory.envs import State
from ludory.envs.hanabi.sight import LETTERS, HanabiSight, SeenCard, look
from ludory.envs.hanabi.variants import HanabiOptions
from ludory.envs.pictures import as_wanted, paint

CHIPS = ("1;97;41", "30;103", "30;42", "30;107", "1;97;44")
INKS = ("91", "93", "92", "1", "94")
STRONG, FAINT = "1", "2"
LABEL, COLUMN, SLOTS = 13, 13, 5
"""Widths of the label and of a slot, and slots side by side; a larger hand continues below. Text is indented by one column, as in a chip."""


def draw_text(options: HanabiOptions, state: State, i: int, seat: int | None) -> str:
    """Game `i` as `seat` sees it; None: all cards are face up. Without colours if NO_COLOR is set."""
    sight = look(options, state, i, seat)
    return as_wanted("\n".join([*_board(options, sight), *_hands(options, sight)]))


def _board(options: HanabiOptions, sight: HanabiSight) -> list[str]:
    deck = f"deck {sight.deck}" + ("" if sight.turns_left is None else f", moves left {sight.turns_left}")
    counters = [
        paint("Hanabi", STRONG),
        f"move {sight.turn}",
        f"score {sight.score}/{options.colors * options.ranks}",
        f"hints {sight.tokens}/{options.max_information_tokens}",
        f"lives {sight.lives}/{options.max_life_tokens}",
        deck,
    ]
    stacks = (_chip(color, str(height) if height else "-") for color, height in enumerate(sight.fireworks))
    return [
        "   ".join(counters),
        _labelled("stacks", " ".join(stacks)),
        _labelled("discards", " " + "  ".join(_discards(color, counts) for color, counts in enumerate(sight.discards))),
        _labelled("last move", f" {sight.last or 'none yet'}"),
        *([_labelled("game over", f" {sight.end}, score {sight.score}")] if sight.end else []),
    ]


def _labelled(label: str, text: str) -> str:
    return f"{label:<{LABEL}}{text}"


def _chip(color: int, text: str) -> str:
    return paint(f" {LETTERS[color]}{text} ", CHIPS[color])


def _discards(color: int, counts: Iterable[int]) -> str:
    ranks = "".join(str(rank + 1) * count for rank, count in enumerate(counts))
    return paint(LETTERS[color], INKS[color]) + (f" {ranks}" if ranks else paint(" -", FAINT))


def _hands(options: HanabiOptions, sight: HanabiSight) -> list[str]:
    lines: list[str] = []
    for first in range(0, options.hand_size, SLOTS):
        slots = range(first, min(first + SLOTS, options.hand_size))
        lines += ["", " " * LABEL + "".join(f"{f' slot {slot + 1}':<{COLUMN}}" for slot in slots).rstrip()]
        for holder, hand in enumerate(sight.hands):
            lines += [""] if holder else []
            lines += _hand_lines(sight, options.players, holder, hand[first : first + SLOTS])
    return lines


def _hand_lines(sight: HanabiSight, players: int, holder: int, cards: tuple[SeenCard, ...]) -> list[str]:
    marker = ">" if sight.to_move == holder else " "
    distance = "" if sight.seat is None else " you" if sight.seat == holder else f" +{(holder - sight.seat) % players}"
    name = f"{marker} seat {holder}{distance}"
    told = [(f" {_told(card)}", 3) for card in cards]
    may_be = _row("  may be", [(f" {_may_be(card)}", len(card.colors) + 2 + len(card.ranks)) for card in cards])
    if sight.seat == holder:
        return [_row(name, told), may_be]
    return [_row(name, [(_face(card), 4) for card in cards]), _row("  told", told), may_be]


def _row(label: str, cells: list[tuple[str, int]]) -> str:
    """A label and cells of (text, its width on the screen)."""
    padded = [text + " " * (COLUMN - width) for text, width in cells]
    return (paint(f"{label:<{LABEL}}", STRONG) if label.startswith(">") else f"{label:<{LABEL}}") + "".join(
        padded
    ).rstrip()


def _face(card: SeenCard) -> str:
    assert card.card is not None, "only the own hand is face down, and its row shows what was told"
    color, rank = card.card
    return _chip(color, str(rank + 1))


def _told(card: SeenCard) -> str:
    color = paint("?", FAINT) if card.told_color is None else paint(LETTERS[card.told_color], INKS[card.told_color])
    return color + (paint("?", FAINT) if card.told_rank is None else paint(str(card.told_rank + 1), STRONG))


def _may_be(card: SeenCard) -> str:
    colors = [paint(LETTERS[c], INKS[c]) if plausible else paint(".", FAINT) for c, plausible in enumerate(card.colors)]
    ranks = [str(rank + 1) if plausible else paint(".", FAINT) for rank, plausible in enumerate(card.ranks)]
    return "".join(colors) + " " + "".join(ranks)
