"""The state of Texas 42: its fields, and the names of their columns, codes and action ids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs import Field, State, header

from .options import MOST_ATTEMPTS, MOST_MARKS
from .tiles import ALL_TILES, NELLO_HIGH, NELLO_LOW, SEVENS, TILES

# Columns of `setup`, constant within a game.
FORMAT, FORCED, NELLO_FORMS, PLUNGE_MARKS, SPLASH_ON, SEVENS_ON, EARLY_STOP, TARGET, REWARD = 0, 1, 2, 3, 4, 5, 6, 7, 8
# Values of `setup[FORMAT]` and `setup[REWARD]`.
ONE_HAND, WHOLE_MATCH, FIXED = 0, 1, 2
AT_THE_END, AS_IT_FALLS = 0, 1
# Columns of `contract` and `given_contract`: what a hand of fixed contract starts from; decl -1: drawn.
DECL, BID, BIDDER, LEADER, POINTS_0, POINTS_1 = 0, 1, 2, 3, 4, 5
# Values of `given`: what the next reset keeps.
NOTHING, DEAL, POSITION = 0, 1, 2
# Values of `phase`.
AUCTION, DECLARE, PLAYING = 0, 1, 2
# Values of `kind`, how the contract was bid.
PLAIN, PLUNGED, SPLASHED = 0, 1, 2
# Columns of `last`, the record of the last move; ACTION -1 before the first.
ACTOR, ACTION, WINNER, TRICK_POINTS, SETTLED, STAKE, HAND_BID, HAND_BIDDER = 0, 1, 2, 3, 4, 5, 6, 7
# Values of `last[SETTLED]`.
NOT_OVER, ALL_PASSED, MADE, SET = 0, 1, 2, 3

# Action ids.
PASS, BID_30, ONE_MARK, PLUNGE, SPLASH, DECLARE_0, PLAY_0, NUM_ACTIONS = 0, 1, 13, 20, 21, 22, 36, 64

PLUNGE_DOUBLES, SPLASH_DOUBLES = 4, 3
"""Doubles that a plunge and a splash need."""


def fields(setup: tuple[int, ...], contract: tuple[int, ...]) -> dict[str, Field]:
    """The fields of a game; sets of tiles are masks of 28 bits, seats 0..3, teams seat & 1."""
    most_marks = (setup[TARGET] - 1 + MOST_MARKS) if setup[FORMAT] == WHOLE_MATCH else 0
    most_points = 84 if setup[FORMAT] == FIXED else 42  # of a fixed contract, points may be given to begin with
    tiles: dict[str, Any] = {"low": 0, "high": ALL_TILES}
    seat: dict[str, Any] = {"low": -1, "high": 3}
    last = (3, NUM_ACTIONS - 1, 3, 42, SET, MOST_MARKS, 42 * MOST_MARKS, 3)
    return header(4) | {
        "setup": Field("int8", (9,), setup, low=setup, high=setup),
        "contract": Field("int16", (6,), contract, low=contract, high=contract),
        # What the next reset starts from: NOTHING, DEAL (in `dealt`) or POSITION (the whole state), the shaker (-1 = drawn) and
        # the contract (-1 = as in `contract`). The reset clears them.
        "given": Field("int8", low=NOTHING, high=NOTHING),
        "given_shaker": Field("int8", (), -1, low=-1, high=-1),
        "given_contract": Field("int16", (6,), -1, low=-1, high=-1),
        "held": Field("int32", (4,), **tiles),
        "dealt": Field("int32", (4,), **tiles),
        "cannot": Field("int32", (4,), **tiles),  # tiles that a seat is known not to hold
        "trick": Field("int8", (4,), -1, low=-1, high=TILES - 1),  # tiles of the current trick, in order
        "trick_len": Field("int8", low=0, high=3),
        "leader": Field("int8", (), -1, **seat),  # of the current trick
        "decl": Field("int8", (), -1, low=-1, high=SEVENS),
        "bid": Field("int16", low=0, high=42 * MOST_MARKS),  # highest so far: 0 none, 30..41 points, 42 m for m marks
        "kind": Field("int8", low=PLAIN, high=SPLASHED),
        "bidder": Field("int8", (), -1, **seat),
        "shaker": Field("int8", (), -1, **seat),
        "bids": Field("int8", (4,), -1, low=-1, high=SPLASH),  # action id by seat, -1 = not yet
        "phase": Field("int8", low=AUCTION, high=PLAYING),
        "points": Field("int8", (2,), low=0, high=most_points),
        "tricks": Field("int8", (2,), low=0, high=7),
        "marks": Field("int8", (2,), low=0, high=most_marks),
        "tiles": Field("int8", (TILES,), -1, low=-1, high=TILES - 1),  # played, in order
        "seats": Field("int8", (TILES,), -1, **seat),  # who played them
        "plays": Field("int8", low=0, high=TILES),
        "attempt": Field("int8", low=0, high=MOST_ATTEMPTS),  # deals of the match before this one
        "last": Field("int16", (8,), -1, low=-1, high=last),
    }


def consistent(state: State) -> NDArray[np.bool_]:
    """(N,) bool: each seat was dealt seven tiles, those that it no longer holds were played, and the trick is not complete."""
    dealt, held = np.asarray(state.dealt), np.asarray(state.held)
    nello = (state.decl >= NELLO_HIGH) & (state.decl <= NELLO_LOW)
    return np.asarray(
        (_sizes(dealt) == 7).all(axis=1)
        & (np.bitwise_or.reduce(dealt, axis=1) == ALL_TILES)
        & (held & ~dealt == 0).all(axis=1)
        & (_sizes(dealt & ~held).sum(axis=1) == state.plays)
        & (state.trick_len < np.where(nello, 3, 4))
    )


def _sizes(masks: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(sum(masks >> tile & 1 for tile in range(TILES)))
