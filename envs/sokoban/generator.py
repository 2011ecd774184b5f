"""Rooms that are made by playing backward from the solved position (arXiv:1707.06203, as gym-sokoban and RAGEN do it).

A seed stands for one room on every machine. It is not the room that the originals make from that seed: they draw from other generators.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs import cached_kernel, hash_rows, mix

from .options import SokobanOptions
from .state import BOX, FLOOR, PLAYER, TARGET, WALL

MOST_STATES = 300_000
"""States that a backward search visits at most."""
KEY, COUNTER = 0, 1
"""Columns of the generator's state."""

_MASKS = np.array(
    [
        [[0, 0, 0], [1, 1, 1], [0, 0, 0]],
        [[0, 1, 0], [0, 1, 0], [0, 1, 0]],
        [[0, 0, 0], [1, 1, 0], [0, 1, 0]],
        [[0, 0, 0], [1, 1, 0], [1, 1, 0]],
        [[0, 0, 0], [0, 1, 1], [0, 1, 0]],
    ],
    np.int64,
)
"""Cells that a step of the walk opens, around the walker."""
_ROW_STEPS = np.array([-1, 1, 0, 0])
_COLUMN_STEPS = np.array([0, 0, -1, 1])

_compiled = cached_kernel(error_model="numpy", nogil=True)


class _Search(NamedTuple):
    """Working memory of the backward search.

    Positions of the boxes are told apart by a hash, and each has a number and a bit set of the player's cells visited with it: while the
    player only walks, no hash is looked up.
    """

    keys: NDArray[np.int64]
    """Hash table: the hash of the boxes' positions."""
    numbers: NDArray[np.int32]
    """Hash table: the number of these positions."""
    stamps: NDArray[np.int32]
    """Hash table: the search that wrote the entry; entries of earlier searches are empty."""
    visited: NDArray[np.int64]
    """(numbers, words): visited cells of the player."""
    frames: NDArray[np.int64]
    """(depth, 7): see `_play_backward`."""
    clock: NDArray[np.int32]
    """(1,): number of the current search."""


def _new_search(rows: int, columns: int, boxes: int, depth: int) -> _Search:
    inner = (rows - 2) * (columns - 2)
    # each box anywhere inside, touched or not: the most positions that can occur
    most = min(MOST_STATES, math.comb(max(inner, boxes), boxes) << boxes) + 1
    # at least twice as many places as entries, so that probing stays short
    table = 1 << (2 * most).bit_length()
    words = -(-rows * columns // 64)
    return _Search(
        np.zeros(table, np.int64),
        np.zeros(table, np.int32),
        np.zeros(table, np.int32),
        np.zeros((most, words), np.int64),
        np.zeros((depth + 1, 7), np.int64),
        np.zeros(1, np.int32),
    )


@_compiled
def _draw(random, n):
    """Uniform integer in 0..n-1, by multiply-and-shift of 32 bits: the bias is below n / 2**32."""
    bits = np.uint64(mix(random[KEY], random[COUNTER])) >> np.uint64(32)
    random[COUNTER] += 1
    return np.int64((bits * np.uint64(n)) >> np.uint64(32))


@_compiled
def _draw_topology(random, codes):
    """Fill `codes` [R, C] with walls and floor: the trace of a random walk, widened by masks."""
    rows, columns = codes.shape
    codes[:] = WALL
    row, column = 1 + _draw(random, rows - 1), 1 + _draw(random, columns - 1)
    direction = _draw(random, 4)
    # 1.7 times rows plus columns steps, and a turn in 35 of 100, as in gym-sokoban
    for _ in range(17 * (rows + columns) // 10):
        if _draw(random, 100) < 35:
            direction = _draw(random, 4)
        row = min(max(row + _ROW_STEPS[direction], 1), rows - 2)
        column = min(max(column + _COLUMN_STEPS[direction], 1), columns - 2)
        mask = _MASKS[_draw(random, len(_MASKS))]
        for down in range(3):
            for across in range(3):
                if mask[down, across]:
                    codes[row + down - 1, column + across - 1] = FLOOR
    # the border is wall whatever the masks opened
    codes[0, :] = codes[-1, :] = WALL
    codes[:, 0] = codes[:, -1] = WALL


@_compiled
def _draw_places(random, codes, places):
    """Fill `places` with distinct uniform floor cells; False if there are too few for the boxes, the player and one more."""
    rows, columns = codes.shape
    floor = 0
    for row in range(rows):
        for column in range(columns):
            floor += codes[row, column] == FLOOR
    if floor <= len(places):
        return False
    for k in range(len(places)):
        # the skip-th free floor cell without a list
        skip = _draw(random, floor - k)
        for cell in range(rows * columns):
            if codes[cell // columns, cell % columns] == FLOOR and not np.any(places[:k] == cell):
                if skip == 0:
                    places[k] = cell
                    break
                skip -= 1
    return True


@_compiled
def _number_of(search, key, made):
    """Number of the boxes' positions with this hash, and how many are numbered now; new positions are entered."""
    mask = len(search.keys) - 1
    at = (key ^ (key >> 29)) & mask
    # linear probing: at most every second place is taken; stamps of earlier searches count as empty
    while search.stamps[at] == search.clock[0]:
        if search.keys[at] == key:
            return search.numbers[at], made
        at = (at + 1) & mask
    search.stamps[at], search.keys[at], search.numbers[at] = search.clock[0], key, made
    search.visited[made, :] = 0
    return made, made + 1


@_compiled
def _distance(a, b, columns):
    return abs(a // columns - b // columns) + abs(a % columns - b % columns)


@_compiled
def _note(frame, move, player, pulled, number, swaps, last, before):
    """Fill a frame. Assigning the tuple would have Numba compile the message about wrong lengths, for two seconds; so would `best[:] = now`."""
    frame[0], frame[1], frame[2], frame[3], frame[4], frame[5], frame[6] = (
        move,
        player,
        pulled,
        number,
        swaps,
        last,
        before,
    )


@_compiled
def _play_backward(codes, places, depth_limit, only_pulls, count_changes, search, best):
    """Depth-first search backward from the solved position; writes player and boxes of the best state to `best`, returns its score.

    places, best [1 + boxes]: the player's cell and the boxes' cells; box k begins on its own target. The score of a state is the number
    of changes of the pulled box (or of pulls) on the path to it, times the sum of the boxes' distances from their own targets; 0 if
    anything stands on a target. The first of equal states is kept. A state is its player, and for each box where it stands and whether
    it was ever pulled, as in the originals.

    frames[d] = (next move, the player's cell before, the box pulled or -1, number of the boxes' positions, swaps, box pulled last,
    whether the box had been pulled before)
    """
    rows, columns = codes.shape
    boxes = len(places) - 1
    moves = 4 if only_pulls else 8
    steps = np.array([-columns, columns, -1, 1])
    blocked, target, box_at = (
        np.zeros(rows * columns, np.bool_),
        np.zeros(rows * columns, np.bool_),
        np.full(rows * columns, -1),
    )
    for cell in range(rows * columns):
        blocked[cell] = codes[cell // columns, cell % columns] == WALL
    # Zobrist hashing: a pull exchanges two terms
    now, key, touched = places.copy(), np.int64(0), np.zeros(boxes + 1, np.int64)
    for k in range(1, boxes + 1):
        target[places[k]] = True
        box_at[places[k]] = k
        # 0: never pulled, 1: pulled
        key ^= mix(np.int64(places[k]), np.int64(0))
    search.clock[0] += 1
    frames, visited = search.frames, search.visited
    number, made = _number_of(search, key, 0)
    visited[number, now[0] >> 6] |= np.int64(1) << (now[0] & 63)
    explored, covered, spread, score = 1, boxes, 0, np.int64(0)
    depth = 0
    _note(frames[0], 0, now[0], -1, number, 0, 0, 0)
    while depth >= 0:
        move = frames[depth, 0]
        # Depth limit and limit of states as in the originals: the first state has depth_limit - 1 to go, and 0 to go is not visited.
        if move == moves or explored >= 300_000 or depth + 2 >= depth_limit:
            # the frame that is left has to be undone: its box goes back where it came from
            pulled = frames[depth, 2]
            if depth > 0 and pulled >= 0:  # put the box back
                there, back = now[pulled], 2 * now[pulled] - now[0]
                covered += int(target[back]) - int(target[there])
                spread += _distance(back, places[pulled], columns) - _distance(there, places[pulled], columns)
                box_at[there], box_at[back] = -1, pulled
                touched[pulled] = frames[depth, 6]
                key ^= mix(there, np.int64(1)) ^ mix(back, touched[pulled])
                now[pulled] = back
            now[0] = frames[depth, 1]
            depth -= 1
            continue
        frames[depth, 0] = move + 1
        here = now[0]
        ahead = here + steps[move & 3]
        if blocked[ahead] or box_at[ahead] >= 0:
            continue
        # the box that a pull takes along stands behind the player
        behind = 2 * here - ahead
        pulled = box_at[behind] if move < 4 else -1
        number, swaps, last = frames[depth, 3], frames[depth, 4], frames[depth, 5]
        next_key = key
        if pulled >= 0:
            next_key = key ^ mix(behind, touched[pulled]) ^ mix(here, np.int64(1))
            number, made = _number_of(search, next_key, made)
            swaps += 1 if not count_changes or pulled != last else 0
            last = pulled
        bit = np.int64(1) << (ahead & 63)
        if visited[number, ahead >> 6] & bit:
            continue
        visited[number, ahead >> 6] |= bit
        explored += 1
        now[0] = ahead
        before = np.int64(0)
        if pulled >= 0:
            covered += int(target[here]) - int(target[behind])
            spread += _distance(here, places[pulled], columns) - _distance(behind, places[pulled], columns)
            box_at[behind], box_at[here] = -1, pulled
            now[pulled], key, before = here, next_key, touched[pulled]
            touched[pulled] = 1
        # strictly above: the first of equal states wins
        if covered == 0 and not target[ahead] and swaps * spread > score:
            score = swaps * spread
            for k in range(boxes + 1):
                best[k] = now[k]
        depth += 1
        _note(frames[depth], 0, here, pulled, number, swaps, last, before)
    return score


@_compiled
def _stroll(random, codes, places, best):
    """RAGEN's last touch: with a probability the player takes one to three random steps over free cells that it has not walked on."""
    columns = codes.shape[1]
    furthest = 0
    for k in range(1, len(places)):
        furthest += _distance(places[k], best[k], columns)
    # 8 of 10 if the boxes are one step from their targets in all, else 5 of 10
    if _draw(random, 10) >= (8 if furthest == 1 else 5):
        return
    walked = np.full(4, -1)
    walked[0] = best[0]
    options = np.zeros(4, np.int64)
    for taken in range(3):
        count = 0
        for step in (-columns, columns, -1, 1):
            cell = best[0] + step
            wall = codes[cell // columns, cell % columns] == WALL
            if not wall and not np.any(best[1:] == cell) and not np.any(walked == cell):
                options[count] = cell
                count += 1
        if count == 0:
            return
        best[0] = options[_draw(random, count)]
        walked[taken + 1] = best[0]
        if _draw(random, 2) == 0:
            return


@_compiled
def _draw_room(key, depth, ragen, count_changes, search, codes, places, best):
    """Draw the room of `key` into `codes` [R, C], with codes 0..6."""
    random = np.zeros(2, np.int64)
    columns = codes.shape[1]
    attempt, score = 0, 0
    while score == 0:
        # a room without a score is drawn again, from the next key
        random[KEY], random[COUNTER] = mix(key, np.int64(attempt)), 0
        attempt += 1
        _draw_topology(random, codes)
        if _draw_places(random, codes, places):
            score = _play_backward(codes, places, depth, ragen, count_changes, search, best)
    if ragen:
        _stroll(random, codes, places, best)
    for k in range(1, len(places)):
        codes[places[k] // columns, places[k] % columns] = TARGET
    for k in range(1, len(places)):
        codes[best[k] // columns, best[k] % columns] = BOX
    player = best[0] // columns, best[0] % columns
    # the code of the player on a target is one higher
    codes[player] = PLAYER + (codes[player] == TARGET)


@_compiled
def _draw_rooms(keys, boxes, depth, ragen, count_changes, search, out):
    places, best = np.zeros(1 + boxes, np.int64), np.zeros(1 + boxes, np.int64)
    for k in range(len(keys)):
        _draw_room(keys[k], depth, ragen, count_changes, search, out[k], places, best)


def draw_rooms(options: SokobanOptions, seeds: NDArray[np.int64], attempt: int = 0) -> NDArray[np.uint8]:
    """(n, R, C): the room of each seed, codes 0..6; equal seeds have equal rooms on every machine.

    attempt: number of the room of each seed; those of a split are found by going through the attempts.
    """
    keys = hash_rows(hash_rows(np.asarray(seeds, np.int64), 0), np.full(len(seeds), attempt))
    rooms = np.empty((len(keys), *options.shape), np.uint8)
    search = _new_search(*options.shape, options.boxes, options.search_depth)
    ragen, changes = options.generator == "ragen", options.swap_rule == "changes"
    _draw_rooms(keys, options.boxes, options.search_depth, ragen, changes, search, rooms)
    return rooms
