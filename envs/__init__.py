"""Games, engines and views. What the author of a game needs is exported here; names are loaded when they are first used."""

import importlib
import sys
from collections.abc import Callable
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ludory.lazy import published_by

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's envs room; type `import ludory.envs`")

if TYPE_CHECKING:
    from . import views as views
    from .chance import COUNTER, EPISODE, KEY, STREAM, begin_episode, draw, hash_rows, mix
    from .engine.autoreset import Autoreset
    from .engine.binding.bind import bind
    from .engine.binding.cached_kernel import cached_batch_kernel, cached_kernel
    from .engine.captured import Captured
    from .engine.checks import checked_rows, checked_seats
    from .engine.external import NEW_GAME, ExternalEngine, ExternalState, Rows
    from .engine.kernel_engine import KernelEngine, few_steps
    from .engine.parallel import run_parts
    from .engine.pool_worker import ArraySpec, EnvironmentFault, GameBlocks
    from .engine.pooled_engine import POOL_OPTIONS, PooledEngine
    from .engine.process_pool import OnCrash, ProcessPool
    from .engine.protocol import Array, Engine, on_host, state_on_host
    from .engine.snapshot import identity, read_arrays, write_snapshot
    from .engine.storage import new_records
    from .facts import Box, GameFacts, Head, ObservationSpec, Segment, flat_segments
    from .game import Game
    from .kernels import batch_kernel, kernel
    from .make import EnvLike, NamedGame, make_engine, make_game, start_games
    from .options import check_choice, check_flag, check_range, integer_array, read_options, refuse_unknown
    from .parts import (
        Analysis,
        Chance,
        DecisionKinds,
        FactNames,
        Field,
        Kernels,
        Look,
        Outcomes,
        Records,
        Rooms,
        Rules,
        State,
        Symmetry,
        elimination,
        header,
        waiting,
    )
    from .rooms import SPLITS, check_split, room_hash, split_of
    from .seats.player import Memory, Player, memory_of_new_games, named_arrays, put
    from .seats.table import Table, first_legal
    from .text.presets import preset_of
    from .text.prompts import TextPrompts, checked_style, codec_of
    from .text.reply import PromptMode, parse_reply
    from .text.text_env import TextEnv
    from .text_codec import Decoded, TextCodec, WorkedExample, WriteRows, decoder_of_names
    from .views import to_sb3
    from .views.gymnasium_env import GameEnv

__all__ = [
    "COUNTER",
    "EPISODE",
    "KEY",
    "NEW_GAME",
    "POOL_OPTIONS",
    "SPLITS",
    "STREAM",
    "Analysis",
    "Array",
    "ArraySpec",
    "Autoreset",
    "Box",
    "Captured",
    "Chance",
    "DecisionKinds",
    "Decoded",
    "Engine",
    "EnvLike",
    "EnvironmentFault",
    "ExternalEngine",
    "ExternalState",
    "FactNames",
    "Field",
    "Game",
    "GameBlocks",
    "GameEnv",
    "GameFacts",
    "Head",
    "KernelEngine",
    "Kernels",
    "Look",
    "Memory",
    "NamedGame",
    "ObservationSpec",
    "OnCrash",
    "Outcomes",
    "Player",
    "PooledEngine",
    "ProcessPool",
    "PromptMode",
    "Records",
    "Rooms",
    "Rows",
    "Rules",
    "Segment",
    "State",
    "Symmetry",
    "Table",
    "TextCodec",
    "TextEnv",
    "TextPrompts",
    "WorkedExample",
    "WriteRows",
    "batch_kernel",
    "begin_episode",
    "bind",
    "cached_batch_kernel",
    "cached_kernel",
    "check_choice",
    "check_flag",
    "check_range",
    "check_split",
    "checked_rows",
    "checked_seats",
    "checked_style",
    "codec_of",
    "decoder_of_names",
    "draw",
    "elimination",
    "few_steps",
    "first_legal",
    "flat_segments",
    "hash_rows",
    "header",
    "identity",
    "integer_array",
    "kernel",
    "make_engine",
    "make_game",
    "memory_of_new_games",
    "mix",
    "named_arrays",
    "new_records",
    "on_host",
    "parse_reply",
    "preset_of",
    "put",
    "read_arrays",
    "read_options",
    "refuse_unknown",
    "room_hash",
    "run_parts",
    "split_of",
    "start_games",
    "state_on_host",
    "to_sb3",
    "waiting",
    "write_snapshot",
]

__getattr__, __dir__ = published_by(__name__)


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
