"""`gymnasium:CartPole-v1`, `gymnasium:my_module:MyEnv`: environments of Gymnasium as games of one seat."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.envs.engine.pool_worker import Row
from ludory.envs.game import Game
from ludory.errors import LudoryError, OptionError, PluginError, UnknownIdError
from ludory.plugins.requirements import missing_dependency

from .contract import Masks, finite_reward, started, stepped
from .engine import ENGINE_OPTIONS, NO_LIMIT, AdaptedEnvironment, adapted_game, one_seat_facts
from .spaces import MASK, Actions, Observations

TRIED_STEPS, TRIED_SECONDS = 64, 1.0
"""Largest number of steps that are played to measure the time of a step, and the time after which no further one is begun."""


class GymnasiumEnvironment(AdaptedEnvironment):
    """One `gymnasium.Env` in a `PooledEngine`.

    Legal masks are read from the observation, else from info["action_mask"], else from the environment's `action_masks()`.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        self.env, self.actions = env, Actions(env.action_space)
        self.observations, self._masks = (
            Observations(env.observation_space, self.actions),
            Masks(type(env.unwrapped).__name__),
        )
        self._mask_method: Callable[[], Any] | None = None
        if env.has_wrapper_attr("action_masks"):
            self._mask_method = env.get_wrapper_attr("action_masks")

    def reset(self, seed: int, options: Mapping[str, Any], row: Row) -> None:
        """Reset the environment; write observation and mask."""
        seen, info = started(self.env, seed, options)
        self.observations.write(seen, row.observations[0])
        self._masks.write(self.mask(seen, info), row.legal[0], begins=True)

    def step(self, action: NDArray[Any], row: Row) -> None:
        """Step the environment; write observation, reward, ends and mask."""
        seen, reward, terminated, truncated, info = stepped(self.env, self.actions.value(action))
        self.observations.write(seen, row.observations[0])
        row.rewards[0] = finite_reward(reward)
        row.terminated[...] = terminated
        # both at once count as an end by the rules
        row.truncated[...] = truncated and not terminated
        if not (terminated or truncated):
            self._masks.write(self.mask(seen, info), row.legal[0])

    def mask(self, seen: object, info: Mapping[str, Any]) -> ArrayLike | None:
        """The legal actions, one mask or one per head; None if the environment does not say."""
        mask = self.observations.mask(seen)
        # the observation first, then `info`, then a method
        mask = info.get(MASK) if mask is None else mask
        return self._mask_method() if mask is None and self._mask_method is not None else mask

    def picture(self, mode: str) -> object:
        """The frame or text that the outermost wrapper renders; None if it was made for another render mode."""
        return self.env.render() if self.env.render_mode == mode else None


def make_game(environment: str, **options: Any) -> Game:
    """Make the game of a Gymnasium id (`CartPole-v1`, `my_module:MyEnv-v0`), or of a class or function (`my_module:MyEnv`).

    Args:
        environment: the part of the id after `gymnasium:`.
        options: options of the environment, as for `gymnasium.make`; and `workers`, `worker_timeout` and `on_crash` of the engine.

    Raises:
        UnknownIdError: there is no such environment.
        PluginError: it needs a package that is not installed.
        OptionError: it does not accept an option, or its spaces cannot be translated.
    """
    kwargs = {name: value for name, value in options.items() if name not in ENGINE_OPTIONS}
    maker = NamedEnvironment(f"gymnasium:{environment}", _make, kwargs)
    return game_of_maker(maker, maker.id)


@dataclass(frozen=True)
class NamedEnvironment:
    """Makes an environment by its id, in any process: `function(environment, **options)`."""

    id: str
    function: Callable[..., Any]
    options: Mapping[str, Any]

    def __call__(self, mode: str | None) -> Any:
        """An environment that renders in `mode`."""
        rendering = {} if mode is None else {"render_mode": mode}
        make = partial(self.function, self.id.partition(":")[2])
        return made(self.id, make, {**rendering, **self.options})


def _make(environment: str, **options: Any) -> Any:
    if (function := attribute(environment)) is not None:
        return function(**options)
    return gymnasium.make(environment, disable_env_checker=True, **options)


def attribute(name: str) -> Callable[..., Any] | None:
    """The class or function of "module:name"; None for anything else, such as "module:MyEnv-v0"."""
    module, colon, path = name.partition(":")
    if not colon or not path.replace(".", "").isidentifier():
        return None
    found: Any = _imported(module)
    for part in path.split("."):
        if not hasattr(found, part):
            raise UnknownIdError(f"the module {module} has no {path!r}; type module:class or module:function")
        found = getattr(found, part)
    if not callable(found):
        raise OptionError(
            f"{name} is a {type(found).__name__}, must be a class or a function that makes an environment"
        )
    return found  # type: ignore[no-any-return]


def _imported(module: str) -> Any:
    """Import a module, also from the current folder, where the console script does not look."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise  # it exists, but needs a missing package
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise UnknownIdError(
            f"there is no module {module!r} on the path or in {os.getcwd()}; go to its folder, or set PYTHONPATH"
        ) from error


def made(id: str, function: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """`function(**options)`, an environment of a library; its errors are converted to those of Ludory.

    Raises:
        UnknownIdError, PluginError, OptionError: as for `make_game`.
    """
    try:
        return function(**options)
    except LudoryError:
        raise
    except gymnasium.error.UnregisteredEnv as error:
        raise UnknownIdError(f"Gymnasium has no environment {id.partition(':')[2]!r}; {_near(id)}") from error
    except ModuleNotFoundError as error:
        raise missing_dependency(id, str(error.name), id.partition(":")[0]) from error
    except gymnasium.error.DependencyNotInstalled as error:
        raise PluginError(f"{id} needs a package that is not installed: {error}") from error
    except TypeError as error:
        raise OptionError(f"{id} with options {dict(options)}: {error}") from error


def _near(id: str) -> str:
    found = difflib.get_close_matches(id.partition(":")[2], list(gymnasium.registry), 3, 0.6)
    listed = " or ".join(f"gymnasium:{name}" for name in found)
    return f"did you mean {listed}?" if found else 'python -c "import gymnasium; gymnasium.pprint_registry()" shows all'


def game_of_maker(
    maker: Callable[[str | None], gymnasium.Env[Any, Any]] | Sequence[Callable[[str | None], gymnasium.Env[Any, Any]]],
    name: str,
) -> Game:
    """The game of environments; its facts are read from one of them.

    Args:
        maker: `maker(render_mode)` makes an environment; a list has one maker for each existing environment.
        name: name in tables and errors.
    """
    env = (maker if callable(maker) else maker[0])(None)
    try:
        trial = GymnasiumEnvironment(env)
        seconds = _seconds_per_step(trial)
    except OptionError as error:
        raise OptionError(f"{name}: {error}") from error
    facts = one_seat_facts(name, trial.observations.spec, trial.actions, _limit(env))
    return adapted_game(facts, maker, GymnasiumEnvironment, env, seconds)


def _limit(env: gymnasium.Env[Any, Any]) -> int:
    with suppress(Exception):  # some wrappers have no spec
        if env.spec is not None and env.spec.max_episode_steps:
            return int(env.spec.max_episode_steps)
    return NO_LIMIT


def _seconds_per_step(trial: GymnasiumEnvironment) -> float:
    """Median wall-clock time of a step under random actions: a first step is often slow."""
    env = trial.env
    env.action_space.seed(0)
    times: list[float] = []
    over = True
    while len(times) < TRIED_STEPS and sum(times) < TRIED_SECONDS:
        if over and trial.mask(*started(env, 0, {})) is not None:
            return 0.0  # random actions may be illegal
        begun = perf_counter()
        try:
            *_, terminated, truncated, _ = stepped(env, env.action_space.sample())
        except LudoryError:
            raise
        except Exception:  # where it is played, this is told with the last actions, or the environment is made again
            break
        times.append(perf_counter() - begun)
        over = terminated or truncated
    return float(np.median(times)) if times else 0.0
