"""`Blueprint`: the deterministic rule bot that a search assumes in every seat, as compiled code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.bind import bind
from ludory.envs.chance import draw
from ludory.envs.engine import Engine
from ludory.envs.game import Game
from ludory.envs.kernel import kernel
from ludory.envs.kernel_engine import KernelEngine
from ludory.errors import OptionError

from ..agent import Agent, KernelAgent


@kernel
def notice_nothing(state, i, seat, action, memory):  # type: ignore[no-untyped-def]
    """For bots without memory."""


class Blueprint:
    """A rule bot for `game`.

    Raises:
        OptionError: the agent is not a rule bot, or sees what its seat can not.
    """

    def __init__(self, agent: Agent, game: Game, searcher: str) -> None:
        if not isinstance(agent, KernelAgent):
            raise OptionError(
                f"{searcher} searches with a rule bot such as hanabi/smartbot in every seat, got {agent.name}"
            )
        if agent.privileged:
            raise OptionError(
                f"{searcher}: {agent.name} looks at hidden cards, so nothing can be concluded from its moves"
            )
        self.agent, self.game = agent, game
        self.memory_shape = (game.facts.players, agent.kernels.memory_size)
        """Numbers that the bot remembers in all seats, (P, M)."""
        self._kernels: dict[str, Callable[..., Any]] = {
            "choose": agent.kernels.choose,
            "notice": agent.kernels.notice or notice_nothing,
            "step": game.kernels.step,
            "legal": game.kernels.legal,
            "draw": draw,
        }
        if game.kernels.redeal:
            self._kernels["redeal"] = game.kernels.redeal

    def bound(self, template: Path, records: NDArray[Any]) -> ModuleType:
        """The batch kernels of the file `template`, compiled for this bot and game."""
        return bind(str(template.with_suffix("")), self._kernels, records.dtype)

    def no_memory(self, count: int) -> NDArray[np.int32]:
        """Memory of all seats before the first move of `count` games, int32 (count, P, M)."""
        return np.zeros((count, *self.memory_shape), np.int32)


def records_of(engine: Engine, searcher: str) -> NDArray[Any]:
    """The games of an engine as records.

    Raises:
        OptionError: they do not lie in this machine's memory as compiled kernels need them.
    """
    if not isinstance(engine, KernelEngine):
        raise OptionError(
            f'{searcher} searches on engines of compiled games on the CPU, got {type(engine).__name__}; use device="cpu"'
        )
    return engine.records
