"""The state of Hanabi: its fields for given options, and the names of the columns and codes in them."""

from __future__ import annotations

from ..game import Field, header
from .variants import HanabiOptions

EMPTY = -1
"""Card id of an empty slot."""

# Columns of `setup`, constant within a game.
MAX_TOKENS, MAX_LIVES, RANDOM_START, TERMINAL_DEAL, KEEP_BOMB = 0, 1, 2, 3, 4
# Bits of `hinted`.
COLOR_KNOWN, RANK_KNOWN = 1, 2
# Columns of `last`, the record of the last move; `KIND` 0 before the first move, else one of the four below.
ACTOR, KIND, TARGET, VALUE, TOUCHED, SLOT, CARD, SCORED, TOKEN, ACTION = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
NO_MOVE, PLAY, DISCARD, HINT_COLOR, HINT_RANK = 0, 1, 2, 3, 4
# Values of `end`.
RUNNING, BOMB, PERFECT, DECK_OUT = 0, 1, 2, 3


def fields(options: HanabiOptions) -> dict[str, Field]:
    """The fields of a game with P seats, hand size h, C colours, R ranks, D cards in the deck.

    A card id is colour * R + rank, 0-based; slot 0 is the oldest card of a hand, empty slots are at the end.
    """
    p, c, r, h = options.players, options.colors, options.ranks, options.hand_size
    setup = (
        options.max_information_tokens,
        options.max_life_tokens,
        int(options.random_start_player),
        int(options.terminal_deal),
        int(options.bomb == "keep"),
    )
    return header(p) | {
        "setup": Field("int8", (5,), setup),
        "given": Field("int8"),  # how many first cards of `deck` the next reset keeps
        "given_start": Field("int8", (), -1),  # start seat of the next reset, -1 = by the rules
        "deck": Field("int8", (options.deck_size,)),  # in dealing order
        "deck_top": Field("int8"),  # cards dealt so far
        "hands": Field("int8", (p, h), EMPTY),
        "colors": Field("int8", (p, h)),  # bit set of plausible colours
        "ranks": Field("int8", (p, h)),  # bit set of plausible ranks
        "hinted": Field("int8", (p, h)),  # COLOR_KNOWN | RANK_KNOWN
        "held": Field("int8", (p,)),  # cards in the hand
        "fireworks": Field("int8", (c,)),  # height of each stack
        "discards": Field("int8", (c * r,)),  # discarded copies of each card
        "tokens": Field("int8"),
        "lives": Field("int8"),
        "turns_left": Field("int8"),  # counts down once the deck is empty
        "turn": Field("int16"),  # moves made
        "end": Field("int8"),  # RUNNING, BOMB, PERFECT or DECK_OUT
        "last": Field("int32", (10,)),
        "ways": Field("int64", (2**h if h <= MAX_REDEAL_HAND else 0,)),  # working memory of `redeal`
    }


MAX_REDEAL_HAND = 8
"""Largest hand for which the own hand can be redealt exactly (the sampler keeps 2 ** h counts)."""
