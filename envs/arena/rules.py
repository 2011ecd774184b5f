"""The arena's rules as scalar kernels: reset and step. The phases of a tick are in `phases/`.

Sizes are read from the shapes of the state's arrays and from `setup`, so the same kernels serve every variant.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import begin_episode, draw, kernel
from ludory.envs.arena.phases.actions import intend, move
from ludory.envs.arena.phases.crates import count_absences
from ludory.envs.arena.phases.weapons import bury, fire_novas, settle, spring_mines, sweep_shots
from ludory.envs.arena.phases.zone import close_zone, set_zone

from . import constants as const
from . import state as at
from .geometry import draw_in_disc, q14
from .tables import ANGLES, CIRCLE


@kernel
def reset(state, i):
    """Place bodies and crates. What reset options set is kept, but drawn nevertheless, so that the rest does not depend on it."""
    begin_episode(state, i)
    given, players = int(state.given[i]), state.alive.shape[1]
    rotation = draw(state, i, ANGLES)
    for seat in range(players):
        clear_seat(state, i, seat, given)
        # spread evenly, from a random turn of the circle on
        place_seat(state, i, seat, rotation + ANGLES * seat // players, given)
    for crate in range(const.CRATES):
        x, y = draw_in_disc(state, i, int(state.setup[i, at.RADIUS]) * const.CRATE_PERCENT // 100)
        state.crate_wait[i, crate] = 0
        state.crate_used[i, crate] = 0
        if not given & at.GIVEN_CRATES:
            state.crate_x[i, crate] = x
            state.crate_y[i, crate] = y
    k, distance = draw(state, i, ANGLES), int(state.setup[i, at.RADIUS]) * const.FINAL_PERCENT // 100
    if not given & at.GIVEN_CENTRE:
        state.final_x[i] = q14(distance, int(CIRCLE[k, 0]))
        state.final_y[i] = q14(distance, int(CIRCLE[k, 1]))
    state.t[i] = 0
    set_zone(state, i)
    state.given[i] = 0
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def clear_seat(state, i, seat, given):
    """Set a seat to its values before the first tick, except its position."""
    state.alive[i, seat] = 1
    state.place[i, seat] = 0
    state.seat_terminated[i, seat] = 0
    if not given & at.GIVEN_HP:
        state.hp[i, seat] = const.FULL_HP
    if not given & at.GIVEN_ENERGY:
        state.energy[i, seat] = const.FULL_ENERGY
    if not given & at.GIVEN_AMMUNITION:
        state.ammunition[i, seat] = const.START_AMMUNITION
    for k in range(const.MINE + 1):
        state.cooldown[i, seat, k] = 0
    state.vx[i, seat] = 0
    state.vy[i, seat] = 0
    state.shield[i, seat] = 0
    state.stun[i, seat] = 0
    state.windup[i, seat] = 0
    state.dash[i, seat] = 0
    state.dash_x[i, seat] = 0
    state.dash_y[i, seat] = 0
    state.channel[i, seat] = 0
    state.push_x[i, seat] = 0
    state.push_y[i, seat] = 0
    state.hurt_by[i, seat] = 0
    state.kills[i, seat] = 0
    state.dealt[i, seat] = 0
    state.taken[i, seat] = 0
    for slot in range(const.SHOT_SLOTS):
        state.shot_life[i, seat, slot] = 0
        state.shot_x[i, seat, slot] = 0
        state.shot_y[i, seat, slot] = 0
        state.shot_vx[i, seat, slot] = 0
        state.shot_vy[i, seat, slot] = 0
    for slot in range(const.MINE_SLOTS):
        state.mine_life[i, seat, slot] = 0
        state.mine_x[i, seat, slot] = 0
        state.mine_y[i, seat, slot] = 0


@kernel
def place_seat(state, i, seat, angle, given):
    """Put a body near `angle` on the circle of starts, facing the origin."""
    percent = const.SPAWN_PERCENT
    if int(state.setup[i, at.JITTER]):
        angle += draw(state, i, 2 * const.ANGLE_JITTER + 1) - const.ANGLE_JITTER
        percent += draw(state, i, 2 * const.SPAWN_JITTER + 1) - const.SPAWN_JITTER
    # `angle` may be below 0 by the jitter
    k, distance = (angle + ANGLES) % ANGLES, int(state.setup[i, at.RADIUS]) * percent // 100
    if not given & at.GIVEN_POSITION:
        state.x[i, seat] = q14(distance, int(CIRCLE[k, 0]))
        state.y[i, seat] = q14(distance, int(CIRCLE[k, 1]))
    if not given & at.GIVEN_FACING:
        state.fx[i, seat] = -int(CIRCLE[k, 0])
        state.fy[i, seat] = -int(CIRCLE[k, 1])


@kernel
def step(state, i, actions):
    """One decision of all seats, actions [P, 7]: two ticks, or one if the game ends in it."""
    for seat in range(state.alive.shape[1]):
        state.seat_terminated[i, seat] = 0
    for k in range(const.TICKS_PER_DECISION):
        if not state.terminated[i]:
            tick(state, i, actions, k == 0)


@kernel
def tick(state, i, actions, first):
    """All phases of one tick; none reads what an earlier seat did in it."""
    players = state.alive.shape[1]
    for seat in range(players):
        if int(state.alive[i, seat]):
            intend(state, i, seat, actions[seat], first)
            move(state, i, seat, actions[seat])
    fire_novas(state, i)
    sweep_shots(state, i)
    spring_mines(state, i)
    close_zone(state, i)
    # after all damage of the tick, so that the order of attackers does not matter
    living = bury(state, i)
    for seat in range(players):
        count_down(state, i, seat)
    count_absences(state, i)
    # the end by time is a rule, so that it terminates
    if living <= 1 or int(state.t[i]) == const.LAST_TICK:
        state.terminated[i] = True
        for seat in range(players):
            if int(state.alive[i, seat]):
                # (living + 1) / 2, counted twice
                settle(state, i, seat, living + 1)


@kernel
def count_down(state, i, seat):
    """Phase 8 for one seat: timers count down; energy grows if no shield was up in this tick."""
    # who hurt whom counts for kills in this tick alone
    state.hurt_by[i, seat] = 0
    if int(state.alive[i, seat]):
        if int(state.shield[i, seat]) == 0:
            state.energy[i, seat] = min(const.FULL_ENERGY, int(state.energy[i, seat]) + const.ENERGY_GAIN)
        for k in range(const.MINE + 1):
            state.cooldown[i, seat, k] = max(0, int(state.cooldown[i, seat, k]) - 1)
        state.shield[i, seat] = max(0, int(state.shield[i, seat]) - 1)
        state.stun[i, seat] = max(0, int(state.stun[i, seat]) - 1)
        state.windup[i, seat] = max(0, int(state.windup[i, seat]) - 1)
        state.dash[i, seat] = max(0, int(state.dash[i, seat]) - 1)
