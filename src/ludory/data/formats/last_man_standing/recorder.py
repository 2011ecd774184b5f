"""Files of a recorder, `{episode}_{player}.jsonl.gz` with one step of one player on each line, read as sequences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ludory.envs.arena.codec import HEADS

from .flaw import FieldError, Flaws
from .lines import JsonLine, json_lines
from .recorded_step import Reading, RecordedStep, RecorderHeader, read_origin, read_step
from .sequence import STEPS, TrajectorySequence

PATTERN = "*.jsonl.gz"
SOURCE = "recorder"
FEATURES = "seed19"
"""Name of the features: those of the arena's observation."""


def read_recorder(
    file: str | Path, flaws: Flaws, reading: Reading | None = None, *, split_on_done: bool = False
) -> list[TrajectorySequence]:
    """The sequences of a file: one, or none if its first line is broken.

    A line with `done` ends the game; a file that ends without one was cut, and its last step is `truncated`. With `flaws` that
    list instead of stopping, what stands before the first flaw is kept, cut there.

    `extras`: `source`, `features`, `path`, `sizes` of the heads; where the file tells them `game` and `seat`; under `steps` the `tick_id`s,
    `cooldowns`, `legal` and `used` (Ludory's own files) and `unknown` keys with their values.

    Args:
        file: to read.
        flaws: told of what is wrong.
        reading: how actions and features are read.
        split_on_done: a `done` inside the file begins a new sequence instead of being wrong.

    Raises:
        DataError: a flaw, if `flaws` stop.
    """
    reading = reading or Reading()
    episodes: list[list[tuple[int, RecordedStep]]] = [[]]
    origin: RecorderHeader | None = None
    for line in json_lines(file, flaws, packed=True):
        try:
            found = read_origin(line.content, reading)
            origin = origin or found
            _check_origin(found, origin)
            step = read_step(line.content, origin, reading)
            if episodes[-1]:
                _follow(episodes, line, step, split_on_done)
            elif origin.game is not None and step.tick_id != 0:
                raise FieldError("tick_id", f"{step.tick_id} in the first line", "0: the first ticks are missing")
        except FieldError as bad:
            flaws.add(file, line.number, bad.field, bad.got, bad.wanted)
            break
        episodes[-1].append((line.number, step))
    if origin is None:
        return []
    return [_sequence([step for _, step in steps], origin, str(file)) for steps in episodes if steps]


def _check_origin(found: RecorderHeader, origin: RecorderHeader) -> None:
    for name, one, other in zip(("bins", "game", "seat", "fields"), found, origin, strict=True):
        if one != other:
            raise FieldError(name, str(one), f"{other} as in the lines before: a file holds one player's game")


def _follow(
    episodes: list[list[tuple[int, RecordedStep]]], line: JsonLine, step: RecordedStep, split_on_done: bool
) -> None:
    """Check what a step has to do with the one before it; begin a new episode where that is allowed."""
    number, before = episodes[-1][-1]
    if before.done:
        if not split_on_done:
            got = f"true in line {number}, which line {line.number} follows"
            raise FieldError("done", got, "true on the last line only; split_on_done=True makes several sequences")
        episodes.append([])
    elif step.tick_id <= before.tick_id:
        got = f"{step.tick_id} in line {line.number} after {before.tick_id} in line {number}"
        raise FieldError("tick_id", got, "greater on every line")
    elif len(episodes[-1]) > 1:
        (_, first), (_, second) = episodes[-1][:2]
        expected = before.tick_id + second.tick_id - first.tick_id
        if step.tick_id != expected:
            got = f"{step.tick_id} in line {line.number} after {before.tick_id} in line {number}"
            raise FieldError("tick_id", got, f"{expected}, as far on as the lines before: a tick is left out")


def _sequence(steps: Sequence[RecordedStep], origin: RecorderHeader, path: str) -> TrajectorySequence:
    heads, log_probs = np.stack([step.heads for step in steps]), np.stack([step.log_probs for step in steps])
    terminated, truncated = np.zeros(len(steps), np.bool_), np.zeros(len(steps), np.bool_)
    (terminated if steps[-1].done else truncated)[-1] = True
    extras: dict[str, Any] = {"source": SOURCE, "features": FEATURES, "path": path, "sizes": origin.sizes}
    extras |= {name: value for name, value in (("game", origin.game), ("seat", origin.seat)) if value is not None}
    return TrajectorySequence(
        obs=np.stack([step.seen.features for step in steps]),
        actions={name: heads[:, head].copy() for head, name in enumerate(HEADS)},
        rewards=np.array([step.reward for step in steps], np.float32),
        dones=(terminated | truncated).astype(np.float32),
        behavior_logp=np.array([step.log_prob for step in steps], np.float32),
        terminated=terminated,
        truncated=truncated,
        behavior_logp_heads={name: log_probs[:, head].copy() for head, name in enumerate(HEADS)},
        extras=extras | {STEPS: _step_extras(steps)},
    )


def _step_extras(steps: Sequence[RecordedStep]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "tick_id": np.array([step.tick_id for step in steps]),
        "cooldowns": [step.seen.cooldowns for step in steps],
    }
    for name in ("legal", "used"):
        if getattr(steps[0], name) is not None:
            found[name] = np.stack([getattr(step, name) for step in steps])
    if any(step.unknown for step in steps):
        found["unknown"] = [step.unknown for step in steps]
    return found
