"""`games.parquet`: start and end of every game of a recorded search, found by replaying it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ludory.atomic import atomic_file
from ludory.data.columns import from_table, game_starts
from ludory.data.shards import Manifest, open_shard, read_unit, shard_file
from ludory.envs.game import Game
from ludory.envs.make import make_engine
from ludory.errors import DataError

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
