"""`redeal` for the arena: draws rivals out of sight, hidden values of rivals in sight, mines, crates and the final centre anew.

Draws are uniform, except for what the seat can infer: a visible timer determines the cooldown of its ability, a visible shot how long its
owner cannot fire, and no living body stands on one of the seat's mines.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import draw, kernel
from ludory.envs.arena.observe.sight import sees, sees_rival, square_distance

from . import constants as at
from .geometry import draw_in_disc, q14
from .state import RADIUS, WALL
from .tables import ANGLES, CIRCLE

TRIES = 64
"""Points drawn for a place that is not allowed everywhere; a third of the arena at least is allowed."""


@kernel
def redeal(state, i, seat):
    """Re-draw all that `seat` does not know."""
    for rival in range(state.alive.shape[1]):
        if rival != seat and int(state.alive[i, rival]):
            seen = sees_rival(state, i, seat, rival, at.VISION)
            # a body in sight keeps what is seen of it
            if not seen:
                draw_unseen_body(state, i, seat, rival)
            remove_unseen_shots(state, i, seat, rival)
            draw_means(state, i, rival, seen)
        elif rival != seat:
            # shots of the dead still fly
            remove_unseen_shots(state, i, seat, rival)
    for rival in range(state.alive.shape[1]):
        if rival != seat:
            draw_mines(state, i, rival)
    for crate in range(at.CRATES):
        draw_unseen_crate(state, i, seat, crate)
    # until the zone moves, nobody can tell where it will end
    if int(state.t[i]) <= at.ZONE_STILL:
        k, distance = draw(state, i, ANGLES), int(state.setup[i, RADIUS]) * at.FINAL_PERCENT // 100
        state.final_x[i] = q14(distance, int(CIRCLE[k, 0]))
        state.final_y[i] = q14(distance, int(CIRCLE[k, 1]))


@kernel
def draw_unseen_body(state, i, seat, rival):
    """A body that stands somewhere out of sight, on none of the seat's mines, and does nothing."""
    placed = False
    for _ in range(TRIES):
        if not placed:
            x, y = draw_in_disc(state, i, int(state.setup[i, WALL]))
            if not sees(state, i, seat, x, y, at.VISION) and not on_mine_of(state, i, seat, x, y):
                state.x[i, rival] = x
                state.y[i, rival] = y
                placed = True
    k = draw(state, i, ANGLES)
    state.fx[i, rival] = CIRCLE[k, 0]
    state.fy[i, rival] = CIRCLE[k, 1]
    # in hundredths: whole hit points from 1 to 100
    state.hp[i, rival] = 100 * (1 + draw(state, i, 100))
    state.vx[i, rival] = 0
    state.vy[i, rival] = 0
    state.shield[i, rival] = 0
    state.stun[i, rival] = 0
    state.windup[i, rival] = 0
    state.dash[i, rival] = 0
    state.channel[i, rival] = 0


@kernel
def on_mine_of(state, i, owner, x, y):
    """Whether a body at a point would have set off a mine."""
    for slot in range(at.MINE_SLOTS):
        if int(state.mine_life[i, owner, slot]) > 0:
            dx, dy = x - int(state.mine_x[i, owner, slot]), y - int(state.mine_y[i, owner, slot])
            if dx * dx + dy * dy <= at.MINE_RANGE * at.MINE_RANGE:
                return True
    return False


@kernel
def remove_unseen_shots(state, i, seat, rival):
    """Shots out of sight are gone."""
    for slot in range(at.SHOT_SLOTS):
        x, y = int(state.shot_x[i, rival, slot]), int(state.shot_y[i, rival, slot])
        if not sees(state, i, seat, x, y, at.VISION):
            state.shot_life[i, rival, slot] = 0


@kernel
def draw_means(state, i, rival, seen):
    """Energy, ammunition and cooldowns."""
    state.energy[i, rival] = draw(state, i, at.FULL_ENERGY + 1)
    state.ammunition[i, rival] = draw(state, i, at.FULL_AMMUNITION + 1)
    least = 0
    for slot in range(at.SHOT_SLOTS):
        # a shot that still flies was fired SHOT_LIFE - life ticks ago, and the cooldown began then
        least = max(least, at.COOLDOWN[at.FIRE] - at.SHOT_LIFE + int(state.shot_life[i, rival, slot]))
    state.cooldown[i, rival, at.FIRE] = least + draw(state, i, at.COOLDOWN[at.FIRE] + 1 - least)
    for k in range(at.DASH, at.MINE + 1):
        state.cooldown[i, rival, k] = draw(state, i, at.COOLDOWN[k] + 1)
    if seen:
        tell_cooldown(state, i, rival, at.DASH, int(state.dash[i, rival]), at.DASH_TIME)
        tell_cooldown(state, i, rival, at.SHIELD, int(state.shield[i, rival]), at.SHIELD_TIME)
        tell_cooldown(state, i, rival, at.NOVA, int(state.windup[i, rival]), at.WINDUP_TIME)


@kernel
def tell_cooldown(state, i, rival, ability, left, duration):
    """The cooldown of an ability that is under way: it began when the timer did."""
    if left > 0:
        state.cooldown[i, rival, ability] = at.COOLDOWN[ability] - (duration - left)


@kernel
def draw_mines(state, i, owner):
    """0 to 2 mines anywhere, none that a living body would have set off."""
    count = draw(state, i, at.MINE_SLOTS + 1)
    for slot in range(at.MINE_SLOTS):
        state.mine_life[i, owner, slot] = 0
        for _ in range(TRIES):
            if slot < count and int(state.mine_life[i, owner, slot]) == 0:
                x, y = draw_in_disc(state, i, int(state.setup[i, WALL]))
                if is_empty(state, i, x, y):
                    state.mine_x[i, owner, slot] = x
                    state.mine_y[i, owner, slot] = y
                    state.mine_life[i, owner, slot] = 1 + draw(state, i, at.MINE_LIFE)


@kernel
def is_empty(state, i, x, y):
    """Whether no living body is in a mine's range of a point."""
    for seat in range(state.alive.shape[1]):
        if int(state.alive[i, seat]) and square_distance(state, i, seat, x, y) <= at.MINE_RANGE * at.MINE_RANGE:
            return False
    return True


@kernel
def draw_unseen_crate(state, i, seat, crate):
    """A crate that is not seen is absent, or open in the zone out of sight; both as likely where there is room for it."""
    x, y = int(state.crate_x[i, crate]), int(state.crate_y[i, crate])
    if int(state.crate_wait[i, crate]) == 0 and sees(state, i, seat, x, y, at.VISION):
        return
    # absent until a place out of sight is found
    state.crate_wait[i, crate] = 1 + draw(state, i, at.CRATE_ABSENCE)
    if draw(state, i, 2) == 0:
        return
    radius = 9 * max(at.SMALLEST_CRATE_DISC, int(state.zone_radius[i])) // 10
    for _ in range(TRIES):
        if int(state.crate_wait[i, crate]) > 0:
            dx, dy = draw_in_disc(state, i, radius)
            x, y = int(state.zone_x[i]) + dx, int(state.zone_y[i]) + dy
            if not sees(state, i, seat, x, y, at.VISION):
                state.crate_x[i, crate] = x
                state.crate_y[i, crate] = y
                state.crate_wait[i, crate] = 0
