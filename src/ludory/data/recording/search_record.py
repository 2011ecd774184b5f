"""`SearchRecording`: games in which a seat searches take seconds each, so every one is stored as soon as it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ludory.atomic import atomic_file, remove_temporaries
from ludory.claims import claimed, share
from ludory.data import shards
from ludory.data.columns import Columns, from_table, game_starts
from ludory.data.header import TrajectoryHeader
from ludory.data.shards import Manifest, open_shard, read_unit, shard_file
from ludory.envs import Game, make_engine
from ludory.errors import DataError
from ludory.plugins.spec import parse_spec
from ludory.written import WrittenFiles, lost

from .decision_recorder import DecisionRecorder
from .search_columns import Searches, SearchNotes, with_course

RESULTS = "games.parquet"
FACTS = ("score", "stacks", "lives", "end")
"""Entries of `info` after the last move, if the game has them."""


def write_game_results(folder: Path, manifest: Manifest, game: Game) -> None:
    """Replay the games of a complete set and write one row for each.

    Columns: `game`, `seed`, `start_seat`, `moves`, `return` of every seat, and for Hanabi `deck` (card ids in the order of dealing),
    `score`, `stacks`, `lives` and `end`.

    Raises:
        DataError: a game does not go as recorded.
        OutputError: the file cannot be written.
    """
    rows: list[dict[str, Any]] = []
    for shard in range(manifest.shards):
        rows += _results(shard_file(folder, shard), shard * manifest.shard_games, manifest, game)
    with atomic_file(folder / RESULTS) as handle:
        pq.write_table(pa.Table.from_pylist(rows), handle)


def _results(file: Path, first_game: int, manifest: Manifest, game: Game) -> list[dict[str, Any]]:
    with open_shard(file) as opened:
        parts = [from_table(read_unit(opened, file, k), manifest.header) for k in range(opened.num_row_groups)]
    games, actions = (np.concatenate([getattr(part, name) for part in parts]) for name in ("games", "actions"))
    starts = game_starts(games)
    lengths, seed = np.diff(np.append(starts, len(games))), manifest.header.seed or 0
    engine = make_engine(game, len(starts), seed=seed, first_game=first_game)
    engine.reset()
    before = [{"start_seat": int(engine.to_move[k])} | _deck(engine.state, k) for k in range(len(starts))]
    returns = np.zeros((len(starts), game.facts.players), np.float64)
    for move in range(int(lengths.max())):
        running = np.flatnonzero(lengths > move)
        engine.step(actions[starts[running] + move, 0], running)
        returns += engine.rewards
    unfinished = np.flatnonzero(~(engine.terminated | engine.truncated))
    if len(unfinished):
        raise DataError(
            f"{file}: game {first_game + unfinished[0]} does not go as recorded; delete the file, and record it again"
        )
    infos = [game.look.info(engine.state, k) for k in range(len(starts))]
    return [
        {"game": first_game + k, "seed": seed, **before[k], "moves": int(lengths[k]), "return": returns[k].tolist()}
        | {name: infos[k][name] for name in FACTS if name in infos[k]}
        for k in range(len(starts))
    ]


def _deck(state: Any, row: int) -> dict[str, Any]:
    return {"deck": np.asarray(state.deck[row]).tolist()} if hasattr(state, "deck") else {}


class SearchRecording:
    """Plays the games of a set that are not on disk yet.

    A finished game is stored in a file of its own, `part-00000.games/0000000042.parquet`, until all games of its shard exist; they are
    then joined into the shard. Whole games of an incomplete or damaged shard are kept. Game k depends only on agents, game, seed and k,
    so several processes can share the work in any order.

    Args:
        folder: of the set.
        manifest: what the set is to hold.
        game: the game to play.
    """

    def __init__(self, folder: Path, manifest: shards.Manifest, game: Game) -> None:
        self._folder, self._manifest, self._game = folder, manifest, game
        self._written = WrittenFiles()
        self._written.add(folder / shards.MANIFEST)

    def steps(self, writing: Callable[[Sequence[int]], Callable[[int, Path], None]]) -> Iterator[int]:
        """Write missing games that no other process is playing; yields the number of games found or made.

        These are the games on disk of each shard, then 1 for each game, and 0 while only other processes have work.

        Args:
            writing: returns a function that plays a game and writes its file, given the numbers of all missing games.

        Raises:
            OutputError: files were removed or replaced. Recent ones are checked after each game, and all of them at the end.
        """
        left: dict[int, set[int]] = {}
        for shard in range(self._manifest.shards):
            # of a process that was killed while it wrote
            remove_temporaries(game_file(self._folder, shard, 0).parent)
            wanted = self._manifest.numbers(shard)
            left[shard] = set(wanted) - self._there(shard)
            yield len(wanted) - len(left[shard])
            if not left[shard]:
                self._join(shard)
        missing = [(shard, number) for shard in left for number in sorted(left[shard])]
        write = writing([number for _, number in missing])

        def make(game: tuple[int, int]) -> None:
            write(game[1], self._file(game))

        for game in share(missing, self._file, self._is_there, make):
            if game is not None:
                self._written.add(self._file(game))
                self._written.check(shards.RECENT, self._as_good)
                left[game[0]].remove(game[1])
                if not left[game[0]]:
                    self._join(game[0])
            yield 0 if game is None else 1
        self._written.check(None, self._as_good)
        if self._manifest == shards.read_manifest(self._folder):  # nobody else is recording a larger set
            write_game_results(self._folder, self._manifest, self._game)

    def _file(self, game: tuple[int, int]) -> Path:
        return game_file(self._folder, *game)

    def _is_there(self, game: tuple[int, int]) -> bool:
        """Whether the game is in its own file or in its shard. The order matters, since another process may be joining them."""
        # a game is in its shard before its own file goes
        shard, number = game
        return number in self._good_games(self._file(game)) or number in self._good_games(
            shards.shard_file(self._folder, shard)
        )

    def _there(self, shard: int) -> set[int]:
        """Numbers of the whole games of a shard on disk."""
        singles = game_file(self._folder, shard, 0).parent.glob("*.parquet")
        return set().union(*map(self._good_games, (*singles, shards.shard_file(self._folder, shard))))

    def _good_games(self, file: Path) -> set[int]:
        index = shards.index_shard(file)
        return set(index.games[~index.bad].tolist()) if index.header == self._manifest.header else set()

    def _as_good(self, file: Path) -> bool:
        """Whether a file changed only because another process joined games, or records a larger set."""
        if file.name == shards.MANIFEST:
            return self._manifest.stands_in(self._folder)
        if file.parent == self._folder:
            return self._is_whole(shards.shard_number(file))
        number = int(file.stem)
        return self._is_there((number // self._manifest.shard_games, number))

    def _is_whole(self, shard: int) -> bool:
        """Whether the file of the shard holds all its games."""
        return self._good_games(shards.shard_file(self._folder, shard)) >= set(self._manifest.numbers(shard))

    def _join(self, shard: int) -> None:
        """Join the games of a shard, unless that is done, and remove their own files.

        Raises:
            OutputError: games have disappeared.
        """
        target = shards.shard_file(self._folder, shard)
        with claimed(target, wait=True):
            # looked at again under the claim
            if not self._is_whole(shard):
                found = dict(whole_games(self._folder, shard, self._manifest.header))
                if gone := [k for k in self._manifest.numbers(shard) if k not in found]:
                    raise lost([f"{game_file(self._folder, shard, k)} is gone" for k in gone])
                rows = pa.concat_tables(found[k] for k in sorted(found))
                shards.write_table(target, self._manifest.header, rows.combine_chunks())
        joined, singles = self._good_games(target), game_file(self._folder, shard, 0).parent
        for file in singles.glob("*.parquet"):
            # only games that are surely in the shard
            if self._good_games(file) <= joined:
                file.unlink(missing_ok=True)
                self._written.drop(file)
        with suppress(OSError):  # another process has games there
            singles.rmdir()
        self._written.add(target)


class SearchedGames:
    """Plays single games in which a seat searches; game k depends only on agents, game, seed and k.

    Args:
        manifest: what the set is to hold.
        game: the game to play.
        players: one for every seat, or one for all.
    """

    def __init__(self, manifest: shards.Manifest, game: Game, players: Sequence[Any]) -> None:
        self._manifest, self._game = manifest, game
        self._players = [_as_partner(player, number, players, manifest) for number, player in enumerate(players)]

    def play(self, number: int) -> Columns:
        """The decisions of game `number`, with the columns of `search_columns`."""
        seed, facts = self._manifest.header.seed or 0, self._game.facts
        players = self._seated(number)
        for seat, player in enumerate(players):
            if not any(player is before for before in players[:seat]):
                # of game and seat alone, so that games may be played in any order
                player.seed(int(np.random.SeedSequence([seed, number, seat]).generate_state(1)[0]))
        engine = make_engine(self._game, 1, seed=seed, first_game=number)
        columns = DecisionRecorder(self._game, engine, players, SearchNotes(self._game, players)).play(number, seed)
        return with_course(columns, facts.num_actions)

    def _seated(self, number: int) -> list[Any]:
        """Players of game `number` by seat."""
        players, seats = self._players, self._game.facts.players
        if len(players) == seats:
            return players
        if not players[0].alone:
            # two seats that search together share one object
            return players * seats
        # the searching seat changes from game to game
        return [players[0] if seat == number % seats else players[0].partner for seat in range(seats)]


def _as_partner(player: Any, number: int, players: Sequence[Any], manifest: shards.Manifest) -> Any:
    """Replace an agent with the name of another seat's blueprint by this blueprint itself."""
    names = manifest.header.agents
    for name, other in zip(names, players, strict=False):
        if isinstance(other, Searches) and not isinstance(player, Searches):
            spec = parse_spec(name)
            if names[number] == (spec.args[0] if spec.args else spec.kwargs.get("blueprint")):
                # the very object, so that its memory is the one that the search assumes
                return other.partner
    return player


def game_file(folder: Path, shard: int, number: int) -> Path:
    """File of a finished game until its shard is complete."""
    return shards.shard_file(folder, shard).with_suffix(".games") / f"{number:010d}.parquet"


def whole_games(folder: Path, shard: int, header: TrajectoryHeader) -> Iterator[tuple[int, pa.Table]]:
    """Number and rows of every whole game of a shard on disk, whether or not the shard is complete."""
    singles = sorted(game_file(folder, shard, 0).parent.glob("*.parquet"))
    for file in (shards.shard_file(folder, shard), *singles):
        if not file.exists():
            continue
        index = shards.index_shard(file)
        if index.header != header:
            continue
        try:
            with shards.open_shard(file) as opened:
                for unit in np.unique(index.units):
                    rows = shards.read_unit(opened, file, int(unit))
                    for number in index.games[(index.units == unit) & ~index.bad].tolist():
                        yield number, rows.filter(pc.equal(rows["game"], number))
        except DataError:
            continue


def recorded_games(folder: Path, manifest: shards.Manifest) -> Iterator[pa.Table]:
    """The rows of every whole game of a set in order; the set may be incomplete."""
    for shard in range(manifest.shards):
        for _, rows in sorted(whole_games(folder, shard, manifest.header), key=lambda one: one[0]):
            yield rows
