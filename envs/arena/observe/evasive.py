"""The observation `evasive`: `tactical`, and what a player would compute from it about the shots that fly towards it."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

from ludory.envs import ObservationSpec, flat_segments, kernel
from ludory.envs.arena.constants import BODY, SHOT_LIFE, SHOT_SLOTS, VISION, WALK
from ludory.envs.arena.geometry import pair, q14
from ludory.envs.arena.phases.weapons import is_hit
from ludory.envs.arena.state import MOVE_BINS
from ludory.envs.arena.tables import MOVE
from ludory.envs.arena.variants import ArenaOptions

from .sight import NO_SHOT, nearest_threat, sees, time_to_pass
from .tactical import MISSES, observe_tactical, tactical_parts, write_way

THREAT, DANGERS = 7, 9
"""Entries of the first shot to pass, and of nine ways to go on."""


def evasive_parts(options: ArenaOptions) -> dict[str, int]:
    """Segments of `evasive` and their lengths."""
    return tactical_parts(options) | {"threat": THREAT, "dangers": DANGERS}


def evasive_spec(options: ArenaOptions) -> ObservationSpec:
    """Shape, bounds and segments of `evasive`."""
    parts = evasive_parts(options)
    return ObservationSpec("evasive", (sum(parts.values()),), "float32", flat_segments(parts), -4.0, 4.0)


@kernel
def observe_evasive(state, i, seat, out):
    """`tactical`, then the segments of its own; all 0 for the dead."""
    if int(state.alive[i, seat]) == 0:
        return
    observe_tactical(state, i, seat, out)
    at = out.shape[0] - THREAT - DANGERS
    shot = nearest_threat(state, i, seat)
    if shot != NO_SHOT:
        write_threat(state, i, seat, shot // SHOT_SLOTS, shot % SHOT_SLOTS, out, at)
    write_dangers(state, i, seat, out, at + THREAT)


@kernel
def write_threat(state, i, seat, owner, slot, out, at):
    """Seven entries of a shot: there, time until it passes, by how much, the way out of its line, and the move pair along it."""
    gx = int(state.x[i, seat]) - int(state.shot_x[i, owner, slot])
    gy = int(state.y[i, seat]) - int(state.shot_y[i, owner, slot])
    vx, vy = int(state.shot_vx[i, owner, slot]), int(state.shot_vy[i, owner, slot])
    cross = vx * gy - vy * gx
    # the seat stands on this side of the line of flight; dead ahead of the shot both sides are as good
    s = 1 if cross >= 0 else -1
    out[at] = 1.0
    out[at + 1] = min(1.0, time_to_pass(state, i, seat, owner, slot) / SHOT_LIFE)
    out[at + 2] = min(1.0, abs(cross) / math.sqrt(vx * vx + vy * vy) / (MISSES * BODY))
    write_way(state, i, -s * vy, s * vx, out, at + 3)


@kernel
def write_dangers(state, i, seat, out, at):
    """Nine entries, row by row of (x, y) in -1, 0, 1: 1 if a shot in sight hits a body that goes on that way at full speed."""
    bins = int(state.setup[i, MOVE_BINS])
    for k in range(DANGERS):
        a, b = way(bins, k)
        wx, wy = step_of(bins, a, b)
        if in_danger(state, i, seat, wx, wy):
            out[at + k] = 1.0


@kernel
def way(bins, k):
    """The pair of move bins of way k of nine: both heads at an end or in the middle."""
    return k // 3 * (bins // 2), k % 3 * (bins // 2)


@kernel
def step_of(bins, a, b):
    """The step of a tick at a pair of move bins."""
    k = pair(bins, a, b)
    return q14(int(MOVE[k, 0]), WALK), q14(int(MOVE[k, 1]), WALK)


@kernel
def in_danger(state, i, seat, wx, wy):
    """Whether a rival's shot in sight strikes the seat, if it goes (wx, wy) every tick."""
    for owner in range(state.alive.shape[1]):
        for slot in range(SHOT_SLOTS):
            if owner != seat and int(state.shot_life[i, owner, slot]) > 0:
                x, y = int(state.shot_x[i, owner, slot]), int(state.shot_y[i, owner, slot])
                if sees(state, i, seat, x, y, VISION) and strikes(state, i, seat, owner, slot, wx, wy):
                    return True
    return False


@kernel
def strikes(state, i, seat, owner, slot, wx, wy):
    """Whether a shot strikes a seat that goes (wx, wy) every tick, if nobody else is in its way: first the body moves, then the shot."""
    fx = int(state.shot_x[i, owner, slot]) - int(state.x[i, seat])
    fy = int(state.shot_y[i, owner, slot]) - int(state.y[i, seat])
    sx, sy = int(state.shot_vx[i, owner, slot]), int(state.shot_vy[i, owner, slot])
    for _ in range(int(state.shot_life[i, owner, slot])):
        fx -= wx
        fy -= wy
        if is_hit(sx * sx + sy * sy, fx * sx + fy * sy, fx * fx + fy * fy - BODY * BODY):
            return True
        fx += sx
        fy += sy
    return False
