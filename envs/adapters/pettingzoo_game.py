"""`pettingzoo:connect_four_v3`, `pettingzoo:my_module:env`: environments of PettingZoo as games, in turns (AEC) or simultaneous (parallel)."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, Literal, TypeAlias

import gymnasium
import numpy as np
import pettingzoo
from numpy.typing import NDArray
from pettingzoo import AECEnv, ParallelEnv

from ludory.envs.engine.pool_worker import Row
from ludory.envs.facts import GameFacts, Head
from ludory.envs.game import Game
from ludory.errors import OptionError, UnknownIdError
from ludory.plugins.requirements import missing_dependency

from .contract import finite_reward, flat_mask, reset, started, stepped
from .engine import ENGINE_OPTIONS, NO_LIMIT, AdaptedEnvironment, adapted_game
from .gymnasium_game import NamedEnvironment, attribute
from .spaces import MASK, Actions, Observations

FAMILIES = ("classic", "butterfly", "atari", "sisl")
"""Modules of PettingZoo with its environments."""
TRIAL_GAMES, TRIAL_STEPS = 4, 400
"""Number of random games, and of steps of each, that are played to find the kind of the rewards."""
Reward = Literal["shared", "zero_sum", "general"]
Env: TypeAlias = AECEnv[Any, Any, Any] | ParallelEnv[Any, Any, Any]


class AgentSpaces:
    """Observations and actions of the agents of an environment. All see the same space; actions that a seat does not have are masked.

    Raises:
        OptionError: their observation spaces differ, or only some actions are continuous.
    """

    def __init__(self, env: Env) -> None:
        self.agents = list(env.possible_agents)
        self.actions = [Actions(env.action_space(agent)) for agent in self.agents]
        spaces = [env.observation_space(agent) for agent in self.agents]
        self._observations = [Observations(*pair) for pair in zip(spaces, self.actions, strict=True)]
        self.spec = self._observations[0].spec
        for agent, other in zip(self.agents, self._observations, strict=True):
            if (other.spec.shape, other.spec.dtype) != (self.spec.shape, self.spec.dtype):
                raise OptionError(
                    f"{agent} sees {other.spec.dtype} {other.spec.shape}, {self.agents[0]} {self.spec.dtype} {self.spec.shape}: "
                    "all agents must see the same; wrap the environment, e.g. with supersuit.pad_observations_v0"
                )
        self.box, self.heads = self.actions[0].box, self._common_heads()

    def _common_heads(self) -> tuple[Head, ...]:
        first = self.actions[0]
        for agent, other in zip(self.agents, self.actions, strict=True):
            if other.box != first.box or len(other.heads) != len(first.heads):
                raise OptionError(
                    f"{agent} and {self.agents[0]} act in different spaces; wrap the environment to make them equal"
                )
        sizes = [max(other.heads[k].size for other in self.actions) for k in range(len(first.heads))]
        return tuple(Head(head.name, size) for head, size in zip(first.heads, sizes, strict=True))

    def write(
        self, seat: int, seen: object, info: Mapping[str, Any], observation: NDArray[Any], mask: NDArray[np.bool_]
    ) -> None:
        """Write what a seat sees and its legal actions."""
        given = self._observations[seat].mask(seen)
        given = info.get(MASK) if given is None else given
        self._observations[seat].write(seen, observation)
        start = 0
        legal = None if given is None else flat_mask(given)
        for head, own in zip(self.heads, self.actions[seat].heads, strict=True):
            mask[start : start + head.size] = False
            # actions beyond a seat's own stay illegal
            mask[start : start + own.size] = True if legal is None else legal[: own.size]
            # a mask has the entries of a seat's own heads, one after another
            legal = None if legal is None else legal[own.size :]
            start += head.size


class AecEnvironment(AdaptedEnvironment):
    """An AEC environment in a `PooledEngine`: its agents move in turns."""

    def __init__(self, env: AECEnv[Any, Any, Any]) -> None:
        self.env, self.seats = env, AgentSpaces(env)
        self._number = {agent: seat for seat, agent in enumerate(self.seats.agents)}

    def reset(self, seed: int, options: Mapping[str, Any], row: Row) -> None:
        """Reset the environment; write what every agent sees."""
        reset(self.env, seed, options)
        self._show(row)

    def step(self, action: NDArray[Any], row: Row) -> None:
        """Step the environment with the action of the agent whose turn it is."""
        env = self.env
        env.step(self.seats.actions[self._number[env.agent_selection]].value(action))
        self._add_rewards(row)
        # Each attribute of a wrapped environment passes through all its wrappers, so most steps read as few as possible.
        if any(env.terminations.values()) or any(env.truncations.values()) or not env.agents:
            self._end_seats(row)
        self._show(row)

    def _end_seats(self, row: Row) -> None:
        """Step for the agents that are out; write how the game ended if all are."""
        env = self.env
        while env.agents and not self._over() and self._done(env.agent_selection):
            env.step(None)  # AEC requires agents that are out to step with None
            self._add_rewards(row)
        if self._over():
            row.terminated[...] = ended = any(env.terminations.values()) or not env.agents
            row.truncated[...] = not ended

    def _add_rewards(self, row: Row) -> None:
        for agent, reward in self.env.rewards.items():
            row.rewards[self._number[agent]] += finite_reward(reward)

    def _done(self, agent: str) -> bool:
        return bool(self.env.terminations[agent] or self.env.truncations[agent])

    def _over(self) -> bool:
        return not self.env.agents or all(self._done(agent) for agent in self.env.agents)

    def _show(self, row: Row) -> None:
        env = self.env
        agents, infos = env.agents, env.infos
        if not agents:
            return
        seat = self._number[env.agent_selection]
        row.to_move[...] = seat
        for agent in agents:
            here = self._number[agent]
            # the masks of the others are not kept
            mask = row.legal[0] if here == seat else np.empty(len(row.legal[0]), bool)
            self.seats.write(here, env.observe(agent), infos.get(agent, {}), row.observations[here], mask)


class ParallelEnvironment(AdaptedEnvironment):
    """A parallel environment in a `PooledEngine`: all agents act at once; agents that leave `agents` are out."""

    def __init__(self, env: ParallelEnv[Any, Any, Any]) -> None:
        self.env, self.seats = env, AgentSpaces(env)

    def reset(self, seed: int, options: Mapping[str, Any], row: Row) -> None:
        """Reset the environment; write what every agent sees."""
        seen, infos = started(self.env, seed, options)
        present = np.array([agent in self.env.agents for agent in self.seats.agents])
        row.alive[:], row.deciding[:] = present, present
        self._show(seen, infos, row)

    def step(self, action: NDArray[Any], row: Row) -> None:
        """Step the environment with the actions of all agents that are left."""
        seats = enumerate(self.seats.agents)
        given = {agent: self.seats.actions[k].value(action[k]) for k, agent in seats if agent in self.env.agents}
        seen, rewards, terminated, truncated, infos = stepped(self.env, given)
        cut = False
        for seat, agent in enumerate(self.seats.agents):
            row.rewards[seat] = finite_reward(rewards.get(agent, 0.0))
            if agent in given and (terminated.get(agent) or truncated.get(agent)):
                cut = cut or not terminated.get(agent)
                row.seat_terminated[seat] = True
        left = [agent for agent in self.env.agents if not (terminated.get(agent) or truncated.get(agent))]
        if left:
            row.alive[:] = row.deciding[:] = [agent in left for agent in self.seats.agents]
        else:
            row.terminated[...], row.truncated[...] = not cut, cut
            row.seat_terminated[:] = row.seat_terminated & (not cut)
        self._show(seen, infos, row)

    def _show(self, seen: Mapping[str, Any], infos: Mapping[str, Any], row: Row) -> None:
        for seat, agent in enumerate(self.seats.agents):
            if agent in seen:
                self.seats.write(seat, seen[agent], infos.get(agent, {}), row.observations[seat], row.legal[seat])
            # a mask must have a legal action, also of a seat that is out
            if not row.alive[seat]:
                row.legal[seat] = False
                row.legal[seat, np.cumsum([0, *(head.size for head in self.seats.heads)])[:-1]] = True


def make_game(environment: str, reward: Reward | None = None, parallel: bool = False, **options: Any) -> Game:
    """Make the game of an environment of PettingZoo (`connect_four_v3`) or of a module (`my_module`, `my_module:env`).

    Args:
        environment: the part of the id after `pettingzoo:`.
        reward: "shared", "zero_sum" or "general"; None: found by playing a few random games.
        parallel: use the module's `parallel_env` even if it has `env`.
        options: options of the environment; and `workers`, `worker_timeout` and `on_crash` of the engine.

    Raises:
        UnknownIdError: there is no such environment.
        PluginError: it needs a package that is not installed.
        OptionError: it does not accept an option, or its spaces cannot be translated.
    """
    kwargs = {name: value for name, value in options.items() if name not in ENGINE_OPTIONS}
    maker = NamedEnvironment(f"pettingzoo:{environment}", partial(_make, parallel), kwargs)
    return game_of_maker(maker, maker.id, reward)


def _make(parallel: bool, environment: str, **options: Any) -> Env:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        function = attribute(environment)
        if function is None:
            module = _module(environment)
            # `env` has PettingZoo's wrappers, which check orders and actions; `raw_env` has none
            names = ("parallel_env", "env") if parallel else ("env", "parallel_env", "raw_env")
            function = next((getattr(module, name) for name in names if hasattr(module, name)), None)
            if function is None:
                raise UnknownIdError(
                    f"the module {module.__name__} has neither `env` nor `parallel_env`; type module:function"
                )
        return checked(function(**options), f"pettingzoo:{environment}")


def checked(env: object, id: str) -> Env:
    """`env`, if it is an environment of PettingZoo.

    Raises:
        OptionError: it is not.
    """
    if not isinstance(env, AECEnv | ParallelEnv):
        raise OptionError(f"{id} makes a {type(env).__name__}, must make an AECEnv or a ParallelEnv of PettingZoo")
    return env


def _module(name: str) -> Any:
    """The module of an environment, in one of PettingZoo's families or anywhere."""
    candidates = [name] if "." in name else [f"pettingzoo.{family}.{name}" for family in FAMILIES] + [name]
    for candidate in candidates:
        try:
            return importlib.import_module(candidate)
        except ModuleNotFoundError as error:
            if error.name is None or not (candidate == error.name or candidate.startswith(error.name + ".")):
                family = tuple(part for part in candidate.split(".") if part in FAMILIES)
                raise missing_dependency(f"pettingzoo:{name}", error.name or "", "pettingzoo", family) from error
    known = [
        module.name
        for family in FAMILIES
        for module in pkgutil.iter_modules([f"{pettingzoo.__path__[0]}/{family}"])
        if not module.ispkg
    ]
    near = " or ".join(f"pettingzoo:{found}" for found in difflib.get_close_matches(name, known, 3, 0.6))
    hint = f"did you mean {near}?" if near else f"it has {', '.join(known)}"
    raise UnknownIdError(f"PettingZoo has no environment {name!r}; {hint}")


def game_of_maker(
    maker: Callable[[str | None], Env] | Sequence[Callable[[str | None], Env]], name: str, reward: Reward | None = None
) -> Game:
    """The game of environments; its facts are read from one of them.

    Args:
        maker: `maker(render_mode)` makes an environment; a list has one maker for each existing environment.
        name: name in tables and errors.
        reward: kind of the rewards; None: found by playing a few random games.
    """
    if reward not in (None, "shared", "zero_sum", "general"):
        raise OptionError(f"reward={reward!r}: must be 'shared', 'zero_sum' or 'general'")
    env = (maker if callable(maker) else maker[0])(None)
    try:
        seats = AgentSpaces(env)
        kind, seconds = _trial(env, len(seats.agents))
    except OptionError as error:
        raise OptionError(f"{name}: {error}") from error
    turns: Literal["sequential", "simultaneous"] = "sequential" if isinstance(env, AECEnv) else "simultaneous"
    facts = GameFacts(
        name,
        len(seats.agents),
        turns,
        reward or kind,
        hidden_information=True,
        chance=True,
        heads=seats.heads,
        box=seats.box,
        observation=seats.spec,
        longest_game=NO_LIMIT,
        min_return=-np.inf,
        max_return=np.inf,
        seats_leave=turns == "simultaneous",
    )
    return adapted_game(facts, maker, _wrapped, env, seconds)


def _wrapped(env: Env) -> AecEnvironment | ParallelEnvironment:
    return AecEnvironment(env) if isinstance(env, AECEnv) else ParallelEnvironment(env)


def _trial(env: Env, players: int) -> tuple[Reward, float]:
    """Kind of the rewards in a few random games, and seconds per step."""
    returns, steps, started = np.zeros((TRIAL_GAMES, players)), 0, perf_counter()
    random = np.random.default_rng(0)
    play = _aec_return if isinstance(env, AECEnv) else _parallel_return
    for game in range(TRIAL_GAMES):
        returns[game], taken = play(env, game, random)
        steps += taken
    seconds = (perf_counter() - started) / max(1, steps)
    # returns that are all 0 tell nothing
    if players == 1 or (np.allclose(returns, returns[:, :1]) and np.any(returns)):
        return "shared", seconds
    return ("zero_sum" if np.any(returns) and np.allclose(returns.sum(1), 0) else "general"), seconds


def _draw(
    space: gymnasium.spaces.Space[Any], seen: object, info: Mapping[str, Any], random: np.random.Generator
) -> Any:
    mask = seen.get(MASK) if isinstance(seen, dict) else None
    mask = info.get(MASK) if mask is None else mask
    if mask is not None and isinstance(space, gymnasium.spaces.Discrete):
        return int(random.choice(np.flatnonzero(mask))) + int(space.start)
    space.seed(int(random.integers(2**31)))
    return space.sample()


def _aec_return(env: AECEnv[Any, Any, Any], seed: int, random: np.random.Generator) -> tuple[NDArray[np.float64], int]:
    reset(env, seed, {})
    total, steps = dict.fromkeys(env.possible_agents, 0.0), 0
    while env.agents and steps < TRIAL_STEPS:
        agent = env.agent_selection
        done = env.terminations[agent] or env.truncations[agent]
        seen = None if done else env.observe(agent)
        env.step(None if done else _draw(env.action_space(agent), seen, env.infos.get(agent, {}), random))
        if not done:
            for other, reward in env.rewards.items():
                total[other] += finite_reward(reward)
        steps += 1
    return np.array([total[agent] for agent in env.possible_agents]), steps


def _parallel_return(
    env: ParallelEnv[Any, Any, Any], seed: int, random: np.random.Generator
) -> tuple[NDArray[np.float64], int]:
    seen, infos = started(env, seed, {})
    total, steps = dict.fromkeys(env.possible_agents, 0.0), 0
    while env.agents and steps < TRIAL_STEPS:
        actions = {a: _draw(env.action_space(a), seen[a], infos.get(a, {}), random) for a in env.agents}
        seen, rewards, _, _, infos = stepped(env, actions)
        for agent, reward in rewards.items():
            total[agent] += finite_reward(reward)
        steps += 1
    return np.array([total[agent] for agent in env.possible_agents]), steps
