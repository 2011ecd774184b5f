"""Batch kernels of a rule bot for CUDA: one thread per game. Bound to a bot by `bind.py`; arrays as in `batch_cuda.py`."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,attr-defined,misc"

from numba import cuda

from ludory.envs.engine.binding.kernel_placeholders import GameState, choose, notice


def choose_rows(fields, rows, seat, memory, actions):
    """actions[k] = move of `seat` in game rows[k]; memory [n, memory_size]."""
    state = GameState(*fields)
    for k in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        i = int(rows[k])
        actions[k] = choose(state, i, seat, memory[i])


def choose_heads_rows(fields, rows, seat, memory, actions):
    """As `choose_rows` in games of several heads; actions [m, H], all 0 before."""
    state = GameState(*fields)
    for k in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        i = int(rows[k])
        choose(state, i, seat, memory[i], actions[k])


def notice_rows(fields, rows, seat, actions, memory):
    """Let `seat` take note of actions[k], about to be played in game rows[k]."""
    state = GameState(*fields)
    for k in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        i = int(rows[k])
        notice(state, i, seat, actions[k], memory[i])
