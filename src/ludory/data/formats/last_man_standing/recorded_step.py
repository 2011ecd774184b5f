"""One line of a recorder's file: what was seen, done and paid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs.arena.codec import FIELDS, HEADS, PRESETS, Action, encode, faults, head_sizes
from ludory.errors import OptionError
from ludory.reading import shown

from . import fields
from .fields import inner
from .flaw import FieldError
from .observation import Pick, Seen, read_observation
from .sequence import shown_bins

KNOWN = ("tick_id", "observation", "action", "reward", "done", "behavior_logp")
OURS = ("seat", "game", "bins", "legal", "used", "behavior_logp_heads")
"""What a recorder knows, and what Ludory's writer adds."""
REQUIRED_FIELDS = FIELDS[:5]
FLAGS = (0, 1)
KNOWN_SIZES = [list(sizes) for sizes in PRESETS.values()]
MOST_SEAT = 127
LARGEST_LOG_PROB = 1e-5
"""Log-probabilities are at most 0; so far above is rounding."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How lines are read.

    bins: sizes of the heads (see `head_sizes`); None: those that the file names, else 11 bins.
    pick: which entity and item features tell of; None: the nearest in Ludory's own files, else the first.
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
    """What all lines of a file have in common; None where the file does not tell."""

    sizes: tuple[int, ...]
    game: int | None
    seat: int | None
    added: tuple[str, ...]
    """Which of `legal` and `used` are there."""


class RecordedStep(NamedTuple):
    """One step, checked."""

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


def read_origin(content: Mapping[str, Any], reading: Reading) -> RecorderHeader:
    """Head sizes, game and seat of a line.

    Raises:
        FieldError: one is wrong, or the file's bins are not those asked for.
    """
    asked = None if reading.bins is None else head_sizes(reading.bins)
    sizes = asked or PRESETS["seed"]
    if "bins" in content:
        sizes = _sizes(content["bins"])
        if asked not in (None, sizes):
            raise FieldError(
                "bins", shown(list(sizes)), f"{list(asked or ())} as asked for; bins={shown_bins(sizes)} would fit"
            )
    game = fields.whole(content["game"], "game") if "game" in content else None
    seat = fields.whole(content["seat"], "seat", MOST_SEAT) if "seat" in content else None
    return RecorderHeader(sizes, game, seat, tuple(name for name in ("legal", "used") if name in content))


def _sizes(value: Any) -> tuple[int, ...]:
    if value in KNOWN_SIZES:
        return tuple(value)
    wanted = "the sizes of seven heads, such as [5, 5, 9, 9, 2, 5, 2]"
    if len(fields.items(value, "bins")) != len(HEADS):
        raise FieldError("bins", shown(value), wanted)
    try:
        return head_sizes([fields.whole(size, "bins") for size in value])
    except OptionError:
        raise FieldError("bins", shown(value), wanted) from None


def read_step(content: Mapping[str, Any], origin: RecorderHeader, reading: Reading) -> RecordedStep:
    """A line.

    Raises:
        FieldError: a field is missing or wrong.
    """
    tick = fields.whole(inner(content, "tick_id"), "tick_id")
    seen = read_observation(
        inner(content, "observation"), reading.pick or ("first" if origin.game is None else "nearest")
    )
    if seen.tick_id not in (None, tick):
        raise FieldError("observation.tick_id", str(seen.tick_id), f"{tick}, the tick_id of the line")
    heads = _heads(inner(content, "action"), origin, reading)
    legal = _flags(content, "legal", sum(origin.sizes))
    if legal is not None:
        _check_legal(heads, legal, origin.sizes)
    by_head = fields.mapping(content.get("behavior_logp_heads", {}), "behavior_logp_heads")
    return RecordedStep(
        tick,
        seen,
        heads,
        fields.finite(inner(content, "reward"), "reward"),
        fields.answer(inner(content, "done"), "done"),
        _log_prob(content.get("behavior_logp"), "behavior_logp"),
        np.array([_log_prob(by_head.get(name), f"behavior_logp_heads.{name}") for name in HEADS], np.float32),
        legal,
        _flags(content, "used", len(HEADS)),
        seen.unknown | {name: value for name, value in content.items() if name not in KNOWN + OURS},
    )


def _heads(value: Any, origin: RecorderHeader, reading: Reading) -> NDArray[np.int64]:
    content = fields.mapping(value, "action")
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
    return encode(action, origin.sizes, strict=False, legacy_aim=reading.legacy_aim)


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
    values = fields.items(content[name], name)
    if len(values) != size:
        raise FieldError(name, f"{len(values)} entries", f"a list of {size} flags")
    for number, value in enumerate(values):
        if value not in FLAGS or type(value) is float:
            fields.answer(value, f"{name}[{number}]")
    return np.array(values, np.bool_)


def _log_prob(value: Any, field: str) -> float:
    """NaN where it is not known."""
    if value is None:
        return float("nan")
    found = fields.finite(value, field)
    if found > LARGEST_LOG_PROB:
        raise FieldError(field, shown(value), "a finite number of at most 0, or null where it is not known")
    return found
