"""`legal` and `used`: what a seat may do, and which heads of an action have an effect."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel
from ludory.envs.arena.phases.crates import crate_in_reach

from .constants import COST, DASH, FIRE, MINE, NOVA, SHIELD
from .state import ABILITY, AIM_BINS, AIM_X, AIM_Y, INTERACT, MOVE_BINS, MOVE_X, MOVE_Y, SHOOT


@kernel
def is_free(state, i, seat):
    """Alive, not stunned, not winding up, not dashing."""
    # one sum instead of three tests: all timers are at least 0
    busy = int(state.stun[i, seat]) + int(state.windup[i, seat]) + int(state.dash[i, seat])
    return int(state.alive[i, seat]) == 1 and busy == 0


@kernel
def is_unshielded(state, i, seat):
    """No shield up."""
    return int(state.shield[i, seat]) == 0


@kernel
def can_fire(state, i, seat):
    """For a free seat: a shot is ready."""
    ready = int(state.cooldown[i, seat, FIRE]) == 0 and int(state.ammunition[i, seat]) > 0
    return ready and is_unshielded(state, i, seat)


@kernel
def can_use(state, i, seat, ability):
    """For a free seat: an ability is ready and paid for."""
    ready = int(state.cooldown[i, seat, ability]) == 0 and int(state.energy[i, seat]) >= COST[ability]
    return ready and (ability != NOVA or is_unshielded(state, i, seat))


@kernel
def can_interact(state, i, seat):
    """For a free seat: a crate is in reach."""
    return is_unshielded(state, i, seat) and crate_in_reach(state, i, seat)


@kernel
def legal(state, i, seat, mask):
    """Legal values of all heads one after another; a dead seat has only the neutral action."""
    move, aim = int(state.setup[i, MOVE_BINS]), int(state.setup[i, AIM_BINS])
    fire = 2 * move + 2 * aim
    ability, interact = fire + 2, fire + 2 + MINE + 1
    mask[fire] = True
    mask[ability] = True
    mask[interact] = True
    # the neutral action has to be legal for everybody, the dead too
    if int(state.alive[i, seat]) == 0:
        mask[move // 2] = True
        mask[move + move // 2] = True
        mask[2 * move + aim // 2] = True
        mask[2 * move + aim + aim // 2] = True
        return
    for value in range(fire):
        mask[value] = True
    if is_free(state, i, seat):
        mask[fire + 1] = can_fire(state, i, seat)
        for k in range(1, MINE + 1):
            mask[ability + k] = can_use(state, i, seat, k)
        mask[interact + 1] = can_interact(state, i, seat)


@kernel
def used(state, i, seat, action, out):
    """Set out[h] where another value of head h could have changed what happens; action [7], state before the decision."""
    if int(state.alive[i, seat]) == 0:
        return
    interact, ability, shoot = int(action[INTERACT]), int(action[ABILITY]), int(action[SHOOT])
    free = is_free(state, i, seat)
    out[INTERACT] = free and can_interact(state, i, seat)
    # interacting comes first: nothing else of the action is read
    if interact == 1:
        return
    guarded = ability in (SHIELD, NOVA)
    centre = int(state.setup[i, MOVE_BINS]) // 2
    centred = int(action[MOVE_X]) == centre and int(action[MOVE_Y]) == centre
    if free:
        for k in range(1, MINE + 1):
            if can_use(state, i, seat, k):
                out[ABILITY] = True
        # a shield or a nova takes the place of the shot
        out[SHOOT] = can_fire(state, i, seat) and not guarded
    if (shoot == 1 and not guarded) or (ability == DASH and centred):
        out[AIM_X] = True
        out[AIM_Y] = True
    # a stun of 1 ends with the first tick, so that movement counts in the second
    if int(state.dash[i, seat]) == 0 and int(state.stun[i, seat]) <= 1:
        out[MOVE_X] = True
        out[MOVE_Y] = True
