"""Ludory: games, agents and learning algorithms under one roof.

Names are loaded on first use: `import ludory` imports no torch, no numba and no numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import published_by
from .registration import register_on_import

if TYPE_CHECKING:
    from . import agents as agents
    from . import algorithms as algorithms
    from . import benchmarks as benchmarks
    from . import charts as charts
    from . import cli as cli
    from . import data as data
    from . import envs as envs
    from . import errors as errors
    from . import hub as hub
    from . import plugins as plugins
    from . import testing as testing
    from . import web as web
    from .agents.evaluation.evaluate import evaluate
    from .agents.evaluation.exploitability import best_response, exploitability
    from .agents.evaluation.record import watch
    from .agents.make import make_agent
    from .algorithms.make import load, make_algorithm
    from .algorithms.tuned.plan import train
    from .envs.make import make_engine, make_game
    from .registration import register
    from .web.notebook import show

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
    "register",
    "show",
    "train",
    "watch",
]

_published, __dir__ = published_by(__name__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("ludory")
    return _published(name)


register_on_import()
