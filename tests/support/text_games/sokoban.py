"""Recorded games of gym-sokoban and RAGEN, and their replay."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from ludory.envs.make import make_game
from ludory.envs.sokoban.state import PLAYER, PLAYER_ON_TARGET, WALL, drawn_codes

FOLDER = Path(__file__).parents[2] / "golden" / "text_games"
OUTSIDE = 255
"""What the files hold beside rooms smaller than 10x10."""


def traces() -> dict[str, np.ndarray]:
    """The arrays of `golden_dev.npz`, with walls outside the rooms."""
    with np.load(FOLDER / "golden_dev.npz") as file:
        recorded = dict(file)
    for name in ("room_fixed", "states"):
        recorded[name][recorded[name] == OUTSIDE] = WALL
    return recorded


def game_of(row: np.ndarray):
    """The game of a row (rows, columns, boxes, max_steps) of `cfg_table`.

    Rooms larger than 6x6 are played as 10x10 with walls beside them, which changes nothing, and saves the time to compile five more sizes.
    """
    rows, columns, boxes, steps = (int(value) for value in row)
    size = 6 if rows == columns == 6 else 10
    return make_game("Sokoban-v0", size=size, boxes=boxes, max_steps=steps, actions="move9")


def text_episodes(env: str = "ragen-sokoban") -> list[dict[str, Any]]:
    """The text episodes of an environment."""
    with gzip.open(FOLDER / "golden_ragen_dev.jsonl.gz", "rt", encoding="utf-8") as file:
        return [episode for episode in map(json.loads, file) if episode["env"] == env]


def differences(engine, trace: dict[str, np.ndarray], rooms: np.ndarray) -> dict[str, int]:
    """How many values differ when the games `rooms` of one configuration are replayed as a batch; also how many steps were compared."""
    rows, columns = engine.facts.observation.shape[-2:]
    first, last = trace["step_offsets"][rooms], trace["step_offsets"][rooms + 1]
    lengths = last - first
    states = [trace["states"][first[k] + rooms[k] :][: lengths[k] + 1, :rows, :columns] for k in range(len(rooms))]
    fixed = trace["room_fixed"][rooms, :rows, :columns]
    engine.reset(options={"fixed": fixed, "codes": np.stack([state[0] for state in states])})
    found = dict.fromkeys(("codes", "fixed", "reward", "terminated", "truncated", "player", "box", "success"), 0)
    for t in range(lengths.max()):
        running = np.flatnonzero(t < lengths)
        at = first[running] + t
        engine.step(trace["actions"][at].astype(np.int64), rows=running)
        codes = drawn_codes(engine.state, running)
        wanted = np.stack([states[k][t + 1] for k in running])
        on_target = (codes == PLAYER_ON_TARGET) & (fixed[running] == 2)
        found["fixed"] += int(((codes == PLAYER_ON_TARGET) & ~on_target).sum())
        found["codes"] += int((np.where(codes == PLAYER_ON_TARGET, PLAYER, codes) != wanted).sum())
        rewards = np.asarray(engine.rewards)[running, 0]
        found["reward"] += int((rewards != trace["rewards"][at].astype(np.float32)).sum())
        found["terminated"] += int((np.asarray(engine.terminated)[running] != trace["won"][at]).sum())
        found["truncated"] += int((np.asarray(engine.truncated)[running] != trace["hit_max_steps"][at]).sum())
        infos = [engine.game.look.info(engine.state, int(row)) for row in running]
        found["player"] += sum(
            info["moved_player"] != moved for info, moved in zip(infos, trace["moved_player"][at], strict=True)
        )
        found["box"] += sum(
            info["moved_box"] != moved for info, moved in zip(infos, trace["moved_box"][at], strict=True)
        )
        found["success"] += sum(info["success"] != won for info, won in zip(infos, trace["won"][at], strict=True))
    return {**found, "steps": int(lengths.sum())}
