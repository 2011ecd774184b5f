"""`texas42/quick`: a small network that plays in a few microseconds, with integer weights, so that it is reproducible everywhere.

`ludory texas42 quick --self-play` trains it in contracts for points; it has not learnt nello and sevens. Networks of the same form that
imitate `texas42/pimc` and `texas42/response` play hands out for `texas42/response` and tell it how likely a play was.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents import BotKernels, KernelAgent
from ludory.agents.texas42.bidding.hand_cues import CUES
from ludory.envs import Game, kernel, mix
from ludory.envs.texas42.bits import index_of, size
from ludory.envs.texas42.state import BID_30, DECLARE, DECLARE_0, FIXED, FORMAT, PASS, PLAY_0, PLAYING
from ludory.envs.texas42.tiles import CALLED, FOLLOW
from ludory.envs.texas42.trick import playable, suit_led
from ludory.errors import CheckpointError, OptionError
from ludory.reading import read_json

from .pimc import check_texas42
from .tile_features import FEATURES, FEWER, OWN, SHARED, describe_choice, describe_option

FILE = Path(__file__).with_name("self_play.json")
"""Weights of `texas42/quick`."""
LEVELS = FILE.with_name("pimc_imitation.json"), FILE.with_name("response_imitation.json")
"""Weights of policies that imitate PIMC, and `texas42/response` to the policy before."""
SCALE = 256
"""Weights are stored as integers, multiplied by this."""


class QuickPolicyWeights(NamedTuple):
    """One hidden layer of rectified units: the logit of a tile is output @ max(hidden @ features + bias, 0) / SCALE**2."""

    hidden: NDArray[np.int32]
    """[units, FEATURES], or [units, FEWER] of a policy that was trained earlier"""
    bias: NDArray[np.int32]
    """[units]"""
    output: NDArray[np.int32]
    """[units]"""
    trumps: NDArray[np.int32]
    """[CUES of `hand_cues.py`]: logit weights of a hand's declaration, / SCALE."""

    @property
    def of_tiles(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Hidden [features, units], bias and output, as kernels take them."""
        return np.ascontiguousarray(self.hidden.T), self.bias, self.output

    @property
    def room(self) -> int:
        """Length of a kernel's working memory."""
        return FEATURES + 2 * len(self.bias)


def read_weights(file: Path) -> QuickPolicyWeights:
    """The weights in a file.

    Raises:
        CheckpointError: it cannot be read, or is not one that `ludory texas42 quick` wrote.
    """
    try:
        found = read_json(file, finite=True)
        weights = QuickPolicyWeights(*(np.array(found[name], np.int32) for name in QuickPolicyWeights._fields))
        units, features = weights.bias.shape[0], FEWER if weights.hidden.shape[1:] == (FEWER,) else FEATURES
        shapes = (units, features), (units,), (units,), (CUES,)
        if tuple(part.shape for part in weights) != shapes:
            raise ValueError(f"arrays of shapes {[part.shape for part in weights]}, not {list(shapes)}")
    except (OSError, ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
        raise CheckpointError(
            f"{file}: not the weights of a quick policy ({error}); give a file that `ludory texas42 quick` wrote"
        ) from error
    return weights


WEIGHTS = read_weights(FILE)
"""Of `texas42/quick`."""
OF_PIMC = read_weights(LEVELS[0])
"""Of the policy that imitates PIMC."""
_HIDDEN, _BIAS, _OUTPUT = WEIGHTS.of_tiles
_NOISE = np.array([-np.log(-np.log((k + 0.5) / 4096)) * SCALE**2 for k in range(4096)], np.int64)
"""Quantiles of the Gumbel distribution: the argmax of logits plus such noise is a sample from their softmax."""


@kernel
def begin_choice(state, i, seat, hidden, bias, x):
    """Add up what all tiles have in common, for `tile_logit`. x [FEATURES + 2 * units] is working memory."""
    known, units = hidden.shape[0], bias.shape[0]
    describe_choice(state, i, seat, x, known > FEWER)
    for unit in range(units):
        x[FEATURES + unit] = bias[unit]
    for k in SHARED:
        value = x[k] if k < known else 0
        if value != 0:
            for unit in range(units):  # side by side in memory, so that compilers add several at once
                x[FEATURES + unit] += hidden[k, unit] * value


@kernel
def tile_logit(state, i, seat, tile, hidden, output, x):
    """Logit of a tile, times SCALE**2, after `begin_choice` with the same x."""
    known, units = hidden.shape[0], output.shape[0]
    describe_option(state, i, seat, tile, x, known > FEWER)
    first = FEATURES + units
    for unit in range(units):
        x[first + unit] = x[FEATURES + unit]
    for k in OWN:
        value = x[k] if k < known else 0
        if value != 0:
            for unit in range(units):
                x[first + unit] += hidden[k, unit] * value
    total = 0
    for unit in range(units):
        if x[first + unit] > 0:
            total += int(output[unit]) * int(x[first + unit])
    return total


@kernel
def tiles_to_play(state, i, seat):
    """Mask of the tiles that `seat`, which is to move, may play."""
    return playable(int(state.decl[i]), int(state.held[i, seat]), suit_led(state, i))


@kernel
def pick_tile(state, i, seat, noisy, key, hidden, bias, output, x):
    """The tile with the largest logit, the first of equals; with noise on the logits (noisy 1) one drawn from the policy."""
    moves = tiles_to_play(state, i, seat)
    if moves & (moves - 1) == 0:
        return index_of(moves)
    best, chosen, plays = 0, -1, int(state.plays[i])
    begin_choice(state, i, seat, hidden, bias, x)
    for tile in range(28):
        if (moves >> tile) & 1 == 0:
            continue
        logit = tile_logit(state, i, seat, tile, hidden, output, x)
        # a number for each ply and tile; twelve of its bits choose the quantile
        logit += noisy * int(_NOISE[(mix(key, 32 * plays + tile) >> 20) & 4095])
        if chosen < 0 or logit > best:
            best, chosen = logit, tile
    return chosen


@kernel
def draw_tile(state, i, seat, key, hidden, bias, output, x):
    """A tile drawn from the policy of these weights; key: 64 bits, other ones for other games. x [FEATURES + 2 * units] is working memory."""
    return pick_tile(state, i, seat, 1, key, hidden, bias, output, x)


@kernel
def bid_simply(state, i, seat):
    """As `pimc.bid_thirty`: 30 if nobody has bid, else pass; declares the pip held most often, of equals the highest."""
    if int(state.phase[i]) == DECLARE:
        best, chosen = -1, 0
        for pip in range(7):
            held = size(int(state.held[i, seat]) & int(FOLLOW[pip, CALLED]))
            if held >= best:
                best, chosen = held, pip
        return DECLARE_0 + chosen
    return BID_30 if int(state.bid[i]) == 0 else PASS


@kernel
def as_action(state, i, tile):
    """The action that plays a tile."""
    return tile if int(state.setup[i, FORMAT]) == FIXED else PLAY_0 + tile


@kernel
def choose_likeliest(state, i, seat, memory):
    """A bid, a declaration, or the likeliest tile; memory: working memory."""
    if int(state.phase[i]) != PLAYING:
        return bid_simply(state, i, seat)
    return as_action(state, i, pick_tile(state, i, seat, 0, 0, _HIDDEN, _BIAS, _OUTPUT, memory))


@kernel
def choose_drawn(state, i, seat, memory):
    """A bid, a declaration, or a tile drawn from the policy; memory: key of two numbers, then working memory."""
    if int(state.phase[i]) != PLAYING:
        return bid_simply(state, i, seat)
    # a key of 64 bits, kept in two entries of 32
    key = (int(memory[0]) << 32) ^ (int(memory[1]) & 0xFFFFFFFF)
    return as_action(state, i, draw_tile(state, i, seat, key, _HIDDEN, _BIAS, _OUTPUT, memory[2:]))


def make(game: Game, sample: bool = False, seed: int | None = None) -> KernelAgent:
    """`texas42/quick`.

    Args:
        game: Texas 42.
        sample: draw tiles from the policy, instead of the likeliest one.
        seed: of these draws.

    Raises:
        OptionError: the game is not Texas 42, or a seed is given where nothing is drawn.
    """
    check_texas42("texas42/quick", game)
    if not isinstance(sample, bool):
        raise OptionError(f"sample={sample!r}: must be True or False")
    if not sample:
        if seed is not None:
            raise OptionError(f"texas42/quick(seed={seed}) draws nothing; type texas42/quick(sample=True, seed={seed})")
        return KernelAgent("texas42/quick", BotKernels(choose_likeliest, memory_size=WEIGHTS.room))
    return KernelAgent("texas42/quick", BotKernels(choose_drawn, memory_size=2 + WEIGHTS.room, draws=True), seed=seed)
