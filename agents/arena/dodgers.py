"""Two more scripted styles, which step out of the way of shots: duelist and raider. No learner of the shipped agents has met them."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel
from ludory.envs.arena.constants import DASH, NOVA, SHIELD, SUPPLY, UNIT_LENGTH
from ludory.envs.arena.geometry import side
from ludory.envs.arena.observe.evasive import DANGERS, in_danger, step_of, way
from ludory.envs.arena.observe.sight import NOBODY, nearest_rival
from ludory.envs.arena.phases.crates import NO_CRATE
from ludory.envs.arena.state import ABILITY, MOVE_BINS, MOVE_X, MOVE_Y

from .senses import ability_ready, go, length, stay, visible_crate
from .styles import SAVED_ENERGY, fire_if, keep_inside, rival_x, rival_y, shoot, take, wait

U = UNIT_LENGTH


@kernel
def choose_duelist(state, i, seat, memory, action):
    """Keeps at middle distance, shoots, and steps out of the way of shots."""
    stay(state, i, action)
    if int(state.alive[i, seat]) == 0:
        return
    rival, supply = nearest_rival(state, i, seat), visible_crate(state, i, seat, SUPPLY)
    if rival == NOBODY:
        wait(state, i, seat, action)
        if int(state.ammunition[i, seat]) < 10 and supply != NO_CRATE:
            take(state, i, seat, action, supply)
        keep_inside(state, i, seat, action)
        dodge(state, i, seat, action)
        return
    ex, ey = rival_x(state, i, seat, rival), rival_y(state, i, seat, rival)
    d, s = length(ex, ey), side(state, i, seat, ex, ey)
    if d < 5 * U:
        go(state, i, action, -ex - s * ey, -ey + s * ex)
    elif d > 8 * U:
        go(state, i, action, ex, ey)
    else:
        go(state, i, action, -s * ey, s * ex)
    if int(state.ammunition[i, seat]) < 2 and supply != NO_CRATE:
        take(state, i, seat, action, supply)
    if int(state.windup[i, rival]) > 0 and d < 38 * U // 10 and ability_ready(state, i, seat, SHIELD):
        action[ABILITY] = SHIELD
    keep_inside(state, i, seat, action)
    dodge(state, i, seat, action)
    fire_if(state, i, seat, action, True, shoot(state, i, seat, action, rival, d))


@kernel
def choose_raider(state, i, seat, memory, action):
    """Runs in when its burst is ready, bursts, and runs away until it is ready again."""
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
    if ability_ready(state, i, seat, NOVA):
        go(state, i, action, ex, ey)
        if d < 28 * U // 10:
            action[ABILITY] = NOVA
        elif d < 8 * U and int(state.energy[i, seat]) >= SAVED_ENERGY and ability_ready(state, i, seat, DASH):
            action[ABILITY] = DASH
    else:
        # away from the rival and a little across: -2 e + n
        go(state, i, action, -2 * ex - s * ey, -2 * ey + s * ex)
    keep_inside(state, i, seat, action)
    dodge(state, i, seat, action)
    fire_if(state, i, seat, action, d < 9 * U, shoot(state, i, seat, action, rival, d))


@kernel
def dodge(state, i, seat, action):
    """If a shot in sight will strike on the chosen way, take of the ways on which none does the one most nearly along it."""
    bins = int(state.setup[i, MOVE_BINS])
    gx, gy = step_of(bins, action[MOVE_X], action[MOVE_Y])
    if not in_danger(state, i, seat, gx, gy):
        return
    found, best = -1, 0
    for k in range(DANGERS):
        a, b = way(bins, k)
        wx, wy = step_of(bins, a, b)
        dot = wx * gx + wy * gy
        if (found < 0 or dot > best) and not in_danger(state, i, seat, wx, wy):
            found, best = k, dot
    if found >= 0:
        action[MOVE_X], action[MOVE_Y] = way(bins, found)
