"""Phase 4 of a tick: shots fly on and strike."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs.arena.constants import BODY, SHOT_DAMAGE, SHOT_SLOTS
from ludory.envs.kernels import kernel

from .damage import hurt_rival

NOBODY = -1


@kernel
def sweep_shots(state, i):
    """One tick of all shots."""
    for owner in range(state.alive.shape[1]):
        for slot in range(SHOT_SLOTS):
            if int(state.shot_life[i, owner, slot]) > 0:
                sweep(state, i, owner, slot)


@kernel
def sweep(state, i, owner, slot):
    """One tick of one shot: it is spent on the first body in its way, or flies on."""
    victim = first_in_the_way(state, i, owner, slot)
    if victim == NOBODY:
        state.shot_x[i, owner, slot] += state.shot_vx[i, owner, slot]
        state.shot_y[i, owner, slot] += state.shot_vy[i, owner, slot]
        state.shot_life[i, owner, slot] -= 1
        return
    state.shot_life[i, owner, slot] = 0
    if int(state.shield[i, victim]) == 0:
        hurt_rival(state, i, owner, victim, SHOT_DAMAGE)


@kernel
def first_in_the_way(state, i, owner, slot):
    """The living body that the step of a shot meets first, the lowest seat on ties; or NOBODY.

    The distance of a segment from a centre, in squares: with f from the centre to the shot and s the step, the shot comes
    nearest at -b/a of its step.
    """
    x, y = int(state.shot_x[i, owner, slot]), int(state.shot_y[i, owner, slot])
    sx, sy = int(state.shot_vx[i, owner, slot]), int(state.shot_vy[i, owner, slot])
    a = sx * sx + sy * sy
    found, soonest = NOBODY, 0
    for seat in range(state.alive.shape[1]):
        if seat != owner and int(state.alive[i, seat]):
            fx, fy = x - int(state.x[i, seat]), y - int(state.y[i, seat])
            b = fx * sx + fy * sy
            if (found == NOBODY or -b < soonest) and is_hit(a, b, fx * fx + fy * fy - BODY * BODY):
                found, soonest = seat, -b
    return found


@kernel
def is_hit(a, b, c):
    """Whether a segment meets a circle: it starts inside, or its nearest point lies in it."""
    if c <= 0:
        return True
    if b >= 0 or b * b < a * c:
        return False
    return -b <= a or (a + b) * (a + b) <= b * b - a * c
