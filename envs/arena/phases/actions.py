"""Phases 1 and 2 of a tick: what a body sets out to do, and how it moves. Interacting goes before abilities, abilities before the shot."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import draw, kernel
from ludory.envs.arena import constants as const
from ludory.envs.arena.geometry import pair, put, q14
from ludory.envs.arena.state import ABILITY, AIM_BINS, AIM_X, AIM_Y, INTERACT, MOVE_BINS, MOVE_X, MOVE_Y, NOISE, SHOOT
from ludory.envs.arena.tables import MOVE, UNIT

from .crates import channel


@kernel
def intend(state, i, seat, action, first):
    """One living body's part of phase 1; first: whether this is the decision's first tick."""
    if int(action[INTERACT]) == 1:
        channel(state, i, seat)
        return
    # any other intention breaks off the opening of a crate
    state.channel[i, seat] = 0
    # weapons act in the first of both ticks only; movement in each
    if first:
        ability = int(action[ABILITY])
        fires = int(action[SHOOT]) == 1 and ability != const.SHIELD and ability != const.NOVA
        bins = int(state.setup[i, MOVE_BINS])
        way = pair(bins, int(action[MOVE_X]), int(action[MOVE_Y]))
        centred = int(UNIT[way, 0]) == 0 and int(UNIT[way, 1]) == 0
        # the shot flies along the facing, so that it is set before the shot
        if fires or (ability == const.DASH and centred):
            face(state, i, seat, int(action[AIM_X]), int(action[AIM_Y]))
        if ability > 0:
            use_ability(state, i, seat, ability, way, centred)
        if fires:
            fire(state, i, seat)


@kernel
def face(state, i, seat, aim_x, aim_y):
    """Turn to a pair of aim bins; the centre pair keeps the facing."""
    k = pair(int(state.setup[i, AIM_BINS]), aim_x, aim_y)
    x, y = int(UNIT[k, 0]), int(UNIT[k, 1])
    if x != 0 or y != 0:
        state.fx[i, seat] = x
        state.fy[i, seat] = y


@kernel
def use_ability(state, i, seat, ability, way, centred):
    """Pay for a ready ability and start it; a dash goes along the pair `way` of move bins, or along the facing."""
    state.energy[i, seat] -= const.COST[ability]
    state.cooldown[i, seat, ability] = const.COOLDOWN[ability]
    if ability == const.DASH:
        x, y = int(UNIT[way, 0]), int(UNIT[way, 1])
        if centred:
            x, y = int(state.fx[i, seat]), int(state.fy[i, seat])
        state.dash[i, seat] = const.DASH_TIME
        state.dash_x[i, seat] = q14(const.DASH_STEP, x)
        state.dash_y[i, seat] = q14(const.DASH_STEP, y)
    elif ability == const.SHIELD:
        state.shield[i, seat] = const.SHIELD_TIME
    elif ability == const.NOVA:
        state.windup[i, seat] = const.WINDUP_TIME
    else:
        lay_mine(state, i, seat)


@kernel
def lay_mine(state, i, seat):
    """Lay a mine where the body stands, in a free slot or instead of the mine with the least life left."""
    # a free slot has life 0 and is the least of all
    slot = 0
    for k in range(1, const.MINE_SLOTS):
        if int(state.mine_life[i, seat, k]) < int(state.mine_life[i, seat, slot]):
            slot = k
    state.mine_life[i, seat, slot] = const.MINE_LIFE
    state.mine_x[i, seat, slot] = state.x[i, seat]
    state.mine_y[i, seat, slot] = state.y[i, seat]


@kernel
def fire(state, i, seat):
    """Fire along the facing, with the error of a hand."""
    fx, fy, noise = int(state.fx[i, seat]), int(state.fy[i, seat]), int(state.setup[i, NOISE])
    error = draw(state, i, 2 * noise + 1) - noise if noise > 0 else 0
    # two slots are enough: a cooldown of 8 ticks and 12 sweeps never leave three in the air
    slot = 0
    while slot < const.SHOT_SLOTS - 1 and int(state.shot_life[i, seat, slot]) > 0:
        slot += 1
    state.shot_life[i, seat, slot] = const.SHOT_LIFE
    state.shot_x[i, seat, slot] = state.x[i, seat]
    state.shot_y[i, seat, slot] = state.y[i, seat]
    # a turn by a small angle: the facing plus `error` times its normal, in 1/16384
    state.shot_vx[i, seat, slot] = q14(fx - q14(fy, error), const.SHOT_STEP)
    state.shot_vy[i, seat, slot] = q14(fy + q14(fx, error), const.SHOT_STEP)
    state.ammunition[i, seat] -= 1
    state.cooldown[i, seat, const.FIRE] = const.COOLDOWN[const.FIRE]


@kernel
def move(state, i, seat, action):
    """Dash on, stand still, or walk along the pair of move bins; then the wall.

    The velocity that observations show is what the body really moved here: less than it tried where the wall put it back, 0 where
    it stood. Pushes of novas come later in the tick and are no part of it.
    """
    x, y, dx, dy = int(state.x[i, seat]), int(state.y[i, seat]), 0, 0
    if int(state.dash[i, seat]) > 0:
        dx, dy = int(state.dash_x[i, seat]), int(state.dash_y[i, seat])
    elif int(state.stun[i, seat]) == 0 and int(action[INTERACT]) == 0:
        speed = walking_speed(state, i, seat)
        k = pair(int(state.setup[i, MOVE_BINS]), int(action[MOVE_X]), int(action[MOVE_Y]))
        dx, dy = q14(int(MOVE[k, 0]), speed), q14(int(MOVE[k, 1]), speed)
    put(state, i, seat, x + dx, y + dy)
    state.vx[i, seat] = int(state.x[i, seat]) - x
    state.vy[i, seat] = int(state.y[i, seat]) - y


@kernel
def walking_speed(state, i, seat):
    """How many sub per tick at full tilt."""
    if int(state.shield[i, seat]) > 0:
        return const.WALK_SHIELDED
    return const.WALK_WINDING if int(state.windup[i, seat]) > 0 else const.WALK
