"""What a seat of Texas 42 sees, as kernels: public information and its own hand. Seats are counted from the observer."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from ludory.envs import ObservationSpec, flat_segments, kernel

from .auction import bid_value
from .bits import played_tiles
from .options import ObservationName
from .state import FORMAT, ONE_MARK, PLUNGE, WHOLE_MATCH
from .tiles import ALL_TILES, COUNT, HIGH, LOW
from .trick import suit_led

_PARTS = {
    "phase": 3,
    "shaker": 4,
    "to_move": 4,
    "bids": 4 * 22,
    "bidder": 4,
    "bid": 19,
    "declaration": 14,
    "leader": 4,
    "hand": 28,
    "trick": 4 * 28,
    "played": 4 * 28,
    "may_hold": 3 * 28,
    "led_suit": 8,
    "points": 2 * 42,
    "marks": 2 * 7,
}
_HISTORY = 28 * 32
PHASE_AT, SHAKER_AT, TO_MOVE_AT, BIDS_AT, BIDDER_AT, BID_AT, DECLARATION_AT, LEADER_AT = 0, 3, 7, 11, 99, 103, 122, 136
HAND_AT, TRICK_AT, PLAYED_AT, MAY_HOLD_AT, LED_AT = 140, 168, 280, 392, 476
POINTS_AT, MARKS_AT, HISTORY_AT = 484, 568, 582

TOKENS, FEATURES = 36, 8
HAND_TOKEN, PLAY_TOKEN = 1, 2
"""Types of tokens; the type of the declaration is 0."""


def observation_spec(name: ObservationName) -> ObservationSpec:
    """Segments, shape and dtype of an observation."""
    if name == "transcript":
        parts = {"length": 1, "tokens": TOKENS * FEATURES}
        return ObservationSpec(name, (1 + TOKENS * FEATURES,), "uint8", flat_segments(parts), high=TOKENS)
    parts = _PARTS | ({"history": _HISTORY} if name == "bits+history" else {})
    return ObservationSpec(name, (sum(parts.values()),), "uint8", flat_segments(parts))


@kernel
def _write_tiles(out, at, mask):
    part = out[at : at + 28]
    for tile in range(28):
        part[tile] = (mask >> tile) & 1


@kernel
def _thermometer(out, at, length, value):
    part = out[at : at + length]
    for k in range(length):
        part[k] = k < value


@kernel
def _auction(state, i, seat, out):
    shaker = int(state.shaker[i])
    if shaker >= 0:
        out[SHAKER_AT + ((shaker - seat) & 3)] = 1
        highest = 0
        # bids in the order in which they were made: what a plunge is worth depends on the highest before it
        for k in range(1, 5):
            bidding = (shaker + k) & 3
            action = int(state.bids[i, bidding])
            if action >= 0:
                at = BIDS_AT + 22 * ((bidding - seat) & 3)
                out[at + action] = 1
                value = bid_value(state, i, action, highest)
                if action >= PLUNGE:
                    # a plunge or splash sets the place of its marks too
                    out[at + ONE_MARK - 1 + value // 42] = 1
                highest = max(highest, value)
    bid = int(state.bid[i])
    if bid > 0:
        out[BIDDER_AT + ((int(state.bidder[i]) - seat) & 3)] = 1
        # places: 30 to 41 points, then 1 to 7 marks
        out[BID_AT + (bid - 30 if bid < 42 else 11 + bid // 42)] = 1


@kernel
def _playing(state, i, seat, out):
    decl = int(state.decl[i])
    if decl >= 0:
        out[DECLARATION_AT + decl] = 1
        leader = int(state.leader[i])
        out[LEADER_AT + ((leader - seat) & 3)] = 1
        led = suit_led(state, i)
        if led >= 0:
            out[LED_AT + led] = 1
        # the plays of the present trick are the last ones of the history
        first = int(state.plays[i]) - int(state.trick_len[i])
        for place in range(int(state.trick_len[i])):
            offset = (int(state.seats[i, first + place]) - seat) & 3
            out[TRICK_AT + 28 * offset + int(state.trick[i, place])] = 1
    unseen = ALL_TILES & ~played_tiles(state, i) & ~int(state.held[i, seat])
    for offset in range(4):
        other = (seat + offset) & 3
        _write_tiles(out, PLAYED_AT + 28 * offset, int(state.dealt[i, other]) & ~int(state.held[i, other]))
        if offset > 0:
            _write_tiles(out, MAY_HOLD_AT + 28 * (offset - 1), unseen & ~int(state.cannot[i, other]))


@kernel
def observe_bits(state, i, seat, out):
    """Everything but the order of past plays."""
    out[PHASE_AT + int(state.phase[i])] = 1
    if not (state.terminated[i] or state.truncated[i]):
        out[TO_MOVE_AT + ((int(state.to_move[i]) - seat) & 3)] = 1
    _auction(state, i, seat, out)
    _write_tiles(out, HAND_AT, int(state.held[i, seat]))
    _playing(state, i, seat, out)
    for k in range(2):
        team = (seat + k) & 1
        _thermometer(out, POINTS_AT + 42 * k, 42, int(state.points[i, team]))
        if int(state.setup[i, FORMAT]) == WHOLE_MATCH:
            _thermometer(out, MARKS_AT + 7 * k, 7, int(state.marks[i, team]))


@kernel
def observe_history(state, i, seat, out):
    """As `observe_bits`, then seat and tile of every play in order."""
    observe_bits(state, i, seat, out)
    for k in range(int(state.plays[i])):
        out[HISTORY_AT + 32 * k + ((int(state.seats[i, k]) - seat) & 3)] = 1
        out[HISTORY_AT + 32 * k + 4 + int(state.tiles[i, k])] = 1


@kernel
def _tile_token(out, token, tile, decl, kind):
    at = 1 + FEATURES * token
    out[at] = HIGH[tile]
    out[at + 1] = LOW[tile]
    out[at + 2] = HIGH[tile] == LOW[tile]
    # 0, 1 or 2
    out[at + 3] = int(COUNT[tile]) // 5
    out[at + 6] = decl
    out[at + 7] = kind


@kernel
def observe_transcript(state, i, seat, out):
    """Number of tokens, then tokens: the declaration, the own tiles held, the plays in order; the rest is 0.

    Features of a token: high pip, low pip, double, count / 5, seat from the own one, in the own hand, declaration, type.
    """
    decl, held, token = int(state.decl[i]), int(state.held[i, seat]), 1
    out[1 + 6] = decl
    for tile in range(28):
        if (held >> tile) & 1:
            _tile_token(out, token, tile, decl, HAND_TOKEN)
            out[1 + FEATURES * token + 5] = 1
            token += 1
    for k in range(int(state.plays[i])):
        _tile_token(out, token, int(state.tiles[i, k]), decl, PLAY_TOKEN)
        out[1 + FEATURES * token + 4] = (int(state.seats[i, k]) - seat) & 3
        token += 1
    out[0] = token


OBSERVE = {"bits": observe_bits, "bits+history": observe_history, "transcript": observe_transcript}
"""Observation kernel by the name of the `observation` option."""
