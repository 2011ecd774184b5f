"""What the player of Sokoban sees, as kernels: planes, codes, or gym-sokoban's tiny picture."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from ludory.envs import ObservationSpec, Segment, flat_segments, kernel

from . import state as at
from .options import SokobanOptions

COLORS = np.array(
    [[0, 0, 0], [243, 248, 238], [254, 126, 125], [254, 95, 56], [142, 121, 56], [160, 212, 56], [219, 212, 56]],
    np.uint8,
)
"""Red, green and blue of each code in gym-sokoban's tiny picture."""


def observation_spec(options: SokobanOptions) -> ObservationSpec:
    """Shape, dtype and segments of `options.observation`."""
    rows, columns = options.shape
    cells = rows * columns
    if options.observation == "planes":
        parts = flat_segments(dict.fromkeys(("walls", "targets", "boxes", "player"), cells))
        return ObservationSpec("planes", (4, rows, columns), "uint8", parts)
    if options.observation == "codes":
        return ObservationSpec("codes", (rows, columns), "uint8", (Segment("codes", 0, cells),), 0, at.PLAYER_ON_TARGET)
    shape, parts = (rows, columns, 3), (Segment("pixels", 0, 3 * cells),)
    return ObservationSpec("tiny_rgb", shape, "uint8", parts, 0, 255)


@kernel
def observe_planes(state, i, seat, out):
    """Planes of walls, targets, boxes and the player, [4, R, C]."""
    cells = (
        out.shape[0] // 4
    )  # not known to the compiler, which would unroll the loops before it could see that they are one
    for cell in range(cells):  # one plane after the other, without branches: the compiler works on many cells at once
        out[cell] = state.cells[i, cell] & at.IS_WALL
    for cell in range(cells):
        out[cells + cell] = (state.cells[i, cell] >> 1) & 1
    for cell in range(cells):
        out[2 * cells + cell] = (state.cells[i, cell] >> 2) & 1
    out[3 * cells + int(state.player[i])] = 1


@kernel
def code_of(state, i, cell):
    """Code 0..6 of a cell."""
    bits = int(state.cells[i, cell])
    if bits & at.IS_WALL:
        return at.WALL
    if cell == int(state.player[i]):
        return at.PLAYER_ON_TARGET if bits & at.IS_TARGET else at.PLAYER
    if bits & at.HAS_BOX:
        return at.BOX_ON_TARGET if bits & at.IS_TARGET else at.BOX
    return at.TARGET if bits & at.IS_TARGET else at.FLOOR


@kernel
def observe_codes(state, i, seat, out):
    """A code per cell, [R, C]."""
    for cell in range(state.cells.shape[1]):
        out[cell] = code_of(state, i, cell)


@kernel
def observe_tiny_rgb(state, i, seat, out):
    """A pixel per cell, [R, C, 3]."""
    for cell in range(state.cells.shape[1]):
        code = code_of(state, i, cell)
        for channel in range(3):
            out[3 * cell + channel] = COLORS[code, channel]


OBSERVE = {"planes": observe_planes, "codes": observe_codes, "tiny_rgb": observe_tiny_rgb}
"""Observation kernel by the name of the `observation` option."""
