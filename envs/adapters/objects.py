"""`handed_in`: what is trained if an environment object of Ludory, Gymnasium, PettingZoo or Stable-Baselines3 is handed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import gymnasium
from gymnasium.vector import VectorEnv
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker

from ludory.envs.engine.base import EngineBase
from ludory.envs.game import Game
from ludory.envs.views.gymnasium_env import GameEnv
from ludory.envs.views.gymnasium_vector import GameVectorEnv
from ludory.errors import OptionError
from ludory.plugins.requirements import imported

from . import gymnasium_game
from .vector_engine import game_of_vector

CHECKERS = (
    "ludory.envs.views.pettingzoo_aec:ConvertedEnv",
    "pettingzoo.utils.conversions:parallel_to_aec_wrapper",
    "pettingzoo.utils.wrappers:AssertOutOfBoundsWrapper",
    "pettingzoo.utils.wrappers:OrderEnforcingWrapper",
)
"""Wrappers that `make` of PettingZoo and Ludory add, as those of Gymnasium do; none changes a game."""
VIEWS = ("ludory.envs.views.pettingzoo_aec:GameAECEnv", "ludory.envs.views.pettingzoo_parallel:GameParallelEnv")


class HandedIn(NamedTuple):
    """What is trained if an environment is handed in."""

    game: Game
    fields: dict[str, Any]
    """What a view of Ludory was made with, as fields of a config: `seats`, `others`, `num_envs`."""


def handed_in(env: object) -> HandedIn:
    """The game of an environment, and what else it was made with.

    A view of Ludory is looked through to its game, as learners play that faster than the view. In a wrapper, with an opponent that
    has no name, or of a class that derives from a view, it is an environment like those of other libraries: nothing of it is lost.

    Raises:
        OptionError: as for `game_of_object`.
    """
    if isinstance(env, EngineBase):
        return HandedIn(env.game, {"num_envs": env.num_games})
    checkers = (OrderEnforcing, PassiveEnvChecker, *imported(*CHECKERS))
    view: Any = env
    while type(view) in checkers:
        view = view.env
    if type(view) in imported(*VIEWS):
        return HandedIn(view.game, {})
    if type(view) not in (GameEnv, GameVectorEnv) or not isinstance(view.others, str | None):
        return HandedIn(game_of_object(env), {})
    given = {"seats": None if view.seats is None else str(view.seats), "others": view.others}
    fields = {name: value for name, value in given.items() if value is not None}
    return HandedIn(view.game, fields | ({"num_envs": view.num_envs} if type(view) is GameVectorEnv else {}))


def game_of_object(env: object) -> Game:
    """The game of an environment, a class or function that makes one, a list of either, or a vector environment.

    A class or function makes one environment per game; an environment object plays one game.

    Raises:
        OptionError: it is none of these, or its spaces cannot be translated.
    """
    if isinstance(env, (VectorEnv, *imported("stable_baselines3.common.vec_env:VecEnv"))):
        return game_of_vector(cast(Any, env))
    if isinstance(env, list | tuple) and env:
        makers = [_Maker(one) if callable(one) else _Handed(one) for one in env]
        return _game(makers, _first(env[0]))
    if isinstance(env, _single()):
        return _game([_Handed(env)], env)
    if callable(env):
        return _game(_Maker(env), _first(env))
    raise OptionError(
        f"env={env!r}: must be a game id, a Game, an environment of Gymnasium or PettingZoo, a class or function that makes one, "
        "a list of these, or a vector environment"
    )


def _single() -> tuple[type[Any], ...]:
    """Classes of environments of one game."""
    return (gymnasium.Env, *imported("pettingzoo:AECEnv", "pettingzoo:ParallelEnv"))


def _first(env: Any) -> Any:
    """The environment itself, or one that the class or function makes."""
    made = env() if callable(env) else env
    if not isinstance(made, _single()):
        raise OptionError(
            f"env={env!r} makes a {type(made).__name__}, must make an environment of Gymnasium or PettingZoo"
        )
    return made


def _game(maker: Any, example: Any) -> Game:
    name = type(getattr(example, "unwrapped", example)).__name__
    if isinstance(example, gymnasium.Env):
        return gymnasium_game.game_of_maker(maker, name)
    from . import pettingzoo_game

    return pettingzoo_game.game_of_maker(maker, name)


@dataclass(frozen=True)
class _Handed:
    """An environment that the user made."""

    env: Any

    def __call__(self, mode: str | None) -> Any:
        return self.env


@dataclass(frozen=True)
class _Maker:
    """A class or function of the user, called without arguments."""

    function: Callable[[], Any]

    def __call__(self, mode: str | None) -> Any:
        return self.function()
