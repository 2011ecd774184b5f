"""Batch kernels of one game for CUDA: one thread per game around the scalar kernels. Bound to a game by `bind.py`, launched by `cuda_device.py`.

The state arrives as a plain tuple of arrays, one per field, first axis = game, the game also being the fastest axis in
memory: a field's values of neighbouring games, read by neighbouring threads, lie side by side. Masks [A, S, n] and
observations in the making [size, m] lie the same way.

n games, m rows to work on, S mask rows per game (1 in sequential games, P in simultaneous ones), A actions.
Every loop runs in strides of the grid, so any grid does the work; rows name each game at most once.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,attr-defined,misc"

import numpy as np
from numba import cuda

from ludory.envs.chance import mix
from ludory.envs.engine.binding.kernel_placeholders import GameState, critic, legal, observe, redeal, reset, step, used
from ludory.envs.kernels import kernel

NO_FAULT = 1 << 62
"""What `fault` holds while no illegal action was found."""
TILE = 32
"""Side of the tiles in which observations are turned over."""
TILE_ROW = TILE + 1
"""Length of a tile's rows in memory: one more than is used, so that the entries of a column lie in different banks."""

PLAY, DRAW, RESTART, LOOK = 1, 2, 4, 8
"""What a launch of `turn_rows` does, added up: play, with actions that it draws, start anew what is over, write what there is to see."""
HALF = np.uint64(32)


@kernel
def write_masks(state, i, masks):
    """Legal masks of game i; all true when it is over."""
    over = state.terminated[i] or state.truncated[i]
    for s in range(masks.shape[1]):
        for a in range(masks.shape[0]):
            masks[a, s, i] = over
        if not over:
            legal(state, i, s if masks.shape[1] > 1 else int(state.to_move[i]), masks[:, s, i])


def legal_rows(fields, masks):
    """Fill masks [A, S, n]."""
    state = GameState(*fields)
    for i in range(cuda.grid(1), masks.shape[2], cuda.gridsize(1)):
        write_masks(state, i, masks)


def reset_rows(fields, rows, masks):
    """Start the next game of each of `rows`."""
    state = GameState(*fields)
    for k in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        i = int(rows[k])
        for p in range(state.rewards.shape[1]):
            state.rewards[i, p] = 0
        reset(state, i)
        write_masks(state, i, masks)


def first_illegal(terminated, truncated, rows, actions, masks, offsets, fault):
    """Lower fault[0] to the least flat index (k, mask row, head) with an action out of range or illegal in game rows[k].

    actions [m, S, H]; offsets [H + 1] into the mask; finished games are passed over.
    """
    seats, heads = actions.shape[1], actions.shape[2]
    for k in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        i = int(rows[k])
        if not (terminated[i] or truncated[i]):
            for s in range(seats):
                for head in range(heads):
                    a, low, high = int(actions[k, s, head]), int(offsets[head]), int(offsets[head + 1])
                    if a < 0 or a >= high - low or not masks[low + a, s, i]:
                        # the least index wins whatever the order of the threads, so that errors are the same as on the
                        # CPU
                        cuda.atomic.min(fault, 0, (k * seats + s) * heads + head)


def clear_rewards(rewards, fault):
    """Reward 0 in every game, if no action is illegal; rewards [n, P]."""
    # an earlier launch looked for faults, so that all threads agree
    if fault[0] == NO_FAULT:
        for i in range(cuda.grid(1), rewards.shape[0], cuda.gridsize(1)):
            for p in range(rewards.shape[1]):
                rewards[i, p] = 0


def step_rows(fields, rows, actions, masks, fault):
    """Play `actions` in the running games among `rows`, if none of them is illegal; finished games get reward 0."""
    state = GameState(*fields)
    if fault[0] == NO_FAULT:
        for k in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
            i = int(rows[k])
            for p in range(state.rewards.shape[1]):
                state.rewards[i, p] = 0
            if not (state.terminated[i] or state.truncated[i]):
                step(state, i, actions[k])
                write_masks(state, i, masks)


@kernel
def legal_here(masks, offsets, cube, i):
    """The first (mask row, head) of game i with an action in cube [n, S, H] that is out of range or illegal, as a flat index; -1 if there is none."""
    heads = cube.shape[2]
    for s in range(cube.shape[1]):
        for head in range(heads):
            a, low = int(cube[i, s, head]), int(offsets[head])
            if a < 0 or a >= int(offsets[head + 1]) - low or not masks[low + a, s, i]:
                return s * heads + head
    return -1


@kernel
def draw_actions(masks, offsets, streams, cube, i):
    """Uniform legal values of every head of game i; streams [2, n] holds a key and a counter of draws per game."""
    for s in range(cube.shape[1]):
        for head in range(cube.shape[2]):
            low, high = int(offsets[head]), int(offsets[head + 1])
            count = 0
            for a in range(low, high):
                count += int(masks[a, s, i])
            # 32 random bits times the count: the product's upper half is uniform up to count / 2^32
            bits = np.uint64(mix(streams[0, i], streams[1, i])) >> HALF
            left = int((bits * np.uint64(count)) >> HALF)
            streams[1, i] += 1
            for a in range(low, high):
                if masks[a, s, i]:
                    if left == 0:
                        cube[i, s, head] = a - low
                    left -= 1


@kernel
def write_seen(scratch, thread, out, row, unit):
    """Move column `thread` of scratch [size, threads] to out[row], `unit` bits to an entry or, where unit is 1, entry by entry; leaves zeros."""
    size = scratch.shape[0]
    for j in range(out.shape[1]):
        if unit == 1:
            out[row, j] = scratch[j, thread]
            scratch[j, thread] = 0
        else:
            word = 0
            for bit in range(min(unit, size - unit * j)):
                # big-endian within bytes as `numpy.packbits`, bytes little-endian within words: the lowest three bits turn over
                word |= int(scratch[unit * j + bit, thread]) << (bit ^ 7)
                scratch[unit * j + bit, thread] = 0
            out[row, j] = word


@kernel
def write_legal(masks, s, i, out, row, unit):
    """Mask row s of game i as out[row], `unit` bits to an entry (1: an entry each)."""
    actions = masks.shape[0]
    for j in range(out.shape[1]):
        word = 0
        for bit in range(min(unit, actions - unit * j)):
            word |= int(masks[unit * j + bit, s, i]) << (bit ^ (unit - 1))
        out[row, j] = word


def turn_rows(
    fields,
    masks,
    offsets,
    streams,
    cube,
    actions,
    fault,
    wait,
    rewards,
    ends,
    seats,
    legal_out,
    legal_unit,
    scratch,
    out,
    finals,
    unit,
    mode,
):
    """One turn of every game in one launch: what `mode` says, of check or draw, step, ends, restart, legal masks and observations.

    Nothing is played if wait[0] holds a fault, of an earlier launch. A game whose action is illegal stays as it is, and fault[0] is lowered
    to its flat index, as in `first_illegal`. cube [n, S, H] and `actions`, as `step` takes them, share their memory.

    Written: masks; rewards [n, P]; ends int8 [3, n], terminated, truncated and the seat to move before a restart; seats [n] to move after it;
    legal_out [n * S, ...] with `legal_unit` values to an entry; out [n * S, ...], the observations of those who move next, and where games
    are truncated and start anew finals [n * P, ...], of every seat at the end, with `unit` bits to an entry. scratch [size, threads] is 0
    before and after.
    """
    state, thread = GameState(*fields), cuda.grid(1)
    rows, players = masks.shape[1], rewards.shape[1]
    if wait[0] != NO_FAULT:
        return
    for i in range(thread, masks.shape[2], cuda.gridsize(1)):
        over = bool(state.terminated[i] or state.truncated[i])
        wrong = -1
        if mode & PLAY:
            for p in range(players):
                state.rewards[i, p] = 0
            if not over:
                if mode & DRAW:
                    draw_actions(masks, offsets, streams, cube, i)
                else:
                    wrong = legal_here(masks, offsets, cube, i)
                if wrong < 0:
                    step(state, i, actions[i])
                    over = bool(state.terminated[i] or state.truncated[i])
                else:
                    cuda.atomic.min(fault, 0, i * rows * cube.shape[2] + wrong)
            for p in range(players):
                rewards[i, p] = state.rewards[i, p]
            ends[0, i] = state.terminated[i]
            ends[1, i] = state.truncated[i]
            ends[2, i] = state.to_move[i]
        restart = bool(over and mode & RESTART)
        # a game that is cut off is seen by every seat before it starts anew, so that its value can still be told
        last = bool(restart and state.truncated[i] and not state.terminated[i] and mode & LOOK)
        # `observe` stands here once, for both looks: it is the largest part of the code
        looks = players if last else 0
        for look in range(looks + rows):
            if look == looks:
                if restart:
                    for p in range(players):
                        state.rewards[i, p] = 0
                    reset(state, i)
                if mode & (PLAY | RESTART):
                    write_masks(state, i, masks)
                seats[i] = state.to_move[i]
            if mode & LOOK:
                s = look - looks
                seat = look if s < 0 else (s if rows > 1 else int(state.to_move[i]))
                observe(state, i, seat, scratch[:, thread])
                if s < 0:
                    write_seen(scratch, thread, finals, i * players + look, unit)
                else:
                    write_seen(scratch, thread, out, i * rows + s, unit)
                    write_legal(masks, s, i, legal_out, i * rows + s, legal_unit)


def observe_rows(fields, rows, seats, columns):
    """Write what seats[k] sees of game rows[k] into columns [size, m], all 0 before; seat -1 is the seat to move."""
    state = GameState(*fields)
    for k in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        i = int(rows[k])
        observe(state, i, int(seats[k]) if seats[k] >= 0 else int(state.to_move[i]), columns[:, k])


def critic_rows(fields, rows, seats, columns):
    """Write what a value function for seats[k] sees of game rows[k] into columns [size, m], all 0 before; seat -1 is the seat to move."""
    state = GameState(*fields)
    for k in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        i = int(rows[k])
        critic(state, i, int(seats[k]) if seats[k] >= 0 else int(state.to_move[i]), columns[:, k])


def every_seat_rows(fields, rows, seats, columns):
    """As `critic_rows` for games without that kernel: columns [P * size, m], the observations of seats[k], seats[k] + 1, ..."""
    state = GameState(*fields)
    players = state.rewards.shape[1]
    size = columns.shape[0] // players
    for k in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        i = int(rows[k])
        first = int(seats[k]) if seats[k] >= 0 else int(state.to_move[i])
        for ahead in range(players):
            observe(state, i, (first + ahead) % players, columns[ahead * size : (ahead + 1) * size, k])


def used_rows(fields, rows, seats, actions, out):
    """Out [m, H], all False before: which heads of actions[k] [H] matter when seats[k] plays it in game rows[k]; seat -1 is the seat to move."""
    state = GameState(*fields)
    for k in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        i = int(rows[k])
        if not (state.terminated[i] or state.truncated[i]):
            used(state, i, int(seats[k]) if seats[k] >= 0 else int(state.to_move[i]), actions[k], out[k])


def turn_tiles(columns, out):
    """Turn columns [size, m] over into out [m, size], a tile per block, so that reads and writes both run along memory."""
    tile = cuda.shared.array((TILE, TILE_ROW), columns.dtype)
    size, rows = columns.shape
    across = (size + TILE - 1) // TILE
    for block in range(cuda.blockIdx.x, across * ((rows + TILE - 1) // TILE), cuda.gridDim.x):
        first_entry, first_row = block % across * TILE, block // across * TILE
        for y in range(cuda.threadIdx.y, min(TILE, size - first_entry), cuda.blockDim.y):
            for x in range(cuda.threadIdx.x, min(TILE, rows - first_row), cuda.blockDim.x):
                tile[y, x] = columns[first_entry + y, first_row + x]
        # all of the tile must be read in before it is written out, and out before the next one comes
        cuda.syncthreads()
        for y in range(cuda.threadIdx.y, min(TILE, rows - first_row), cuda.blockDim.y):
            for x in range(cuda.threadIdx.x, min(TILE, size - first_entry), cuda.blockDim.x):
                out[first_row + y, first_entry + x] = tile[x, y]
        cuda.syncthreads()


def pack_bits(columns, out):
    """Pack the 0/1 bytes of columns [size, m] into out [m, ceil(size / 8)], big-endian bits as `numpy.packbits` has them."""
    size, rows = columns.shape
    for e in range(cuda.grid(1), rows * out.shape[1], cuda.gridsize(1)):
        j, k = e // rows, e % rows
        byte = 0
        # the last byte may have fewer than eight bits; the others stay 0
        for bit in range(min(8, size - 8 * j)):
            byte |= int(columns[8 * j + bit, k]) << (7 - bit)
        out[k, j] = byte


def redeal_rows(fields, rows, seats):
    """Re-draw what seats[k] does not know in game rows[k]."""
    state = GameState(*fields)
    for k in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        redeal(state, int(rows[k]), int(seats[k]))
