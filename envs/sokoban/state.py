"""The state of Sokoban: its fields, the codes of a room's cells, and the bits of a cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ludory.envs import Field, State, cached_kernel, header, on_host

from .options import SokobanOptions

WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = 0, 1, 2, 3, 4, 5, 6
"""Codes of a room's cells."""

IS_WALL, IS_TARGET, HAS_BOX, IS_DEAD, HAS_PLAYER = 1, 2, 4, 8, 16
"""Bits of a cell. IS_DEAD: no box that stands here can reach a target, wherever the player and the other boxes are. HAS_PLAYER: in `start` only."""
BLOCKED = IS_WALL | HAS_BOX

MAX_STEPS, BOXES, GYM_COUNT = 0, 1, 2
"""Columns of `setup`, which is the same in all games."""
PLAYER_MOVED, BOX_MOVED = 1, 2
"""Bits of `moved`."""
NO_ACTION = -1

_BITS_OF = np.array([IS_WALL, 0, IS_TARGET, IS_TARGET | HAS_BOX, HAS_BOX, HAS_PLAYER, HAS_PLAYER | IS_TARGET], np.uint8)
_CODE_OF = np.zeros(2 * HAS_PLAYER, np.uint8)
for _code, _bits in enumerate(_BITS_OF):
    # dead or not, the code is the same
    _CODE_OF[[_bits, _bits | IS_DEAD]] = _code


def fields(options: SokobanOptions, bank: tuple[int, int]) -> dict[str, Field]:
    """The fields of rooms with R rows and C columns; `bank` is the shape of the packed rooms that resets draw from.

    A cell's number is row * C + column.
    """
    cells, setup = options.rows * options.columns, (options.max_steps, options.boxes, int(options.gym_count))
    return header(1) | {
        "setup": Field("int32", (3,), setup, low=setup, high=setup),
        "given": Field("int8", low=0, high=0),  # 1: `start` came with the reset, which clears this
        "start": Field("uint8", options.shape, low=0, high=31),  # bits at the start
        "cells": Field("uint8", (cells,), low=0, high=15),  # bits
        "player": Field("int16", low=0, high=cells - 1),  # the player's cell
        "steps": Field("int32", low=0, high=options.max_steps),
        "on_target": Field("int8", low=0, high=options.boxes),  # covered targets
        "counted": Field("int8", low=0, high=options.boxes),  # covered targets that the next reward compares with
        "moved": Field("int8", low=0, high=PLAYER_MOVED | BOX_MOVED),  # what the last action moved
        "last": Field("int8", (), NO_ACTION, low=NO_ACTION, high=len(options.action_names) - 1),
        "level": Field("int32", (), -1, low=-1, high=bank[0] - 1),  # number in the bank; -1: the room was given
        "bank": Field("uint8", bank, shared=True),
    }


def consistent(options: SokobanOptions, state: State) -> NDArray[np.bool_]:
    """(N,) bool: walls and targets are those of the start, and boxes, player and counts agree."""
    count = len(state.start)
    start, cells = state.start.reshape(count, -1), state.cells
    # boxes and the player move, everything else must be as at the start
    fixed, boxes = ~np.uint8(HAS_BOX | HAS_PLAYER), (cells & HAS_BOX) != 0
    sound = ((start & HAS_PLAYER) != 0).sum(1) == 1
    sound &= (start & fixed == cells & fixed).all(1)
    sound &= (boxes.sum(1) == options.boxes) & (((cells & IS_TARGET) != 0).sum(1) == options.boxes)
    sound &= ~((cells & BLOCKED) == BLOCKED).any(1) & (cells[np.arange(count), state.player] & BLOCKED == 0)
    return np.asarray(sound & ((boxes & ((cells & IS_TARGET) != 0)).sum(1) == state.on_target))


def drawn_codes(state: State, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.uint8]:
    """(n, R, C): codes 0..6 of the games `rows`; code 6 is the player on a target."""
    rows = np.asarray(rows, np.int64)
    # a copy: the player's bit is not in `cells`
    cells, players = _rows_of(state.cells, rows).copy(), _rows_of(state.player, rows)
    cells[np.arange(len(rows)), players] |= HAS_PLAYER
    return _CODE_OF[cells].reshape(len(rows), *state.start.shape[1:])


def start_codes(state: State, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.uint8]:
    """(n, R, C): codes 0..6 of the rooms in which the games `rows` started."""
    return _CODE_OF[_rows_of(state.start, np.asarray(rows, np.int64))]


def start_bits(rooms: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(n, R, C): bits of rooms of codes 0..6, with IS_DEAD."""
    bits = _BITS_OF[rooms]
    _mark_dead(bits)
    return bits


@cached_kernel(error_model="numpy", nogil=True)
def _mark_dead(bits: NDArray[np.uint8]) -> None:
    """Set IS_DEAD in the cells of rooms (n, R, C) from which no target can be reached: what backward pulls from the targets do not find."""
    count, rows, columns = bits.shape
    # each cell enters once
    queue = np.empty((rows * columns, 2), np.int64)
    for i in range(count):
        last = 0
        for row in range(rows):
            for column in range(columns):
                if bits[i, row, column] & IS_TARGET:
                    queue[last, 0], queue[last, 1] = row, column
                    last += 1
                elif bits[i, row, column] & IS_WALL == 0:
                    bits[i, row, column] |= IS_DEAD
        first = 0
        while first < last:
            for down, across in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                row, column = queue[first, 0] + down, queue[first, 1] + across
                # The box comes from the next cell, pushed by a player who stands behind it.
                behind, beside = row + down, column + across
                if behind < 0 or behind >= rows or beside < 0 or beside >= columns:
                    continue
                # only cells that are still marked: each is visited once
                if bits[i, row, column] & IS_DEAD and bits[i, behind, beside] & IS_WALL == 0:
                    bits[i, row, column] &= ~np.uint8(IS_DEAD)
                    queue[last, 0], queue[last, 1] = row, column
                    last += 1
            first += 1


def _rows_of(values: NDArray[np.uint8], rows: NDArray[np.int64]) -> NDArray[np.uint8]:
    """`values[rows]` on the host."""
    return on_host(values[rows] if isinstance(values, np.ndarray) else values[rows.tolist()])


def dead(state: State, i: int) -> bool:
    """True if a box of game i stands off target where no target can be reached: the game cannot be solved any more.

    The table behind it is built at the reset: backward pulls from every target in the room without boxes. Corners are part of it. The
    rules never end such a game, and the reward does not show it.
    """
    cells = on_host(state.cells[i])
    return bool(((cells & (HAS_BOX | IS_DEAD)) == (HAS_BOX | IS_DEAD)).any())
