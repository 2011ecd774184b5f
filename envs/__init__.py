"""Games, engines and views. What the author of a game needs is exported here; names are loaded when they are first used."""

import importlib
import sys
from collections.abc import Callable
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's envs room; type `import ludory.envs`")

if TYPE_CHECKING:
    from . import views as views
    from .chance import begin_episode, draw
    from .engine.protocol import Engine
    from .game import FactNames, Field, Game, GameFacts, Head, Kernels, ObservationSpec, flat_segments, header
    from .kernels import kernel
    from .make import make_engine, make_game
    from .text.text_env import TextEnv
    from .views.sb3 import to_sb3

__all__ = [
    "Engine",
    "FactNames",
    "Field",
    "Game",
    "GameFacts",
    "Head",
    "Kernels",
    "ObservationSpec",
    "TextEnv",
    "begin_episode",
    "draw",
    "flat_segments",
    "header",
    "kernel",
    "make_engine",
    "make_game",
    "to_sb3",
]

_HOMES = {
    "chance": ("begin_episode", "draw"),
    "engine.protocol": ("Engine",),
    "game": (
        "Field",
        "Game",
        "GameFacts",
        "Head",
        "Kernels",
        "ObservationSpec",
        "FactNames",
        "flat_segments",
        "header",
    ),
    "kernels": ("kernel",),
    "make": ("make_engine", "make_game"),
    "text.text_env": ("TextEnv",),
    "views.sb3": ("to_sb3",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "views":
        return importlib.import_module(".views", __name__)
    if name not in _HOME_OF:
        raise AttributeError(f"module 'ludory.envs' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "views"})


class _PettingZooModule(ModuleType):
    """A module for one game, as PettingZoo has them: `hanabi_v0.env(players=3)`; the options are those of its id.

    It has no file of its own. PettingZoo is imported when one of the functions is first used.
    """

    env: Callable[..., Any]
    """An `AECEnv`: agents act in turn, also in games in which all seats move at once."""
    raw_env: Callable[..., Any]
    """The same as `env`: the view checks its input itself and needs no wrappers."""
    parallel_env: Callable[..., Any]
    """A `ParallelEnv`: every agent acts in every step; agents that are not to move wait."""

    def __init__(self, name: str, id: str) -> None:
        super().__init__(name, f"{id} as PettingZoo environments: `env`, `raw_env` and `parallel_env`.")
        self.__spec__ = ModuleSpec(name, None)
        self._id = id

    def __getattr__(self, name: str) -> Any:
        if name not in ("env", "raw_env", "parallel_env"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        views = importlib.import_module("ludory.envs.views")
        return partial(views.make_parallel if name == "parallel_env" else views.make_aec, self._id)


def _pettingzoo_module(name: str, id: str) -> _PettingZooModule:
    """Make `ludory.envs.<name>` importable."""
    module = sys.modules[f"{__name__}.{name}"] = _PettingZooModule(f"{__name__}.{name}", id)
    return module


arena_v0 = _pettingzoo_module("arena_v0", "Arena-v0")
connect_four_v0 = _pettingzoo_module("connect_four_v0", "ConnectFour-v0")
go9_v0 = _pettingzoo_module("go9_v0", "Go9-v0")
hanabi_v0 = _pettingzoo_module("hanabi_v0", "Hanabi-v0")
kuhn_poker_v0 = _pettingzoo_module("kuhn_poker_v0", "KuhnPoker-v0")
leduc_poker_v0 = _pettingzoo_module("leduc_poker_v0", "LeducPoker-v0")
pokemon_v0 = _pettingzoo_module("pokemon_v0", "Pokemon-v0")
texas42_match_v0 = _pettingzoo_module("texas42_match_v0", "Texas42Match-v0")
texas42_play_v0 = _pettingzoo_module("texas42_play_v0", "Texas42Play-v0")
texas42_v0 = _pettingzoo_module("texas42_v0", "Texas42-v0")
tic_tac_toe_v0 = _pettingzoo_module("tic_tac_toe_v0", "TicTacToe-v0")
