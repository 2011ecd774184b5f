"""Units of a recording, shards or single games of a search: who plays them, here or at workers, and who writes their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ludory.atomic import atomic_file
from ludory.cluster.workers import Workers
from ludory.data.columns import Columns
from ludory.data.header import TrajectoryHeader
from ludory.data.shards import Manifest, shard_bytes, write_shard
from ludory.envs.game import Game
from ludory.envs.make import NamedGame, make_engine

from .decision_recorder import DecisionRecorder
from .search_record import SearchedGames

Write = Callable[[int, Path], None]
"""Writes the file of a unit, atomically."""
Writing = Callable[[Sequence[int]], Write]
"""Returns how units are written, given all that are missing, in the order in which they will be asked for."""


class PlayedUnits(Protocol):
    """Plays units of a recording; a unit does not depend on those played before."""

    def play(self, number: int) -> Columns:
        """The decisions of unit `number`."""


class PlayedShards:
    """Plays whole shards.

    Args:
        manifest: what the set is to hold.
        game: the game to play.
        players: one for every seat.
    """

    def __init__(self, manifest: Manifest, game: Game, players: Sequence[Any]) -> None:
        self._manifest, self._game, self._players = manifest, game, players

    def play(self, number: int) -> Columns:
        """Play the games of a shard. Agents are seeded first, so that the result does not depend on earlier shards."""
        manifest, players = self._manifest, self._players
        first, seed = number * manifest.shard_games, manifest.header.seed or 0
        for seat, player in enumerate(players):
            if player not in players[:seat]:
                player.seed(int(np.random.SeedSequence([seed, seat]).generate_state(1)[0]))
        engine = make_engine(self._game, manifest.games_in(number), seed=seed, first_game=first)
        columns = DecisionRecorder(self._game, engine, players).play(first, seed)
        engine.close()
        return columns


class Unit(NamedTuple):
    """A unit with everything that a worker needs to play it."""

    game: NamedGame
    names: tuple[str, ...]
    """Specs of agents, one for every seat, or one for all."""
    make_agent: Callable[[str, Game], Any]
    manifest: Manifest
    searching: bool
    """Whether a unit is a single game of a search, not a shard."""
    number: int


def write_here(header: TrajectoryHeader, played: PlayedUnits, missing: Sequence[int]) -> Write:
    """Play every unit in this process when it is asked for."""
    return lambda number, file: write_shard(file, header, played.play(number))


def write_elsewhere(workers: Workers, unit: Unit, missing: Sequence[int]) -> Write:
    """Let workers play the units ahead of time; this process writes what they return.

    A worker returns the bytes of a file and writes nothing: no file is visible before it is whole, a worker that dies leaves nothing
    behind, and the machines need no common folder for the recording.
    """
    made: Iterator[tuple[int, bytes]] = zip(
        missing, workers.map(unit_bytes, (unit._replace(number=number) for number in missing)), strict=True
    )

    def write(number: int, file: Path) -> None:
        content = next((found for one, found in made if one == number), None)
        if content is None:  # passed by already: another process was making it, and has died
            content = unit_bytes(unit._replace(number=number))
        with atomic_file(file) as handle:
            handle.write(content)

    return write


def unit_bytes(unit: Unit) -> bytes:
    """The bytes of a unit's file."""
    game, players = _players(unit.game, unit.names, unit.make_agent)
    kind: Any = SearchedGames if unit.searching else PlayedShards
    by_seat = players if unit.searching else players * (game.facts.players // len(players))
    return shard_bytes(unit.manifest.header, kind(unit.manifest, game, by_seat).play(unit.number))


@lru_cache(maxsize=2)
def _players(
    named: NamedGame, names: tuple[str, ...], make_agent: Callable[[str, Game], Any]
) -> tuple[Game, list[Any]]:
    """The game and its agents, kept for the next units of this worker."""
    game = named.make()
    made = {name: make_agent(name, game) for name in names}
    return game, [made[name] for name in names]
