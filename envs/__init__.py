"""Games, and the views of games."""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's envs room; type `import ludory.envs`")

if TYPE_CHECKING:
    from . import hanabi_v0 as hanabi_v0


def __getattr__(name: str) -> ModuleType:
    if name == "hanabi_v0":  # PettingZoo's habit: a module per game, there after importing the package
        return importlib.import_module("ludory.envs.hanabi_v0")
    raise AttributeError(f"module 'ludory.envs' has no attribute {name!r}")
