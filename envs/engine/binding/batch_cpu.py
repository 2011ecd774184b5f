"""Batch kernels of one game for the CPU: loops over games around the scalar kernels. Bound to a game by `bind.py`.

The state is one record array, a game's fields side by side: one pointer to pass and one stretch of memory to read.
n games, S mask rows per game (1 in sequential games, P in simultaneous ones), A actions.
Rows [start, stop) are worked on, so that threads can share a batch.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

import numpy as np

from ludory.envs.engine.binding.kernel_placeholders import critic, legal, observe, redeal, reset, step, used
from ludory.envs.kernels import batch_kernel


@batch_kernel
def pack(words, row):
    """Pack the 0/1 bytes of `words` into the bits of `row`, eight bytes to one by one multiplication."""
    # flag k lands on bit 63 - k and no two products meet, so that the top byte is the eight flags, the first one
    # highest
    for j in range(row.shape[0]):
        row[j] = (words[j] * np.uint64(0x8040201008040201)) >> np.uint64(56)


@batch_kernel
def write_masks(state, i, masks):
    """Legal masks of game i; all true when it is over."""
    over = state.terminated[i] or state.truncated[i]
    for s in range(masks.shape[1]):
        for a in range(masks.shape[2]):
            masks[i, s, a] = over
        if not over:
            legal(state, i, s if masks.shape[1] > 1 else int(state.to_move[i]), masks[i, s])


@batch_kernel
def legal_rows(state, masks, start, stop):
    """Fill masks [n, S, A]."""
    for i in range(start, stop):
        write_masks(state, i, masks)


@batch_kernel
def reset_rows(state, rows, masks, start, stop):
    """Start the next game of each of `rows`."""
    for k in range(start, stop):
        i = rows[k]
        # kernels expect rewards of 0
        for p in range(state.rewards.shape[1]):
            state.rewards[i, p] = 0
        reset(state, i)
        write_masks(state, i, masks)


@batch_kernel
def first_illegal(state, rows, actions, masks, offsets):
    """First (k, mask row, head) with an action out of range or illegal in game rows[k], as a flat index, -1 if there is none.

    actions [m, S, H]; offsets [H + 1] into the mask; finished games are passed over. The state is read only after an illegal action.
    """
    seats, heads = actions.shape[1], actions.shape[2]
    for k in range(actions.shape[0]):
        i = rows[k]
        for s in range(seats):
            for head in range(heads):
                a, low = actions[k, s, head], offsets[head]
                wrong = a < 0 or a >= offsets[head + 1] - low or not masks[i, s, low + a]
                if wrong and not (state.terminated[i] or state.truncated[i]):
                    return (k * seats + s) * heads + head
    return -1


@batch_kernel
def step_game(state, i, action, masks):
    """Play `action` (checked before) in game i if it is running; a finished game gets reward 0."""
    for p in range(state.rewards.shape[1]):
        state.rewards[i, p] = 0
    if not (state.terminated[i] or state.truncated[i]):
        step(state, i, action)
        write_masks(state, i, masks)


@batch_kernel
def step_rows(state, rows, actions, masks, start, stop):
    """Play `actions` (checked before) in the running games among `rows`; finished games get reward 0."""
    for k in range(start, stop):
        step_game(state, rows[k], actions[k], masks)


@batch_kernel
def play_rows(state, actions, masks, turn_masks, out, start, stop):
    """`step_rows` of all games, masks of the seats to move copied to turn_masks [n, A], and `observe_rows` for them: out [n, size]."""
    for i in range(start, stop):
        step_game(state, i, actions[i], masks)
        for a in range(masks.shape[2]):
            turn_masks[i, a] = masks[i, 0, a]
        row = out[i]
        row[:] = 0
        observe(state, i, int(state.to_move[i]), row)


@batch_kernel
def play_packed_rows(state, actions, masks, turn_masks, words, size, out, start, stop):
    """As `play_rows` with bits, as in `observe_packed_rows`."""
    # the same memory: written as bytes, read eight at a time
    bits = words.view(np.uint8)[:size]
    for i in range(start, stop):
        step_game(state, i, actions[i], masks)
        for a in range(masks.shape[2]):
            turn_masks[i, a] = masks[i, 0, a]
        words[:] = 0
        observe(state, i, int(state.to_move[i]), bits)
        pack(words, out[i])


@batch_kernel
def observe_rows(state, rows, seats, out, start, stop):
    """Out [m, size]: what seats[k] sees of game rows[k]; seat -1 is the seat to move."""
    for k in range(start, stop):
        row = out[k]
        row[:] = 0
        observe(state, rows[k], seats[k] if seats[k] >= 0 else int(state.to_move[rows[k]]), row)


@batch_kernel
def observe_packed_rows(state, rows, seats, words, size, out, start, stop):
    """As `observe_rows` for 0/1 observations: out [m, ceil(size / 8)], big-endian bits as `numpy.packbits` has them.

    words: working memory of one thread, uint64 [ceil(size / 8)].
    size: entries of an observation; `observe` must not see the padding, since it may count from the end of its array.
    """
    bits = words.view(np.uint8)[:size]
    for k in range(start, stop):
        words[:] = 0
        observe(state, rows[k], seats[k] if seats[k] >= 0 else int(state.to_move[rows[k]]), bits)
        pack(words, out[k])


@batch_kernel
def critic_rows(state, rows, seats, out, start, stop):
    """Out [m, size]: what a value function for seats[k] sees of game rows[k]; seat -1 is the seat to move."""
    for k in range(start, stop):
        row = out[k]
        row[:] = 0
        critic(state, rows[k], seats[k] if seats[k] >= 0 else int(state.to_move[rows[k]]), row)


@batch_kernel
def every_seat_rows(state, rows, seats, out, start, stop):
    """As `critic_rows` for games without that kernel: out [m, P * size], the observations of seats[k], seats[k] + 1, ..."""
    players = state.rewards.shape[1]
    size = out.shape[1] // players
    for k in range(start, stop):
        row = out[k]
        row[:] = 0
        first = seats[k] if seats[k] >= 0 else int(state.to_move[rows[k]])
        for ahead in range(players):
            observe(state, rows[k], (first + ahead) % players, row[ahead * size : (ahead + 1) * size])


@batch_kernel
def used_rows(state, rows, seats, actions, out, start, stop):
    """Out [m, H]: which heads of actions[k] [H] matter when seats[k] plays it in game rows[k]; seat -1 is the seat to move."""
    for k in range(start, stop):
        i, row = rows[k], out[k]
        row[:] = False
        if not (state.terminated[i] or state.truncated[i]):
            used(state, i, seats[k] if seats[k] >= 0 else int(state.to_move[i]), actions[k], row)


@batch_kernel
def redeal_rows(state, rows, seats, start, stop):
    """Re-draw what seats[k] does not know in game rows[k]."""
    for k in range(start, stop):
        redeal(state, rows[k], seats[k])
