"""How the state of n games is stored on the CPU: one record array, with one record per game."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ludory.envs.game import Game
from ludory.envs.parts import Field, State
from ludory.errors import OptionError

ALIGNMENT = 64
SMALL = 1 << 14
"""Bytes below which a copy costs less than finding an aligned place."""


@lru_cache(maxsize=256)
def state_class(names: tuple[str, ...]) -> type:
    """The NamedTuple class with one field per state field."""
    return namedtuple("GameState", names)


def record_dtype(fields: Mapping[str, Field]) -> np.dtype[Any]:
    """Record of one game: the largest items first, so that every field is aligned. Shared fields are not part of it."""
    ordered = sorted(own_fields(fields).items(), key=lambda item: -np.dtype(item[1].dtype).itemsize)
    return np.dtype([(name, spec.dtype, spec.shape) for name, spec in ordered], align=True)


def own_fields(fields: Mapping[str, Field]) -> dict[str, Field]:
    """The fields that are not shared."""
    return {name: spec for name, spec in fields.items() if not spec.shared}


def aligned_empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array without content; a large one starts at a multiple of 64 bytes, as XLA asks of memory that it takes without a copy."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < SMALL:
        return np.empty(shape, dtype)
    # more than needed, then a view from the first aligned byte
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.__array_interface__["data"][0] % ALIGNMENT
    array: NDArray[Any] = memory[start : start + size].view(dtype).reshape(shape)
    return array


def new_records(fields: Mapping[str, Field], count: int) -> NDArray[Any]:
    """`count` records with every field at its initial value."""
    records = np.zeros(count, record_dtype(fields))
    for name, spec in own_fields(fields).items():
        records[name] = spec.fill
    return records


def views(
    fields: Mapping[str, Field], records: NDArray[Any], shared: Mapping[str, NDArray[Any]] = MappingProxyType({})
) -> State:
    """The records as a NamedTuple of arrays that share their memory; shared fields are those of `shared`."""
    return state_class(tuple(fields))(
        *(shared[name] if spec.shared else records[name] for name, spec in fields.items())
    )


def shared_arrays(game: Game) -> dict[str, NDArray[Any]]:
    """The arrays of a game's shared fields, read-only and contiguous; copied only if their dtype or layout differs.

    Raises:
        OptionError: `Rules.shared` has an unknown field, or an array of another shape.
    """
    arrays = {}
    unknown = [name for name in game.rules.shared if name not in game.shared_names]
    if unknown:
        raise OptionError(f"{game.name}: Rules.shared has {', '.join(unknown)}; shared fields are {game.shared_names}")
    for name in game.shared_names:
        spec = game.rules.fields[name]
        array = np.ascontiguousarray(game.rules.shared.get(name, np.full(spec.shape, spec.fill)), spec.dtype).view()
        if array.shape != spec.shape:
            raise OptionError(f"{game.name}: shared field {name!r} has shape {array.shape}, must be {spec.shape}")
        # games share the array, so nobody may write to it
        array.flags.writeable = False
        arrays[name] = array
    return arrays
