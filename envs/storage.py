"""Where the state of n games lives on the CPU: one record array, a game's fields side by side."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .game import Field, State


@lru_cache(maxsize=256)
def state_class(names: tuple[str, ...]) -> type:
    """NamedTuple class with one field per state field."""
    return namedtuple("GameState", names)


def record_dtype(fields: Mapping[str, Field]) -> np.dtype[Any]:
    """Record of one game: the largest items first, so that every field is aligned."""
    ordered = sorted(fields.items(), key=lambda item: -np.dtype(item[1].dtype).itemsize)
    return np.dtype([(name, spec.dtype, spec.shape) for name, spec in ordered], align=True)


def new_records(fields: Mapping[str, Field], count: int) -> NDArray[Any]:
    """`count` records with every field at its initial value."""
    records = np.zeros(count, record_dtype(fields))
    for name, spec in fields.items():
        records[name] = spec.fill
    return records


def views(fields: Mapping[str, Field], records: NDArray[Any]) -> State:
    """The records as a NamedTuple of arrays that share their memory."""
    return state_class(tuple(fields))(*(records[name] for name in fields))
