"""Phases 3 to 5 of a tick: novas fire, all at the same positions; shots fly on and strike; mines wait for rivals."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel
from ludory.envs.arena import constants as const
from ludory.envs.arena.geometry import isqrt, put, scale

from .damage import hurt_rival

NOBODY = -1


@kernel
def fire_novas(state, i):
    """Novas in the last tick of their wind-up: damage and stuns fall at once, pushes when all have fired."""
    players, fired = state.alive.shape[1], False
    for attacker in range(players):
        # dead attackers fire no more, though their timer stands
        if int(state.windup[i, attacker]) == 1 and int(state.alive[i, attacker]):
            fired = True
            for victim in range(players):
                if victim != attacker and int(state.alive[i, victim]):
                    strike(state, i, attacker, victim)
    # pushes are summed first and carried out together: no nova sees another one's push
    if fired:
        for seat in range(players):
            push(state, i, seat)


@kernel
def strike(state, i, attacker, victim):
    """One nova and one rival: out of range, parried, or hurt and pushed away."""
    dx = int(state.x[i, victim]) - int(state.x[i, attacker])
    dy = int(state.y[i, victim]) - int(state.y[i, attacker])
    square = dx * dx + dy * dy
    if square > const.NOVA_RANGE * const.NOVA_RANGE:
        return
    if int(state.shield[i, victim]) > 0:
        # a parry stuns for at least so long; a longer stun stays
        state.stun[i, attacker] = max(const.PARRY_STUN, int(state.stun[i, attacker]))
        return
    hurt_rival(state, i, attacker, victim, const.NOVA_DAMAGE)
    d = isqrt(square)
    # on the same spot there is no direction
    if d > 0:
        state.push_x[i, victim] += scale(dx, const.NOVA_PUSH, d)
        state.push_y[i, victim] += scale(dy, const.NOVA_PUSH, d)


@kernel
def push(state, i, seat):
    """Carry out the sum of all pushes, inside the wall."""
    px, py = int(state.push_x[i, seat]), int(state.push_y[i, seat])
    if px != 0 or py != 0:
        put(state, i, seat, int(state.x[i, seat]) + px, int(state.y[i, seat]) + py)
        state.push_x[i, seat] = 0
        state.push_y[i, seat] = 0


@kernel
def sweep_shots(state, i):
    """One tick of all shots."""
    for owner in range(state.alive.shape[1]):
        for slot in range(const.SHOT_SLOTS):
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
    # a shield spends the shot all the same
    if int(state.shield[i, victim]) == 0:
        hurt_rival(state, i, owner, victim, const.SHOT_DAMAGE)


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
            # -b grows with the time at which the shot is nearest
            if (found == NOBODY or -b < soonest) and is_hit(a, b, fx * fx + fy * fy - const.BODY * const.BODY):
                found, soonest = seat, -b
    return found


@kernel
def is_hit(a, b, c):
    """Whether a segment meets a circle: it starts inside, or its nearest point lies in it."""
    if c <= 0:
        return True
    if b >= 0 or b * b < a * c:
        return False
    # the segment may end before its nearest point: then the end must lie inside
    return -b <= a or (a + b) * (a + b) <= b * b - a * c


@kernel
def spring_mines(state, i):
    """One tick of all mines."""
    for owner in range(state.alive.shape[1]):
        for slot in range(const.MINE_SLOTS):
            if int(state.mine_life[i, owner, slot]) > 0:
                state.mine_life[i, owner, slot] -= 1
                if burst(state, i, owner, slot):
                    state.mine_life[i, owner, slot] = 0


@kernel
def burst(state, i, owner, slot):
    """Hurt and stun every rival in range that has no shield; returns whether any was in range."""
    x, y = int(state.mine_x[i, owner, slot]), int(state.mine_y[i, owner, slot])
    sprung = False
    for seat in range(state.alive.shape[1]):
        if seat != owner and int(state.alive[i, seat]):
            dx, dy = int(state.x[i, seat]) - x, int(state.y[i, seat]) - y
            if dx * dx + dy * dy <= const.MINE_RANGE * const.MINE_RANGE:
                # a shielded body sets it off too
                sprung = True
                if int(state.shield[i, seat]) == 0:
                    hurt_rival(state, i, owner, seat, const.MINE_DAMAGE)
                    state.stun[i, seat] = max(const.MINE_STUN, int(state.stun[i, seat]))
    return sprung
