"""`KernelBlueprint`: a rule bot as a blueprint, in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents.agent import KernelAgent
from ludory.envs.engine.parallel import run_parts
from ludory.envs.kernels import kernel

from .belief import Draw
from .blueprint import Blueprint, Memories

TEMPLATE = Path(__file__).parent / "playout.py"
ROUNDS_PER_THREAD = 8


@kernel
def notice_nothing(state, i, seat, action, memory):  # type: ignore[no-untyped-def]
    """For bots without memory."""


class KernelBlueprint(Blueprint):
    """A deterministic rule bot."""

    agent: KernelAgent

    def _memory_size(self) -> int:
        return self.agent.kernels.memory_size

    def _kernels(self) -> dict[str, Callable[..., Any]]:
        bot = self.agent.kernels
        return super()._kernels() | {"choose": bot.choose, "notice": bot.notice or notice_nothing}

    def kernels(self, records: NDArray[Any]) -> ModuleType:
        """The compiled functions of `playout.py` for such records."""
        return self.bound(TEMPLATE, records)

    def move(self, record: NDArray[Any], seat: int, memory: Memories) -> int:
        """The bot's choice."""
        return int(self.kernels(record).choose_with(record.copy(), 0, seat, memory.copy()))

    def asked(self, worlds: NDArray[Any], seat: int, action: int, memories: Memories) -> NDArray[np.bool_]:
        """Whether the bot's choice is `action`, world by world."""
        same = np.empty(len(worlds), np.bool_)
        self.kernels(worlds).ask_rows(worlds, seat, action, memories, same, 0, len(worlds))
        return same

    def noticed(self, worlds: NDArray[Any], seat: int, action: int, memories: Memories) -> None:
        """Calls the bot's `notice` for every seat."""
        self.kernels(worlds).notice_rows(worlds, action, memories, 0, len(worlds))

    def play(self, drawn: Draw, actions: NDArray[np.int64], seat: int) -> NDArray[np.float64]:
        """Returns of all worlds and actions, computed in threads."""
        worlds = np.ascontiguousarray(drawn.worlds)
        as_bytes = worlds.view(np.uint8).reshape(len(worlds), -1)
        returns, kernels = np.empty((len(worlds), len(actions))), self.kernels(worlds)

        def play_part(start: int, stop: int) -> None:
            # threads write to memory of their own only
            scratch, memory = worlds[:1].copy(), drawn.memories[0].copy()
            work = (scratch, scratch.view(np.uint8).reshape(1, -1), memory)
            kernels.play_rounds(as_bytes, drawn.memories, actions, seat, *work, returns, start, stop)

        run_parts(play_part, len(worlds), rows_per_thread=ROUNDS_PER_THREAD)
        return returns
