"""`nim/perfect`: leaves heaps whose sizes have exclusive-or 0 whenever it can."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from ludory.agents.agent import Agent, BotKernels, KernelAgent
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.errors import OptionError

from .game import largest_heap


@kernel
def choose(state, i, seat, memory):
    """The move to exclusive-or 0, else one stick of the first heap that has any."""
    total, fallback, largest = 0, 0, largest_heap(state)
    for heap in range(state.heaps.shape[1]):
        total ^= int(state.heaps[i, heap])
    for heap in range(state.heaps.shape[1] - 1, -1, -1):
        sticks = int(state.heaps[i, heap])
        if total ^ sticks < sticks:
            return heap * largest + sticks - (total ^ sticks) - 1
        if sticks > 0:
            fallback = heap * largest
    return fallback


def make(game: Game) -> Agent:
    """The perfect player of Nim."""
    if game.facts.name != "Nim":
        raise OptionError(f"nim/perfect plays Nim-v0, got {game.id}")
    return KernelAgent("nim/perfect", BotKernels(choose))
