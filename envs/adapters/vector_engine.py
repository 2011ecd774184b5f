"""`VectorEngine`: a vector environment object of Gymnasium or Stable-Baselines3 as a batch of games."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from numpy.typing import NDArray

from ludory.envs.engine.external import ExternalEngine, Rows
from ludory.envs.game import Game
from ludory.envs.parts import Rules
from ludory.envs.views.gymnasium_vector import GameVectorEnv
from ludory.errors import OptionError

from .contract import Masks, finite_reward, started, stepped
from .engine import one_seat_facts
from .spaces import MASK, Actions, Observations

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv


class _Step(NamedTuple):
    """Result of a step of all rows; `seen` and `masks` by row, for ended games the final ones."""

    seen: list[Any]
    masks: list[Any]
    rewards: Any
    terminated: Any
    truncated: Any


class _Batch(Protocol):
    """A vector environment that resets ended rows on request, or one step later."""

    count: int
    observation_space: Space[Any]
    action_space: Space[Any]
    waits: bool
    """Whether ended rows begin their next game in the step after the end, which ignores their action."""

    def reset(self, rows: Rows, seed: int) -> tuple[list[Any], list[Any]]:
        """Reset `rows`; returns observations and masks (or None) of these rows. Without a game of all rows there is no seed."""

    def waiting(self) -> NDArray[np.bool_]:
        """(N,) bool: the next step of the row begins its game, whatever the action."""

    def step(self, actions: NDArray[Any]) -> _Step:
        """Step all rows."""

    def close(self) -> None:
        """Close the environment."""


class _GymnasiumBatch:
    """A `gymnasium.vector.VectorEnv` in its own autoreset mode.

    SAME_STEP: the observations of the next games are kept. NEXT_STEP: rows wait for the step that begins their next game, except in
    environments that are known to reset single rows. DISABLED: rows are reset on request.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self.env, self.count = env, env.num_envs
        self.observation_space, self.action_space = env.single_observation_space, env.single_action_space
        mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._same_step = mode is AutoresetMode.SAME_STEP
        # Wrappers, and vector environments of other people, need not know `reset_mask`.
        resets_rows = mode is AutoresetMode.DISABLED or isinstance(env, SyncVectorEnv | AsyncVectorEnv | GameVectorEnv)
        self.waits = not self._same_step and not resets_rows
        self._ended = np.zeros(self.count, bool)
        self._last: tuple[list[Any], list[Any]] = [], []
        self._begun: dict[int, tuple[Any, Any]] = {}

    def waiting(self) -> NDArray[np.bool_]:
        return self._ended

    def reset(self, rows: Rows, seed: int) -> tuple[list[Any], list[Any]]:
        # these have begun already, in the step in which the games before them ended
        if all(int(row) in self._begun for row in rows):
            found = [self._begun.pop(int(row)) for row in rows]
            return [seen for seen, _ in found], [mask for _, mask in found]
        whole = len(rows) == self.count
        if self.waits and not whole:
            if not self._ended[rows].all():
                raise OptionError(
                    f"{type(self.env).__name__} begins the next game of a row by itself, when one has ended; reset all rows, or those that ended"
                )
            # the next step begins them: until then the last observation is shown
            return [self._last[0][k] for k in rows], [None] * len(rows)
        for row in map(int, rows):
            self._begun.pop(row, None)
        self._ended = np.zeros(self.count, bool)
        options = {} if whole else {"reset_mask": np.isin(np.arange(self.count), rows)}
        seen, infos = started(self.env, seed if whole else None, options)
        return [_row(seen, k) for k in rows], [_mask(infos, k) for k in rows]

    def step(self, actions: NDArray[Any]) -> _Step:
        seen, rewards, terminated, truncated, infos = stepped(self.env, actions)
        shown, masks = [_row(seen, k) for k in range(self.count)], [_mask(infos, k) for k in range(self.count)]
        if self.waits:
            self._ended, self._last = np.asarray(terminated | truncated), (shown, masks)
        self._begun.clear()
        for k in map(int, np.flatnonzero(terminated | truncated) if self._same_step else ()):
            self._begun[k] = shown[k], masks[k]
            # the environment shows how the next game begins; how this one ended is in `infos`
            shown[k], masks[k] = _row(infos["final_obs"], k), None
        return _Step(shown, masks, rewards, terminated, truncated)

    def close(self) -> None:
        self.env.close()


class _SB3Batch:
    """A `VecEnv`, whose rows reset by themselves."""

    waits = False

    def __init__(self, env: VecEnv) -> None:
        self.env, self.count = env, env.num_envs
        self._none = np.zeros(self.count, bool)
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self._begun: dict[int, Any] = {}
        try:
            self._masked = bool(env.get_attr("action_masks"))
        except AttributeError:
            self._masked = False

    def _masks(self) -> list[Any]:
        return list(self.env.env_method("action_masks")) if self._masked else [None] * self.count

    def waiting(self) -> NDArray[np.bool_]:
        return self._none

    def reset(self, rows: Rows, seed: int) -> tuple[list[Any], list[Any]]:
        if len(rows) == self.count:
            self.env.seed(seed)
            seen = self.env.reset()
            self._begun.clear()
            return [_row(seen, k) for k in rows], self._masks()
        shown = []
        for row in map(int, rows):
            # a `VecEnv` cannot reset single rows: the environment of the row is reset itself
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
            # likewise: the row shows its next game already
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
    if MASK not in infos or not infos.get("_" + MASK, np.ones(k + 1, bool))[k]:
        return None
    return infos[MASK][k]


class VectorEngine(ExternalEngine):
    """Games of a vector environment; all rows are stepped at once, and finished games idle until they are reset.

    In a row that waits for its next game to begin, its seat does not decide: one action is legal and has no effect.
    """

    def __init__(self, *args: Any, batch: _Batch, **options: Any) -> None:
        self._batch, self._actions = batch, Actions(batch.action_space)
        self._observations = Observations(batch.observation_space, self._actions)
        super().__init__(*args, **options)
        self._masks = [Masks(self.game.name) for _ in range(self.num_games)]
        size, kind = self.facts.action_size, np.int64 if self.facts.box is None else np.float32
        self._played = np.zeros((self.num_games, size), kind)

    def start_games(self, rows: Rows, seeds: NDArray[np.int64], options: Mapping[str, Any]) -> None:
        """As for `ExternalEngine`; reset options are not passed on."""
        for row, seen, mask in zip(rows, *self._batch.reset(rows, int(seeds[0])), strict=True):
            self._show(row, seen, mask, begins=True)
        waiting = rows[self._batch.waiting()[rows]]
        self.state.deciding[waiting] = self.state.legal[waiting] = False
        self.state.legal[waiting[:, None], 0, self._offsets.astype(np.int64)] = True

    def play_games(self, rows: Rows, actions: NDArray[Any]) -> None:
        """As for `ExternalEngine`; other rows are stepped with action 0."""
        self._played[:] = 0
        self._played[rows] = actions
        # whose step begins a game
        state, waited = self.state, ~self.state.deciding[:, 0]
        found = self._batch.step(np.stack([self._actions.value(action) for action in self._played]))
        state.terminated[rows] = np.asarray(found.terminated)[rows]
        state.truncated[rows] = np.asarray(found.truncated)[rows] & ~state.terminated[rows]
        state.deciding[rows] = True
        for row in rows:
            self._show(row, found.seen[row], found.masks[row], waited[row], found.rewards[row])

    def _show(self, row: int, seen: Any, mask: Any, begins: bool, reward: Any = 0.0) -> None:
        """Write what a row shows; `begins`: its game begins here."""
        state = self.state
        try:
            self._observations.write(seen, state.observations[row, 0])
            if not (state.terminated[row] or state.truncated[row]):
                given = self._observations.mask(seen)
                self._masks[row].write(mask if given is None else given, state.legal[row, 0], begins)
            state.rewards[row, 0] = finite_reward(reward)
        except OptionError as error:
            raise OptionError(f"environment {row}: {error}") from error

    @property
    def deciding(self) -> NDArray[np.bool_]:
        """(N, 1) bool, who must act now; see `Engine.deciding`."""
        acting: NDArray[np.bool_] = super().deciding & self.state.deciding
        return acting


@dataclass(frozen=True)
class VectorAdapter:
    """`Rules.engine` of a vector environment."""

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
    name, actions = type(env).__name__, Actions(batch.action_space)
    try:
        observations = Observations(batch.observation_space, actions)
    except OptionError as error:
        raise OptionError(f"{name}: {error}") from error
    facts = one_seat_facts(name, observations.spec, actions, seats_wait=batch.waits)
    return Game(facts, Rules(engine=VectorAdapter(batch)))
