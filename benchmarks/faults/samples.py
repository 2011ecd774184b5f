"""Small good files of formats that no short command writes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from ludory.agents.texas42.bidding import fitted_make_probability as calibrated
from ludory.algorithms.league.exploitation import Exploitation, write_exploitations
from ludory.algorithms.make import make_algorithm
from ludory.data.formats.texas42.bid_tables import BidName
from ludory.envs.make import make_engine

GAME = "HanabiTiny2P-v0"
NAME = BidName(3, "rollout", 2, 1, 0)
"""Name of the file of bids."""


def _as_lines(*lines: dict[str, Any]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def snapshot(folder: Path) -> None:
    """Four games after two moves."""
    engine = make_engine(GAME, 4, seed=3)
    engine.reset()
    for _ in range(2):
        engine.step(np.asarray(engine.legal()).argmax(axis=1))
    engine.save(folder / "games.npz")


def checkpoint(folder: Path) -> None:
    """An untrained model."""
    sizes: dict[str, Any] = {"num_envs": 2, "n_steps": 2, "batch_size": 4}
    make_algorithm("ppo", GAME, "mlp(hidden=(8,))", seed=3, **sizes).save(folder / "model.ludory")


def recorder(folder: Path) -> None:
    """Six ticks of a bot."""
    ticks = [
        {
            "tick_id": number,
            "observation": {
                "self_state": {
                    "position": [1.25 + number, -2.5],
                    "velocity": [3.5, -4.5],
                    "hp": 77.0,
                    "cooldowns": {"fire": 0.2},
                    "ammo": 12,
                },
                "zone_state": {"position": [0.5, 0.75], "radius": 9.5, "is_safe": True},
                "tick_id": number,
                "visible_entities": [{"id": "e", "position": [4.25, 1.5], "type": "enemy", "hp": 55.0}],
                "visible_items": [{"id": "a", "position": [7.25, 5.5], "type": "ammo_crate"}],
            },
            "action": dict.fromkeys(("move_x", "move_y", "aim_x", "aim_y"), 0.2)
            | {"fire": True, "ability_id": None, "interact": False},
            "reward": 0.25,
            "done": number == 5,
        }
        for number in range(6)
    ]
    (folder / "ep_bot.jsonl.gz").write_bytes(gzip.compress(_as_lines(*ticks)))


def feedback(folder: Path) -> None:
    """The stream of a live client, and the manifest that says how its run ended."""
    stream = folder / "feedback_training" / "run1" / "feedback_stream.jsonl"
    manifest = folder / "live" / "batch" / "manifest.jsonl"
    steps = [{"action": "idle", "action_ok": True} for _ in range(5)]
    record = {
        "match": 1,
        "runtime_feedback_jsonl": "run1/feedback_stream.jsonl",
        "run_finish_line": "",
        "run_stop_line": "",
    }
    for file, lines in ((stream, [{"event": "session_start"}, *steps, {"event": "session_end"}]), (manifest, [record])):
        file.parent.mkdir(parents=True)
        file.write_bytes(_as_lines(*lines))


def battles(folder: Path) -> None:
    """Two players of one battle, and one of another."""

    def step(kind: int, target: int, reward: float = 0.0, done: bool = False) -> dict[str, Any]:
        seen = {"turn": 1, "active_hp": 0.5, "team_hp": [1.0, 0.25], "fainted": False}
        return {"observation": seen, "action_type": kind, "action_target": target, "reward": reward, "done": done}

    lines = [
        {
            "replay_id": "b-1",
            "player": "p1",
            "total_reward": 1,
            "steps": [step(0, 3), step(1, 5, 0.5), step(0, 0, 0.5, True)],
        },
        {"replay_id": "b-2", "player": "p2", "total_reward": -1, "steps": [step(1, 0, -1.0, True)]},
        {"replay_id": "b-1", "player": "p2", "total_reward": -1, "steps": [step(0, 2), step(0, 1, -1.0, True)]},
    ]
    (folder / "battles.jsonl").write_bytes(_as_lines(*lines))


def exploiters(folder: Path) -> None:
    """Results of two exploiters."""
    write_exploitations(folder, [Exploitation("main", "teacher", seed, 300, 8, 0.5, 0.2, 0.8) for seed in (1, 2)])


def calibration(folder: Path) -> None:
    """The calibration of Texas 42 that ships with Ludory."""
    (folder / "calibration.json").write_text(calibrated.calibration_json(calibrated.shipped()))


def bids(folder: Path) -> None:
    """P(make) of one dealt hand."""
    from ludory.algorithms.texas42.data.bids import make_bids

    make_bids(folder / NAME.path, NAME)
