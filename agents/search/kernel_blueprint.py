"""Rule bots as blueprints, in compiled code: `KernelBlueprint`, and `CudaBlueprint` with rollouts on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents.agent import Agent, KernelAgent
from ludory.envs import Game, kernel, on_host, run_parts
from ludory.envs.engine.cuda_device import find_device
from ludory.envs.engine.cuda_engine import CudaEngine

from .belief import Draw
from .blueprint import Blueprint, Memories, fields_of

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


class CudaBlueprint(KernelBlueprint):
    """As `KernelBlueprint`, with all worlds and actions of a check in one batch on `device`, one launch per move.

    Beliefs stay on the CPU. Checks are rarer, so that a launch has enough work: a search distributes its rollouts differently than on
    the CPU and may return a different action. Each rollout returns the same, bit for bit.

    Raises:
        OptionError: there is no such GPU, as in `find_device`.
    """

    rounds_between_checks = 1000

    def __init__(self, agent: Agent, game: Game, searcher: str, device: str) -> None:
        super().__init__(agent, game, searcher)
        find_device(device)
        self.device = device

    def play(self, drawn: Draw, actions: NDArray[np.int64], seat: int) -> NDArray[np.float64]:
        """Returns of all worlds and actions, played in one batch."""
        count, each, seats = len(drawn.worlds), len(actions), range(self.game.facts.players)
        engine = CudaEngine(self.game, count * each, seed=0, device=self.device)
        engine.load_fields(fields_of(self.game, drawn.worlds.repeat(each)), check=False)
        memories = [engine.tensor(drawn.memories[:, p].repeat(each, axis=0)) for p in seats]
        moves = engine.tensor(np.tile(actions, count))
        returns = engine.rewards[:, seat].double() * 0
        movers = on_host(engine.to_move)
        while (running := np.flatnonzero(movers >= 0)).size:
            for p in seats:
                self.agent.notice(engine, p, running, moves[running], memories[p])
            engine.step(moves)
            returns += engine.rewards[:, seat]
            movers = on_host(engine.to_move)
            for mover in np.unique(movers[movers >= 0]):
                rows = np.flatnonzero(movers == mover)
                moves[rows] = self.agent.choose(engine, int(mover), rows, memories[mover])
        found: NDArray[np.float64] = on_host(returns).reshape(count, each)
        return found
