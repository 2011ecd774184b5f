"""Games played to their end by one rule bot in all seats, without leaving compiled code. Bound to a game and a bot by `bind`.

P seats; M numbers of memory per seat; a world is one record of the state, `*_bytes` are the same records as uint8 [n, size].
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from ludory.envs.engine.binding.kernel_placeholders import choose, legal, notice, step
from ludory.envs.kernels import batch_kernel


@batch_kernel
def play_move(state, i, action, memory):
    """Let every seat take note of `action`, then play it. memory [P, M]."""
    # before the step: `notice` reads the state in which the move was made
    for seat in range(memory.shape[0]):
        notice(state, i, seat, action, memory[seat])
    # a step expects rewards of 0, as an engine hands them
    for seat in range(state.rewards.shape[1]):
        state.rewards[i, seat] = 0
    step(state, i, action)


@batch_kernel
def legal_mask(state, i, seat, mask):
    """Set mask[a] = True for the legal actions of `seat`; mask [A] arrives all False."""
    legal(state, i, seat, mask)


@batch_kernel
def choose_with(state, i, seat, memory):
    """What the bot does in `seat`, which is to move. memory [P, M]."""
    return choose(state, i, seat, memory[seat])


@batch_kernel
def ask_rows(state, seat, action, memory, same, start, stop):
    """Same [n]: whether the bot plays `action` in `seat`, which is to move. memory [n, P, M]."""
    for i in range(start, stop):
        same[i] = choose(state, i, seat, memory[i, seat]) == action


@batch_kernel
def notice_rows(state, action, memory, start, stop):
    """Let every seat of every world take note of `action`, about to be played. memory [n, P, M]."""
    for i in range(start, stop):
        for seat in range(memory.shape[1]):
            notice(state, i, seat, action, memory[i, seat])


@batch_kernel
def play_out(state, i, memory, seat):
    """Play world i to its end, in place; returns what `seat` gets from here on. memory [P, M]."""
    total = 0.0
    while not (state.terminated[i] or state.truncated[i]):
        mover = int(state.to_move[i])
        play_move(state, i, choose(state, i, mover, memory[mover]), memory)
        total += state.rewards[i, seat]
    return total


@batch_kernel
def play_rounds(worlds_bytes, memories, actions, seat, scratch, scratch_bytes, memory, returns, start, stop):
    """In every world play each of `actions` first, then to the end: returns [n, len(actions)] of `seat`.

    memories [n, P, M] of the worlds; scratch (one record) and memory [P, M] are working memory of one thread.
    """
    for g in range(start, stop):
        for k in range(actions.shape[0]):
            for byte in range(scratch_bytes.shape[1]):
                scratch_bytes[0, byte] = worlds_bytes[g, byte]
            for p in range(memory.shape[0]):
                for m in range(memory.shape[1]):
                    memory[p, m] = memories[g, p, m]
            play_move(scratch, 0, actions[k], memory)
            returns[g, k] = scratch.rewards[0, seat] + play_out(scratch, 0, memory, seat)
