"""A table of two poker players, one card each: text, SVG and words for language models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ludory.envs.parts import Look, State
from ludory.envs.pictures import as_wanted, at, labelled_pad, paint, svg_document, words
from ludory.envs.text_codec import TextCodec, decoder_of_names

NOBODY = -1
"""`state.winner` while the game goes on, and where the pot is shared."""
WIDTH, HEIGHT, CARD_WIDTH, CARD_HEIGHT = 420, 330, 62, 88
FELT, RIM, PAPER, BACK, INK, RED, TEXT, FAINT = (
    "#1f5d46",
    "#174736",
    "#fbfaf5",
    "#35598a",
    "#24231f",
    "#c0392b",
    "#f4f2e8",
    "#b8cfc4",
)


class PokerSight(NamedTuple):
    """What somebody sees of a game."""

    cards: tuple[str | None, ...]
    """Of seat 0 and seat 1, such as "K" or "K♠"; None: face down."""
    public: str | None
    """The public card; None: face down, or there is none."""
    rounds: tuple[tuple[int, ...], ...]
    """The actions of each round. Seat 0 begins every round."""
    paid: tuple[int, int]
    """Chips that each seat has put in."""
    to_move: int | None
    """The seat to move; None: the game is over."""
    legal: tuple[int, ...]
    """The legal actions of the seat to move."""
    winner: int | None
    """The seat that won, or NOBODY; None: the game goes on."""


class PokerTable(NamedTuple):
    """How a poker game is drawn and described."""

    title: str
    action_names: tuple[str, ...]
    has_public: bool
    look: Callable[[State, int, int | None], PokerSight]
    instruction: str


def last_move(table: PokerTable, state: State, i: int) -> str:
    """The last action, and who made it; "" before the first."""
    told = _told(table, table.look(state, i, None))
    return told[-1][-1] if told else ""


def _told(table: PokerTable, sight: PokerSight) -> list[list[str]]:
    """The moves in words, for each round that has some."""
    return [
        [f"seat {number % 2}: {table.action_names[move]}" for number, move in enumerate(moves)]
        for moves in sight.rounds
        if moves
    ]


def _situation(sight: PokerSight) -> str:
    if sight.winner is None:
        return f"Seat {sight.to_move} is to move"
    if sight.winner == NOBODY:
        return "The game is over: the pot is shared"
    return f"The game is over: seat {sight.winner} wins {_chips(min(sight.paid))}"


def _chips(count: int) -> str:
    return f"{count} chip{'' if count == 1 else 's'}"


def _lines(table: PokerTable, sight: PokerSight) -> list[str]:
    """Cards, chips and moves, a line each."""
    lines = [
        f"Seat {seat}: card {card or 'hidden'}, {_chips(sight.paid[seat])} in the pot."
        for seat, card in enumerate(sight.cards)
    ]
    if table.has_public:
        lines.append(f"Public card: {sight.public or 'not shown yet'}.")
    for number, moves in enumerate(_told(table, sight), 1):
        lines.append(f"{f'Round {number}' if table.has_public else 'Moves'}: {', '.join(moves)}.")
    return lines


def draw_text(table: PokerTable, state: State, i: int, seat: int | None) -> str:
    """Game `i` as `seat` sees it, coloured; without colours if NO_COLOR is set."""
    sight = table.look(state, i, seat)
    return as_wanted("\n".join([*_lines(table, sight), paint(_situation(sight), "1")]))


def poker_look(table: PokerTable, info: Callable[[State, int], dict[str, Any]]) -> Look:
    """The game for people."""
    return Look(
        action_name=lambda head, action: table.action_names[action],
        info=info,
        text=partial(draw_text, table),
        svg=partial(draw_svg, table),
        last_move=partial(last_move, table),
    )


def poker_codec(table: PokerTable) -> TextCodec:
    """The game in words."""
    return TextCodec(
        instruction=table.instruction,
        encode=lambda state, i, seat: _write(table, table.look(state, i, seat), seat),
        decode=decoder_of_names(lambda head, action: table.action_names[action], len(table.action_names)),
        action_names=table.action_names,
    )


def _write(table: PokerTable, sight: PokerSight, seat: int | None) -> str:
    lines = _lines(table, sight) if seat is None else [f"You are seat {seat}.", *_lines(table, sight)]
    if seat is None or sight.to_move != seat:
        return "\n".join([*lines, f"{_situation(sight)}."])
    return "\n".join(
        [*lines, f"It is your turn. You may: {', '.join(table.action_names[action] for action in sight.legal)}."]
    )


def draw_svg(table: PokerTable, state: State, i: int, seat: int | None) -> str:
    """Game `i` as `seat` sees it, as one SVG document."""
    sight = table.look(state, i, seat)
    lines = [
        f'<rect x="14" y="52" width="{WIDTH - 28}" height="{HEIGHT - 66}" rx="60" fill="{FELT}" stroke="{RIM}" stroke-width="6"/>',
        words(24, 34, _situation(sight), 17, TEXT, 600),
    ]
    for owner, left in ((0, 52), (1, WIDTH - 52 - CARD_WIDTH)):
        middle = left + CARD_WIDTH / 2
        weight = 700 if sight.to_move == owner else 400
        lines.append(words(middle, 92, f"seat {owner}", 15, TEXT, weight, "middle"))
        lines.append(at(left, 104, _card(sight.cards[owner])))
        lines.append(words(middle, 216, _chips(sight.paid[owner]), 14, TEXT, 400, "middle"))
    if table.has_public:
        lines.append(words(WIDTH / 2, 92, "public", 15, FAINT, 400, "middle"))
        lines.append(at((WIDTH - CARD_WIDTH) / 2, 104, _card(sight.public)))
    lines.append(words(WIDTH / 2, 216, f"pot {sum(sight.paid)}", 14, FAINT, 600, "middle"))
    count = len(table.action_names)
    lines += [
        labelled_pad([action], WIDTH / 2 + 92 * (action - count / 2) + 3, HEIGHT - 52, 86, 28, name)
        for action, name in enumerate(table.action_names)
    ]
    for number, moves in enumerate(sight.rounds):
        told = ", ".join(f"seat {place % 2} {table.action_names[move]}s" for place, move in enumerate(moves))
        told = told.replace("passs", "passes")
        name = f"Round {number + 1}: " if table.has_public else ""
        lines.append(words(WIDTH / 2, 250 + 22 * number, name + told if told else "", 12, TEXT, 400, "middle"))
    return svg_document(WIDTH, HEIGHT, table.title, "", "#12302a", lines)


def _card(card: str | None) -> str:
    """A card face up, or its back."""
    shape = (
        f'<rect width="{CARD_WIDTH}" height="{CARD_HEIGHT}" rx="8" fill="{PAPER if card else BACK}" stroke="{INK}"/>'
    )
    if card is None:
        return (
            shape
            + f'<rect x="7" y="7" width="{CARD_WIDTH - 14}" height="{CARD_HEIGHT - 14}" rx="5" fill="none" stroke="{FAINT}"/>'
        )
    ink = RED if card[1:] == "♥" else INK
    suit = words(CARD_WIDTH / 2, 76, card[1:], 24, ink, 400, "middle") if card[1:] else ""
    return shape + words(CARD_WIDTH / 2, 46 if suit else 58, card[0], 36, ink, 700, "middle") + suit
