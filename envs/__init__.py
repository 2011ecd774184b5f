"""Games, and the views of games."""

import importlib
from typing import TYPE_CHECKING, Any

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's envs room; type `import ludory.envs`")

if TYPE_CHECKING:
    from . import arena_v0 as arena_v0
    from . import hanabi_v0 as hanabi_v0
    from . import texas42_match_v0 as texas42_match_v0
    from . import texas42_play_v0 as texas42_play_v0
    from . import texas42_v0 as texas42_v0
    from .views.sb3 import to_sb3 as to_sb3

_PETTINGZOO = ("arena_v0", "hanabi_v0", "texas42_match_v0", "texas42_play_v0", "texas42_v0")
"""PettingZoo's habit: a module per game, there after importing the package."""


def __getattr__(name: str) -> Any:
    if name in _PETTINGZOO:
        return importlib.import_module(f"ludory.envs.{name}")
    if name == "to_sb3":
        return importlib.import_module("ludory.envs.views").to_sb3
    raise AttributeError(f"module 'ludory.envs' has no attribute {name!r}")
