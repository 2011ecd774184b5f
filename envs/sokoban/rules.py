"""Sokoban's rules as scalar kernels: reset, legal, step. Sizes are read from the shapes of the state's arrays."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import begin_episode, draw, kernel

from .state import (
    BLOCKED,
    BOX_MOVED,
    BOXES,
    GYM_COUNT,
    HAS_BOX,
    HAS_PLAYER,
    IS_TARGET,
    IS_WALL,
    MAX_STEPS,
    NO_ACTION,
    PLAYER_MOVED,
)

UP, DOWN, LEFT, RIGHT = 0, 1, 2, 3
OUTSIDE = -1


@kernel
def neighbour(cell, direction, rows, columns):
    """The next cell in a direction, OUTSIDE beyond the edge."""
    row = cell // columns
    column = cell - row * columns
    row += (direction == DOWN) - (direction == UP)
    column += (direction == RIGHT) - (direction == LEFT)
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    return row * columns + column if inside else OUTSIDE


@kernel
def open_cell(state, i, cell):
    """True if the cell lies in the room and is neither wall nor box."""
    return cell >= 0 and int(state.cells[i, cell]) & BLOCKED == 0


@kernel
def packed_place(state, level, at, wide):
    """A cell's number in a packed room: one byte, or two in rooms of more than 256 cells."""
    place = int(state.bank[level, at])
    return place * 256 + int(state.bank[level, at + 1]) if wide else place


@kernel
def unpack_level(state, i, level):
    """Write room number `level` of the bank into `cells` and `start`, with the player and the covered targets; `bank.bank_rows` has the form."""
    rows, columns = state.start.shape[1], state.start.shape[2]
    boxes, wide = int(state.setup[i, BOXES]), rows * columns > 256
    width = 2 if wide else 1
    stretch = (rows * columns + 7) >> 3
    places = 2 * stretch
    for byte in range(rows * columns >> 3):  # eight cells at a time
        walls, dead = int(state.bank[level, byte]), int(state.bank[level, stretch + byte])
        for bit in range(8):
            state.cells[i, 8 * byte + bit] = (walls >> (7 - bit)) & 1 | ((dead >> (7 - bit)) & 1) << 3
    # what does not fill a byte
    for cell in range(rows * columns & ~7, rows * columns):
        walls, dead = int(state.bank[level, stretch - 1]), int(state.bank[level, 2 * stretch - 1])
        state.cells[i, cell] = (walls >> (7 - (cell & 7))) & 1 | ((dead >> (7 - (cell & 7))) & 1) << 3
    for k in range(boxes):
        goal = packed_place(state, level, places + (boxes + k) * width, wide)
        # overwrites IS_DEAD: no target is dead
        state.cells[i, goal] = IS_TARGET
    covered = 0
    for k in range(boxes):
        box = packed_place(state, level, places + k * width, wide)
        bits = int(state.cells[i, box])
        state.cells[i, box] = bits | HAS_BOX
        covered += (bits & IS_TARGET) // IS_TARGET
    player = packed_place(state, level, places + 2 * boxes * width, wide)
    state.player[i], state.on_target[i] = player, covered
    for row in range(rows):
        for column in range(columns):
            state.start[i, row, column] = state.cells[i, row * columns + column]
    state.start[i, player // columns, player % columns] = int(state.cells[i, player]) | HAS_PLAYER


@kernel
def copy_start(state, i):
    """Write the given room into `cells`; the player and the covered targets were given with it."""
    columns = state.start.shape[2]
    for row in range(state.start.shape[1]):
        for column in range(columns):
            state.cells[i, row * columns + column] = int(state.start[i, row, column]) & ~HAS_PLAYER


@kernel
def reset(state, i):
    """Start in the given room, or in one drawn from the bank."""
    begin_episode(state, i)
    if int(state.given[i]) == 0:
        level = draw(state, i, state.bank.shape[0])
        unpack_level(state, i, level)
        state.level[i] = level
    else:
        copy_start(state, i)
        state.level[i] = -1
    state.given[i] = 0
    # gym-sokoban's count begins with 0 even if boxes stand on targets
    state.counted[i] = 0 if int(state.setup[i, GYM_COUNT]) else int(state.on_target[i])
    state.steps[i] = 0
    state.moved[i] = 0
    state.last[i] = NO_ACTION
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def play(state, i, direction, pushing):
    """Move the player, with the box ahead if `pushing`; returns which of the two moved, as bits of `moved`."""
    rows, columns = state.start.shape[1], state.start.shape[2]
    ahead = neighbour(int(state.player[i]), direction, rows, columns)
    if ahead < 0:
        return 0
    bits = int(state.cells[i, ahead])
    if bits & BLOCKED == 0:
        state.player[i] = ahead
        return PLAYER_MOVED
    if bits & IS_WALL or not pushing:
        return 0
    beyond = neighbour(ahead, direction, rows, columns)
    if not open_cell(state, i, beyond):
        return 0
    behind = int(state.cells[i, beyond])
    state.cells[i, ahead] = bits & ~HAS_BOX
    state.cells[i, beyond] = behind | HAS_BOX
    # +1 onto a target, -1 off one, 0 in between
    state.on_target[i] = int(state.on_target[i]) + ((behind & IS_TARGET) - (bits & IS_TARGET)) // IS_TARGET
    state.player[i] = ahead
    return PLAYER_MOVED | BOX_MOVED


@kernel
def finish_step(state, i, action, moved):
    """Count the step, pay it, and end the game if all targets are covered or the steps are used up."""
    covered, counted = int(state.on_target[i]), int(state.counted[i])
    solved = covered == int(state.setup[i, BOXES])
    # the originals' rewards: -0.1 a step, 1 for a box on, -1 for a box off, 10 for the last
    reward = -0.1 + ((covered > counted) - (covered < counted))
    state.rewards[i, 0] = reward + 10.0 if solved else reward
    steps = int(state.steps[i]) + 1
    state.steps[i] = steps
    state.counted[i] = covered
    state.moved[i] = moved
    state.last[i] = action
    state.terminated[i] = solved
    # the end of a game in which both fall together is a solution
    state.truncated[i] = not solved and steps >= int(state.setup[i, MAX_STEPS])


@kernel
def step_push4(state, i, action):
    """Actions 0 up, 1 down, 2 left, 3 right."""
    finish_step(state, i, action, play(state, i, int(action), True))


@kernel
def step_move9(state, i, action):
    """Actions 0 nothing, 1 to 4 as in `step_push4`, 5 to 8 the same directions without pushing."""
    # 5 to 8 are the directions again, modulo four
    chosen = int(action)
    finish_step(state, i, action, play(state, i, (chosen - 1) & 3, chosen <= 4) if chosen > 0 else 0)


@kernel
def can_go(state, i, direction, pushing):
    """True if `play` would move the player."""
    rows, columns = state.start.shape[1], state.start.shape[2]
    ahead = neighbour(int(state.player[i]), direction, rows, columns)
    if ahead < 0:
        return False
    bits = int(state.cells[i, ahead])
    if bits & BLOCKED == 0:
        return True
    return pushing and bits & IS_WALL == 0 and open_cell(state, i, neighbour(ahead, direction, rows, columns))


@kernel
def legal_all(state, i, seat, mask):
    """All actions."""
    for action in range(mask.shape[0]):
        mask[action] = True


@kernel
def legal_moves_push4(state, i, seat, mask):
    """Actions that change the state; all if none does."""
    some = False
    for direction in range(4):
        mask[direction] = can_go(state, i, direction, True)
        some = some or mask[direction]
    # a mask must not be empty
    if not some:
        legal_all(state, i, seat, mask)


@kernel
def legal_moves_move9(state, i, seat, mask):
    """Actions that change the state; all if none does."""
    some = False
    for direction in range(4):
        mask[1 + direction] = can_go(state, i, direction, True)
        mask[5 + direction] = can_go(state, i, direction, False)
        some = some or mask[1 + direction]
    if not some:
        legal_all(state, i, seat, mask)


STEP = {"push4": step_push4, "move9": step_move9}
"""Step kernel by the name of the `actions` option."""
LEGAL = {
    ("push4", "all"): legal_all,
    ("move9", "all"): legal_all,
    ("push4", "moves"): legal_moves_push4,
    ("move9", "moves"): legal_moves_move9,
}
"""Legal kernel by the `actions` and `mask` options."""
