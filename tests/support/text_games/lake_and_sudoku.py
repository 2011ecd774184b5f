"""Replays the recorded games of FrozenLake and Sudoku in batches, on any engine.

Run as a script inside Numba's CUDA simulator, it prints how many steps the CUDA engine played, and the differences.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ludory.envs.engine.protocol import Engine, on_host
from ludory.envs.frozen_lake import make_game as make_lake
from ludory.envs.frozen_lake import read_map
from ludory.envs.game import Game
from ludory.envs.parts import State
from ludory.envs.sudoku import make_game as make_sudoku

GOLDEN = Path(__file__).parents[2] / "golden" / "text_games" / "golden_ragen_dev.jsonl.gz"
Episode = dict[str, Any]


def episodes(env: str) -> list[Episode]:
    """The recorded episodes of one of RAGEN's environments."""
    with gzip.open(GOLDEN, "rt") as lines:
        return [episode for episode in map(json.loads, lines) if episode["env"] == env]


def replayed(make_engine: Callable[[Game, int], Engine], every: int = 1) -> tuple[int, list[str]]:
    """Number of steps, and differences from one in `every` episodes: firm lakes, and Sudoku of both sizes."""
    firm = [episode for episode in episodes("ragen-frozenlake") if episode["success_rate"] == 1][::every]
    rooms = {"room": np.stack([read_map(episode["map"]) for episode in firm])}
    batches: list[tuple[Game, dict[str, Any], list[Episode]]] = [(make_lake(success_rate=1.0), rooms, firm)]
    for size in (4, 9):
        some = [episode for episode in episodes("ragen-sudoku") if episode["size"] == size][::every]
        puzzles = {name: np.array([episode[name] for episode in some]) for name in ("puzzle", "solution")}
        batches.append((make_sudoku(size, rewards="ragen2", mask="all", max_steps=40, rooms=1), puzzles, some))
    played = [_replayed(make_engine(game, len(some)), given, some) for game, given, some in batches]
    return sum(steps for steps, _ in played), [difference for _, found in played for difference in found]


def _replayed(engine: Engine, given: dict[str, Any], some: Sequence[Episode]) -> tuple[int, list[str]]:
    engine.reset(options=given)
    game, found, steps = engine.game, list[str](), 0
    state = engine.state
    found += [f"start {row}" for row, episode in enumerate(some) if _text(game, state, row) != episode["obs0"]]
    for step in range(max(len(episode["steps"]) for episode in some)):
        rows = [row for row, episode in enumerate(some) if step < len(episode["steps"])]
        chosen = [some[row]["steps"][step][0] for row in rows]
        # Sudoku records texts, FrozenLake numbers from 1
        actions = [a - 1 if isinstance(a, int) else _action(game, a) for a in chosen]
        engine.step(np.array(actions), rows=np.array(rows))
        state, rewards = engine.state, on_host(engine.rewards)
        over = on_host(engine.terminated) | on_host(engine.truncated)
        for row in rows:
            _, text, reward, done, success, flag = some[row]["steps"][step]
            info = game.look.info(state, row)
            got = _text(game, state, row), rewards[row, 0], bool(over[row]), info["success"]
            same = got == (text, np.float32(reward), done, success)
            if not same or info.get("effective", info.get("accepted")) != flag:
                found.append(f"{game.name}, episode {row}, step {step}: {got}")
            steps += 1
    return steps, found


def _text(game: Game, state: State, row: int) -> str:
    assert game.language is not None
    return game.language.write(state, [row])[0]


def _action(game: Game, text: str) -> Any:
    assert game.language is not None
    return game.language.decode(text).action


if __name__ == "__main__":
    from ludory.envs.engine.cuda_engine import CudaEngine

    print(json.dumps(replayed(lambda game, count: CudaEngine(game, count, seed=0), every=3)))
