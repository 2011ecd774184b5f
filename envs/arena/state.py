"""The state of the arena: its fields for given options, and the names of the columns in them."""

from __future__ import annotations

from ..game import Field, elimination, header
from .numbers import CRATES, MINE_SLOTS, SHOT_SLOTS
from .variants import ArenaOptions

# Columns of `setup`, constant within a game.
RADIUS, WALL, MOVE_BINS, AIM_BINS, NOISE, JITTER = 0, 1, 2, 3, 4, 5
# Bits of `given`: what the next reset takes from the state instead of the rules.
GIVEN_POSITION, GIVEN_FACING, GIVEN_HP, GIVEN_ENERGY, GIVEN_AMMUNITION, GIVEN_CRATES, GIVEN_CENTRE = (
    1,
    2,
    4,
    8,
    16,
    32,
    64,
)
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
    seats, shots, mines = (p,), (p, SHOT_SLOTS), (p, MINE_SLOTS)
    return (
        header(p)
        | elimination(p)
        | {
            "setup": Field("int32", (len(setup),), setup),
            "given": Field("int32"),
            "t": Field("int32"),  # ticks played
            "place": Field("int32", seats),  # twice the place, 0 = not settled
            "x": Field("int32", seats),
            "y": Field("int32", seats),
            "vx": Field("int32", seats),  # what the body moved by itself in the last tick
            "vy": Field("int32", seats),
            "fx": Field("int32", seats),  # facing
            "fy": Field("int32", seats),
            "hp": Field("int32", seats),
            "energy": Field("int32", seats),
            "ammunition": Field("int32", seats),
            "cooldown": Field("int32", (p, 5)),  # FIRE, DASH, SHIELD, NOVA, MINE
            "shield": Field("int32", seats),  # ticks left, as for the next three
            "stun": Field("int32", seats),
            "windup": Field("int32", seats),
            "dash": Field("int32", seats),
            "dash_x": Field("int32", seats),  # step of a dash, per tick
            "dash_y": Field("int32", seats),
            "channel": Field("int32", seats),  # ticks spent at a crate
            "push_x": Field("int32", seats),  # working memory of the novas of one tick
            "push_y": Field("int32", seats),
            "hurt_by": Field("int32", seats),  # bit set of the seats that hurt this one in this tick
            "kills": Field("int32", seats),
            "dealt": Field("int32", seats),  # damage to rivals
            "taken": Field("int32", seats),  # damage by rivals and by the zone
            "shot_life": Field("int32", shots),  # sweeps left, 0 = free slot
            "shot_x": Field("int32", shots),
            "shot_y": Field("int32", shots),
            "shot_vx": Field("int32", shots),
            "shot_vy": Field("int32", shots),
            "mine_life": Field("int32", mines),  # ticks left, 0 = free slot
            "mine_x": Field("int32", mines),
            "mine_y": Field("int32", mines),
            "crate_wait": Field("int32", (CRATES,)),  # ticks of absence left, 0 = open
            "crate_used": Field("int8", (CRATES,)),  # paid out in this tick
            "crate_x": Field("int32", (CRATES,)),
            "crate_y": Field("int32", (CRATES,)),
            "final_x": Field("int32"),  # where the zone will close
            "final_y": Field("int32"),
            "zone_x": Field("int32"),
            "zone_y": Field("int32"),
            "zone_radius": Field("int32"),
        }
    )
