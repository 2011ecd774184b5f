"""Files as older bots write them: recorded ticks, feedback of a live client, manifests; small ones for tests."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def tick(number: int = 0, done: bool = False, **changes: Any) -> Json:
    return {
        "tick_id": number,
        "observation": {
            "self_state": {
                "position": [1.25, -2.5],
                "velocity": [3.5, -4.5],
                "hp": 77.0,
                "cooldowns": {"fire": 0.2},
                "ammo": 12,
            },
            "zone_state": {"position": [0.5, 0.75], "radius": 9.5, "is_safe": True},
            "tick_id": number,
            "visible_entities": [
                {"id": "f", "position": [1.0, 1.0], "type": "friend", "hp": 5.0},
                {"id": "e", "position": [4.25, 1.5], "type": "enemy", "hp": 55.0},
                {"id": "n", "position": [1.25, -1.5], "type": "enemy", "hp": None},
            ],
            "visible_items": [
                {"id": "a", "position": [7.25, 5.5], "type": "ammo_crate"},
                {"id": "b", "position": [1.25, -3.5], "type": "health_pack"},
            ],
        },
        "action": {
            "move_x": 1.0,
            "move_y": -0.2,
            "aim_x": 0.0,
            "aim_y": 0.4,
            "fire": True,
            "ability_id": None,
            "interact": False,
        },
        "reward": 0.25,
        "done": done,
        **changes,
    }


def changed(content: Json, path: str, value: Any) -> Json:
    """`content` with the value at "a.b.0" replaced; `...` takes it away."""
    result = inner = copy.deepcopy(content)
    *parents, last = path.split(".")
    for name in parents:
        inner = inner[int(name) if isinstance(inner, list) else name]  # type: ignore[index]
    key = int(last) if isinstance(inner, list) else last
    if value is ...:
        del inner[key]  # type: ignore[arg-type]
    else:
        inner[key] = value  # type: ignore[index]
    return result


def recording(folder: Path, *lines: Json | str, name: str = "ep_bot.jsonl.gz") -> Path:
    texts = (one if isinstance(one, str) else json.dumps(one) for one in lines)
    (folder / name).write_bytes(gzip.compress("".join(text + "\n" for text in texts).encode()))
    return folder / name


START, STEP = {"event": "session_start"}, {"action": "idle", "action_ok": True}


def end(reason: str | None = None, died: bool | None = None) -> Json:
    return (
        {"event": "session_end"}
        | ({} if reason is None else {"run_stop_reason": reason})
        | ({} if died is None else {"death": {"active": died}})
    )


def write(file: Path, *lines: Json | str, mark: bool = False) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines)
    file.write_text(text, encoding="utf-8-sig" if mark else "utf-8")
    return file


def stream(folder: Path, *lines: Json | str, name: str = "run1") -> Path:
    return write(folder / "feedback_training" / name / "feedback_stream.jsonl", *lines)


def manifest(folder: Path, *records: Json | str, name: str = "batch", mark: bool = False) -> Path:
    return write(folder / "live" / name / "manifest.jsonl", *records, mark=mark)


def record(finish: str = "", stop: str = "", path: str = "run1/feedback_stream.jsonl") -> Json:
    return {"match": 1, "runtime_feedback_jsonl": path, "run_finish_line": finish, "run_stop_line": stop}
