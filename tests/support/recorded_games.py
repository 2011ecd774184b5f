"""Datasets of games that tests make up, played by agents that tests make up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ludory.agents.agent import Agent
from ludory.data.columns import WEIGHT, Columns
from ludory.data.header import header_of
from ludory.data.recording.decision_recorder import EARNED, DecisionRecorder
from ludory.data.shards import Manifest, shard_file, write_manifest, write_shard
from ludory.envs.game import Game
from ludory.envs.make import make_engine


class SaysWhatItSees(Agent):
    """In the identity game: the action that the observation names."""

    def act(self, observation: Any, mask: Any, memory: Any) -> tuple[Any, Any]:
        return observation.argmax(1), memory


class Remembers(Agent):
    """In the memory game: 0 until it is asked, then the bit that it saw first."""

    def initial_memory(self, rows: int) -> Any:
        return np.full(rows, -1)

    def act(self, observation: Any, mask: Any, memory: Any) -> tuple[Any, Any]:
        memory = np.where(memory < 0, observation[:, 1], memory)
        return memory * observation[:, 2], memory


class FirstLegal(Agent):
    """The lowest legal value of every head."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.edges = np.cumsum(sizes)[:-1]

    def act(self, observation: Any, mask: Any, memory: Any) -> tuple[Any, Any]:
        actions = np.stack([part.argmax(1) for part in np.split(np.asarray(mask), self.edges, 1)], 1)
        return (actions[:, 0] if actions.shape[1] == 1 else actions), memory


def record_games(
    folder: Path,
    game: Game,
    agent: Agent,
    games: int,
    seed: int = 5,
    change: Callable[[Columns], Columns] = lambda columns: columns,
) -> Path:
    """Write `games` games of `agent` in all seats to `folder`; `change` may alter the columns and add a `weight`."""
    engine = make_engine(game, games, seed=seed)
    columns = change(DecisionRecorder(game, engine, [agent] * game.facts.players).play(0, seed))
    extras = (EARNED, WEIGHT) if WEIGHT.name in columns.extras else (EARNED,)
    header = header_of(game, extra_columns=extras)
    write_manifest(folder, Manifest(header, games, games))
    write_shard(shard_file(folder, 0), header, columns)
    return folder
