"""`VectorEngine`: a vector environment object of Gymnasium or Stable-Baselines3 as a batch of games."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from ludory.envs.engine.external import ExternalEngine, Rows
from ludory.envs.game import Game
from ludory.errors import OptionError

from .engine import one_seat_facts
from .gymnasium_game import MASK, flat_mask
from .spaces import Actions, Observations


class _Step(NamedTuple):
    """Result of a step of all rows; `seen` and `masks` by row, for ended games the final ones."""

    seen: list[Any]
    masks: list[Any]
    rewards: Any
    terminated: Any
    truncated: Any


class _Batch(Protocol):
    """A vector environment that resets ended rows on request."""

    count: int
    observation_space: Space[Any]
    action_space: Space[Any]

    def reset(self, rows: Rows, seeds: NDArray[np.int64]) -> tuple[list[Any], list[Any]]:
        """Reset `rows`; returns observations and masks (or None) of these rows."""

    def step(self, actions: NDArray[Any]) -> _Step:
        """Step all rows."""

    def close(self) -> None:
        """Close the environment."""


class _GymnasiumBatch:
    """A `gymnasium.vector.VectorEnv`; if it resets rows in the same step, the observations of the next games are kept."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self.env, self.count = env, env.num_envs
        self.observation_space, self.action_space = env.single_observation_space, env.single_action_space
        self._same_step = env.metadata.get("autoreset_mode") is AutoresetMode.SAME_STEP
        self._begun: dict[int, tuple[Any, Any]] = {}

    def reset(self, rows: Rows, seeds: NDArray[np.int64]) -> tuple[list[Any], list[Any]]:
        if all(int(row) in self._begun for row in rows):
            found = [self._begun.pop(int(row)) for row in rows]
            return [seen for seen, _ in found], [mask for _, mask in found]
        every: list[int | None] = [None] * self.count
        for row, seed in zip(rows, seeds, strict=True):
            every[row] = int(seed)
            self._begun.pop(int(row), None)
        options = None if len(rows) == self.count else {"reset_mask": np.isin(np.arange(self.count), rows)}
        seen, infos = self.env.reset(seed=every, options=options)  # type: ignore[arg-type]  # a seed per row is allowed
        return [_row(seen, k) for k in rows], [_mask(infos, k) for k in rows]

    def step(self, actions: NDArray[Any]) -> _Step:
        seen, rewards, terminated, truncated, infos = self.env.step(actions)
        shown, masks = [_row(seen, k) for k in range(self.count)], [_mask(infos, k) for k in range(self.count)]
        self._begun.clear()
        for k in map(int, np.flatnonzero(terminated | truncated) if self._same_step else ()):
            self._begun[k] = shown[k], masks[k]
            shown[k], masks[k] = _row(infos["final_obs"], k), None
        return _Step(shown, masks, rewards, terminated, truncated)

    def close(self) -> None:
        self.env.close()


class _SB3Batch:
    """A `VecEnv`, whose rows reset by themselves."""

    def __init__(self, env: VecEnv) -> None:
        self.env, self.count = env, env.num_envs
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self._begun: dict[int, Any] = {}
        try:
            self._masked = bool(env.get_attr("action_masks"))
        except AttributeError:
            self._masked = False

    def _masks(self) -> list[Any]:
        return list(self.env.env_method("action_masks")) if self._masked else [None] * self.count

    def reset(self, rows: Rows, seeds: NDArray[np.int64]) -> tuple[list[Any], list[Any]]:
        if len(rows) == self.count:
            self.env.seed(int(seeds[0]))
            seen = self.env.reset()
            self._begun.clear()
            return [_row(seen, k) for k in rows], self._masks()
        shown = []
        for row in map(int, rows):
            one = self._begun.pop(row) if row in self._begun else self.env.env_method("reset", indices=[row])[0][0]
            shown.append(one)
        masks = self._masks()
        return shown, [masks[row] for row in rows]

    def step(self, actions: NDArray[Any]) -> _Step:
        seen, rewards, dones, infos = self.env.step(actions)
        shown, masks = [_row(seen, k) for k in range(self.count)], self._masks()
        truncated = np.zeros(self.count, bool)
        self._begun.clear()
        for k in map(int, np.flatnonzero(dones)):
            self._begun[k] = shown[k]
            shown[k], masks[k] = infos[k]["terminal_observation"], None
            truncated[k] = infos[k].get("TimeLimit.truncated", False)
        return _Step(shown, masks, rewards, dones & ~truncated, truncated)

    def close(self) -> None:
        self.env.close()


def _row(batch: Any, k: int) -> Any:
    """Entry k of every array of a batch of observations."""
    if isinstance(batch, Mapping):
        return {key: _row(part, k) for key, part in batch.items()}
    return tuple(_row(part, k) for part in batch) if isinstance(batch, tuple) else batch[k]


def _mask(infos: Mapping[str, Any], k: int) -> Any:
    return infos[MASK][k] if MASK in infos else None


class VectorEngine(ExternalEngine):
    """Games of a vector environment; all rows are stepped at once, and finished games idle until they are reset."""

    def __init__(self, *args: Any, batch: _Batch, **options: Any) -> None:
        self._batch = batch
        self._observations, self._actions = Observations(batch.observation_space), Actions(batch.action_space)
        super().__init__(*args, **options)
        size, kind = self.facts.action_size, np.int64 if self.facts.box is None else np.float32
        self._played = np.zeros((self.num_games, size), kind)

    def start_games(self, rows: Rows, seeds: NDArray[np.int64], options: Mapping[str, Any]) -> None:
        """As for `ExternalEngine`; reset options are not passed on."""
        for row, seen, mask in zip(rows, *self._batch.reset(rows, seeds), strict=True):
            self._show(row, seen, mask)

    def play_games(self, rows: Rows, actions: NDArray[Any]) -> None:
        """As for `ExternalEngine`; other rows are stepped with action 0."""
        self._played[:] = 0
        self._played[rows] = actions
        found = self._batch.step(np.stack([self._actions.value(action) for action in self._played]))
        state = self.state
        state.rewards[rows, 0] = np.asarray(found.rewards)[rows]
        state.terminated[rows] = np.asarray(found.terminated)[rows]
        state.truncated[rows] = np.asarray(found.truncated)[rows] & ~state.terminated[rows]
        for row in rows:
            self._show(row, found.seen[row], found.masks[row])

    def _show(self, row: int, seen: Any, mask: Any) -> None:
        self._observations.write(seen, self.state.observations[row, 0])
        if mask is not None:
            self.state.legal[row, 0] = flat_mask(mask)


@dataclass(frozen=True)
class VectorAdapter:
    """`Game.engine` of a vector environment."""

    batch: _Batch

    @property
    def num_envs(self) -> int:
        """The only number of games that it can play."""
        return self.batch.count

    def __call__(self, game: Game, num_games: int = 1, *args: Any, **options: Any) -> VectorEngine:
        """The batch.

        Raises:
            OptionError: another number of games.
        """
        if num_games != self.num_envs:
            raise OptionError(
                f"{game.name} plays {self.num_envs} games, got num_games={num_games}; give the id or the class of one environment"
            )
        return VectorEngine(game, num_games, *args, batch=self.batch, **options)


def game_of_vector(env: VectorEnv[Any, Any, Any] | VecEnv) -> Game:
    """The game of a vector environment.

    Raises:
        OptionError: spaces that cannot be translated.
    """
    batch: _Batch = _GymnasiumBatch(env) if isinstance(env, VectorEnv) else _SB3Batch(env)
    observations, actions = Observations(batch.observation_space), Actions(batch.action_space)
    facts = one_seat_facts(type(env).__name__, observations.spec, actions)
    return Game(facts, engine=VectorAdapter(batch))
