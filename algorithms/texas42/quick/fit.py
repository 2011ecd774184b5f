"""Fit the quick policy to examples of a player: cross-entropy of the tile played, and of the declaration; then round to whole numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ludory.agents import Agent, make_agent
from ludory.agents.texas42.bidding.contracts import hands_of, standard_contracts
from ludory.agents.texas42.bidding.hand_cues import CUES, features_of
from ludory.agents.texas42.play.fast_policy import SCALE, QuickPolicyWeights
from ludory.agents.texas42.play.play_outs import describe_rows
from ludory.agents.texas42.play.tile_features import FEATURES
from ludory.algorithms import LightAdam, LightAdamW
from ludory.atomic import atomic_file
from ludory.envs import Array, Engine, KernelEngine, Memory, Table, hash_rows
from ludory.envs.texas42 import make_play
from ludory.envs.texas42.tiles import STRAIGHT
from ludory.errors import DataError
from ludory.reading import read_json, read_npz

CHUNK, STREAM = 100, 1000
"""Deals of a file; the stream of deals, which the strength benchmark does not use."""
MOST = 7
"""Tiles of a hand."""
PLAYER = "texas42/pimc"
"""Whose play the weights that come with Ludory imitate."""


class Examples(NamedTuple):
    """n decisions with a choice, of h hands."""

    features: NDArray[np.int8]
    """(n, MOST, FEATURES) of the tiles that could be played, ascending, then zeros."""
    number: NDArray[np.int8]
    """(n,) of these tiles."""
    chosen: NDArray[np.int8]
    """(n,) place of the tile played among them."""
    deal: NDArray[np.int32]
    """(n,) number of the deal."""
    hand: NDArray[np.int32]
    """(h,) mask of the bidder's tiles."""
    decl: NDArray[np.int8]
    """(h,) what it declared."""


def play_examples(first: int, count: int, player: str = PLAYER) -> Examples:
    """Play the contracts first, first + 1, ... with `player` in all seats, up to where each is decided."""
    contracts = standard_contracts(first, count, STREAM)
    game = make_play(reward="make", early_stop=True)
    watched = _Watched(make_agent(player, game))
    watched.seed(int(hash_rows(STREAM, first)))
    table = Table(KernelEngine(game, count, seed=0), [watched] * game.facts.players)
    table.start(options=contracts.options)
    table.run()
    features, number, chosen, rows = (np.concatenate(columns) for columns in zip(*watched.parts, strict=True))
    deal = (first + rows).astype(np.int32)
    return Examples(features, number, chosen, deal, hands_of(contracts.deals)[:, 0], contracts.decls.astype(np.int8))


class _Watched(Agent):
    """Another agent; keeps the features of the tiles that it could play, their number, the place of the one played, and the game."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.parts: list[tuple[NDArray[Any], ...]] = []

    def seed(self, seed: int) -> None:
        self._agent.seed(seed)

    def initial_memory(self, rows: int) -> Memory:
        return self._agent.initial_memory(rows)

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        assert isinstance(engine, KernelEngine)
        actions = self._agent.choose(engine, seat, rows, memory)
        masks = engine.legal()
        # where a single tile may be played there is nothing to learn
        asked = np.flatnonzero(masks[rows].sum(axis=1) > 1)
        free, played = rows[asked], actions[asked]
        features = np.zeros((len(free), MOST, FEATURES), np.int8)
        describe_rows(engine.records, free, np.full(len(free), seat), masks[free], features)
        # its place among the legal ones
        before = np.array([masks[k, :tile].sum() for k, tile in zip(free, played, strict=True)], np.int8)
        self.parts.append((features, masks[free].sum(axis=1).astype(np.int8), before, free))
        return actions

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        self._agent.notice(engine, seat, rows, actions, memory)


def _read(file: Path) -> Examples:
    try:
        arrays = read_npz(file)
        found = Examples(*(arrays[name] for name in Examples._fields))
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{file}: damaged ({error}); delete it, then it is played anew") from error
    chosen, hands = found.chosen, found.hand
    fits = found.features.shape == (len(chosen), MOST, FEATURES) and found.decl.shape == hands.shape == (CHUNK,)
    fits &= all(array.dtype.kind == "i" for array in found)
    if not fits or not (found.number.shape == found.deal.shape == chosen.shape == (len(chosen),)):
        raise DataError(f"{file}: arrays do not fit each other; delete it, then it is played anew")
    if ((found.number < 1) | (found.number > MOST) | (chosen < 0) | (chosen >= found.number)).any():
        raise DataError(f"{file}: a tile was chosen that could not be played; delete it, then it is played anew")
    return found


def gather_examples(
    folder: Path, hands: int, player: str = PLAYER, done: Callable[[int], None] | None = None
) -> Examples:
    """Examples of at least so many hands, from the files in `folder`; those that are missing are played first, one file after another.

    Raises:
        DataError: the files are of another player, or damaged.
        OptionError: there is no such player, or it plays another game.
    """
    told, kept = {"player": player}, folder / "player.json"
    make_agent(player, make_play())  # fails before anything is written
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_file(kept, "w") as handle:
            json.dump(told, handle)
    elif (found := read_json(kept)) != told:
        raise DataError(
            f"{folder} holds what {found.get('player')!r} played, not {player!r}: give another folder with --out"
        )
    files = [folder / f"deals_{first:08d}.npz" for first in range(0, hands, CHUNK)]
    for k, file in enumerate(files):
        if not file.exists():
            found = play_examples(k * CHUNK, CHUNK, player)
            with atomic_file(file) as handle:
                np.savez_compressed(handle, **found._asdict())
        if done:
            done((k + 1) * CHUNK)
    parts = []
    for file in files:
        parts.append(_read(file))
    return Examples(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


BATCH, RATE, HELD_OUT = 256, 8e-3, 10
"""One deal in `HELD_OUT` is not learnt from."""


class Fit(NamedTuple):
    """What was fitted, and how well it tells what deals that were held out have in them."""

    weights: QuickPolicyWeights
    loss: float
    """Cross-entropy of a decision with a choice, in nats."""
    uniform_loss: float
    """Of taking any of the tiles."""
    accuracy: float
    declaration_loss: float
    declaration_accuracy: float


class TileNetwork(nn.Module):
    """Logits of the tiles of a decision, each from its own features."""

    def __init__(self, units: int, scale: Tensor) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(FEATURES, units), nn.Linear(units, 1, bias=False)
        self.scale = scale

    def forward(self, features: Tensor, number: Tensor) -> Tensor:
        """(n, MOST), -inf behind the number of tiles."""
        logits: Tensor = self.output(torch.relu(self.hidden(features.float() / self.scale))).squeeze(-1)
        return logits.masked_fill(torch.arange(MOST) >= number[:, None], -torch.inf)

    def weights(self, trumps: Tensor) -> QuickPolicyWeights:
        """In whole numbers, for features as they are."""
        parts = self.hidden.weight / self.scale, self.hidden.bias, self.output.weight[0], trumps
        return QuickPolicyWeights(*((part.detach().numpy() * SCALE).round().astype(np.int32) for part in parts))


def fit(examples: Examples, units: int = 32, epochs: int = 12, seed: int = 0) -> Fit:
    """Fit on all but the deals held out; the same for the same seed on one machine."""
    torch.manual_seed(seed)
    features, number = torch.from_numpy(examples.features), torch.from_numpy(examples.number).long()
    chosen, held_out = torch.from_numpy(examples.chosen).long(), examples.deal % HELD_OUT == HELD_OUT - 1
    scale = features.flatten(0, 1).abs().amax(0).clamp(min=1).float()
    network, learnt = TileNetwork(units, scale), np.flatnonzero(~held_out)
    steps = epochs * (len(learnt) // BATCH)
    optimiser = LightAdamW(network.parameters(), weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps + 1)
    generator = np.random.default_rng(seed)
    for _ in range(epochs):
        order = torch.from_numpy(generator.permutation(learnt))
        for rows in order[: len(order) // BATCH * BATCH].split(BATCH):
            loss = cross_entropy(network(features[rows], number[rows]), chosen[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    with torch.no_grad():
        logits, truth = network(features[held_out], number[held_out]), chosen[held_out]
    trumps, *of_declarations = _fit_declarations(examples.hand, examples.decl)
    return Fit(
        network.weights(trumps),
        float(cross_entropy(logits, truth)),
        float(number[held_out].float().log().mean()),
        float((logits.argmax(1) == truth).float().mean()),
        *of_declarations,
    )


def _fit_declarations(hands: NDArray[np.int32], decls: NDArray[np.int8]) -> tuple[Tensor, float, float]:
    """A weight for each cue; loss and accuracy on hands held out."""
    cues = torch.tensor(np.array([features_of(int(hand)) for hand in hands])).float()  # (h, 9, CUES)
    declared = torch.tensor([STRAIGHT.index(int(decl)) for decl in decls])
    held_out = torch.arange(len(hands)) % HELD_OUT == HELD_OUT - 1
    weights = torch.zeros(CUES, requires_grad=True)
    optimiser = LightAdam([weights], lr=0.05)
    for _ in range(400):
        loss = cross_entropy(cues[~held_out] @ weights, declared[~held_out]) + 1e-4 * (weights**2).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        scores = cues[held_out] @ weights
    accuracy = (scores.argmax(1) == declared[held_out]).float().mean()
    return weights, float(cross_entropy(scores, declared[held_out])), float(accuracy)


def write_weights(file: Path, weights: QuickPolicyWeights) -> None:
    """Write a file as `quick.read_weights` reads it."""
    with atomic_file(file, "w") as handle:
        json.dump({name: part.tolist() for name, part in weights._asdict().items()}, handle, separators=(",", ":"))
        handle.write("\n")
