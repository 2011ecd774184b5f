"""The state of Texas 42: its fields, and the names of the columns, codes and action ids in them."""

from __future__ import annotations

from ..game import Field, header

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
    return header(4) | {
        "setup": Field("int8", (9,), setup),
        "contract": Field("int16", (6,), contract),
        "given": Field("int8"),  # NOTHING, DEAL (in `dealt`) or POSITION (all of the state)
        "given_shaker": Field("int8", (), -1),  # of the next reset, -1 = drawn
        "given_contract": Field("int16", (6,), -1),  # of the next reset, -1 = as `contract`
        "held": Field("int32", (4,)),
        "dealt": Field("int32", (4,)),
        "cannot": Field("int32", (4,)),  # tiles that a seat has shown not to hold
        "trick": Field("int8", (4,), -1),  # tiles of the present trick, in order
        "trick_len": Field("int8"),
        "leader": Field("int8", (), -1),  # of the present trick
        "decl": Field("int8", (), -1),
        "bid": Field("int16"),  # highest so far: 0 none, 30..41 points, 42 m for m marks
        "kind": Field("int8"),  # PLAIN, PLUNGED or SPLASHED
        "bidder": Field("int8", (), -1),
        "shaker": Field("int8", (), -1),
        "bids": Field("int8", (4,), -1),  # action id by seat, -1 = not yet
        "phase": Field("int8"),
        "points": Field("int8", (2,)),
        "tricks": Field("int8", (2,)),
        "marks": Field("int8", (2,)),
        "tiles": Field("int8", (28,), -1),  # played, in order
        "seats": Field("int8", (28,), -1),  # who played them
        "plays": Field("int8"),
        "attempt": Field("int8"),  # deals of the match before this one
        "last": Field("int16", (8,), -1),
    }
