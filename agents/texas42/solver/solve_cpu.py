"""Batch kernels of the solver for the CPU: loops over positions. Bound to the search by `bind.py`.

`task` is a `solver.Positions`; `rules` are the tables of all declarations, a `Strength` of stacked arrays; `work` is the memory of one
thread, a `solver.SolverWorkspace`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

import numpy as np

from ludory.envs.engine.binding.kernel_placeholders import index_of, moves_of, play, search, set_up, twin_of
from ludory.envs.kernels import batch_kernel
from ludory.envs.texas42.tiles import TILES

ILLEGAL = -128
# V has the parity of the points left, so the next value that is possible is 2 away.
FIRST_STRIDE = 2
"""Between the first two windows of a value."""
_GENERATIONS = 1 << 15
_LEFT, _SEAT, _PLACE, _FOLLOW, _TOP, _REST, _TRICKS = 0, 1, 2, 3, 5, 8, 9
_BY_TRICKS = 2


@batch_kernel
def prepare(task, rules, work, k):
    """Set up position k of a task, for a table without words of it."""
    d = task.decl[k]
    tables = rules.place[d], rules.follows[d], rules.wins[d], rules.counts[d], rules.level[d]
    outputs = work.hands, work.position, work.contract
    set_up(task.held[k], task.leader[k], task.trick[k], d, task.bidder[k], *tables, *outputs)
    # a new generation invalidates all words; only when its 15 bits run out must the table be cleared
    work.clock[0] += 1
    if work.clock[0] == _GENERATIONS:
        work.table[:] = 0
        work.clock[0] = 1


@batch_kernel
def run(rules, work, decl, alpha, beta):
    """Search the position that stands in `work`."""
    tables = rules.follows[decl], rules.wins[decl], rules.counts[decl], rules.level[decl], rules.shared[decl]
    position = work.hands, work.position
    return search(*position, alpha, beta, work.contract, *tables, work.table, work.clock[0], work.frames)


@batch_kernel
def exact(rules, work, decl, guess):
    """Value of the position that stands in `work`: narrow windows from a guess on, in growing steps, then halving what is left."""
    position, contract = work.position, work.contract
    low, high = -position[_REST], position[_REST]
    if contract[_BY_TRICKS]:
        low, high = -position[_TRICKS], position[_TRICKS]
    # like MTD(f) (Plaat et al., 1996): null windows cut most, and what one search learns stays in the table
    stride, middle = FIRST_STRIDE, guess
    while low < high:
        if middle <= low or middle > high:
            middle = low + (high - low + 1) // 2
        # a null window: it only tells whether the value is at least `middle`
        value = run(rules, work, decl, middle - 1, middle)
        if value < middle:
            high = value
            middle = high - stride + 1
        else:
            low = value
            middle = low + stride
        stride *= 2
    return low


@batch_kernel
def value_rows(task, rules, work, values, start, stop):
    """values[k]: V of position k."""
    for k in range(start, stop):
        prepare(task, rules, work, k)
        # not a constant, for which it would be compiled again
        values[k] = exact(rules, work, task.decl[k], np.int64(0))


@batch_kernel
def at_least_rows(task, rules, work, bounds, answers, start, stop):
    """answers[k]: whether V of position k is at least bounds[k]."""
    for k in range(start, stop):
        prepare(task, rules, work, k)
        answers[k] = run(rules, work, task.decl[k], bounds[k] - 1, bounds[k]) >= bounds[k]


@batch_kernel
def move(rules, work, decl, before, bit):
    """Put the position after a tile in `work`; returns what Team 0 gains by it."""
    follows, wins, counts, level = rules.follows[decl], rules.wins[decl], rules.counts[decl], rules.level[decl]
    left, seat, at, follow, able, top, owner, points, rest, tricks = before
    after = play(
        bit, left, seat, at, follow, able, top, owner, points, rest, tricks,
        work.contract, follows, wins, level, counts[0], counts[1],
    )  # fmt: skip
    for column in range(10):
        work.position[column] = after[column]
    return after[10]


@batch_kernel
def here(position):
    """The position as a tuple."""
    return (
        position[0], position[1], position[2], position[3], position[4],
        position[5], position[6], position[7], position[8], position[9],
    )  # fmt: skip


@batch_kernel
def q_rows(task, rules, work, only, values, q, start, stop):
    """q[k, tile]: value of playing a tile, ILLEGAL where it may not be played or is not in the mask only[k]; values[k]: the best of them."""
    for k in range(start, stop):
        prepare(task, rules, work, k)
        decl, before = task.decl[k], here(work.position)
        follows, shared, counts = rules.follows[decl], rules.shared[decl], rules.counts[decl]
        best, seat = 0, before[_SEAT]
        moves = moves_of(
            work.hands[seat] & before[_LEFT], before[_PLACE], before[_FOLLOW], work.contract, rules.level[decl]
        )
        asked = 0
        for at in range(TILES):
            if (moves >> at) & 1 and (only[k] >> rules.tile[decl, at]) & 1:
                asked |= 1 << at
        first = True
        q[k] = ILLEGAL
        # strong tiles first, so that a tile's twin has its value already
        for at in range(TILES - 1, -1, -1):
            bit = 1 << at
            if asked & bit == 0:
                continue
            played = rules.tile[decl, at]
            twin = twin_of(bit, asked, before[_LEFT], before[_TOP], follows, shared, counts[0], counts[1])
            if twin != 0:
                q[k, played] = q[k, rules.tile[decl, index_of(twin)]]
                continue
            gain = move(rules, work, decl, before, bit)
            # guess: as much as the best tile so far
            value = gain + exact(rules, work, decl, best - gain)
            q[k, played] = value
            if first or (value > best if seat & 1 == 0 else value < best):
                best, first = value, False
        values[k] = best


@batch_kernel
def at_least_after_rows(task, rules, work, bounds, answers, start, stop):
    """answers[k, tile]: 1 if the value of playing a tile is at least bounds[k], else 0; ILLEGAL where it may not be played."""
    for k in range(start, stop):
        prepare(task, rules, work, k)
        decl, before = task.decl[k], here(work.position)
        moves = moves_of(
            work.hands[before[_SEAT]] & before[_LEFT], before[_PLACE], before[_FOLLOW], work.contract, rules.level[decl]
        )
        answers[k] = ILLEGAL
        while moves != 0:
            bit = moves & -moves
            moves ^= bit
            # what the tile gains at once need not be won any more
            bound = bounds[k] - move(rules, work, decl, before, bit)
            answers[k, rules.tile[decl, index_of(bit)]] = run(rules, work, decl, bound - 1, bound) >= bound
