"""Damage and deaths."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel


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
