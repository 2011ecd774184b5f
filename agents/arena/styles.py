"""The scripted styles: rusher, sniper, turtle, looter, miner, zone-keeper, random. Rusher beats sniper beats turtle beats rusher.

Notation: E the nearest visible living rival, e the vector to it, d its length; c the vector to the zone's centre;
n the vector across e on the side to which the body already moves. Lengths in sub.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel, mix
from ludory.envs.arena.constants import DASH, HEALTH, MINE, NOVA, SHIELD, SUPPLY, UNIT_LENGTH
from ludory.envs.arena.geometry import lead, scale, side
from ludory.envs.arena.legality import can_fire, can_interact, can_use, is_free
from ludory.envs.arena.observe.sight import NOBODY, nearest_rival
from ludory.envs.arena.phases.crates import ANY_KIND, NO_CRATE
from ludory.envs.arena.state import ABILITY, AIM_BINS, AIM_X, AIM_Y, INTERACT, MOVE_BINS, MOVE_X, MOVE_Y, SHOOT
from ludory.envs.arena.tables import ONE

from .senses import (
    ability_ready,
    aim_at,
    beyond,
    crate_ready,
    go,
    in_reach,
    length,
    near_edge,
    shot_ready,
    stay,
    visible_crate,
)

U = UNIT_LENGTH
STUNNED = 1
"""A rival with more ticks of stun left than this is still stunned when the next decision takes effect."""
SAVED_ENERGY = 900
"""A rusher dashes only from 60 energy on, so that a nova is left to it."""


@kernel
def centre_x(state, i, seat):
    """c, first coordinate."""
    return int(state.zone_x[i]) - int(state.x[i, seat])


@kernel
def centre_y(state, i, seat):
    """c, second coordinate."""
    return int(state.zone_y[i]) - int(state.y[i, seat])


@kernel
def go_to_centre(state, i, seat, action, stop):
    """Walk along c; stand still within `stop` of it."""
    cx, cy = centre_x(state, i, seat), centre_y(state, i, seat)
    if cx * cx + cy * cy <= stop * stop:
        cx, cy = 0, 0
    go(state, i, action, cx, cy)


@kernel
def rival_x(state, i, seat, rival):
    """e, first coordinate."""
    return int(state.x[i, rival]) - int(state.x[i, seat])


@kernel
def rival_y(state, i, seat, rival):
    """e, second coordinate."""
    return int(state.y[i, rival]) - int(state.y[i, seat])


@kernel
def take(state, i, seat, action, crate):
    """Go to a crate, and open it when it is in reach."""
    dx = int(state.crate_x[i, crate]) - int(state.x[i, seat])
    dy = int(state.crate_y[i, crate]) - int(state.y[i, seat])
    go(state, i, action, dx, dy)
    if in_reach(state, i, seat, crate) and crate_ready(state, i, seat):
        action[INTERACT] = 1


@kernel
def keep_inside(state, i, seat, action):
    """Outside the zone or close to its edge: back to the centre, and leave crates alone."""
    if near_edge(state, i, seat):
        go(state, i, action, centre_x(state, i, seat), centre_y(state, i, seat))
        action[INTERACT] = 0


@kernel
def wait(state, i, seat, action):
    """Nobody in sight: to the centre."""
    go_to_centre(state, i, seat, action, U)


@kernel
def shoot(state, i, seat, action, rival, distance):
    """Aim ahead of a rival; tells whether a shot would be on target."""
    px = lead(rival_x(state, i, seat, rival), int(state.vx[i, rival]), distance)
    py = lead(rival_y(state, i, seat, rival), int(state.vy[i, rival]), distance)
    return aim_at(state, i, action, px, py)


@kernel
def fire_if(state, i, seat, action, wanted, on_target):
    """Fire if wanted, on target, ready, and nothing chosen goes before it."""
    guarded = action[ABILITY] == SHIELD or action[ABILITY] == NOVA
    if wanted and on_target and action[INTERACT] == 0 and not guarded and shot_ready(state, i, seat):
        action[SHOOT] = 1


@kernel
def choose_rusher(state, i, seat, memory, action):
    """Runs and dashes at the rival, then bursts."""
    stay(state, i, action)
    if int(state.alive[i, seat]) == 0:
        return
    rival = nearest_rival(state, i, seat)
    if rival == NOBODY:
        wait(state, i, seat, action)
        return
    ex, ey = rival_x(state, i, seat, rival), rival_y(state, i, seat, rival)
    d, wanted = length(ex, ey), False
    if d < 28 * U // 10:
        if ability_ready(state, i, seat, NOVA):
            action[ABILITY] = NOVA
        else:
            wanted = True
    elif d < 9 * U and int(state.energy[i, seat]) >= SAVED_ENERGY and ability_ready(state, i, seat, DASH):
        action[ABILITY] = DASH
    if d < 6 * U and action[ABILITY] == 0:
        wanted = True
    if beyond(state, i, seat, 0):
        # back inside, and still towards the rival: 4 c + e
        go(state, i, action, 4 * centre_x(state, i, seat) + ex, 4 * centre_y(state, i, seat) + ey)
    else:
        go(state, i, action, ex, ey)
    fire_if(state, i, seat, action, wanted, shoot(state, i, seat, action, rival, d))


@kernel
def choose_sniper(state, i, seat, memory, action):
    """Keeps its distance and shoots."""
    stay(state, i, action)
    if int(state.alive[i, seat]) == 0:
        return
    rival, supply = nearest_rival(state, i, seat), visible_crate(state, i, seat, SUPPLY)
    if rival == NOBODY:
        wait(state, i, seat, action)
        if int(state.ammunition[i, seat]) < 6 and supply != NO_CRATE:
            take(state, i, seat, action, supply)
        keep_inside(state, i, seat, action)
        return
    ex, ey = rival_x(state, i, seat, rival), rival_y(state, i, seat, rival)
    d, s = length(ex, ey), side(state, i, seat, ex, ey)
    if d < 8 * U:
        # away from the rival and a little across: -10 e + 4 n
        go(state, i, action, -10 * ex - 4 * s * ey, -10 * ey + 4 * s * ex)
    elif d > 11 * U:
        go(state, i, action, ex, ey)
    else:
        # across: n
        go(state, i, action, -s * ey, s * ex)
    if int(state.ammunition[i, seat]) < 2 and supply != NO_CRATE:
        take(state, i, seat, action, supply)
    keep_inside(state, i, seat, action)
    fire_if(state, i, seat, action, True, shoot(state, i, seat, action, rival, d))


@kernel
def choose_turtle(state, i, seat, memory, action):
    """Waits in the middle, parries novas, bursts at the stunned."""
    stay(state, i, action)
    if int(state.alive[i, seat]) == 0:
        return
    rival = nearest_rival(state, i, seat)
    if rival == NOBODY:
        wait(state, i, seat, action)
        keep_inside(state, i, seat, action)
        return
    ex, ey = rival_x(state, i, seat, rival), rival_y(state, i, seat, rival)
    d, s = length(ex, ey), side(state, i, seat, ex, ey)
    stunned = int(state.stun[i, rival]) > STUNNED
    if d > 5 * U:
        go_to_centre(state, i, seat, action, U)
    else:
        go(state, i, action, -s * ey, s * ex)
    if int(state.windup[i, rival]) > 0 and d < 38 * U // 10 and ability_ready(state, i, seat, SHIELD):
        action[ABILITY] = SHIELD
    elif stunned and d < 29 * U // 10 and ability_ready(state, i, seat, NOVA):
        action[ABILITY] = NOVA
    elif stunned and d < 5 * U:
        go(state, i, action, ex, ey)
    keep_inside(state, i, seat, action)
    fire_if(state, i, seat, action, d < 7 * U, shoot(state, i, seat, action, rival, d))


@kernel
def wanted_crate(state, i, seat):
    """A looter's crate: health if hurt, else supply if short of it, else any; or NO_CRATE."""
    if int(state.hp[i, seat]) < 7000:
        return visible_crate(state, i, seat, HEALTH)
    if int(state.ammunition[i, seat]) < 20:
        return visible_crate(state, i, seat, SUPPLY)
    return visible_crate(state, i, seat, ANY_KIND)


@kernel
def choose_looter(state, i, seat, memory, action):
    """Lives on crates, shoots meanwhile."""
    stay(state, i, action)
    if int(state.alive[i, seat]) == 0:
        return
    rival, crate = nearest_rival(state, i, seat), wanted_crate(state, i, seat)
    if rival == NOBODY:
        wait(state, i, seat, action)
        if crate != NO_CRATE:
            take(state, i, seat, action, crate)
        keep_inside(state, i, seat, action)
        return
    ex, ey = rival_x(state, i, seat, rival), rival_y(state, i, seat, rival)
    d, s = length(ex, ey), side(state, i, seat, ex, ey)
    wanted = True
    if crate != NO_CRATE and d > 4 * U:
        take(state, i, seat, action, crate)
        wanted = not in_reach(state, i, seat, crate) and d < 11 * U
    else:
        # around the rival and away from it: n - e
        go(state, i, action, -s * ey - ex, s * ex - ey)
    keep_inside(state, i, seat, action)
    fire_if(state, i, seat, action, wanted, shoot(state, i, seat, action, rival, d))


@kernel
def choose_miner(state, i, seat, memory, action):
    """Gives way and leaves mines behind."""
    stay(state, i, action)
    if int(state.alive[i, seat]) == 0:
        return
    rival = nearest_rival(state, i, seat)
    if rival == NOBODY:
        wait(state, i, seat, action)
        keep_inside(state, i, seat, action)
        return
    ex, ey = rival_x(state, i, seat, rival), rival_y(state, i, seat, rival)
    cx, cy = centre_x(state, i, seat), centre_y(state, i, seat)
    d, c = length(ex, ey), length(cx, cy)
    # with unit vectors in 1/16384: 6 towards the centre, 10 away from the rival
    gx = 6 * scale(cx, ONE, max(1, c)) - 10 * scale(ex, ONE, max(1, d))
    gy = 6 * scale(cy, ONE, max(1, c)) - 10 * scale(ey, ONE, max(1, d))
    go(state, i, action, gx, gy)
    stunned = int(state.stun[i, rival]) > STUNNED
    if stunned and d < 29 * U // 10 and ability_ready(state, i, seat, NOVA):
        action[ABILITY] = NOVA
    elif d < 8 * U and ability_ready(state, i, seat, MINE):
        action[ABILITY] = MINE
    keep_inside(state, i, seat, action)
    fire_if(state, i, seat, action, d < 10 * U, shoot(state, i, seat, action, rival, d))


@kernel
def choose_zone(state, i, seat, memory, action):
    """Holds the middle of the zone."""
    stay(state, i, action)
    if int(state.alive[i, seat]) == 0:
        return
    rival = nearest_rival(state, i, seat)
    if rival == NOBODY:
        wait(state, i, seat, action)
        keep_inside(state, i, seat, action)
        return
    d = length(rival_x(state, i, seat, rival), rival_y(state, i, seat, rival))
    go_to_centre(state, i, seat, action, 15 * U // 10)
    wanted = d < 9 * U
    if d < 22 * U // 10 and ability_ready(state, i, seat, NOVA):
        action[ABILITY] = NOVA
        wanted = False
    keep_inside(state, i, seat, action)
    fire_if(state, i, seat, action, wanted, shoot(state, i, seat, action, rival, d))


KEY, SALT, COUNTER = 0, 1, 2
MEMORY = 3


@kernel
def below(memory, n):
    """A number in 0..n-1; n is so small that 31 random bits modulo n are as good as uniform."""
    key = int(memory[KEY]) * (1 << 32) + int(memory[SALT])
    bits = int(mix(key, int(memory[COUNTER]))) & 0x7FFFFFFF
    memory[COUNTER] += 1
    return bits % n


@kernel
def choose_random(state, i, seat, memory, action):
    """Draws from the key in its memory, never from the game's own random numbers."""
    stay(state, i, action)
    if int(state.alive[i, seat]) == 0:
        return
    move, aim = int(state.setup[i, MOVE_BINS]), int(state.setup[i, AIM_BINS])
    action[MOVE_X] = below(memory, move)
    action[MOVE_Y] = below(memory, move)
    action[AIM_X] = below(memory, aim)
    action[AIM_Y] = below(memory, aim)
    if not is_free(state, i, seat):
        return
    if can_fire(state, i, seat):
        action[SHOOT] = below(memory, 2)
    if can_interact(state, i, seat):
        action[INTERACT] = below(memory, 2)
    action[ABILITY] = random_ability(state, i, seat, memory)


@kernel
def random_ability(state, i, seat, memory):
    """One of the ready abilities, or none."""
    # 1: none of them
    ready = 1
    for k in range(1, MINE + 1):
        ready += int(can_use(state, i, seat, k))
    left = below(memory, ready)
    for k in range(1, MINE + 1):
        if left > 0 and can_use(state, i, seat, k):
            left -= 1
            if left == 0:
                return k
    return 0
