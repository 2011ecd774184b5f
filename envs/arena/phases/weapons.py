"""Phases 3 to 5 of a tick, with damage and deaths: novas fire, all at the same positions; shots fly on and strike; mines wait for rivals."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel
from ludory.envs.arena import constants as const
from ludory.envs.arena.geometry import isqrt, put, scale


@kernel
def hurt(state, i, victim, damage):
    """Take hit points; a hurt body stops opening a crate."""
    state.hp[i, victim] -= damage
    state.taken[i, victim] += damage
    state.channel[i, victim] = 0


@kernel
def hurt_rival(state, i, attacker, victim, damage):
    """As `hurt`, and remember who did it."""
    hurt(state, i, victim, damage)
    state.dealt[i, attacker] += damage
    state.hurt_by[i, victim] = int(state.hurt_by[i, victim]) | (1 << attacker)


@kernel
def bury(state, i):
    """Phase 7: who has no hit points left dies; those who die together share a place. Returns the number of the living."""
    players, living, dying = state.alive.shape[1], 0, 0
    # counted before anybody is buried: those who die together share a place
    for seat in range(players):
        if int(state.alive[i, seat]):
            living += 1
            dying += int(state.hp[i, seat]) <= 0
    if dying > 0:
        for seat in range(players):
            if int(state.alive[i, seat]) and int(state.hp[i, seat]) <= 0:
                credit_kill(state, i, int(state.hurt_by[i, seat]))
                state.hp[i, seat] = 0
                state.alive[i, seat] = 0
                # places count twice, so that shared ones stay integers: m - (k - 1) / 2 is here 2 m - (k - 1)
                settle(state, i, seat, 2 * living - (dying - 1))
    return living - dying


@kernel
def credit_kill(state, i, attackers):
    """A whole kill for each seat in the bit set.

    These are all that hurt the victim in its last tick, whoever took the last hit point and even if the zone did; nobody, if
    only the zone hurt it then.
    """
    for seat in range(state.kills.shape[1]):
        state.kills[i, seat] += (attackers >> seat) & 1


@kernel
def settle(state, i, seat, place):
    """Give a seat its (twice counted) place, and the reward for it: 1 for the first place, -1 for the last."""
    state.place[i, seat] = place
    # places are counted twice: 2 is the first, 2 P the last
    state.rewards[i, seat] = 1.0 - (place - 2) / (state.place.shape[1] - 1)
    state.seat_terminated[i, seat] = 1


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
