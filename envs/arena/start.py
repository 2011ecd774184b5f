"""Reset option of the arena: `start`, a dictionary of positions and other values at the start of a game."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs import integer_array, refuse_unknown
from ludory.errors import OptionError

from .constants import CRATES, FULL_AMMUNITION, FULL_ENERGY, FULL_HP
from .state import GIVEN_AMMUNITION, GIVEN_CENTRE, GIVEN_CRATES, GIVEN_ENERGY, GIVEN_FACING, GIVEN_HP, GIVEN_POSITION
from .tables import ONE
from .variants import ArenaOptions


class Part(NamedTuple):
    """A key of `start`: shape per game, state fields that it sets, bit of `given`, bounds of scalar values."""

    shape: tuple[int, ...]
    fields: tuple[str, ...]
    bit: int
    bounds: tuple[int, int] | None = None


def _parts(options: ArenaOptions) -> dict[str, Part]:
    p = options.players
    return {
        "position": Part((p, 2), ("x", "y"), GIVEN_POSITION),
        "facing": Part((p, 2), ("fx", "fy"), GIVEN_FACING),
        "hp": Part((p,), ("hp",), GIVEN_HP, (1, FULL_HP)),
        "energy": Part((p,), ("energy",), GIVEN_ENERGY, (0, FULL_ENERGY)),
        "ammunition": Part((p,), ("ammunition",), GIVEN_AMMUNITION, (0, FULL_AMMUNITION)),
        "crates": Part((CRATES, 2), ("crate_x", "crate_y"), GIVEN_CRATES),
        "final_centre": Part((2,), ("final_x", "final_y"), GIVEN_CENTRE),
    }


def start_fields(options: ArenaOptions, given: Mapping[str, Any], count: int) -> dict[str, NDArray[Any]]:
    """Field values for the next reset of `count` games.

    given: {"start": {name: integers}}, each for all games or with a first axis of `count`. Everything else is drawn.

    position (P, 2) and crates (6, 2), final_centre (2,): sub from the arena's centre, inside the wall; facing (P, 2): any
    length but 0; hp (P,) 1 to 10000, energy (P,) 0 to 1500, ammunition (P,) 0 to 30.

    Raises:
        OptionError: unknown key, not integers, wrong shape, or a value that is not allowed; names the field.
    """
    refuse_unknown("Arena", "reset option", given, ("start",))
    start = given.get("start")
    if start is None:
        return {}
    if not isinstance(start, Mapping):
        raise OptionError(f"start={start!r}: must be a dictionary with some of {', '.join(_parts(options))}")
    parts = _parts(options)
    refuse_unknown("Arena", "start field", start, tuple(parts))
    fields: dict[str, NDArray[Any]] = {}
    for name, values in start.items():
        part = parts[name]
        checked = _checked(options, name, part, values, count)
        if len(part.fields) == 1:
            fields[part.fields[0]] = checked
        else:
            fields |= {field: checked[..., axis] for axis, field in enumerate(part.fields)}
    # the kernels keep what has its bit set, and draw the rest
    bits = reduce(or_, (parts[name].bit for name in start), 0)
    return fields | {"given": np.full(count, bits, np.int32)}


def _checked(options: ArenaOptions, name: str, part: Part, values: Any, count: int) -> NDArray[np.int32]:
    """Values (count, *shape)."""
    array = integer_array(f"start[{name!r}]", values)
    if array.shape not in (part.shape, (count, *part.shape)):
        raise OptionError(f"start[{name!r}]: shape {array.shape}, must be {part.shape} or {(count, *part.shape)}")
    array = np.broadcast_to(array, (count, *part.shape))
    if part.bounds:
        low, high = part.bounds
        _refuse(name, array, (array < low) | (array > high), f"must be from {low} to {high}")
    elif name == "facing":
        _refuse(name, array, (array == 0).all(axis=-1), "must be a direction, not (0, 0)")
        length = np.hypot(array[..., 0], array[..., 1])[..., None]
        # to the length of a unit vector, 1/16384
        array = np.rint(ONE * array / length)
    else:
        wall = options.wall
        # clipped before it is squared: large numbers would overflow
        outside = (np.abs(array) > wall).any(axis=-1) | ((array.clip(-wall, wall) ** 2).sum(axis=-1) > wall**2)
        _refuse(name, array, outside, f"must be at most {wall} sub from the centre, where the wall is")
    return array.astype(np.int32)


def _refuse(name: str, array: NDArray[Any], wrong: NDArray[np.bool_], rule: str) -> None:
    if wrong.any():
        game, *place = (int(k) for k in np.argwhere(wrong)[0])
        where = f"[{', '.join(map(str, place))}]" if place else ""
        value = array[(game, *place)].tolist()
        raise OptionError(f"start[{name!r}]{where} of game {game} is {value}: {rule}")
