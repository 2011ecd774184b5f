"""Learn the quick policy by PPO from its own play.

All four seats of a contract play the policy. The side that has the contract gets 1 where it is made and -1 where it is broken, the
other side the opposite. Hands are played with the rounded weights: what learns is what plays later.
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
from torch import Tensor, nn

from ludory.agents import MaskedHeads
from ludory.agents.texas42.bidding.contracts import BID, BIDDER, hands_of
from ludory.agents.texas42.bidding.hand_cues import features_of
from ludory.agents.texas42.play.fast_policy import OF_PIMC, SCALE, QuickPolicyWeights, begin_choice, tile_logit, tiles_to_play
from ludory.agents.texas42.play.tile_features import FEATURES
from ludory.algorithms import Coefficients, PPOMinibatch, load_adam, ppo_loss, save_adam
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
UNITS = 64
"""Of the network that estimates the result."""


@dataclass(frozen=True, slots=True)
class SelfPlay:
    """Settings of the training."""

    units: int = 32
    """Of the policy's hidden layer."""
    iterations: int = 250
    """Each plays new hands and learns from them."""
    hands: int = 20_000
    """Of an iteration."""
    epochs: int = 2
    """Passes over the decisions of an iteration."""
    batch: int = 8192
    learning_rate: float = 1e-3
    """At the start; goes to 0 linearly."""
    entropy: float = 0.01
    """Weight of the entropy at the start; goes to 0 linearly."""
    seed: int = 0


class OwnDecisions(NamedTuple):
    """n decisions with a choice."""

    features: NDArray[np.int8]
    """(n, MOST, FEATURES) of the tiles that could be played, ascending, then zeros."""
    number: NDArray[np.int8]
    """(n,) of these tiles."""
    chosen: NDArray[np.int8]
    """(n,) place of the tile played among them."""
    log_probs: NDArray[np.float32]
    """(n,) of that tile."""
    results: NDArray[np.float32]
    """(n,) 1 or -1: how the hand ended for the seat."""


class Iteration(NamedTuple):
    """Figures of an iteration."""

    number: int
    made: float
    """Share of its contracts that were made."""
    entropy: float
    """Of the policy, in nats."""
    explained: float
    """Share of the variance of results that the estimate explains."""


@cached_batch_kernel
def play_rows(state, key, hidden, bias, output, x, logits, features, number, chosen, log_probs, hand, sides, made):
    """Play the hands of `state` to where each contract is decided; returns the number of decisions with a choice.

    hidden, bias, output: weights of the policy; x [FEATURES + 2 * units] and logits [MOST]: working memory. What is written of a decision:
    as in `OwnDecisions`; hand: its game; sides: 1 where the seat's side has the contract, else -1. made: of each game.
    """
    count = 0
    for i in range(made.shape[0]):
        result = NOT_OVER
        while result == NOT_OVER:
            seat = int(state.to_move[i])
            moves, tile, several = tiles_to_play(state, i, seat), 0, 0
            for other in range(28):
                if (moves >> other) & 1:
                    tile = other
                    several += 1
            if several > 1:
                place, top, total = 0, -1e30, 0.0
                begin_choice(state, i, seat, hidden, bias, x)
                for other in range(28):
                    if (moves >> other) & 1:
                        logits[place] = tile_logit(state, i, seat, other, hidden, output, x) / (SCALE * SCALE)
                        for k in range(FEATURES):
                            features[count, place, k] = x[k]
                        top = max(top, logits[place])
                        place += 1
                for place in range(several):
                    total += math.exp(logits[place] - top)
                # 32 bits of the hash as a number in [0, 1)
                left = total * ((mix(mix(key, i), int(state.plays[i])) >> 20) & 0xFFFFFFFF) / 4294967296.0
                place = 0
                for other in range(28):
                    if (moves >> other) & 1:
                        tile = other
                        left -= math.exp(logits[place] - top)
                        if left < 0:
                            break
                        place += 1
                # what rounding leaves over goes to the last tile
                place = min(place, several - 1)
                number[count], chosen[count], hand[count] = several, place, i
                log_probs[count] = logits[place] - top - math.log(total)
                sides[count] = 1 if (seat - int(state.bidder[i])) & 1 == 0 else -1
                count += 1
            if play_tile(state, i, seat, tile):
                finish_trick(state, i)
                result = outcome(state, i)
        made[i] = result == MADE
    return count


def contracts(count: int, key: int, trumps: NDArray[np.int32]) -> dict[str, NDArray[np.int64]]:
    """Random deals, declared by seat 0 as the policy's model of declarations has it; options of `engine.reset`."""
    chance = np.random.default_rng(key)
    hands = np.argsort(chance.random((count, TILES)), axis=1).reshape(count, 4, 7)
    deals = np.sort(hands, axis=2).reshape(count, TILES)
    scores = np.array([features_of(int(hand)) @ trumps for hand in hands_of(deals)[:, 0]]) / SCALE
    # the largest logit with Gumbel noise is a draw from the softmax
    decls = np.array(STRAIGHT)[(scores + chance.gumbel(size=scores.shape)).argmax(axis=1)]
    bids = np.where(chance.random(count) < HIGHER_BIDS, chance.integers(31, 43, count), BID)
    seats = np.full(count, BIDDER)
    return {"deal": deals, "decl": decls, "bid": bids, "bidder": seats, "leader": seats}


def play(weights: QuickPolicyWeights, count: int, key: int) -> tuple[OwnDecisions, float]:
    """The decisions of `count` hands, a function of weights and key, and the share of contracts that were made."""
    engine = KernelEngine(make_play(reward="make", early_stop=True), count, seed=0)
    engine.reset(options=contracts(count, key, weights.trumps))
    most = count * TILES
    found = OwnDecisions(
        np.zeros((most, MOST, FEATURES), np.int8),
        np.zeros(most, np.int8),
        np.zeros(most, np.int8),
        np.zeros(most, np.float32),
        np.zeros(most, np.float32),
    )
    hand, made, x = np.zeros(most, np.int32), np.zeros(count, np.bool_), np.zeros(weights.room, np.int32)
    n = play_rows(engine.records, key, *weights.of_tiles, x, np.zeros(MOST), *found[:4], hand, found.results, made)
    # sides, turned around where the contract was broken
    found.results[:n] *= np.where(made[hand[:n]], 1, -1)
    return OwnDecisions._make(column[:n] for column in found), float(made.mean())


class _Estimate(nn.Module):
    """The result that a seat expects, from mean and maximum of the features of its tiles."""

    def __init__(self, scale: Tensor) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2 * FEATURES, UNITS), nn.ReLU(), nn.Linear(UNITS, 1))
        self.scale = scale

    def forward(self, features: Tensor, number: Tensor) -> Tensor:
        """(n,) -1..1."""
        x = features.float() / self.scale
        found: Tensor = self.layers(torch.cat([x.sum(1) / number[:, None], x.amax(1)], 1)).squeeze(-1)
        return found


def learn(
    settings: SelfPlay, file: Path | None = None, done: Callable[[Iteration], None] | None = None, every: int = 10
) -> QuickPolicyWeights:
    """Train, or go on with the training in `file`, where it is saved after each `every` iterations. The result depends on the settings only.

    Raises:
        CheckpointError: the file is damaged, or is of other settings.
    """
    torch.manual_seed(settings.seed)
    scale = _largest(settings.seed)
    policy, estimate = TileNetwork(settings.units, scale), _Estimate(scale)
    parts = nn.ModuleList([policy, estimate])
    optimiser = torch.optim.Adam(parts.parameters(), settings.learning_rate)
    trumps = torch.from_numpy(OF_PIMC.trumps) / SCALE
    start = _resume(file, settings, parts, optimiser) if file and file.exists() else 0
    for number in range(start, settings.iterations):
        left = 1 - number / settings.iterations
        for group in optimiser.param_groups:
            group["lr"] = settings.learning_rate * left
        key = int(hash_rows(settings.seed, number))
        decisions, made = play(policy.weights(trumps), settings.hands, abs(key))
        figures = _update(parts, optimiser, decisions, settings, settings.entropy * left, key)
        if done:
            done(Iteration(number + 1, made, *figures))
        if file and ((number + 1) % every == 0 or number + 1 == settings.iterations):
            content = {"settings": asdict(settings), "iterations": number + 1, "weights": parts.state_dict()}
            with atomic_file(file) as handle:
                torch.save(content | {"adam": save_adam(optimiser)}, handle)
    return policy.weights(trumps)


def _largest(key: int) -> Tensor:
    """(FEATURES,) largest value of each feature in some hands, by which networks divide it."""
    features = play(OF_PIMC, 1000, key)[0].features
    return torch.from_numpy(np.abs(features).reshape(-1, FEATURES).max(axis=0)).float().clamp(min=1)


def _resume(file: Path, settings: SelfPlay, parts: nn.Module, optimiser: torch.optim.Adam) -> int:
    """Read weights and moments; returns the number of iterations that are done."""
    try:
        found: dict[str, Any] = torch.load(file, weights_only=True)
        other = found["settings"]
        if other == asdict(settings):
            parts.load_state_dict(found["weights"])
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
    parts: nn.ModuleList,
    optimiser: torch.optim.Adam,
    decisions: OwnDecisions,
    settings: SelfPlay,
    entropy: float,
    key: int,
) -> tuple[float, float]:
    """Learn from the decisions of an iteration; returns the policy's entropy and the share of variance explained."""
    policy, estimate = parts
    features, number = torch.from_numpy(decisions.features), torch.from_numpy(decisions.number).long()
    actions, results = torch.from_numpy(decisions.chosen).long()[:, None], torch.from_numpy(decisions.results)
    log_probs = torch.from_numpy(decisions.log_probs)[:, None]
    with torch.no_grad():
        expected = estimate(features, number)
    advantages = results - expected
    explained = 1 - float(advantages.var() / results.var())
    advantages = (advantages - advantages.mean()) / advantages.std()
    coefficients = Coefficients(clip_range=0.2, vf_coef=0.5, ent_coef=entropy)
    chance, entropies = np.random.default_rng(abs(key)), []
    for _ in range(settings.epochs):
        for rows in torch.from_numpy(chance.permutation(len(number))).split(settings.batch):
            logits = policy(features[rows], number[rows])
            found = ppo_loss(
                MaskedHeads(logits, torch.arange(MOST) < number[rows, None], (MOST,)),
                estimate(features[rows], number[rows]),
                PPOMinibatch(
                    actions[rows],
                    log_probs[rows],
                    advantages[rows],
                    results[rows],
                    torch.full((len(rows),), 1 / len(rows)),
                ),
                coefficients,
            )
            optimiser.zero_grad()
            found.loss.backward()
            optimiser.step()
            entropies.append(found.entropy.item())
    return float(np.mean(entropies)), explained
