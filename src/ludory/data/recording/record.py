"""`record`: agents play games, here or at workers, and every decision is written to disk, one shard at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ludory.atomic import atomic_file, remove_temporaries
from ludory.checkpoints.hub import local_path
from ludory.claims import claimed, share
from ludory.cluster.workers import Workers
from ludory.data.columns import Columns
from ludory.data.header import TrajectoryHeader, header_of, header_to_json
from ludory.data.shards import (
    MANIFEST,
    RECENT,
    Manifest,
    index_shard,
    read_manifest,
    shard_bytes,
    shard_file,
    shard_number,
    write_manifest,
    write_shard,
)
from ludory.envs import Game, NamedGame, make_engine
from ludory.errors import CheckpointError, DataError, OptionError
from ludory.plugins.spec import FOLDER_HEADER, parse_spec
from ludory.written import WrittenFiles

from .decision_recorder import DecisionRecorder, recorded_columns
from .search_columns import Searches, search_columns
from .search_record import SearchedGames, SearchRecording

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


class Recorded(NamedTuple):
    """Progress of a set: games on disk, and games in all."""

    games: int
    of: int


def record_games(
    agents: str | Sequence[str],
    made: Game,
    games: int,
    folder: str | Path,
    seed: int,
    make_agent: Callable[[str, Game], Any],
    *,
    shard_games: int,
    progress: Callable[[int], bool | None] | None,
    workers: Workers | None = None,
) -> Recorded:
    """As `ludory.agents.evaluation.record.record`, which hands in how an agent is made: data stands below agents."""
    made.need("a recording", "heads")
    names = [agents] if isinstance(agents, str) else list(agents)
    if len(names) not in (1, made.facts.players):
        raise OptionError(
            f"{made.id or made.facts.name} has {made.facts.players} seats, got {len(names)} agents; "
            f"give {made.facts.players}, or one for all seats"
        )
    for name, number, least in (("games", games, 1), ("shard_games", shard_games, 1), ("seed", seed, 0)):
        if not least <= number < 2**63:
            raise OptionError(f"{name}={number}: must be an integer of at least {least}, and below 2^63")
    players = {name: make_agent(name, made) for name in names}
    searching = [player for player in players.values() if isinstance(player, Searches)]
    if len(names) > 1 and any(one.settings.get("joint") for one in searching) and len(set(names)) > 1:
        raise OptionError(
            f"{' and '.join(names)}: a joint search takes the other seat for its like; give it alone, for all seats, or let one seat "
            "search, without joint=True"
        )
    extras = (*recorded_columns(made), *(search_columns(made) if searching else ()))
    search = dict(searching[0].settings) if searching else {}
    checkpoints, seats = checkpoint_hashes(names), names * (made.facts.players // len(names))
    header = header_of(
        made, agents=tuple(seats), checkpoints=checkpoints, seed=seed, extra_columns=extras, search=search
    )
    remove_temporaries(folder)
    manifest = _claimed(Path(folder), Manifest(header, games, shard_games))
    # searched games seat their agents by game, see `SearchedGames`
    by_seat = [players[name] for name in (names if searching else seats)]
    played = (SearchedGames if searching else PlayedShards)(manifest, made, by_seat)
    writing: Writing = partial(write_here, manifest.header, played)
    if workers is not None:
        unit = Unit(NamedGame.of(made), tuple(names), make_agent, manifest, bool(searching), 0)
        writing = partial(write_elsewhere, workers, unit)
    steps = (
        SearchRecording(Path(folder), manifest, made).steps(writing)
        if searching
        else _steps(Path(folder), manifest, writing)
    )
    done = 0
    for count in steps:
        done += count
        # a callback that returns False ends the recording
        if progress and progress(count) and done < games:
            break
    return Recorded(done, games)


def _steps(folder: Path, manifest: Manifest, writing: Writing) -> Iterator[int]:
    """Write missing shards; yields the number of games in each shard, and 0 while only other processes have work.

    Raises:
        OutputError: shards were removed or replaced. Recent ones are checked after each new one, and all of them at the end.
    """
    written = WrittenFiles()
    written.add(folder / MANIFEST)
    shards = range(manifest.shards)
    # only those that no process has written
    write = writing([shard for shard in shards if not _is_intact(folder, shard, manifest)])

    def as_good(file: Path) -> bool:
        if file.name == MANIFEST:
            return manifest.stands_in(folder)
        return _is_intact(folder, shard_number(file), manifest)

    # claims shards, so that several processes share a set
    def make(shard: int) -> None:
        write(shard, shard_file(folder, shard))

    for shard in share(shards, lambda k: shard_file(folder, k), lambda k: _is_intact(folder, k, manifest), make):
        if shard is not None:
            written.add(shard_file(folder, shard))
            written.check(RECENT, as_good)
        yield 0 if shard is None else manifest.games_in(shard)
    written.check(None, as_good)


def _is_intact(folder: Path, shard: int, manifest: Manifest) -> bool:
    file = shard_file(folder, shard)
    if not file.exists():
        return False
    index = index_shard(file)
    wanted = manifest.numbers(shard)
    return (  # another process may be recording a larger set
        not index.problems
        and index.header == manifest.header
        and np.array_equal(index.games[: len(wanted)], np.asarray(wanted))
    )


def checkpoint_hashes(names: Sequence[str]) -> dict[str, str]:
    """SHA-256 of every checkpoint that is named, including arguments of agents."""
    files: dict[str, str] = {}
    for name in names:
        spec = parse_spec(name)
        if spec.checkpoint:
            try:
                path = Path(local_path(spec.name))
                whole = (
                    path / FOLDER_HEADER if path.is_dir() else path
                )  # the header of a folder has the checksums of its files
                files[name] = hashlib.sha256(whole.read_bytes()).hexdigest()
            except OSError as error:
                raise CheckpointError(
                    f"{spec.name}: cannot be read ({error}); name a file that `ludory train` wrote"
                ) from error
        arguments = [*spec.args, *spec.kwargs.values()]
        files |= checkpoint_hashes([one for one in arguments if isinstance(one, str) and one])
    return files


def _claimed(folder: Path, wanted: Manifest) -> Manifest:
    """Return `wanted` after writing it as the folder's manifest, unless the folder has it already.

    Raises:
        DataError: the folder holds another recording.
    """
    if not _is_asked_for(folder, wanted):
        with claimed(folder / MANIFEST, wait=True):
            if not _is_asked_for(folder, wanted):  # another process may have written it just now
                write_manifest(folder, wanted)
    return wanted


def _is_asked_for(folder: Path, wanted: Manifest) -> bool:
    """Whether the folder's manifest equals `wanted`; False if there is none, or if `wanted` extends it."""
    if not (folder / MANIFEST).exists():
        return False
    found = read_manifest(folder)
    _refuse_changes(folder, found, wanted)
    return found.games == wanted.games


def _refuse_changes(folder: Path, found: Manifest, wanted: Manifest) -> None:
    before, asked = _identity(found.header), _identity(wanted.header)
    before["shard_games"], asked["shard_games"] = found.shard_games, wanted.shard_games
    # compared apart: a version with more columns can still be read
    columns, wanted_columns = before.pop("extra_columns"), asked.pop("extra_columns")
    for name, value in before.items():
        if asked[name] != value:
            raise DataError(
                f"{folder / MANIFEST}, field {name!r}: the recording there has {value!r}, asked for is {asked[name]!r}; "
                "go on with the same, or name another folder with --out"
            )
    if columns != wanted_columns:
        lacking = ", ".join(str(column[0]) for column in wanted_columns if column not in columns)
        raise DataError(
            f"{folder / MANIFEST}: recorded by another version of Ludory, without the columns {lacking}: it can be read, "
            "but not gone on with; name another folder with --out"
        )
    if found.games > wanted.games:
        raise DataError(
            f"{folder / MANIFEST}, field 'games': the recording there has {found.games}, asked for are {wanted.games}; "
            f"ask for at least {found.games}, or name another folder with --out"
        )


def _identity(header: TrajectoryHeader) -> dict[str, Any]:
    plain = header_to_json(header)
    # a newer version goes on with an older recording
    del plain["library_version"]
    return plain
