"""Views of games for Gymnasium, PettingZoo, Stable-Baselines3, TorchRL and array libraries, all on the same engines."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .arrays import ArrayGames
    from .gymnasium_env import make_env
    from .gymnasium_vector import make_vector_env
    from .pettingzoo_aec import make_aec
    from .pettingzoo_parallel import make_parallel
    from .sb3 import to_sb3
    from .torchrl import make_torchrl

__all__ = ["ArrayGames", "make_aec", "make_env", "make_parallel", "make_torchrl", "make_vector_env", "to_sb3"]

_MODULES = {
    "make_env": "gymnasium_env",
    "make_vector_env": "gymnasium_vector",
    "make_aec": "pettingzoo_aec",
    "make_parallel": "pettingzoo_parallel",
    "make_torchrl": "torchrl",
    "ArrayGames": "arrays",
    "to_sb3": "sb3",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'ludory.envs.views' has no attribute {name!r}")
    try:  # imported when asked for: some pull in torch
        return getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    except ModuleNotFoundError as error:
        from ludory.plugins.requirements import missing_dependency

        raise missing_dependency(name, error.name or "", extras=("torchrl",)) from error  # the only one with an extra
