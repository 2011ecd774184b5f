"""Reset options of Sokoban: a room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs import refuse_unknown
from ludory.errors import OptionError

from .levels import checked_rooms, combined, fixed_of
from .options import SokobanOptions
from .state import BOX, BOX_ON_TARGET, HAS_PLAYER, start_bits

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
    solved = np.flatnonzero(~(rooms == BOX).any((1, 2)))
    if len(solved):
        raise OptionError(f"room: room {int(solved[0])} is solved already: every target has a box; give another room")
    bits, one = start_bits(rooms), np.ones(count, np.int8)
    flat = bits.reshape(len(rooms), -1)
    return {
        "start": np.broadcast_to(bits, (count, *options.shape)),
        "player": ((flat & HAS_PLAYER) != 0).argmax(1).astype(np.int16) * one,
        "on_target": (rooms == BOX_ON_TARGET).sum((1, 2)).astype(np.int8) * one,
        "given": one,
    }


def rooms_of(given: Mapping[str, Any]) -> NDArray[np.uint8]:
    """Rooms (n, R, C) with codes 0..6 from the reset options `room`, or `fixed` and `codes`."""
    if "room" in given:
        return checked_rooms("room", given["room"])
    if "fixed" not in given or "codes" not in given:
        raise OptionError("give either room, or both fixed and codes")
    fixed, codes = np.asarray(given["fixed"]), np.asarray(given["codes"])
    if fixed.shape != codes.shape or not np.isin(fixed, (0, 1, 2)).all():
        raise OptionError(f"fixed: shape {fixed.shape}, must have the shape of codes, {codes.shape}, and values 0..2")
    rooms = checked_rooms("codes", combined(fixed, codes))
    if not np.array_equal(fixed_of(rooms), fixed.reshape(rooms.shape)):
        raise OptionError("fixed and codes contradict each other: walls and targets must be those of `fixed`")
    return rooms
