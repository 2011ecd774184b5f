"""Ludory: games, agents and learning algorithms under one roof.

Names are loaded on first use: `import ludory` imports no torch, no numba and no numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .registration import register_on_import

if TYPE_CHECKING:
    from . import agents as agents
    from . import algorithms as algorithms
    from . import benchmarks as benchmarks
    from . import data as data
    from . import envs as envs
    from . import errors as errors
    from . import plugins as plugins
    from . import testing as testing
    from .agents.evaluation.evaluate import evaluate
    from .agents.evaluation.exploitability import best_response, exploitability
    from .agents.evaluation.watch import watch
    from .agents.make import make_agent
    from .algorithms.make import load, make_algorithm
    from .algorithms.tuned.plan import train
    from .envs.make import make_engine, make_game

    __version__: str

__all__ = [
    "__version__",
    "best_response",
    "evaluate",
    "exploitability",
    "load",
    "make_agent",
    "make_algorithm",
    "make_engine",
    "make_game",
    "train",
    "watch",
]

_HOMES = {
    "best_response": "ludory.agents.evaluation.exploitability",
    "evaluate": "ludory.agents.evaluation.evaluate",
    "exploitability": "ludory.agents.evaluation.exploitability",
    "load": "ludory.algorithms.make",
    "make_agent": "ludory.agents.make",
    "make_algorithm": "ludory.algorithms.make",
    "make_engine": "ludory.envs.make",
    "make_game": "ludory.envs.make",
    "train": "ludory.algorithms.tuned.plan",
    "watch": "ludory.agents.evaluation.watch",
}
_ROOMS = ("agents", "algorithms", "benchmarks", "cli", "data", "envs", "errors", "plugins", "testing", "web")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"ludory.{name}")
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("ludory")
    raise AttributeError(f"module 'ludory' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, *(name for name in globals() if name.startswith("__"))})


register_on_import()
