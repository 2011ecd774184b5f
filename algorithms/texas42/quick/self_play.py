"""Learn the quick policy from its own play, by playing out every tile.

All four seats of a contract play the policy. At a decision each tile is tried: a copy of the game goes on with it, with the same draws
for all tiles, to where the contract is decided. The policy follows the gradient of its expected result, the sum over tiles of
probability times result. What the deal is worth is the same for all tiles of a decision and drops out, so that nothing has to estimate
it. Hands are played with the rounded weights: what learns is what plays later.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ludory.agents.texas42.bidding.contracts import BID, BIDDER, hands_of
from ludory.agents.texas42.bidding.hand_cues import CUES
from ludory.agents.texas42.play.fast_policy import (
    OF_PIMC,
    SCALE,
    QuickPolicyWeights,
    begin_choice,
    tile_logit,
    tiles_to_play,
)
from ludory.agents.texas42.play.play_outs import copy_bytes, declaration_logit, play_on
from ludory.agents.texas42.play.tile_features import FEATURES
from ludory.algorithms import LightAdam, load_adam, save_adam
from ludory.atomic import atomic_file
from ludory.envs import KernelEngine, cached_batch_kernel, hash_rows, mix
from ludory.envs.texas42 import make_play
from ludory.envs.texas42.rules import finish_trick, outcome, play_tile
from ludory.envs.texas42.state import MADE, NOT_OVER
from ludory.envs.texas42.tiles import STRAIGHT, TILES
from ludory.errors import CheckpointError

from .fit import MOST, TileNetwork

HIGHER_BIDS = 0.2
"""Share of the contracts that are for 31 to 42 points instead of 30."""
EVERY = 2
"""Of the decisions of a hand, one in so many is tried with each tile: those of one hand tell much the same."""


@dataclass(frozen=True, slots=True)
class SelfPlay:
    """Settings of the training."""

    units: int = 32
    """Of the policy's hidden layer."""
    iterations: int = 250
    """Each plays new hands and learns once from each of their decisions."""
    hands: int = 10_000
    """Of an iteration."""
    batch: int = 1024
    learning_rate: float = 2e-3
    """At the start; goes to 0 linearly."""
    entropy: float = 5e-4
    """Weight of the entropy at the start; goes to 0 linearly."""
    seed: int = 0


class TriedDecisions(NamedTuple):
    """n decisions with a choice."""

    features: NDArray[np.int8]
    """(n, MOST, FEATURES) of the tiles that could be played, ascending, then zeros."""
    number: NDArray[np.int8]
    """(n,) of these tiles."""
    chances: NDArray[np.float32]
    """(n, MOST) probability of each by the policy."""
    results: NDArray[np.int8]
    """(n, MOST) 1 or -1: how the hand ends for the seat after each; 0 behind the number of tiles."""


class Iteration(NamedTuple):
    """Figures of an iteration."""

    number: int
    made: float
    """Share of its contracts that were made."""
    entropy: float
    """Of the policy, in nats."""
    matters: float
    """Share of the decisions whose result depends on the tile."""


@cached_batch_kernel
def try_tiles(
    state,
    state_bytes,
    scratch,
    scratch_bytes,
    key,
    hidden,
    bias,
    output,
    x,
    logits,
    features,
    number,
    chances,
    results,
    made,
):
    """Play the hands of `state` to where each contract is decided, one decision in `EVERY` also after each of its tiles.

    Returns the number of these decisions. state_bytes uint8 [games, size] are the records of the games; scratch, scratch_bytes [size]: one
    more. hidden, bias, output: weights of the policy; x [FEATURES + 2 * units] and logits [MOST]: working memory. What is written: as in
    `TriedDecisions`; made: of each game.
    """
    count = 0
    for i in range(made.shape[0]):
        # neighbours begin at different decisions, so that all kinds are tried
        result, decision = NOT_OVER, i
        while result == NOT_OVER:
            seat, ply = int(state.to_move[i]), int(state.plays[i])
            moves, chosen, place, top, total = tiles_to_play(state, i, seat), 0, 0, -1e30, 0.0
            tried = False
            if moves & (moves - 1) != 0:
                decision += 1
                tried = decision % EVERY == 0
                begin_choice(state, i, seat, hidden, bias, x)
            for tile in range(28):
                if (moves >> tile) & 1:
                    logits[place] = tile_logit(state, i, seat, tile, hidden, output, x) / (SCALE * SCALE)
                    top = max(top, logits[place])
                    if tried:
                        for k in range(FEATURES):
                            features[count, place, k] = x[k]
                    place += 1
            for k in range(place):
                logits[k] = math.exp(logits[k] - top)
                total += logits[k]
            # 32 bits of the hash as a number in [0, 1)
            left, place = total * ((mix(mix(key, i), ply) >> 20) & 0xFFFFFFFF) / 4294967296.0, 0
            side = 1 if (seat - int(state.bidder[i])) & 1 == 0 else -1
            for tile in range(28):
                if (moves >> tile) & 1:
                    # what rounding leaves over goes to the last tile
                    chosen = tile if left >= 0 else chosen
                    left -= logits[place]
                    if tried:
                        chances[count, place] = logits[place] / total
                        copy_bytes(state_bytes[i], scratch_bytes)
                        after = NOT_OVER
                        if play_tile(scratch, 0, seat, tile):
                            finish_trick(scratch, 0)
                            after = outcome(scratch, 0)
                        if after == NOT_OVER:
                            # the same draws for all tiles, other ones than the hand itself goes on with
                            after = play_on(scratch, mix(key + 1, 32 * i + ply), hidden, bias, output, x)
                        results[count, place] = side if after == MADE else -side
                    place += 1
            if tried:
                number[count] = place
                count += 1
            if play_tile(state, i, seat, chosen):
                finish_trick(state, i)
                result = outcome(state, i)
        made[i] = result == MADE
    return count


@cached_batch_kernel
def declaration_logits(hands, trumps, x, logits):
    """logits[k, d]: that of declaration d of straight 42 with hand k, times SCALE. x [CUES]: working memory."""
    for k in range(hands.shape[0]):
        for d in range(len(STRAIGHT)):
            logits[k, d] = declaration_logit(int(hands[k]), STRAIGHT[d], trumps, x)


def contracts(count: int, key: int, trumps: NDArray[np.int32]) -> dict[str, NDArray[np.int64]]:
    """Random deals, declared by seat 0 as the policy's model of declarations has it; options of `engine.reset`."""
    chance = np.random.default_rng(key)
    hands = np.argsort(chance.random((count, TILES)), axis=1).reshape(count, 4, 7)
    deals = np.sort(hands, axis=2).reshape(count, TILES)
    logits = np.zeros((count, len(STRAIGHT)))
    declaration_logits(hands_of(deals)[:, 0], trumps, np.zeros(CUES, np.int32), logits)
    # the largest logit with Gumbel noise is a draw from the softmax
    decls = np.array(STRAIGHT)[(logits / SCALE + chance.gumbel(size=logits.shape)).argmax(axis=1)]
    bids = np.where(chance.random(count) < HIGHER_BIDS, chance.integers(31, 43, count), BID)
    seats = np.full(count, BIDDER)
    return {"deal": deals, "decl": decls, "bid": bids, "bidder": seats, "leader": seats}


def play(weights: QuickPolicyWeights, count: int, key: int) -> tuple[TriedDecisions, float]:
    """Decisions of `count` hands, a function of weights and key, and the share of contracts that were made."""
    engine = KernelEngine(make_play(reward="make", early_stop=True), count, seed=0)
    engine.reset(options=contracts(count, key, weights.trumps))
    state, scratch = engine.records, engine.records[:1].copy()
    as_bytes = [part.view(np.ndarray).view(np.uint8).reshape(len(part), -1) for part in (state, scratch)]
    most = count * (TILES // EVERY)
    found = TriedDecisions(
        np.zeros((most, MOST, FEATURES), np.int8),
        np.zeros(most, np.int8),
        np.zeros((most, MOST), np.float32),
        np.zeros((most, MOST), np.int8),
    )
    made, x = np.zeros(count, np.bool_), np.zeros(weights.room, np.int32)
    memory = state, as_bytes[0], scratch, as_bytes[1][0], key, *weights.of_tiles, x, np.zeros(MOST)
    n = try_tiles(*memory, *found, made)
    return TriedDecisions._make(column[:n] for column in found), float(made.mean())


def learn(
    settings: SelfPlay, file: Path | None = None, done: Callable[[Iteration], None] | None = None, every: int = 10
) -> QuickPolicyWeights:
    """Train, or go on with the training in `file`, where it is saved after each `every` iterations. The result depends on the settings only.

    Raises:
        CheckpointError: the file is damaged, or is of other settings.
    """
    torch.manual_seed(settings.seed)
    policy = TileNetwork(settings.units, _largest(settings.seed))
    optimiser = LightAdam(policy.parameters(), settings.learning_rate)
    trumps = torch.from_numpy(OF_PIMC.trumps) / SCALE
    start = _resume(file, settings, policy, optimiser) if file and file.exists() else 0
    for number in range(start, settings.iterations):
        left = 1 - number / settings.iterations
        for group in optimiser.param_groups:
            group["lr"] = settings.learning_rate * left
        key = abs(int(hash_rows(settings.seed, number)))
        decisions, made = play(policy.weights(trumps), settings.hands, key)
        figures = _update(policy, optimiser, decisions, settings.batch, settings.entropy * left, key)
        if done:
            done(Iteration(number + 1, made, *figures))
        if file and ((number + 1) % every == 0 or number + 1 == settings.iterations):
            content = {"settings": asdict(settings), "iterations": number + 1, "weights": policy.state_dict()}
            with atomic_file(file) as handle:
                torch.save(content | {"adam": save_adam(optimiser)}, handle)
    return policy.weights(trumps)


def _largest(key: int) -> torch.Tensor:
    """(FEATURES,) largest value of each feature in some hands, by which networks divide it."""
    every = np.pad(OF_PIMC.hidden, ((0, 0), (0, FEATURES - OF_PIMC.hidden.shape[1])))
    features = play(OF_PIMC._replace(hidden=every), 1000, key)[0].features
    return torch.from_numpy(np.abs(features).reshape(-1, FEATURES).max(axis=0)).float().clamp(min=1)


def _resume(file: Path, settings: SelfPlay, policy: TileNetwork, optimiser: torch.optim.Adam) -> int:
    """Read weights and moments; returns the number of iterations that are done."""
    try:
        found: dict[str, Any] = torch.load(file, weights_only=True)
        other = found["settings"]
        if other == asdict(settings):
            policy.load_state_dict(found["weights"])
            load_adam(optimiser, found["adam"])
            return int(found["iterations"])
    except Exception as error:  # torch raises many kinds of errors on damaged data
        raise CheckpointError(
            f"{file}: not a training of the quick policy, or damaged; delete it to begin again"
        ) from error
    differs = ", ".join(
        f"{name} {other.get(name)}" for name, value in asdict(settings).items() if other.get(name) != value
    )
    raise CheckpointError(f"{file} is a training with {differs}; give the same settings or another folder with --out")


def _update(
    policy: TileNetwork,
    optimiser: torch.optim.Adam,
    decisions: TriedDecisions,
    batch: int,
    entropy: float,
    key: int,
) -> tuple[float, float]:
    """Learn from each decision of an iteration once; returns the policy's entropy and the share of decisions in which the tile matters."""
    features, number, chances, results = map(torch.from_numpy, decisions)
    number, legal = number.long(), torch.arange(MOST) < number[:, None]
    advantages = results - (chances * results).sum(1, keepdim=True)
    entropies = []
    for rows in torch.from_numpy(np.random.default_rng(key).permutation(len(number))).split(batch):
        log_probs = policy(features[rows], number[rows]).log_softmax(1)
        probs = log_probs.exp()
        spread = -(probs * log_probs.masked_fill(~legal[rows], 0)).sum(1).mean()
        loss = -(probs * advantages[rows]).sum(1).mean() - entropy * spread
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        entropies.append(spread.item())
    wins = ((results > 0) & legal).sum(1)
    return float(np.mean(entropies)), float(((wins > 0) & (wins < number)).float().mean())
