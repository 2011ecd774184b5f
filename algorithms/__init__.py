"""How agents learn. The names below are what an algorithm's author needs; they are loaded when they are first used.

`vtrace` is missing among them, since it is the name of a package here: `from ludory.algorithms.losses.returns import vtrace`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's algorithms room; type `import ludory.algorithms`")

if TYPE_CHECKING:
    from .algorithm import Algorithm
    from .config import AlgorithmConfig
    from .learner import Learner
    from .losses.returns import Steps, gae, upgo
    from .make import load, make_algorithm
    from .running.optimiser_state import load_adam, save_adam
    from .sampling.rollout import Rollout, minibatches
    from .sb3_ppo.export import export_sb3

__all__ = [
    "Algorithm",
    "AlgorithmConfig",
    "Learner",
    "Rollout",
    "Steps",
    "export_sb3",
    "gae",
    "load",
    "load_adam",
    "make_algorithm",
    "minibatches",
    "save_adam",
    "upgo",
]

_HOMES = {
    "Algorithm": "algorithm",
    "AlgorithmConfig": "config",
    "Learner": "learner",
    "Rollout": "sampling.rollout",
    "Steps": "losses.returns",
    "export_sb3": "sb3_ppo.export",
    "gae": "losses.returns",
    "load": "make",
    "load_adam": "running.optimiser_state",
    "make_algorithm": "make",
    "minibatches": "sampling.rollout",
    "save_adam": "running.optimiser_state",
    "upgo": "losses.returns",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
