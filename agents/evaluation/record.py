"""`record`: agents play games, and every decision goes to disk, a shard at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ludory.agents.make import make_agent
from ludory.data.recording.record import Recorded, record_games
from ludory.envs.game import Game
from ludory.envs.make import make_game


def record(
    agents: str | Sequence[str],
    game: str | Game,
    games: int,
    folder: str | Path,
    seed: int = 0,
    *,
    shard_games: int = 1000,
    progress: Callable[[int], bool | None] | None = None,
    **options: Any,
) -> Recorded:
    """Let agents play `games` games and write every decision to `folder`, to be read by `TrajectoryDataset`.

    Game k draws from the stream (seed, k), and shard s holds the games from s * shard_games on. A shard depends on agents, game,
    seed and its number only, so a run that was stopped goes on where it was: shards that are there and intact stay,
    missing and damaged ones are played. With more games the set grows. Several processes may record into one folder: none plays what
    another one is playing, and what a process that died has not finished, the others play.

    Games in which a seat searches are played and kept one by one, with the columns of `search_columns`, and are summed up in
    `games.parquet`; see `SearchRecording`. Of one searching agent for all seats that may sit in one seat only, game k has it in
    seat k modulo P, and its blueprint in the others.

    Args:
        agents: specs, one per seat, or one for all seats; see `make_agent`.
        game: id, or a game.
        games: how many in all.
        folder: of the shards and `dataset.json`.
        seed: of the deals, and of agents that draw.
        shard_games: games in one file.
        progress: called after each shard, or game that was searched, with the number of games in it, and with 0 while this process waits
            for others; returns True to stop.
        options: of the game, when it is given by id.

    Raises:
        OptionError: wrong number of agents, a number out of range, or as `make_game` and `make_agent`.
        DataError: the folder holds games of other agents, another game, seed or size of shards, or more games than asked for.
        OutputError: the folder cannot be written to, or somebody removed or replaced files of the recording while it ran.
    """
    return record_games(
        agents, make_game(game, **options), games, folder, seed, make_agent, shard_games=shard_games, progress=progress
    )
