"""`used` for the arena: which heads of an action mattered."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs.kernels import kernel

from .constants import DASH, MINE, NOVA, SHIELD
from .legality import can_fire, can_interact, can_use, is_free
from .state import ABILITY, AIM_X, AIM_Y, INTERACT, MOVE_BINS, MOVE_X, MOVE_Y, SHOOT


@kernel
def used(state, i, seat, action, out):
    """Set out[h] where another value of head h could have changed what happens; action [7], state before the decision."""
    if int(state.alive[i, seat]) == 0:
        return
    interact, ability, shoot = int(action[INTERACT]), int(action[ABILITY]), int(action[SHOOT])
    free = is_free(state, i, seat)
    out[INTERACT] = free and can_interact(state, i, seat)
    if interact == 1:
        return
    guarded = ability in (SHIELD, NOVA)
    centre = int(state.setup[i, MOVE_BINS]) // 2
    centred = int(action[MOVE_X]) == centre and int(action[MOVE_Y]) == centre
    if free:
        for k in range(1, MINE + 1):
            if can_use(state, i, seat, k):
                out[ABILITY] = True
        out[SHOOT] = can_fire(state, i, seat) and not guarded
    if (shoot == 1 and not guarded) or (ability == DASH and centred):
        out[AIM_X] = True
        out[AIM_Y] = True
    if int(state.dash[i, seat]) == 0 and int(state.stun[i, seat]) <= 1:
        out[MOVE_X] = True
        out[MOVE_Y] = True
