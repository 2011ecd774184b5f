"""Codec between continuous actions, as older bots return them, and the seven categorical heads of the arena."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.errors import OptionError

HEADS = ("move_x", "move_y", "aim_x", "aim_y", "fire", "ability", "interact")
FIELDS = ("move_x", "move_y", "aim_x", "aim_y", "fire", "ability_id", "interact")
"""Field of `Action` for each head."""
PRESETS = {"default": (5, 5, 9, 9, 2, 5, 2), "seed": (11, 11, 11, 11, 2, 5, 2)}
"""Sizes of the heads."""
AXES = 4
"""Number of heads, the first ones, that are bins of [-1, 1]."""
ABILITIES = 4
ALLOWED = {"axis": "-1..1", "ability": f"None or a whole number 0..{ABILITIES}", "flag": "true or false"}
TOLERANCE = 1e-6
"""Values outside [-1, 1] by up to this much count as rounding errors."""


@dataclass(frozen=True)
class Action:
    """What a body does in one decision: one action, or arrays of the same shape for many."""

    move_x: Any
    """[-1, 1], 1 is right."""
    move_y: Any
    """[-1, 1], 1 is down."""
    aim_x: Any
    aim_y: Any
    fire: Any
    """bool"""
    ability_id: Any = None
    """1..4; None or 0 for none; in an array 0 for none."""
    interact: Any = False
    """bool"""


class ActionFault(NamedTuple):
    """A field that cannot be encoded, its value, and what is allowed."""

    field: str
    value: Any
    allowed: str

    def __str__(self) -> str:
        """One line that names all three."""
        return f"{self.field}={self.value!r}: must be {self.allowed}"


def head_sizes(bins: str | int | Sequence[int]) -> tuple[int, ...]:
    """Sizes of the seven heads, from a preset ("default", "seed"), a number of bins for move and aim, a pair (move, aim), or all sizes.

    Raises:
        OptionError: none of these.
    """
    if isinstance(bins, tuple) and bins in PRESETS.values():
        return bins
    if isinstance(bins, str):
        if bins in PRESETS:
            return PRESETS[bins]
    else:
        given = (bins,) if isinstance(bins, int | np.integer) else tuple(bins)
        found = {1: given * AXES, 2: tuple(np.repeat(given, 2)), len(HEADS): given[:AXES]}.get(len(given), ())
        sizes = tuple(int(size) for size in found) + PRESETS["default"][AXES:]
        whole = len(given) < len(HEADS) or tuple(given) == sizes
        if found and whole and all(isinstance(size, int | np.integer) and size >= 2 for size in given):
            return sizes
    raise OptionError(
        f"bins={bins!r}: must be {', '.join(map(repr, PRESETS))}, a number of bins of at least 2, "
        "a pair (move, aim), or the sizes of all seven heads with 2, 5 and 2 at the end"
    )


def centres(size: int) -> NDArray[np.float64]:
    """(size,) centre of every bin: -1 + 2 i / (size - 1)."""
    return -1 + 2 * np.arange(size) / (size - 1)


def encode(
    action: Action, bins: str | int | Sequence[int] = "default", *, strict: bool = True, legacy_aim: bool = False
) -> NDArray[np.int64]:
    """Values of the heads, int64 (7,), or (..., 7) for arrays: the nearest bin, halves to the even bin.

    Args:
        action: one, or arrays of one shape.
        bins: see `head_sizes`.
        strict: refuse values out of range; False clamps them, for old data.
        legacy_aim: an aim of (0, 0) with `fire` or an ability becomes (1, 0), as in older bots; otherwise it keeps the facing.

    Raises:
        OptionError: a value is out of range, NaN or infinite (NaN also when not strict), with field, value and range.
    """
    sizes = head_sizes(bins)
    action = replace(action, ability_id=0 if action.ability_id is None else action.ability_id)
    for fault in faults(action, strict=strict):
        raise OptionError(f"{fault}; strict=False clamps")
    values = [getattr(action, field) for field in FIELDS]
    if all(map(_is_plain, values)):
        return _encode_one(values, sizes, legacy_aim)
    values = [np.asarray(value, np.float64) for value in values]
    if legacy_aim:
        acts = (values[4] != 0) | (values[5] != 0)
        values[2] = np.where(acts & (values[2] == 0) & (values[3] == 0), 1.0, values[2])
    shape = np.broadcast_shapes(*(value.shape for value in values))
    heads = np.empty((*shape, len(HEADS)), np.int64)
    # `rint` and Python's `round` take halves to the even number, so both paths agree
    for head, (value, size) in enumerate(zip(values, sizes, strict=True)):
        if head < AXES:
            heads[..., head] = np.rint((np.clip(value, -1, 1) + 1) / 2 * (size - 1))
        else:
            heads[..., head] = np.clip(value, 0, size - 1)
    return heads


def _encode_one(values: Sequence[float], sizes: Sequence[int], legacy_aim: bool) -> NDArray[np.int64]:
    """Plain numbers, without arrays of one: readers of files encode line by line."""
    x, y, aim_x, aim_y, *rest = values
    if legacy_aim and any(rest[:2]) and aim_x == aim_y == 0:
        aim_x = 1.0
    axes = [
        round((min(max(value, -1.0), 1.0) + 1) / 2 * (size - 1))
        for value, size in zip((x, y, aim_x, aim_y), sizes, strict=False)
    ]
    return np.array(axes + [int(min(max(v, 0), n - 1)) for v, n in zip(rest, sizes[AXES:], strict=True)], np.int64)


def _is_plain(value: Any) -> bool:
    return type(value) in (float, int, bool)


def decode(heads: ArrayLike, bins: str | int | Sequence[int] = "default") -> Action:
    """The action at the centres of the bins: plain values for heads (7,), arrays (...) for heads (..., 7).

    Raises:
        OptionError: a value is outside its head.
    """
    sizes = head_sizes(bins)
    given = np.asarray(heads)
    if given.shape[-1:] != (len(HEADS),) or given.dtype.kind not in "iu":
        raise OptionError(f"an action has {len(HEADS)} integers, got shape {given.shape}, dtype {given.dtype}")
    for head, (name, size) in enumerate(zip(HEADS, sizes, strict=True)):
        wrong = (given[..., head] < 0) | (given[..., head] >= size)
        if wrong.any():
            value = int(given[..., head][wrong].flat[0])
            raise OptionError(f"{name}={value}: must be 0..{size - 1}")
    move_x, move_y, aim_x, aim_y = (centres(size)[given[..., head]] for head, size in enumerate(sizes[:AXES]))
    fire, ability, interact = given[..., 4] == 1, given[..., 5].astype(np.int64), given[..., 6] == 1
    if given.ndim > 1:
        return Action(move_x, move_y, aim_x, aim_y, fire, ability, interact)
    return Action(
        float(move_x), float(move_y), float(aim_x), float(aim_y), bool(fire), int(ability) or None, bool(interact)
    )


def faults(action: Action, *, strict: bool = True) -> Iterator[ActionFault]:
    """Fields that cannot be encoded; if not strict, those that cannot even be clamped."""
    for field in FIELDS:
        value = getattr(action, field)
        if field == "ability_id" and value is None:
            continue
        allowed, wrong = _wrong(field, value, strict)
        if wrong if type(wrong) is bool else np.any(wrong):
            first = value if np.ndim(value) == 0 else np.asarray(value)[wrong].flat[0]
            yield ActionFault(field, first.item() if isinstance(first, np.generic) else first, allowed)


def _wrong(field: str, value: Any, strict: bool) -> tuple[str, Any]:
    """What is allowed, and which values are wrong."""
    kind = "axis" if field in FIELDS[:AXES] else "ability" if field == "ability_id" else "flag"
    allowed = ALLOWED[kind] if strict else "a number"
    if type(value) is bool:
        return ALLOWED[kind], kind != "flag"
    if _is_plain(value):
        # only NaN differs from itself
        return allowed, not _fits(kind, value) if strict else value != value
    array = np.asarray(value)
    if array.dtype.kind not in ("biuf" if kind == "flag" else "iuf"):
        return ALLOWED[kind], np.ones(array.shape, np.bool_)
    numbers = array.astype(np.float64)
    return allowed, ~_fits(kind, numbers) if strict else np.isnan(numbers)


def _fits(kind: str, value: Any) -> Any:
    """Whether a number, or each of an array, is in range; NaN never is."""
    if kind == "axis":
        return abs(value) <= 1 + TOLERANCE
    most = ABILITIES if kind == "ability" else 1
    return (value >= 0) & (value <= most) & (value % 1 == 0)
