"""`record`: agents play games, and every decision is written to disk, shard by shard; `watch`: they play one, and a replay shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ludory.agents.make import make_agent
from ludory.cluster.workers import Workers
from ludory.data.playthrough import Playthrough
from ludory.data.recording.record import Recorded, record_games
from ludory.data.replay import Replay, as_replay
from ludory.envs import Game, make_game
from ludory.errors import OptionError


def record(
    agents: str | Sequence[str],
    game: str | Game,
    games: int,
    folder: str | Path,
    seed: int = 0,
    *,
    shard_games: int = 1000,
    progress: Callable[[int], bool | None] | None = None,
    workers: Workers | None = None,
    **options: Any,
) -> Recorded:
    """Let agents play `games` games and write every decision to `folder`, where `TrajectoryDataset` reads it.

    Game k draws from the stream (seed, k), and shard s starts with game s * shard_games. A shard depends only on the agents, the
    game, the seed and its number, so a stopped run can be continued: intact shards stay, missing and damaged ones are played. A
    larger `games` extends the set. Several processes may record into one folder: no shard is played twice at the same time, and
    shards of a process that died are played by the others.

    Games in which a seat searches are played and kept one by one, with the columns of `search_columns`, and are summarised in
    `games.parquet`; see `SearchRecording`. If one searching agent is given for all seats but may sit in only one, it has seat
    k modulo P in game k, and its blueprint has the others.

    Args:
        agents: specs, one per seat, or one for all seats; see `make_agent`.
        game: id, or a game.
        games: total number of games.
        folder: of the shards and `dataset.json`.
        seed: of the deals, and of agents that sample.
        shard_games: games per file.
        progress: called with the number of games after each shard, or after each game of a search, and with 0 while this process
            waits for others; returns True to stop.
        workers: play the games there; this process writes the files, which are the same byte for byte. None: play here.
        options: of the game, if it is given by id.

    Raises:
        OptionError: wrong number of agents, a number out of range, or as `make_game` and `make_agent`.
        DataError: the folder holds games of other agents, another game, seed or shard size, or more games than asked for.
        OutputError: the folder cannot be written to, or files of the recording were removed or replaced while it ran.
    """
    return record_games(
        agents,
        make_game(game, **options),
        games,
        folder,
        seed,
        make_agent,
        shard_games=shard_games,
        progress=progress,
        workers=workers,
    )


def watch(
    agents: Any | Sequence[Any],
    game: str | Game,
    seed: int | None = None,
    *,
    start: Mapping[str, Any] | None = None,
    **options: Any,
) -> Replay:
    """Let agents play one game.

    A notebook shows the returned replay as a page to step through; `replay.video("game.mp4")` writes a video, and
    `replay.html()` returns the page.

    Args:
        agents: one for all seats or a sequence with one per seat: a spec, an `Agent` or a trained model, see `make_agent`.
        game: id, or a game.
        seed: of the deal (default: a fresh one).
        start: reset options, such as Hanabi's `deck`.
        options: of the game, if it is given by id.

    Raises:
        OptionError: wrong number of agents, or as `make_game` and `make_agent`.
    """
    made = make_game(game, **options)
    given = list(agents) if isinstance(agents, list | tuple) else [agents]
    if len(given) not in (1, made.facts.players):
        raise OptionError(
            f"got {len(given)} agents for {made.facts.players} seats of {made.name}: give one for all seats, or one for each"
        )
    seats = given * made.facts.players if len(given) == 1 else given
    names = [agent if isinstance(agent, str) else str(getattr(agent, "name", type(agent).__name__)) for agent in seats]
    playthrough = Playthrough(made, [make_agent(agent, made) for agent in seats], seed, start=start)
    for _ in playthrough:
        pass
    return as_replay(playthrough, names)
