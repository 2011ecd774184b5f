"""The state of the arena: its fields, and the names of their columns."""

from __future__ import annotations

from typing import Any

from ludory.envs import Field, elimination, header

from . import constants as const
from .tables import ONE
from .variants import ArenaOptions

# Columns of `setup`, constant within a game.
RADIUS, WALL, MOVE_BINS, AIM_BINS, NOISE, JITTER = 0, 1, 2, 3, 4, 5
# Bits of `given`: what the next reset takes from the state instead of drawing it.
GIVEN_POSITION, GIVEN_FACING, GIVEN_HP, GIVEN_ENERGY = 1, 2, 4, 8
GIVEN_AMMUNITION, GIVEN_CRATES, GIVEN_CENTRE = 16, 32, 64
# Heads of an action.
MOVE_X, MOVE_Y, AIM_X, AIM_Y, SHOOT, ABILITY, INTERACT = 0, 1, 2, 3, 4, 5, 6
HEADS = 7


def fields(options: ArenaOptions) -> dict[str, Field]:
    """The fields of a game with P seats: lengths in sub, times in ticks, directions in 1/16384.

    The origin is the centre of the arena; x grows to the right, y downwards.
    """
    p = options.players
    setup = (
        options.radius,
        options.wall,
        options.move_bins,
        options.aim_bins,
        options.noise,
        int(options.spawn_jitter),
    )
    seats, shots, mines = (p,), (p, const.SHOT_SLOTS), (p, const.MINE_SLOTS)
    wall = options.wall
    inside: dict[str, Any] = {"low": -wall, "high": wall}
    moved: dict[str, Any] = {"low": -2 * const.DASH_STEP, "high": 2 * const.DASH_STEP}
    farthest = wall + 2 * const.SHOT_LIFE * const.SHOT_STEP  # a shot with the largest error is half as fast again
    flown: dict[str, Any] = {"low": -farthest, "high": farthest}
    return (
        header(p)
        | elimination(p)
        | {
            "setup": Field("int32", (len(setup),), setup, low=setup, high=setup),
            "given": Field("int32", low=0, high=0),  # reset options; the reset clears it
            "t": Field("int32", low=0, high=const.LAST_TICK),  # ticks played
            "place": Field("int32", seats, low=0, high=2 * p),  # twice the place, 0 = not settled
            "x": Field("int32", seats, **inside),
            "y": Field("int32", seats, **inside),
            "vx": Field(
                "int32", seats, **moved
            ),  # actual movement in the last tick: stopped by the wall, without pushes
            "vy": Field("int32", seats, **moved),
            "fx": Field("int32", seats, low=-ONE, high=ONE),  # facing
            "fy": Field("int32", seats, low=-ONE, high=ONE),
            "hp": Field("int32", seats, low=0, high=const.FULL_HP),
            "energy": Field("int32", seats, low=0, high=const.FULL_ENERGY),
            "ammunition": Field("int32", seats, low=0, high=const.FULL_AMMUNITION),
            "cooldown": Field("int32", (p, 5), low=0, high=const.COOLDOWN),  # FIRE, DASH, SHIELD, NOVA, MINE
            "shield": Field("int32", seats, low=0, high=const.SHIELD_TIME),  # ticks left, as for the next three
            "stun": Field("int32", seats, low=0, high=max(const.PARRY_STUN, const.MINE_STUN)),
            "windup": Field("int32", seats, low=0, high=const.WINDUP_TIME),
            "dash": Field("int32", seats, low=0, high=const.DASH_TIME),
            "dash_x": Field("int32", seats, low=-const.DASH_STEP, high=const.DASH_STEP),  # step of a dash, per tick
            "dash_y": Field("int32", seats, low=-const.DASH_STEP, high=const.DASH_STEP),
            "channel": Field("int32", seats, low=0, high=const.CHANNEL_TIME),  # ticks spent at a crate
            "push_x": Field("int32", seats, low=0, high=0),  # working memory of the novas of one tick
            "push_y": Field("int32", seats, low=0, high=0),
            "hurt_by": Field("int32", seats, low=0, high=0),  # within a tick: bit set of the seats that hurt this one
            "kills": Field("int32", seats, low=0, high=p - 1),  # of victims that this seat hurt in their last tick
            "dealt": Field("int32", seats, low=0),  # damage to rivals
            "taken": Field("int32", seats, low=0),  # damage by rivals and by the zone
            "shot_life": Field("int32", shots, low=0, high=const.SHOT_LIFE),  # sweeps left, 0 = free slot
            "shot_x": Field("int32", shots, **flown),
            "shot_y": Field("int32", shots, **flown),
            "shot_vx": Field("int32", shots, low=-2 * const.SHOT_STEP, high=2 * const.SHOT_STEP),
            "shot_vy": Field("int32", shots, low=-2 * const.SHOT_STEP, high=2 * const.SHOT_STEP),
            "mine_life": Field("int32", mines, low=0, high=const.MINE_LIFE),  # ticks left, 0 = free slot
            "mine_x": Field("int32", mines, **inside),
            "mine_y": Field("int32", mines, **inside),
            "crate_wait": Field(
                "int32", (const.CRATES,), low=0, high=const.CRATE_ABSENCE
            ),  # ticks of absence left, 0 = open
            "crate_used": Field("int8", (const.CRATES,), low=0, high=0),  # within a tick: paid out
            "crate_x": Field("int32", (const.CRATES,), low=-2 * wall, high=2 * wall),
            "crate_y": Field("int32", (const.CRATES,), low=-2 * wall, high=2 * wall),
            "final_x": Field("int32", **inside),  # where the zone will close
            "final_y": Field("int32", **inside),
            "zone_x": Field("int32", **inside),
            "zone_y": Field("int32", **inside),
            "zone_radius": Field("int32", low=0, high=wall),
        }
    )
