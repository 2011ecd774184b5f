"""Recorder files, `{episode}_{player}.jsonl.gz` with one step of one player on each line, read as sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.data.formats.json_fields import FieldError, boolean, count, finite, inner, items, mapping
from ludory.envs.arena.codec import FIELDS, HEADS, PRESETS, Action, encode, faults, head_sizes
from ludory.errors import OptionError
from ludory.reading import shown

from .checked_lines import Flaws, JsonLine, json_lines
from .observation import Pick, Seen, read_observation
from .sequence import STEPS, TrajectorySequence, shown_bins

PATTERN = "*.jsonl.gz"
SOURCE = "recorder"
FEATURES = "seed19"
"""Name of the features: those of the arena's observation."""
KNOWN = ("tick_id", "observation", "action", "reward", "done", "behavior_logp")
OURS = ("seat", "game", "bins", "legal", "used", "behavior_logp_heads")
"""Fields of any recorder, and those that Ludory's writer adds."""
REQUIRED_FIELDS = FIELDS[:5]
FLAGS = (0, 1)
KNOWN_SIZES = [list(sizes) for sizes in PRESETS.values()]
MOST_SEAT = 127
LARGEST_LOG_PROB = 1e-5
"""Log-probabilities are at most 0; an excess up to this is rounding."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How lines are read.

    bins: sizes of the heads (see `head_sizes`); None: those that the file names, else 11 bins.
    pick: which entity and item the features describe; None: the nearest in Ludory's own files, else the first.
    strict: refuse actions out of range; False clamps them.
    legacy_aim: see `encode`.
    """

    bins: Any = None
    pick: Pick | None = None
    strict: bool = True
    legacy_aim: bool = False

    def __post_init__(self) -> None:
        if self.bins is not None:
            head_sizes(self.bins)
        if self.pick not in (None, "first", "nearest"):
            raise OptionError(f"pick={self.pick!r}: must be 'first', 'nearest', or None for what fits the file")


class RecorderHeader(NamedTuple):
    """What all lines of a file share; None where the file does not say."""

    sizes: tuple[int, ...]
    game: int | None
    seat: int | None
    added: tuple[str, ...]
    """Which of `legal` and `used` are present."""


class RecordedStep(NamedTuple):
    """One checked line."""

    tick_id: int
    seen: Seen
    heads: NDArray[np.int64]
    reward: float
    done: bool
    log_prob: float
    log_probs: NDArray[np.float32]
    legal: NDArray[np.bool_] | None
    used: NDArray[np.bool_] | None
    unknown: dict[str, Any]


def read_recorder(
    file: str | Path, flaws: Flaws, reading: Reading | None = None, *, split_on_done: bool = False
) -> list[TrajectorySequence]:
    """Read the sequences of a file: one, or none if its first line is broken.

    A line with `done` ends the game. A file that ends without one was cut, and its last step is `truncated`. If `flaws` lists
    instead of stopping, the steps before the first flaw are kept, cut there.

    `extras` holds `source`, `features`, `path`, `sizes` of the heads, and `game` and `seat` where the file names them; under
    `steps` the `tick_id`s, `cooldowns`, `legal` and `used` (Ludory's own files), and `unknown` keys with their values.

    Args:
        file: to read.
        flaws: receives what is wrong.
        reading: how actions and features are read.
        split_on_done: a `done` inside the file begins a new sequence instead of being a flaw.

    Raises:
        DataError: a flaw, unless `flaws` lists.
    """
    reading = reading or Reading()
    episodes: list[list[tuple[int, RecordedStep]]] = [[]]
    header: RecorderHeader | None = None
    for line in json_lines(file, flaws, packed=True):
        try:
            found = _read_header(line.content, reading)
            header = header or found
            _check_header(found, header)
            step = _read_step(line.content, header, reading)
            # checked against the line before; the first line of our own files must be tick 0
            if episodes[-1]:
                _follow(episodes, line, step, split_on_done)
            elif header.game is not None and step.tick_id != 0:
                raise FieldError("tick_id", f"{step.tick_id} in the first line", "0: the first ticks are missing")
        except FieldError as bad:
            flaws.add_field(file, line.number, bad)
            break
        episodes[-1].append((line.number, step))
    if header is None:
        return []
    return [_sequence([step for _, step in steps], header, str(file)) for steps in episodes if steps]


def _read_header(content: Mapping[str, Any], reading: Reading) -> RecorderHeader:
    """Head sizes, game and seat of a line; refuses bins other than those asked for."""
    asked = None if reading.bins is None else head_sizes(reading.bins)
    # files of other recorders have the sizes of the original
    sizes = asked or PRESETS["seed"]
    if "bins" in content:
        sizes = _sizes(content["bins"])
        if asked not in (None, sizes):
            wanted = f"{list(asked or ())} as asked for; bins={shown_bins(sizes)} would fit"
            raise FieldError("bins", shown(list(sizes)), wanted)
    game = count(content["game"], "game") if "game" in content else None
    seat = count(content["seat"], "seat", MOST_SEAT) if "seat" in content else None
    return RecorderHeader(sizes, game, seat, tuple(name for name in ("legal", "used") if name in content))


def _sizes(value: Any) -> tuple[int, ...]:
    if value in KNOWN_SIZES:
        return tuple(value)
    wanted = "the sizes of seven heads, such as [5, 5, 9, 9, 2, 5, 2]"
    if len(items(value, "bins")) != len(HEADS):
        raise FieldError("bins", shown(value), wanted)
    try:
        return head_sizes([count(size, "bins") for size in value])
    except OptionError:
        raise FieldError("bins", shown(value), wanted) from None


def _check_header(found: RecorderHeader, header: RecorderHeader) -> None:
    for name, one, other in zip(("bins", "game", "seat", "fields"), found, header, strict=True):
        if one != other:
            raise FieldError(name, str(one), f"{other} as in the lines before: a file holds one player's game")


def _read_step(content: Mapping[str, Any], header: RecorderHeader, reading: Reading) -> RecordedStep:
    tick = count(inner(content, "tick_id"), "tick_id")
    pick = reading.pick or ("first" if header.game is None else "nearest")
    seen = read_observation(inner(content, "observation"), pick)
    # the number stands twice in a line and must agree
    if seen.tick_id not in (None, tick):
        raise FieldError("observation.tick_id", str(seen.tick_id), f"{tick}, the tick_id of the line")
    heads = _heads(inner(content, "action"), header, reading)
    legal = _flags(content, "legal", sum(header.sizes))
    if legal is not None:
        _check_legal(heads, legal, header.sizes)
    by_head = mapping(content.get("behavior_logp_heads", {}), "behavior_logp_heads")
    return RecordedStep(
        tick_id=tick,
        seen=seen,
        heads=heads,
        reward=finite(inner(content, "reward"), "reward"),
        done=boolean(inner(content, "done"), "done"),
        log_prob=_log_prob(content.get("behavior_logp"), "behavior_logp"),
        log_probs=np.array([_log_prob(by_head.get(name), f"behavior_logp_heads.{name}") for name in HEADS], np.float32),
        legal=legal,
        used=_flags(content, "used", len(HEADS)),
        unknown=seen.unknown | {name: value for name, value in content.items() if name not in KNOWN + OURS},
    )


def _heads(value: Any, header: RecorderHeader, reading: Reading) -> NDArray[np.int64]:
    content = mapping(value, "action")
    for name, one in content.items():
        if name not in FIELDS:
            raise FieldError(f"action.{name}", "an unknown head", f"one of {', '.join(FIELDS)}")
        if isinstance(one, list | dict):
            raise FieldError(f"action.{name}", shown(one), "one value")
    for name in REQUIRED_FIELDS:
        if name not in content:
            raise FieldError(f"action.{name}", "nothing", "a value")
    action = Action(**content)
    for fault in faults(action, strict=reading.strict):
        cure = "" if not reading.strict else "; strict=False clamps"
        raise FieldError(f"action.{fault.field}", shown(fault.value), fault.allowed + cure)
    # not strict here: what is to be refused was refused above
    return encode(action, header.sizes, strict=False, legacy_aim=reading.legacy_aim)


def _check_legal(heads: NDArray[np.int64], legal: NDArray[np.bool_], sizes: tuple[int, ...]) -> None:
    start = 0
    for name, size, value in zip(HEADS, sizes, heads.tolist(), strict=True):
        part = legal[start : start + size]
        start += size
        if not part[value]:
            allowed = ", ".join(map(str, np.flatnonzero(part)))
            raise FieldError(f"action.{name}", f"bin {value}, which is not legal", f"among {allowed} by `legal`")


def _flags(content: Mapping[str, Any], name: str, size: int) -> NDArray[np.bool_] | None:
    if name not in content:
        return None
    values = items(content[name], name)
    if len(values) != size:
        raise FieldError(name, f"{len(values)} entries", f"a list of {size} flags")
    for number, value in enumerate(values):
        if value not in FLAGS or type(value) is float:  # checked here first: a call per flag is slow
            boolean(value, f"{name}[{number}]")
    return np.array(values, np.bool_)


def _log_prob(value: Any, field: str) -> float:
    """NaN where the log-probability is unknown."""
    if value is None:
        return float("nan")
    found = finite(value, field)
    if found > LARGEST_LOG_PROB:
        raise FieldError(field, shown(value), "a finite number of at most 0, or null where it is not known")
    return found


def _follow(
    episodes: list[list[tuple[int, RecordedStep]]], line: JsonLine, step: RecordedStep, split_on_done: bool
) -> None:
    """Check a step against the one before it; begin a new episode where that is allowed."""
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
        # the step between the first two ticks is the step of the file
        expected = before.tick_id + second.tick_id - first.tick_id
        if step.tick_id != expected:
            got = f"{step.tick_id} in line {line.number} after {before.tick_id} in line {number}"
            raise FieldError("tick_id", got, f"{expected}, as far on as the lines before: a tick is left out")


def _sequence(steps: Sequence[RecordedStep], header: RecorderHeader, path: str) -> TrajectorySequence:
    heads, log_probs = np.stack([step.heads for step in steps]), np.stack([step.log_probs for step in steps])
    terminated, truncated = np.zeros(len(steps), np.bool_), np.zeros(len(steps), np.bool_)
    (terminated if steps[-1].done else truncated)[-1] = True
    extras: dict[str, Any] = {"source": SOURCE, "features": FEATURES, "path": path, "sizes": header.sizes}
    extras |= {name: value for name, value in (("game", header.game), ("seat", header.seat)) if value is not None}
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
