"""Who chooses the moves.

The names below are loaded when they are first used, so that `import ludory.agents` stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's agents room; type `import ludory.agents`")

if TYPE_CHECKING:
    from .agent import Agent, BotKernels, KernelAgent
    from .evaluation.cross_play import cross_play
    from .evaluation.evaluate import evaluate
    from .make import make_agent
    from .networks.import_sb3 import from_sb3, sb3_agent
    from .search.belief import Belief, Draw, GameBeliefs
    from .search.blueprint import Blueprint
    from .seat import Seat, SeatAgent

__all__ = [
    "Agent",
    "Belief",
    "Blueprint",
    "BotKernels",
    "Draw",
    "GameBeliefs",
    "KernelAgent",
    "Seat",
    "SeatAgent",
    "cross_play",
    "evaluate",
    "from_sb3",
    "make_agent",
    "sb3_agent",
]

_HOMES = {
    "Agent": "agent",
    "Belief": "search.belief",
    "Blueprint": "search.blueprint",
    "BotKernels": "agent",
    "Draw": "search.belief",
    "GameBeliefs": "search.belief",
    "KernelAgent": "agent",
    "Seat": "seat",
    "SeatAgent": "seat",
    "cross_play": "evaluation.cross_play",
    "evaluate": "evaluation.evaluate",
    "from_sb3": "networks.import_sb3",
    "make_agent": "make",
    "sb3_agent": "networks.import_sb3",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"ludory.agents.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'ludory.agents' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
