"""Batch kernels of a rule bot for the CPU. Bound to a bot by `bind.py`."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from ludory.envs.engine.binding.kernel_placeholders import choose, notice
from ludory.envs.kernels import batch_kernel


@batch_kernel
def choose_rows(state, rows, seat, memory, actions, start, stop):
    """actions[k] = move of `seat` in game rows[k]; memory [n, memory_size]."""
    for k in range(start, stop):
        actions[k] = choose(state, rows[k], seat, memory[rows[k]])


@batch_kernel
def choose_heads_rows(state, rows, seat, memory, actions, start, stop):
    """As `choose_rows` in games of several heads; actions [m, H], all 0 before."""
    for k in range(start, stop):
        choose(state, rows[k], seat, memory[rows[k]], actions[k])


@batch_kernel
def notice_rows(state, rows, seat, actions, memory, start, stop):
    """Let `seat` take note of actions[k], about to be played in game rows[k]."""
    for k in range(start, stop):
        notice(state, rows[k], seat, actions[k], memory[rows[k]])
