"""Exact searches of Sokoban rooms, compiled: fewest actions by breadth-first search, fewest pushes by A*."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs import cached_kernel, mix
from ludory.envs.sokoban.levels import checked_rooms
from ludory.envs.sokoban.state import BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET, TARGET, WALL
from ludory.errors import OptionError

UNSOLVED = -1
"""Length of a room without a solution, or whose search reached its limit of states."""
_FAR = 1 << 20
# up, down, left, right: direction ^ 1 is the opposite one
_DOWN = np.array([-1, 1, 0, 0])
_ACROSS = np.array([0, 0, -1, 1])

_compiled = cached_kernel(error_model="numpy", nogil=True)


class _HashSet(NamedTuple):
    """States seen so far, by their keys; entries whose stamp is not the clock's are empty."""

    keys: NDArray[np.int64]
    stamps: NDArray[np.int32]
    clock: NDArray[np.int32]


def _new_set(states: int) -> _HashSet:
    # at most half full, so that probes stay short
    size = 1 << (2 * states).bit_length()
    return _HashSet(np.zeros(size, np.int64), np.zeros(size, np.int32), np.zeros(1, np.int32))


# Loops and single entries: of `into[:] = source` and `into[:] = a, b` Numba compiles the message about wrong shapes as well, which
# takes two seconds.
@_compiled
def _copy(source, into):
    """Write `source` (n,) to `into`."""
    for k in range(len(into)):
        into[k] = source[k]


@_compiled
def _insert(seen, key):
    """Insert a key; True if it is new."""
    mask = len(seen.keys) - 1
    # keys are hashes already
    at = key & mask
    while seen.stamps[at] == seen.clock[0]:
        if seen.keys[at] == key:
            return False
        at = (at + 1) & mask
    seen.stamps[at], seen.keys[at] = seen.clock[0], key
    return True


@_compiled
def _next_to(cell, direction, rows, columns):
    """The next cell in a direction, -1 beyond the edge."""
    row, column = cell // columns + _DOWN[direction], cell % columns + _ACROSS[direction]
    if row < 0 or row >= rows or column < 0 or column >= columns:
        return -1
    return row * columns + column


@_compiled
def _push_distances(walls, target, rows, columns, out):
    """Write to `out` how many pushes bring a box from each cell to `target` in the empty room; _FAR where that is impossible."""
    out[:] = _FAR
    out[target] = 0
    queue = np.empty(len(walls), np.int64)
    queue[0], first, last = target, 0, 1
    while first < last:
        cell = queue[first]
        first += 1
        for direction in range(4):  # pull the box back by one cell; the player stands behind it
            back = _next_to(cell, direction, rows, columns)
            if back < 0 or walls[back] or out[back] < _FAR:
                continue
            player = _next_to(back, direction, rows, columns)
            if player >= 0 and not walls[player]:
                out[back] = out[cell] + 1
                queue[last] = back
                last += 1


@_compiled
def _read_room(codes, walls, targets, boxes):
    """Fill walls and targets [cells] and the boxes' cells, in order; returns the player's cell."""
    columns, found, player = codes.shape[1], 0, -1
    for cell in range(codes.size):
        code = codes[cell // columns, cell % columns]
        walls[cell] = code == WALL
        targets[cell] = code in (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET)
        if code in (BOX, BOX_ON_TARGET):
            boxes[found] = cell
            found += 1
        if code in (PLAYER, PLAYER_ON_TARGET):
            player = cell
    return player


@_compiled
def _fill_distances(walls, targets, rows, columns, distances):
    """Write to distances [cells] the fewest pushes to any target in the empty room."""
    one = np.empty(len(walls), np.int64)
    distances[:] = _FAR
    for target in range(len(walls)):
        if targets[target]:
            _push_distances(walls, target, rows, columns, one)
            for cell in range(len(walls)):
                distances[cell] = min(distances[cell], one[cell])


@_compiled
def _key_of(player, boxes):
    """Hash of a state; a million states collide with a probability below 1e-7."""
    key = mix(np.int64(player), np.int64(len(boxes)))
    for box in boxes:
        key = mix(key, np.int64(box))
    return key


@_compiled
def _push(boxes, which, cell):
    """Move a box of the sorted list; the list stays sorted."""
    boxes[which] = cell
    while which > 0 and boxes[which - 1] > boxes[which]:
        boxes[which - 1], boxes[which] = boxes[which], boxes[which - 1]
        which -= 1
    while which + 1 < len(boxes) and boxes[which + 1] < boxes[which]:
        boxes[which + 1], boxes[which] = boxes[which], boxes[which + 1]
        which += 1


@_compiled
def _pushes_left(boxes, distances):
    """Lower bound: every box goes to its nearest target."""
    total = 0
    for box in boxes:
        total += distances[box]
    return total


@_compiled
def _fewest_actions(codes, boxes_count, seen, queue):
    """Actions of a shortest solution by breadth-first search; queue [states, 2 + boxes] holds (length, player, boxes)."""
    rows, columns = codes.shape
    cells = rows * columns
    walls, targets, distances = np.empty(cells, np.bool_), np.empty(cells, np.bool_), np.empty(cells, np.int64)
    boxes = np.empty(boxes_count, np.int64)
    player = _read_room(codes, walls, targets, boxes)
    _fill_distances(walls, targets, rows, columns, distances)
    if _pushes_left(boxes, distances) == 0:
        return 0
    seen.clock[0] += 1
    queue[0, 0], queue[0, 1] = 0, player
    _copy(boxes, queue[0, 2:])
    _insert(seen, _key_of(player, boxes))
    first, last = 0, 1
    while first < last:
        length, player = queue[first, 0], queue[first, 1]
        for direction in range(4):
            _copy(queue[first, 2:], boxes)
            ahead = _next_to(player, direction, rows, columns)
            if ahead < 0 or walls[ahead]:
                continue
            pushed = -1
            for k in range(boxes_count):
                if boxes[k] == ahead:
                    pushed = k
            if pushed >= 0:
                beyond = _next_to(ahead, direction, rows, columns)
                # no target can be reached from there
                if beyond < 0 or walls[beyond] or distances[beyond] >= _FAR or np.any(boxes == beyond):
                    continue
                _push(boxes, pushed, beyond)
                solved = True
                for box in boxes:
                    solved = solved and targets[box]
                if solved:
                    return length + 1
            if _insert(seen, _key_of(ahead, boxes)):
                if last == len(queue):
                    return UNSOLVED
                queue[last, 0], queue[last, 1] = length + 1, ahead
                _copy(boxes, queue[last, 2:])
                last += 1
        first += 1
    return UNSOLVED


@_compiled
def _fewest_actions_of_all(rooms, boxes, seen, queue, out):
    for k in range(len(rooms)):
        out[k] = _fewest_actions(rooms[k], boxes, seen, queue)


def shortest_moves(rooms: NDArray[np.uint8], max_states: int = 1_000_000) -> NDArray[np.int32]:
    """(n,): fewest actions (moves and pushes together) that solve each room of codes 0..6, by breadth-first search; 0 for a solved room.

    UNSOLVED where there is no solution, or where more than `max_states` states were met.

    Raises:
        OptionError: as for `checked_rooms`; or rooms have different numbers of boxes.
    """
    rooms = checked_rooms("rooms", rooms)
    boxes = _box_counts(rooms)
    # there are not more states than placings of the player and the boxes
    most = int(min(max_states, float(rooms[0].size) ** (1 + boxes)))
    queue, out = np.empty((most, 2 + boxes), np.int16), np.empty(len(rooms), np.int32)
    _fewest_actions_of_all(rooms, boxes, _new_set(most), queue, out)
    return out


def _box_counts(rooms: NDArray[np.uint8]) -> int:
    """Boxes of every room.

    Raises:
        OptionError: rooms differ.
    """
    counts = np.unique(np.isin(rooms, (BOX, BOX_ON_TARGET)).sum(axis=(1, 2)))
    if len(counts) > 1:
        raise OptionError(f"rooms: have {counts.tolist()} boxes; give rooms with equally many")
    return int(counts[0])


PUSH_COST = 1 << 20
"""Cost of a push, in moves: fewer pushes always come first."""


class _Nodes(NamedTuple):
    """States met by the A* search, and the heap of those to be expanded."""

    boxes: NDArray[np.int16]
    """(states, boxes): sorted cells."""
    numbers: NDArray[np.int64]
    """(states, 5): the player's cell, cost, parent, the box pushed last (its cell before) and the direction."""
    heap: NDArray[np.int64]
    """(states, 2): estimated cost of the whole plan, state."""
    keys: NDArray[np.int64]
    """Hash table: key of a state."""
    costs: NDArray[np.int64]
    """Hash table: the least cost of the state so far."""
    stamps: NDArray[np.int32]
    """Hash table: the search that wrote the entry."""
    clock: NDArray[np.int32]


def _new_nodes(states: int, boxes: int) -> _Nodes:
    table = 1 << (2 * states).bit_length()
    return _Nodes(
        np.empty((states, boxes), np.int16),
        np.empty((states, 5), np.int64),
        np.empty((states, 2), np.int64),
        np.zeros(table, np.int64),
        np.zeros(table, np.int64),
        np.zeros(table, np.int32),
        np.zeros(1, np.int32),
    )


@_compiled
def _improves(nodes, key, cost):
    """Enter a state with its cost; False if it was reached as cheaply before."""
    mask = len(nodes.keys) - 1
    at = key & mask
    while nodes.stamps[at] == nodes.clock[0]:
        if nodes.keys[at] == key:
            better = cost < nodes.costs[at]
            if better:
                nodes.costs[at] = cost
            return better
        at = (at + 1) & mask
    nodes.stamps[at], nodes.keys[at], nodes.costs[at] = nodes.clock[0], key, cost
    return True


@_compiled
def _add_to_heap(heap, size, estimate, node):
    at = size
    while at > 0 and heap[(at - 1) >> 1, 0] > estimate:
        _copy(heap[(at - 1) >> 1], heap[at])
        at = (at - 1) >> 1
    heap[at, 0], heap[at, 1] = estimate, node


@_compiled
def _take_from_heap(heap, size):
    """Remove the cheapest entry of a heap of `size` entries; returns its estimate and state."""
    estimate, node = heap[0, 0], heap[0, 1]
    last_estimate, last_node = heap[size - 1, 0], heap[size - 1, 1]
    at = 0
    while 2 * at + 1 < size - 1:
        child = 2 * at + 1
        if child + 1 < size - 1 and heap[child + 1, 0] < heap[child, 0]:
            child += 1
        if heap[child, 0] >= last_estimate:
            break
        _copy(heap[child], heap[at])
        at = child
    heap[at, 0], heap[at, 1] = last_estimate, last_node
    return estimate, node


@_compiled
def _walk(player, blocked, rows, columns, steps, queue):
    """Write to steps [cells] how far the player walks to each cell, -1 where it cannot go."""
    steps[:] = -1
    steps[player], queue[0], first, last = 0, player, 0, 1
    while first < last:
        cell = queue[first]
        first += 1
        for direction in range(4):
            ahead = _next_to(cell, direction, rows, columns)
            if ahead >= 0 and not blocked[ahead] and steps[ahead] < 0:
                steps[ahead] = steps[cell] + 1
                queue[last] = ahead
                last += 1


@_compiled
def _number(numbers, player, cost, parent, box, direction):
    """Fill the numbers of a node."""
    numbers[0], numbers[1], numbers[2], numbers[3], numbers[4] = player, cost, parent, box, direction


@_compiled
def _search_plan(codes, count, nodes, plan):
    """A* search for a plan; writes its actions (directions) to `plan`, returns their number, or UNSOLVED.

    The cost of a plan is its pushes, and among plans with equally few pushes its actions. A state is what follows a push: the boxes, and
    the player, who stands where the box stood.
    """
    rows, columns = codes.shape
    cells = rows * columns
    walls, targets, distances = np.empty(cells, np.bool_), np.empty(cells, np.bool_), np.empty(cells, np.int64)
    boxes, moved = np.empty(count, np.int64), np.empty(count, np.int64)
    player = _read_room(codes, walls, targets, boxes)
    _fill_distances(walls, targets, rows, columns, distances)
    steps, queue, blocked = np.empty(cells, np.int64), np.empty(cells, np.int64), np.empty(cells, np.bool_)
    nodes.clock[0] += 1
    left = _pushes_left(boxes, distances)
    if left >= _FAR:
        return UNSOLVED
    made, heaped = 1, 1
    _copy(boxes, nodes.boxes[0])
    _number(nodes.numbers[0], player, 0, -1, -1, -1)
    _improves(nodes, _key_of(player, boxes), 0)
    # never more than the true cost: a push that is needed costs `PUSH_COST`, and 1 as an action
    nodes.heap[0, 0], nodes.heap[0, 1] = left * (PUSH_COST + 1), 0
    while heaped > 0:
        _, node = _take_from_heap(nodes.heap, heaped)
        heaped -= 1
        _copy(nodes.boxes[node], boxes)
        player, cost = nodes.numbers[node, 0], nodes.numbers[node, 1]
        # tested when it is taken out, not when it is found: a cheaper plan may still wait
        if _pushes_left(boxes, distances) == 0:
            return _trace(nodes, node, walls, rows, columns, steps, queue, plan)
        _copy(walls, blocked)
        for box in boxes:
            blocked[box] = True
        _walk(player, blocked, rows, columns, steps, queue)
        for k in range(count):
            for direction in range(4):
                box = boxes[k]
                stand = _next_to(box, direction ^ 1, rows, columns)
                ahead = _next_to(box, direction, rows, columns)
                if stand < 0 or ahead < 0 or steps[stand] < 0 or blocked[ahead] or distances[ahead] >= _FAR:
                    continue
                _copy(boxes, moved)
                _push(moved, k, ahead)
                # the walk, then the push
                total = cost + PUSH_COST + steps[stand] + 1
                if not _improves(nodes, _key_of(box, moved), total):
                    continue
                if made == len(nodes.boxes):
                    return UNSOLVED
                _copy(moved, nodes.boxes[made])
                _number(nodes.numbers[made], box, total, node, box, direction)
                _add_to_heap(nodes.heap, heaped, total + _pushes_left(moved, distances) * (PUSH_COST + 1), made)
                heaped += 1
                made += 1
    return UNSOLVED


@_compiled
def _trace(nodes, node, walls, rows, columns, steps, queue, plan):
    """Write the actions that lead to `node`, from the last one backward, and turn them around; returns their number."""
    length, blocked = 0, np.empty(len(walls), np.bool_)
    while nodes.numbers[node, 2] >= 0:
        parent, box, direction = nodes.numbers[node, 2], nodes.numbers[node, 3], nodes.numbers[node, 4]
        _copy(walls, blocked)
        for other in nodes.boxes[parent]:
            blocked[other] = True
        here = _next_to(box, direction ^ 1, rows, columns)
        _walk(nodes.numbers[parent, 0], blocked, rows, columns, steps, queue)
        plan[length] = direction
        length += 1
        # backward: each cell is one step nearer to where the player was
        while steps[here] > 0:
            for back in range(4):
                cell = _next_to(here, back ^ 1, rows, columns)
                if cell >= 0 and steps[cell] == steps[here] - 1:
                    plan[length] = back
                    length += 1
                    here = cell
                    break
        node = parent
    for k in range(length >> 1):
        plan[k], plan[length - 1 - k] = plan[length - 1 - k], plan[k]
    return length


class PushSearch:
    """Solves rooms of one size with one number of boxes; its working memory is used again from room to room.

    rooms: an example, (R, C) or (n, R, C). max_states: states after which a room counts as unsolved.
    """

    def __init__(self, rooms: NDArray[np.uint8], max_states: int = 200_000) -> None:
        rooms = checked_rooms("rooms", rooms)
        self.boxes = _box_counts(rooms)
        self._nodes = _new_nodes(max_states, self.boxes)
        self._plan = np.empty(PUSH_COST >> 4, np.int8)

    def plan(self, room: NDArray[np.uint8]) -> NDArray[np.int8] | None:
        """Directions (k,), 0 up, 1 down, 2 left, 3 right, of a plan with the fewest pushes, and among those the fewest actions; None: not found."""
        length = int(_search_plan(room, self.boxes, self._nodes, self._plan))
        return None if length == UNSOLVED else self._plan[:length].copy()


def plan_lengths(rooms: NDArray[np.uint8], max_states: int = 200_000) -> NDArray[np.int32]:
    """(n,): actions of the plan that `PushSearch` finds for each room; UNSOLVED where it finds none."""
    search = PushSearch(rooms, max_states)
    plans = (search.plan(room) for room in checked_rooms("rooms", rooms))
    return np.array([UNSOLVED if plan is None else len(plan) for plan in plans], np.int32)
