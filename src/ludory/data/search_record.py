"""`SearchRecording`: games in which a seat searches cost seconds each, so every one is kept as soon as it is over."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ludory.envs.game import Game
from ludory.envs.make import make_engine
from ludory.errors import DataError
from ludory.plugins.spec import parse_spec

from .columns import Columns
from .game_results import write_game_results
from .header import TrajectoryHeader
from .search_columns import Searches, SearchNotes, with_course
from .shards import Manifest, index_shard, open_shard, read_unit, shard_file, write_shard, write_table
from .witness import Witness


class SearchRecording:
    """Plays the games of a set that are not on disk yet.

    A finished game lies in a file of its own, `part-00000.games/0000000042.parquet`, until all games of its shard are there; then
    they become the shard. Whole games of a shard with fewer games, or with damaged ones, are kept. Game k depends on agents,
    game, seed and k only, so it does not matter when and in which order games were played.

    Args:
        folder: of the set.
        manifest: what it is to hold.
        game: what is played.
        players: one for every seat, or one for all.
    """

    def __init__(self, folder: Path, manifest: Manifest, game: Game, players: Sequence[Any]) -> None:
        self._folder, self._manifest, self._game = folder, manifest, game
        self._players = [_as_partner(player, number, players, manifest) for number, player in enumerate(players)]

    def steps(self) -> Iterator[int]:
        """Plays what is missing; gives the number of games after each that was played, and after each shard's others."""
        for shard in range(self._manifest.shards):
            yield from self._shard(shard)
        write_game_results(self._folder, self._manifest, self._game)

    def _shard(self, shard: int) -> Iterator[int]:
        first, count = shard * self._manifest.shard_games, self._manifest.games_in(shard)
        wanted = range(first, first + count)
        found = dict(whole_games(self._folder, shard, self._manifest.header))
        yield sum(number in found for number in wanted)
        for number in wanted:
            if number not in found:
                file = game_file(self._folder, shard, number)
                write_shard(file, self._manifest.header, self._play(number))
                yield 1
        self._join(shard, wanted)

    def _join(self, shard: int, wanted: range) -> None:
        """Make the shard of its games, if it is not there yet."""
        target, index = shard_file(self._folder, shard), None
        if target.exists():
            index = index_shard(target)
        if index is None or index.problems or index.games.tolist() != list(wanted):
            found = dict(whole_games(self._folder, shard, self._manifest.header))
            write_table(target, self._manifest.header, pa.concat_tables(found[k] for k in wanted).combine_chunks())
        shutil.rmtree(game_file(self._folder, shard, 0).parent, ignore_errors=True)

    def _play(self, number: int) -> Columns:
        seed, facts = self._manifest.header.seed or 0, self._game.facts
        players = self._seated(number)
        for seat, player in enumerate(players):
            if not any(player is before for before in players[:seat]):
                player.seed(int(np.random.SeedSequence([seed, number, seat]).generate_state(1)[0]))
        engine = make_engine(self._game, 1, seed=seed, first_game=number)
        columns = Witness(engine, players, SearchNotes(self._game, players)).play(number, seed)
        return with_course(columns, facts.num_actions)

    def _seated(self, number: int) -> list[Any]:
        """Who plays game `number`, by seat."""
        players, seats = self._players, self._game.facts.players
        if len(players) == seats:
            return players
        if not players[0].alone:
            return players * seats
        return [players[0] if seat == number % seats else players[0].partner for seat in range(seats)]


def _as_partner(player: Any, number: int, players: Sequence[Any], manifest: Manifest) -> Any:
    """An agent by the name of another seat's blueprint is this blueprint."""
    names = manifest.header.agents
    for name, other in zip(names, players, strict=False):
        if isinstance(other, Searches) and not isinstance(player, Searches):
            spec = parse_spec(name)
            if names[number] == (spec.args[0] if spec.args else spec.kwargs.get("blueprint")):
                return other.partner
    return player


def game_file(folder: Path, shard: int, number: int) -> Path:
    """Where a finished game lies until its shard is complete."""
    return shard_file(folder, shard).with_suffix(".games") / f"{number:010d}.parquet"


def whole_games(folder: Path, shard: int, header: TrajectoryHeader) -> Iterator[tuple[int, pa.Table]]:
    """Number and rows of every whole game of a shard, finished or not, that is on disk."""
    singles = sorted(game_file(folder, shard, 0).parent.glob("*.parquet"))
    for file in (shard_file(folder, shard), *singles):
        if not file.exists():
            continue
        index = index_shard(file)
        if index.header != header:
            continue
        try:
            with open_shard(file) as opened:
                for unit in np.unique(index.units):
                    rows = read_unit(opened, file, int(unit))
                    for number in index.games[(index.units == unit) & ~index.bad].tolist():
                        yield number, rows.filter(pc.equal(rows["game"], number))
        except DataError:
            continue


def recorded_games(folder: Path, manifest: Manifest) -> Iterator[pa.Table]:
    """The rows of every whole game of a set, also of one that is not complete, in order."""
    for shard in range(manifest.shards):
        for _, rows in sorted(whole_games(folder, shard, manifest.header), key=lambda one: one[0]):
            yield rows
