"""The state of Hanabi: its fields, and the names of their columns and codes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludory.envs import Field, State, header

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

    A card id is colour * R + rank, 0-based. Slot 0 is the oldest card of a hand; empty slots are at the end.
    """
    p, c, r, h = options.players, options.colors, options.ranks, options.hand_size
    cards, colors, ranks = c * r, (1 << c) - 1, (1 << r) - 1
    setup = (
        options.max_information_tokens,
        options.max_life_tokens,
        int(options.random_start_player),
        int(options.terminal_deal),
        int(options.bomb == "keep"),
    )
    last = (p - 1, HINT_RANK, p - 1, max(c, r) - 1, (1 << h) - 1, h - 1, cards - 1, 1, 1, options.num_actions - 1)
    concluded = Field("int32", (p, p * h), low=0, high=(1 << cards) - 1)
    return header(p) | {
        "setup": Field("int8", (5,), setup, low=setup, high=setup),
        # Number of first cards of `deck` that a reset keeps, and its start seat (-1: by the rules); the reset clears both.
        "given": Field("int8", low=0, high=0),
        "given_start": Field("int8", (), -1, low=-1, high=-1),
        "deck": Field("int8", (options.deck_size,), low=0, high=cards - 1),  # in dealing order
        "deck_top": Field("int8", low=0, high=options.deck_size),  # cards dealt so far
        "hands": Field("int8", (p, h), EMPTY, low=EMPTY, high=cards - 1),
        "colors": Field("int8", (p, h), low=0, high=colors),  # bit set of plausible colours
        "ranks": Field("int8", (p, h), low=0, high=ranks),  # bit set of plausible ranks
        "hinted": Field("int8", (p, h), low=0, high=COLOR_KNOWN | RANK_KNOWN),
        "held": Field("int8", (p,), low=0, high=h),  # cards in the hand
        "fireworks": Field("int8", (c,), low=0, high=r),  # height of each stack
        "discards": Field("int8", (cards,), low=0, high=options.copies * c),  # discarded copies of each card
        "tokens": Field("int8", low=0, high=options.max_information_tokens),
        "lives": Field("int8", low=0, high=options.max_life_tokens),
        "turns_left": Field("int8", low=0, high=p),  # counts down once the deck is empty
        "turn": Field("int16", low=0, high=options.longest_game),  # moves made
        "end": Field("int8", low=RUNNING, high=DECK_OUT),
        "last": Field("int32", (10,), low=0, high=last),
        # What each seat has ruled out of every slot at the table by the conventions, as bit sets.
        **({"concluded": concluded} if options.observation == "conventions" else {}),
        "ways": Field("int64", (2**h if h <= MAX_REDEAL_HAND else 0,)),  # working memory of `redeal`
    }


def consistent(options: HanabiOptions, state: State) -> NDArray[np.bool_]:
    """(N,) bool: hands are filled from slot 0 on, and every dealt card is in a hand, on a stack or discarded."""
    slots, places = np.arange(options.hand_size), np.arange(options.deck_size)
    sound = ((state.hands != EMPTY) == (slots < state.held[:, :, None])).all(axis=(1, 2))
    dealt = places < state.deck_top[:, None]
    for card in range(options.colors * options.ranks):
        color, rank = divmod(card, options.ranks)
        copies = state.deck == card
        seen = (state.hands == card).sum(axis=(1, 2)) + state.discards[:, card] + (state.fireworks[:, color] > rank)
        sound &= (copies.sum(axis=1) == options.copies[rank]) & ((copies & dealt).sum(axis=1) == seen)
    return np.asarray(sound)


MAX_REDEAL_HAND = 8
"""Largest hand that can be redealt exactly: the sampler needs 2 ** h counts."""
