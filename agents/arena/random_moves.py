"""The style that has none: every head uniform over its legal values."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs.arena.constants import MINE
from ludory.envs.arena.legality import can_fire, can_interact, can_use, is_free
from ludory.envs.arena.state import ABILITY, AIM_BINS, AIM_X, AIM_Y, INTERACT, MOVE_BINS, MOVE_X, MOVE_Y, SHOOT
from ludory.envs.chance import mix
from ludory.envs.kernels import kernel

from .aim import stay

KEY, SALT, COUNTER = 0, 1, 2
MEMORY = 3


@kernel
def below(memory, n):
    """A number in 0..n-1; n is so small that 31 random bits modulo n are as good as uniform."""
    key = int(memory[KEY]) * (1 << 32) + int(memory[SALT])
    bits = int(mix(key, int(memory[COUNTER]))) & 0x7FFFFFFF
    memory[COUNTER] += 1
    return bits % n


@kernel
def choose_random(state, i, seat, memory, action):
    """Draws from the key in its memory, never from the game's own random numbers."""
    stay(state, i, action)
    if int(state.alive[i, seat]) == 0:
        return
    move, aim = int(state.setup[i, MOVE_BINS]), int(state.setup[i, AIM_BINS])
    action[MOVE_X] = below(memory, move)
    action[MOVE_Y] = below(memory, move)
    action[AIM_X] = below(memory, aim)
    action[AIM_Y] = below(memory, aim)
    if not is_free(state, i, seat):
        return
    if can_fire(state, i, seat):
        action[SHOOT] = below(memory, 2)
    if can_interact(state, i, seat):
        action[INTERACT] = below(memory, 2)
    action[ABILITY] = random_ability(state, i, seat, memory)


@kernel
def random_ability(state, i, seat, memory):
    """One of the ready abilities, or none."""
    ready = 1
    for k in range(1, MINE + 1):
        ready += int(can_use(state, i, seat, k))
    left = below(memory, ready)
    for k in range(1, MINE + 1):
        if left > 0 and can_use(state, i, seat, k):
            left -= 1
            if left == 0:
                return k
    return 0
