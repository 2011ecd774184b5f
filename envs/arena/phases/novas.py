"""Phase 3 of a tick: novas fire, all at the same positions."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs.arena.constants import NOVA_DAMAGE, NOVA_PUSH, NOVA_RANGE, PARRY_STUN
from ludory.envs.arena.geometry import isqrt, put, scale
from ludory.envs.kernels import kernel

from .damage import hurt_rival


@kernel
def fire_novas(state, i):
    """Novas in the last tick of their wind-up: damage and stuns fall at once, pushes when all have fired."""
    players, fired = state.alive.shape[1], False
    for attacker in range(players):
        if int(state.windup[i, attacker]) == 1 and int(state.alive[i, attacker]):
            fired = True
            for victim in range(players):
                if victim != attacker and int(state.alive[i, victim]):
                    strike(state, i, attacker, victim)
    if fired:
        for seat in range(players):
            push(state, i, seat)


@kernel
def strike(state, i, attacker, victim):
    """One nova and one rival: out of range, parried, or hurt and pushed away."""
    dx = int(state.x[i, victim]) - int(state.x[i, attacker])
    dy = int(state.y[i, victim]) - int(state.y[i, attacker])
    square = dx * dx + dy * dy
    if square > NOVA_RANGE * NOVA_RANGE:
        return
    if int(state.shield[i, victim]) > 0:
        state.stun[i, attacker] = max(PARRY_STUN, int(state.stun[i, attacker]))
        return
    hurt_rival(state, i, attacker, victim, NOVA_DAMAGE)
    d = isqrt(square)
    if d > 0:
        state.push_x[i, victim] += scale(dx, NOVA_PUSH, d)
        state.push_y[i, victim] += scale(dy, NOVA_PUSH, d)


@kernel
def push(state, i, seat):
    """Carry out the sum of all pushes, inside the wall."""
    px, py = int(state.push_x[i, seat]), int(state.push_y[i, seat])
    if px != 0 or py != 0:
        put(state, i, seat, int(state.x[i, seat]) + px, int(state.y[i, seat]) + py)
        state.push_x[i, seat] = 0
        state.push_y[i, seat] = 0
