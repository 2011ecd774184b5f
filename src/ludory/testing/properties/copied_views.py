"""Properties of copies that Python makes: `copy.deepcopy`, `copy.copy` and `pickle` of engines and views."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from ludory.envs.views.gymnasium_env import GameEnv
from ludory.envs.views.gymnasium_vector import GameVectorEnv
from ludory.envs.views.pettingzoo_aec import make_aec
from ludory.envs.views.pettingzoo_parallel import make_parallel
from ludory.plugins import games
from ludory.testing.recording import replay
from ludory.testing.trial import Trial, require

Step = Callable[[Any, Any], Any]
"""`step(view, shown)`: a random legal move after what the view has shown; returns what it shows then, None if the game is over."""

MOVES = 3


def copied_engines_continue(trial: Trial) -> None:
    """Copies of a running engine are independent of it and play on like it."""
    for name, copied in _ways(trial).items():
        for step, engine in trial.positions(2):
            other = copied(engine)
            replay(engine, trial.recording, step, f"an engine after {name}")
            replay(other, trial.recording, step, f"an engine of {name}")


def copied_views_continue(trial: Trial) -> None:
    """Copies of the views, before the first and amid the game, are independent of them and show on what they would show."""
    views: Mapping[str, tuple[Callable[..., Any], Step]] = {
        "GameEnv": (GameEnv, _step_env),
        "GameVectorEnv": (lambda game: GameVectorEnv(game, 2), _step_vector),
        "make_aec": (make_aec, _step_aec),
        "make_parallel": (make_parallel, _step_parallel),
    }
    for view, (make, step) in views.items():
        for name, copied in _ways(trial).items():
            if (name, view) == ("copy.copy", "make_aec") and trial.facts.simultaneous:
                continue  # a wrapper of PettingZoo, whose copy shares what it wraps
            for moves in (0, MOVES):
                env = make(trial.game)
                shown = _played(env, step, env.reset(seed=trial.seed), moves)
                other = copied(env)
                after = _played(env, step, shown[-1], MOVES)
                where = f"{view} after {moves} moves: {name} shows another game"
                require(_same(_played(other, step, shown[-1], MOVES), after), where)


def _ways(trial: Trial) -> dict[str, Callable[[Any], Any]]:
    """Ways of copying by name. Another process, for which `pickle` is made, finds games by their id."""
    ways: dict[str, Callable[[Any], Any]] = {"copy.copy": copy.copy, "copy.deepcopy": copy.deepcopy}
    if trial.game.saves and trial.game.id in games.ids():
        ways["pickle"] = lambda original: pickle.loads(pickle.dumps(original))
    return ways


def _played(env: Any, step: Step, shown: Any, most: int) -> list[Any]:
    """What the view shows from `shown` on, in up to `most` moves that are the same for equal views."""
    for space in _spaces(env):
        space.seed(0)
    seen = [shown]
    while len(seen) <= most and seen[-1] is not None:
        seen.append(step(env, seen[-1]))
    return seen


def _spaces(env: Any) -> list[Any]:
    if hasattr(env, "possible_agents"):
        return [env.action_space(agent) for agent in env.possible_agents]
    return [getattr(env, "single_action_space", env.action_space)]


def _move(space: Any, mask: Any) -> Any:
    return space.sample() if isinstance(space, Box) else space.sample(np.asarray(mask, np.int8))


def _step_env(env: Any, shown: Any) -> Any:
    shown = env.step(_move(env.action_space, env.action_masks()))
    return None if shown[2] or shown[3] else shown


def _step_vector(env: Any, shown: Any) -> Any:
    return env.step(np.array([_move(env.single_action_space, mask) for mask in env.action_masks()]))


def _step_aec(env: Any, shown: Any) -> Any:
    seen, _, terminated, truncated, _ = env.last()
    env.step(None if terminated or truncated else _move(env.action_space(env.agent_selection), seen["action_mask"]))
    return (env.last(), dict(env.rewards)) if env.agents else None


def _step_parallel(env: Any, shown: Any) -> Any:
    masks = {agent: shown[0][agent]["action_mask"] for agent in env.agents}
    shown = env.step({agent: _move(env.action_space(agent), mask) for agent, mask in masks.items()})
    return shown if env.agents else None


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    if isinstance(one, list | tuple) or (isinstance(one, np.ndarray) and one.dtype.hasobject):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(np.array_equal(one, other))
