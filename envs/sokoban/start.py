"""Reset options of Sokoban: a room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.options import refuse_unknown
from ludory.errors import OptionError

from .bank import rooms_of
from .levels import checked_rooms
from .options import SokobanOptions

KEYS = ("room", "fixed", "codes")


def start_fields(options: SokobanOptions, given: Mapping[str, Any], count: int) -> dict[str, NDArray[Any]]:
    """Field values for the next reset of `count` games.

    room: codes 0..6, (R, C) for all games or (count, R, C). fixed, codes: in its place, what never changes (0..2) and codes 0..5, which do
    not say what the player stands on. A room need not be closed: beyond its edge is wall.

    Raises:
        OptionError: unknown key, wrong shape, code or counts, or a room that is solved.
    """
    refuse_unknown("Sokoban", "reset option", given, KEYS)
    asked = {name: value for name, value in given.items() if value is not None}
    if not asked:
        return {}
    if "room" in asked and len(asked) > 1:
        raise OptionError("give either room, or fixed and codes, not all of them")
    rooms = checked_rooms("room", rooms_of(asked), options.boxes)
    if rooms.shape[1:] != options.shape or len(rooms) not in (1, count):
        raise OptionError(
            f"room: shape {rooms.shape}, must be {options.shape} or {(count, *options.shape)}; `size=` says which size a game's rooms have"
        )
    return {"start": np.broadcast_to(rooms, (count, *options.shape)).copy(), "given": np.ones(count, np.int8)}
