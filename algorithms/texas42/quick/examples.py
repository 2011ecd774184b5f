"""What a player does in contracts, as examples: the features of the tiles that could be played, and which one was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents import Agent, make_agent
from ludory.agents.texas42.bidding.contracts import hands_of, standard_contracts
from ludory.agents.texas42.play.play_outs import describe_rows
from ludory.agents.texas42.play.tile_features import FEATURES
from ludory.atomic import atomic_file
from ludory.envs import Array, Engine, KernelEngine, Memory, Table, hash_rows
from ludory.envs.texas42 import make_play
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
