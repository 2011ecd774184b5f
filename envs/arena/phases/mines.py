"""Phase 5 of a tick: mines wait for rivals."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs.arena.constants import MINE_DAMAGE, MINE_RANGE, MINE_SLOTS, MINE_STUN
from ludory.envs.kernels import kernel

from .damage import hurt_rival


@kernel
def spring_mines(state, i):
    """One tick of all mines."""
    for owner in range(state.alive.shape[1]):
        for slot in range(MINE_SLOTS):
            if int(state.mine_life[i, owner, slot]) > 0:
                state.mine_life[i, owner, slot] -= 1
                if burst(state, i, owner, slot):
                    state.mine_life[i, owner, slot] = 0


@kernel
def burst(state, i, owner, slot):
    """Hurt and stun every rival in range that has no shield; tells whether any was in range."""
    x, y = int(state.mine_x[i, owner, slot]), int(state.mine_y[i, owner, slot])
    sprung = False
    for seat in range(state.alive.shape[1]):
        if seat != owner and int(state.alive[i, seat]):
            dx, dy = int(state.x[i, seat]) - x, int(state.y[i, seat]) - y
            if dx * dx + dy * dy <= MINE_RANGE * MINE_RANGE:
                sprung = True
                if int(state.shield[i, seat]) == 0:
                    hurt_rival(state, i, owner, seat, MINE_DAMAGE)
                    state.stun[i, seat] = max(MINE_STUN, int(state.stun[i, seat]))
    return sprung
