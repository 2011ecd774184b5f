"""Hanabi for language models: what a seat may know in plain words, and the names of actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ludory.envs import State, TextCodec, decoder_of_names
from ludory.envs.hanabi.sight import COLOR_NAMES, HanabiSight, SeenCard, look
from ludory.envs.hanabi.variants import HanabiOptions


def codec(options: HanabiOptions, action_name: Callable[[int, int], str]) -> TextCodec:
    """Hanabi with `options`; `action_name(head, action)` names its actions."""
    names = tuple(action_name(0, action) for action in range(options.num_actions))
    return TextCodec(
        instruction=instruction(options),
        encode=lambda state, i, seat: write(options, names, state, i, seat),
        decode=decoder_of_names(action_name, options.num_actions),
        action_names=names,
    )


def instruction(options: HanabiOptions) -> str:
    """The rules in words."""
    colors, ranks = ", ".join(COLOR_NAMES[: options.colors]), options.ranks
    copies = ", ".join(f"{count} of rank {rank}" for rank, count in enumerate(options.copies, 1))
    bombed = "and the score is 0" if options.bomb == "zero" else "with the score that is reached"
    return (
        f"You are playing Hanabi with {options.players - 1} partner{'s' if options.players > 2 else ''}. All of you win or lose "
        f"together. The cards are {colors} with ranks 1 to {ranks}; each colour has {copies}. Build one stack per colour, from rank 1 "
        f"up to {ranks}; every card on a stack is worth 1 point.\n"
        "You see the cards of the others, but not your own. On your turn, do one of these:\n"
        '"play 1" plays your card in slot 1. If it is the next card of its stack, the stack grows; otherwise the card is discarded '
        "and a life is lost.\n"
        '"discard 1" discards your card in slot 1 and gets a hint token back.\n'
        '"tell +1 red" or "tell +1 rank 1" costs a hint token and shows the next player all of its red cards, or all of its cards '
        "of rank 1. +2 is the player after that. The player must have such a card.\n"
        "After you play or discard you draw a card into the last slot; slot 1 holds your oldest card. "
        f"The game ends when all lives are lost, {bombed}, when every stack is complete, or one turn of each player after the deck "
        "is empty."
    )


def write(options: HanabiOptions, names: tuple[str, ...], state: State, i: int, seat: int | None) -> str:
    """Game `i` as `seat` sees it; None: all cards are face up."""
    sight = look(options, state, i, seat)
    stacks = ", ".join(f"{COLOR_NAMES[color]} {height}" for color, height in enumerate(sight.fireworks))
    lines = [
        f"Score {sight.score} of {options.colors * options.ranks}. Hint tokens {sight.tokens} of {options.max_information_tokens}. "
        f"Lives {sight.lives} of {options.max_life_tokens}. Cards in the deck: {sight.deck}.",
        f"Stacks: {stacks}.",
        f"Discarded: {_discarded(sight)}.",
        f"Last move: {sight.last or 'none yet'}.",
        *(line for holder in range(options.players) for line in _hand(options, sight, holder)),
    ]
    return "\n".join([*lines, _turn(options, sight, names)])


def _discarded(sight: HanabiSight) -> str:
    colors = [
        f"{COLOR_NAMES[color]} {' '.join(str(rank + 1) for rank, count in enumerate(counts) for _ in range(count))}"
        for color, counts in enumerate(sight.discards)
        if any(counts)
    ]
    return ", ".join(colors) or "none"


def _hand(options: HanabiOptions, sight: HanabiSight, holder: int) -> Iterator[str]:
    if sight.seat == holder:
        yield f"Your hand (you are seat {holder}):"
    else:
        ahead = "" if sight.seat is None else f" (+{(holder - sight.seat) % options.players})"
        yield f"Hand of seat {holder}{ahead}:"
    for slot, card in enumerate(sight.hands[holder], 1):
        shown = "" if card.card is None else f"{COLOR_NAMES[card.card[0]]} {card.card[1] + 1}; "
        yield f"slot {slot}: {shown}{_told(card)}"


def _told(card: SeenCard) -> str:
    """What the holder of a card knows of it."""
    told = [] if card.told_color is None else [COLOR_NAMES[card.told_color]]
    told += [] if card.told_rank is None else [f"rank {card.told_rank + 1}"]
    colors = " ".join(COLOR_NAMES[color] for color, open_ in enumerate(card.colors) if open_)
    ranks = " ".join(str(rank + 1) for rank, open_ in enumerate(card.ranks) if open_)
    return f"told {' and '.join(told) or 'nothing'}; may be {colors}, rank {ranks}"


def _turn(options: HanabiOptions, sight: HanabiSight, names: tuple[str, ...]) -> str:
    if sight.to_move is None:
        return f"The game is over: {sight.end}."
    if sight.to_move != sight.seat:
        return f"Seat {sight.to_move} is to move."
    return f"It is your turn. You may: {', '.join(names[action] for action in _legal(options, sight))}."


def _legal(options: HanabiOptions, sight: HanabiSight) -> Iterator[int]:
    """The legal action ids of the seat that looks, which is to move."""
    assert sight.seat is not None, "only a seat has legal actions"
    hand, held = options.hand_size, len(sight.hands[sight.seat])
    if sight.tokens < options.max_information_tokens:
        yield from range(held)
    yield from range(hand, hand + held)
    if not sight.tokens:
        return
    others = [sight.hands[(sight.seat + ahead) % options.players] for ahead in range(1, options.players)]
    faces = [[card.card for card in cards if card.card is not None] for cards in others]
    first = 2 * hand
    for ahead, seen in enumerate(faces):
        yield from sorted({first + ahead * options.colors + color for color, _ in seen})
    first += len(others) * options.colors
    for ahead, seen in enumerate(faces):
        yield from sorted({first + ahead * options.ranks + rank for _, rank in seen})
