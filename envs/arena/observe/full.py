"""The large observation `full`: everything that a seat may know, in named segments; and `critic`, the same for all seats with unlimited sight."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

from ludory.envs import ObservationSpec, flat_segments, kernel
from ludory.envs.arena import constants as const
from ludory.envs.arena.geometry import clamp
from ludory.envs.arena.phases.crates import crate_in_reach
from ludory.envs.arena.phases.zone import zone_damage
from ludory.envs.arena.state import WALL
from ludory.envs.arena.tables import ONE
from ludory.envs.arena.variants import ArenaOptions

from .sight import UNLIMITED, living_rivals, sees, sees_rival, square_distance, time_to_pass

SELF, ZONE, RIVAL, CRATE, SHOT, MINE_ENTRY = 22, 7, 15, 5, 6, 3
"""Number of entries of a segment, or of each thing in it."""
# Entries of a body, its own and a rival's, behind the first ones.
SELF_COOLDOWNS, SELF_TIMERS, SELF_IN_REACH, SELF_MINES, SELF_ALIVE = 9, 14, 19, 20, 21
RIVAL_TIMERS, RIVAL_FACING = 8, 13
SHOWN_SHOTS = 6
MINE_REACH = 3
"""Vectors to own mines are clipped to this many ranges of sight."""
LATER = 1 << 40
"""Added to the order of shots that have passed, so that they come after those that have not."""


def full_spec(options: ArenaOptions) -> ObservationSpec:
    """Shape, bounds and segments of `full`."""
    return ObservationSpec(
        "full", (full_size(options.players),), "float32", flat_segments(full_parts(options)), -4.0, 4.0
    )


def critic_spec(options: ArenaOptions) -> ObservationSpec:
    """Shape, bounds and segments of `critic`: `full` of every seat, the asking one first."""
    size = full_size(options.players)
    parts = {f"seat +{k}": size for k in range(options.players)}
    return ObservationSpec("critic", (options.players * size,), "float32", flat_segments(parts), -8.0, 8.0)


@kernel
def full_size(players):
    """Number of entries of `full`."""
    return (
        SELF + ZONE + RIVAL * (players - 1) + CRATE * const.CRATES + SHOT * SHOWN_SHOTS + MINE_ENTRY * const.MINE_SLOTS
    )


def full_parts(options: ArenaOptions) -> dict[str, int]:
    """Segments of `full` and their lengths."""
    rivals = RIVAL * (options.players - 1)
    crates, shots, mines = CRATE * const.CRATES, SHOT * SHOWN_SHOTS, MINE_ENTRY * const.MINE_SLOTS
    return {"self": SELF, "zone": ZONE, "rivals": rivals, "crates": crates, "shots": shots, "mines": mines}


@kernel
def observe_full(state, i, seat, out):
    """All that a seat may know; all 0 for the dead."""
    write_full(state, i, seat, const.VISION, out, 0)


@kernel
def observe_critic(state, i, seat, out):
    """`full` of `seat`, seat + 1, ... as if they saw the whole arena: for value functions in training only."""
    players = state.alive.shape[1]
    size = out.shape[0] // players
    for k in range(players):
        write_full(state, i, (seat + k) % players, UNLIMITED, out, k * size)


@kernel
def write_full(state, i, seat, vision, out, at):
    """Write `full` of a seat that sees as far as `vision` into out[at:]."""
    if int(state.alive[i, seat]) == 0:
        # the zeros of a dead seat say that it is dead; the entry `alive` is 1 for all others
        return
    players = state.alive.shape[1]
    write_self(state, i, seat, out, at)
    write_zone(state, i, seat, out, at + SELF)
    at += SELF + ZONE
    for k in range(1, players):
        # rivals in seat order, not by distance: an entry belongs to the same rival for the whole game
        write_rival(state, i, seat, (seat + k) % players, vision, out, at)
        at += RIVAL
    for crate in range(const.CRATES):
        write_crate(state, i, seat, crate, vision, out, at)
        at += CRATE
    write_shots(state, i, seat, vision, out, at)
    write_mines(state, i, seat, out, at + SHOT * SHOWN_SHOTS)


@kernel
def write_self(state, i, seat, out, at):
    """The seat's own body."""
    wall = int(state.setup[i, WALL])
    out[at] = int(state.hp[i, seat]) / const.FULL_HP
    out[at + 1] = int(state.energy[i, seat]) / const.FULL_ENERGY
    out[at + 2] = int(state.ammunition[i, seat]) / const.FULL_AMMUNITION
    out[at + 3] = int(state.x[i, seat]) / wall
    out[at + 4] = int(state.y[i, seat]) / wall
    out[at + 5] = int(state.vx[i, seat]) / const.WALK
    out[at + 6] = int(state.vy[i, seat]) / const.WALK
    out[at + 7] = int(state.fx[i, seat]) / ONE
    out[at + 8] = int(state.fy[i, seat]) / ONE
    for k in range(const.MINE + 1):
        out[at + SELF_COOLDOWNS + k] = int(state.cooldown[i, seat, k]) / const.COOLDOWN[k]
    write_timers(state, i, seat, out, at + SELF_TIMERS)
    out[at + SELF_IN_REACH] = 1.0 if crate_in_reach(state, i, seat) else 0.0
    for slot in range(const.MINE_SLOTS):
        if int(state.mine_life[i, seat, slot]) > 0:
            out[at + SELF_MINES] += 1 / const.MINE_SLOTS
    out[at + SELF_ALIVE] = 1.0


@kernel
def write_timers(state, i, seat, out, at):
    """Five entries that are seen of a body: shield, stun, wind-up, dash, channel."""
    out[at] = int(state.shield[i, seat]) / const.SHIELD_TIME
    out[at + 1] = int(state.stun[i, seat]) / const.PARRY_STUN
    out[at + 2] = int(state.windup[i, seat]) / const.WINDUP_TIME
    out[at + 3] = int(state.dash[i, seat]) / const.DASH_TIME
    out[at + 4] = int(state.channel[i, seat]) / const.CHANNEL_TIME


@kernel
def write_zone(state, i, seat, out, at):
    """The zone, the time, how many rivals live."""
    x, y, wall = int(state.zone_x[i]), int(state.zone_y[i]), int(state.setup[i, WALL])
    # negative outside: the zone burns there
    margin = int(state.zone_radius[i]) - math.sqrt(square_distance(state, i, seat, x, y))
    out[at] = (x - int(state.x[i, seat])) / wall
    out[at + 1] = (y - int(state.y[i, seat])) / wall
    out[at + 2] = int(state.zone_radius[i]) / wall
    out[at + 3] = margin / wall
    out[at + 4] = int(state.t[i]) / const.LAST_TICK
    out[at + 5] = zone_damage(state, i) / (const.ZONE_DAMAGE + const.ZONE_DAMAGE_GROWTH)
    out[at + 6] = living_rivals(state, i, seat) / (state.alive.shape[1] - 1)


@kernel
def write_rival(state, i, seat, rival, vision, out, at):
    """Whether a rival lives; and what it is like, if it is in sight."""
    # that a rival lives is public, where it is may be hidden
    out[at] = int(state.alive[i, rival])
    if not sees_rival(state, i, seat, rival, vision):
        return
    x, y = int(state.x[i, rival]), int(state.y[i, rival])
    out[at + 1] = 1.0
    out[at + 2] = (x - int(state.x[i, seat])) / const.VISION
    out[at + 3] = (y - int(state.y[i, seat])) / const.VISION
    out[at + 4] = math.sqrt(square_distance(state, i, seat, x, y)) / const.VISION
    out[at + 5] = int(state.vx[i, rival]) / const.WALK
    out[at + 6] = int(state.vy[i, rival]) / const.WALK
    out[at + 7] = int(state.hp[i, rival]) / const.FULL_HP
    write_timers(state, i, rival, out, at + RIVAL_TIMERS)
    out[at + RIVAL_FACING] = int(state.fx[i, rival]) / ONE
    out[at + RIVAL_FACING + 1] = int(state.fy[i, rival]) / ONE


@kernel
def write_crate(state, i, seat, crate, vision, out, at):
    """A crate, if it is open and in sight."""
    x, y = int(state.crate_x[i, crate]), int(state.crate_y[i, crate])
    if int(state.crate_wait[i, crate]) == 0 and sees(state, i, seat, x, y, vision):
        out[at] = 1.0
        out[at + 1] = (x - int(state.x[i, seat])) / const.VISION
        out[at + 2] = (y - int(state.y[i, seat])) / const.VISION
        # two entries: even crates are health, odd ones supply
        out[at + 3 + crate % 2] = 1.0


@kernel
def write_shots(state, i, seat, vision, out, at):
    """The rivals' shots in sight, first those still to pass, soonest first, then the others, latest first; ties by seat."""
    # selection sort without memory: each pass finds the next after (last_time, last); kernels allocate nothing
    players = state.alive.shape[1]
    last_time, last = -1.0, -1
    for shown in range(SHOWN_SHOTS):
        found, soonest = -1, 0.0
        for k in range(players * const.SHOT_SLOTS):
            owner, slot = k // const.SHOT_SLOTS, k % const.SHOT_SLOTS
            if owner != seat and is_shot_in_sight(state, i, seat, owner, slot, vision):
                time = order_of_shot(state, i, seat, owner, slot)
                after = time > last_time or (time == last_time and k > last)
                if after and (found < 0 or time < soonest):
                    found, soonest = k, time
        if found < 0:
            return
        write_shot(state, i, seat, found // const.SHOT_SLOTS, found % const.SHOT_SLOTS, out, at + SHOT * shown)
        last_time, last = soonest, found


@kernel
def is_shot_in_sight(state, i, seat, owner, slot, vision):
    """Whether a slot holds a shot that the seat sees."""
    x, y = int(state.shot_x[i, owner, slot]), int(state.shot_y[i, owner, slot])
    return int(state.shot_life[i, owner, slot]) > 0 and sees(state, i, seat, x, y, vision)


@kernel
def order_of_shot(state, i, seat, owner, slot):
    """Time until a shot passes the seat; of one that has passed, LATER and the time since."""
    time = time_to_pass(state, i, seat, owner, slot)
    # the time is negative here: the most recent pass comes first
    return time if time >= 0 else LATER - time


@kernel
def write_shot(state, i, seat, owner, slot, out, at):
    """One shot."""
    out[at] = 1.0
    out[at + 1] = (int(state.shot_x[i, owner, slot]) - int(state.x[i, seat])) / const.VISION
    out[at + 2] = (int(state.shot_y[i, owner, slot]) - int(state.y[i, seat])) / const.VISION
    out[at + 3] = int(state.shot_vx[i, owner, slot]) / const.SHOT_STEP
    out[at + 4] = int(state.shot_vy[i, owner, slot]) / const.SHOT_STEP
    out[at + 5] = int(state.shot_life[i, owner, slot]) / const.SHOT_LIFE


@kernel
def write_mines(state, i, seat, out, at):
    """The seat's own mines, slot by slot."""
    for slot in range(const.MINE_SLOTS):
        if int(state.mine_life[i, seat, slot]) > 0:
            dx = int(state.mine_x[i, seat, slot]) - int(state.x[i, seat])
            dy = int(state.mine_y[i, seat, slot]) - int(state.y[i, seat])
            out[at] = clamp(dx, -MINE_REACH * const.VISION, MINE_REACH * const.VISION) / const.VISION
            out[at + 1] = clamp(dy, -MINE_REACH * const.VISION, MINE_REACH * const.VISION) / const.VISION
            out[at + 2] = int(state.mine_life[i, seat, slot]) / const.MINE_LIFE
        at += MINE_ENTRY
