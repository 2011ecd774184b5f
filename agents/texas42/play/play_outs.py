"""Kernels over worlds of one game of Texas 42: how likely they make the plays so far, and how they end when all play the quick policy.

`origin` and `scratch` are records of the game (see `KernelEngine.records`), the game itself and working memory of one thread,
`origin_bytes` and `scratch_bytes` the same as uint8 [size]. worlds int32 [n, 3]: hands of the seats after `me` in turn order.
hidden, bias, output, trumps are the policy's weights; x int32 [FEATURES + 2 * units] is working memory.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

import math

from ludory.agents.texas42.bidding.hand_cues import CUES, describe_declaration
from ludory.envs import cached_batch_kernel, kernel, mix
from ludory.envs.texas42.rules import clear_play, finish_trick, outcome, play_tile
from ludory.envs.texas42.state import MADE, NOT_OVER, PLAIN
from ludory.envs.texas42.tiles import DOUBLES, FOLLOW_ME, STRAIGHT

from .fast_policy import SCALE, begin_choice, draw_tile, tile_logit, tiles_to_play
from .tile_features import describe_tile


@kernel
def copy_bytes(source, target):
    """Make `target` a copy of `source`."""
    for byte in range(source.shape[0]):
        target[byte] = source[byte]


@kernel
def put_world(origin_bytes, scratch_bytes, origin, scratch, worlds, k, me):
    """Make `scratch` a copy of the game with the hands of world k."""
    copy_bytes(origin_bytes, scratch_bytes)
    for other in range(3):
        seat = (me + 1 + other) & 3
        played = int(origin.dealt[0, seat]) & ~int(origin.held[0, seat])
        scratch.held[0, seat] = worlds[k, other]
        scratch.dealt[0, seat] = worlds[k, other] | played


@kernel
def points_before(origin, scratch, origin_bytes, scratch_bytes):
    """Points of both teams before the first trick: a hand may be given some to begin with."""
    copy_bytes(origin_bytes, scratch_bytes)
    clear_play(scratch, 0)
    for ply in range(int(origin.plays[0])):
        seat = int(origin.seats[0, ply])
        if int(scratch.trick_len[0]) == 0:
            scratch.leader[0] = seat
        if play_tile(scratch, 0, seat, int(origin.tiles[0, ply])):
            finish_trick(scratch, 0)
    return int(origin.points[0, 0]) - int(scratch.points[0, 0]), int(origin.points[0, 1]) - int(scratch.points[0, 1])


@kernel
def chance_of(scratch, seat, tile, tau, slip, hidden, bias, output, x):
    """Logarithm of the policy's probability of a tile, made softer by `tau`; with probability `slip` it plays anything."""
    moves = tiles_to_play(scratch, 0, seat)
    # a single legal tile
    if moves & (moves - 1) == 0:
        return 0.0
    begin_choice(scratch, 0, seat, hidden, bias, x)
    played = tile_logit(scratch, 0, seat, tile, hidden, output, x)
    total, number = 0.0, 0
    for other in range(28):
        if (moves >> other) & 1:
            logit = tile_logit(scratch, 0, seat, other, hidden, output, x)
            total += math.exp((logit - played) / (tau * SCALE * SCALE))
            number += 1
    return math.log((1 - slip) / total + slip / number)


@cached_batch_kernel
def chances_of_tiles(origin, seat, tiles, slip, hidden, bias, output, x, logs):
    """logs[k]: logarithm of the policy's probability of tiles[k] for `seat`, which is to move."""
    for k in range(tiles.shape[0]):
        logs[k] = chance_of(origin, seat, tiles[k], 1.0, slip, hidden, bias, output, x)


@kernel
def declaration_logit(hand, decl, trumps, x):
    """Logit of declaring `decl` with a hand, times SCALE."""
    describe_declaration(hand, decl, x)
    score = 0
    for k in range(CUES):
        score += int(trumps[k]) * int(x[k])
    return score


@kernel
def declaration_chance(hand, decl, tau, trumps, x):
    """Logarithm of the chance that a hand declares `decl`, of straight 42."""
    total, own = 0.0, 0.0
    for other in STRAIGHT:
        score = declaration_logit(hand, other, trumps, x) / (tau * SCALE)
        total += math.exp(score)
        if other == decl:
            own = score
    return own - math.log(total)


@cached_batch_kernel
def weigh_rows(
    origin,
    scratch,
    origin_bytes,
    scratch_bytes,
    worlds,
    me,
    bid_tau,
    tau,
    slip,
    hidden,
    bias,
    output,
    trumps,
    x,
    logs,
    start,
    stop,
):
    """logs[k]: logarithm of how likely world k makes the declaration (left out if bid_tau is 0) and the plays of the others."""
    decl, declarer = int(origin.decl[0]), int(origin.bidder[0])
    if int(origin.kind[0]) != PLAIN:
        # after a plunge or a splash the partner declares
        declarer = (declarer + 2) & 3
    first_0, first_1 = points_before(origin, scratch, origin_bytes, scratch_bytes)
    for k in range(start, stop):
        put_world(origin_bytes, scratch_bytes, origin, scratch, worlds, k, me)
        total = 0.0
        if bid_tau > 0 and declarer != me and (decl <= DOUBLES or decl == FOLLOW_ME):
            total += declaration_chance(int(scratch.dealt[0, declarer]), decl, bid_tau, trumps, x)
        clear_play(scratch, 0)
        scratch.points[0, 0], scratch.points[0, 1] = first_0, first_1
        for ply in range(int(origin.plays[0])):
            seat, tile = int(origin.seats[0, ply]), int(origin.tiles[0, ply])
            if int(scratch.trick_len[0]) == 0:
                scratch.leader[0] = seat
            if seat != me:
                total += chance_of(scratch, seat, tile, tau, slip, hidden, bias, output, x)
            if play_tile(scratch, 0, seat, tile):
                finish_trick(scratch, 0)
        logs[k] = total


@kernel
def play_on(scratch, key, hidden, bias, output, x):
    """Play the game to where its contract is decided; returns the result."""
    result = NOT_OVER
    while result == NOT_OVER:
        seat = int(scratch.to_move[0])
        tile = draw_tile(scratch, 0, seat, key, hidden, bias, output, x)
        if play_tile(scratch, 0, seat, tile):
            finish_trick(scratch, 0)
            result = outcome(scratch, 0)
    return result


@cached_batch_kernel
def play_out_rows(
    origin, scratch, origin_bytes, scratch_bytes, worlds, me, tiles, key, hidden, bias, output, x, made, start, stop
):
    """made[k, a]: 1 if the contract is made when tiles[a] is played in world k and everybody plays the quick policy then."""
    for k in range(start, stop):
        for a in range(tiles.shape[0]):
            put_world(origin_bytes, scratch_bytes, origin, scratch, worlds, k, me)
            result = NOT_OVER
            if play_tile(scratch, 0, me, tiles[a]):
                finish_trick(scratch, 0)
                result = outcome(scratch, 0)
            if result == NOT_OVER:
                # the same draws for all tiles of a world, so that only the tile makes the difference
                result = play_on(scratch, mix(key, k), hidden, bias, output, x)
            made[k, a] = result == MADE


@cached_batch_kernel
def describe_rows(state, rows, seats, legal, features):
    """features[k]: those of the tiles in legal[k] that seats[k] may play in game rows[k], in order; features [n, 7, FEATURES] arrive 0."""
    for k in range(rows.shape[0]):
        count = 0
        for tile in range(28):
            if legal[k, tile]:
                describe_tile(state, rows[k], seats[k], tile, features[k, count])
                count += 1
