"""`game_of_object`: the game of an environment object of Gymnasium, PettingZoo or Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv
from pettingzoo import AECEnv, ParallelEnv
from stable_baselines3.common.vec_env import VecEnv

from ludory.envs.game import Game
from ludory.errors import OptionError

from . import gymnasium_game, pettingzoo_game
from .vector_engine import game_of_vector


def game_of_object(env: Any) -> Game:
    """The game of an environment, a class or function that makes one, a list of either, or a vector environment.

    A class or function makes one environment per game; an environment object plays one game.

    Raises:
        OptionError: it is none of these, or its spaces cannot be translated.
    """
    if isinstance(env, VectorEnv | VecEnv):
        return game_of_vector(env)
    if isinstance(env, list | tuple) and env:
        makers = [_Maker(one) if callable(one) else _Handed(one) for one in env]
        return _game(makers, _first(env[0]))
    if isinstance(env, gymnasium.Env | AECEnv | ParallelEnv):
        return _game([_Handed(env)], env)
    if callable(env):
        return _game(_Maker(env), _first(env))
    raise OptionError(
        f"env={env!r}: must be a game id, a Game, an environment of Gymnasium or PettingZoo, a class or function that makes one, "
        "a list of these, or a vector environment"
    )


def _first(env: Any) -> Any:
    """The environment itself, or one that the class or function makes."""
    made = env() if callable(env) else env
    if not isinstance(made, gymnasium.Env | AECEnv | ParallelEnv):
        raise OptionError(
            f"env={env!r} makes a {type(made).__name__}, must make an environment of Gymnasium or PettingZoo"
        )
    return made


def _game(maker: Any, example: Any) -> Game:
    name = type(getattr(example, "unwrapped", example)).__name__
    if isinstance(example, gymnasium.Env):
        return gymnasium_game.game_of_maker(maker, name)
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
