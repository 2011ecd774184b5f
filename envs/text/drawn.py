"""A codec for games that bring none: their text pictures, and the names of their actions."""

from __future__ import annotations

import numpy as np

from ludory.envs.game import Game
from ludory.envs.parts import State
from ludory.envs.pictures import plain
from ludory.envs.text_codec import Decoded, TextCodec, decoder_of_names

MOST_NAMES = 100
"""Actions that a prompt lists."""
_REWARDS = {"shared": "All seats win or lose together.", "zero_sum": "What you win, the others lose."}


def drawn_codec(game: Game) -> TextCodec | None:
    """`Look.text` without colours as the state, `Look.action_name` as the actions; None: no text is drawn, or actions are continuous.

    An action of several heads names a value of each, with commas between them.
    """
    facts, draw = game.facts, game.look.text
    if draw is None or facts.box is not None:
        return None
    sizes, name = facts.head_sizes, game.look.action_name
    heads = [decoder_of_names(lambda _, value, head=head: name(head, value), size) for head, size in enumerate(sizes)]  # type: ignore[misc]

    def decode(text: str) -> Decoded:
        parts = [text] if len(heads) == 1 else text.split(",")
        if len(parts) != len(heads):
            return Decoded(
                None, f"an action has {len(heads)} parts with commas between them, this one has {len(parts)}"
            )
        found = [head(part) for head, part in zip(heads, parts, strict=True)]
        values = []
        for one in found:
            if not isinstance(one.action, int):
                return one
            values.append(one.action)
        return Decoded(values[0] if len(heads) == 1 else tuple(values))

    def encode(state: State, i: int, seat: int | None) -> str:
        # pictures have colours where a terminal shows them, whatever a model reads
        text = plain(draw(state, i, seat))
        return text if seat is None else f"{text}\nYou are seat {seat}.{_allowed(game, state, i, seat)}"

    named = tuple(name(0, action) for action in range(sizes[0])) if len(sizes) == 1 and sizes[0] <= MOST_NAMES else ()
    parts = [f"You are playing {facts.name}, a game for {facts.players} seat{'s' * (facts.players > 1)}."]
    parts += [_REWARDS[facts.reward]] if facts.players > 1 and facts.reward in _REWARDS else []
    if len(sizes) > 1:
        parts.append(f"An action names one value of each part, with commas between them: {_listed(game)}.")
    return TextCodec(instruction=" ".join(parts), encode=encode, decode=decode, action_names=named)


def _listed(game: Game) -> str:
    return "; ".join(
        f"{head.name}: {', '.join(game.look.action_name(number, value) for value in range(head.size))}"
        for number, head in enumerate(game.facts.heads)
    )


def _allowed(game: Game, state: State, i: int, seat: int) -> str:
    """The legal actions of the seat, if the game has kernels and one head and it is the seat's turn."""
    kernels, facts = game.rules.kernels, game.facts
    if kernels is None or len(facts.heads) > 1 or not (facts.simultaneous or int(state.to_move[i]) == seat):
        return ""
    # kernels are asked, as the engine is: an engine that is not of kernels keeps its masks to itself
    mask = np.zeros(facts.num_actions, np.bool_)
    kernels.legal(state, i, seat, mask)
    return f" You may: {', '.join(game.look.action_name(0, action) for action in np.flatnonzero(mask).tolist())}."
