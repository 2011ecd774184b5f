"""Stable-Baselines3 view: a batch of games as a `VecEnv`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from ludory.envs.engine.protocol import Array
from ludory.errors import NotResetError, OptionError

from .common import CopiedWhole
from .gymnasium_vector import GameVectorEnv

Indices = int | Iterable[int] | None
OTHERS = "others/"
"""Prefix of the memories of other players in `running`."""


def to_sb3(vector_env: VectorEnv[Any, Any, Any]) -> GameVecEnv:
    """Convert a batch of games that `gym.make_vec` or `make_vector_env` made to a `VecEnv`.

    `MaskablePPO` of sb3-contrib finds the legal masks. Seats and other players are those of the vector environment.

    Raises:
        OptionError: it is another environment, or its autoreset mode is not SAME_STEP.
    """
    if not isinstance(vector_env, GameVectorEnv):
        raise OptionError(
            f"to_sb3: got a {type(vector_env).__name__}, give what make_vector_env or gym.make_vec made, unwrapped"
        )
    if vector_env.autoreset_mode is not AutoresetMode.SAME_STEP:
        raise OptionError(
            f"to_sb3: autoreset_mode is {vector_env.autoreset_mode.value!r}, Stable-Baselines3 needs 'SameStep'"
        )
    return GameVecEnv(vector_env)


class GameVecEnv(CopiedWhole, VecEnv):
    """The games of a `GameVectorEnv`, with NumPy arrays on the CPU wherever the games are.

    `infos` of rows whose game ended have `terminal_observation`, `TimeLimit.truncated`, `returns` float32 (P,) and, as with SB3's
    `Monitor`, `episode` with return `r`, length `l` and seconds since the start `t`; other rows have an empty info. `VecMonitor` is not
    needed, and does not count anything twice.

    `seed(s)` and the next `reset()` start game k of seed s in row k.
    """

    def __init__(self, vector_env: GameVectorEnv) -> None:
        self.vector_env, self.metadata = vector_env, vector_env.metadata
        self.actions: NDArray[Any] | None = None
        self._seed: int | None = None
        self._start_options: dict[str, Any] | None = None
        self._lengths = np.zeros(vector_env.num_envs, np.int64)
        self._began = time.time()
        super().__init__(vector_env.num_envs, vector_env.single_observation_space, vector_env.single_action_space)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set the seed of the next reset; None draws one. Returns it once per row: row k plays game k of the seed."""
        self._seed = int(np.random.default_rng().integers(2**62)) if seed is None else seed
        return [self._seed] * self.num_envs

    def set_options(self, options: dict[str, Any] | list[dict[str, Any]] | None = None) -> None:
        """Set the options of the game for the next reset, one dict for all rows (its arrays have an entry per row).

        Raises:
            OptionError: it is a list of dicts.
        """
        if options is not None and not isinstance(options, dict):
            raise OptionError("set_options: give one dict for all rows, with arrays that have an entry per row")
        self._start_options = options

    def reset(self) -> NDArray[Any]:
        """Start games in all rows; returns observations (n, *shape)."""
        observations, _ = self.vector_env.reset(seed=self._seed, options=self._start_options)
        self._seed = self._start_options = None
        self._lengths[:] = 0
        return _numpy(observations)

    def step_async(self, actions: NDArray[Any]) -> None:
        """Store the actions (n,) or (n, H)."""
        self.actions = actions

    def step_wait(self) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Play the actions; returns observations (n, *shape), rewards (n,), dones (n,) and infos.

        Raises:
            IllegalActionError: as in the vector environment.
            NotResetError: `step_async` was not called.
        """
        if self.actions is None:
            raise NotResetError("step_wait() without actions; call step(actions), or step_async(actions) first")
        actions, self.actions = self.actions, None
        observations, rewards, terminated, truncated, info = self.vector_env.step(actions)
        self._lengths += 1
        dones = _numpy(terminated | truncated)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]  # wrappers write into each
        if dones.any():
            self._fill_infos(infos, np.flatnonzero(dones), _numpy(truncated & ~terminated), info)
        return _numpy(observations), _numpy(rewards), dones, infos

    def _fill_infos(
        self, infos: list[dict[str, Any]], rows: NDArray[np.int64], truncated: NDArray[np.bool_], info: dict[str, Any]
    ) -> None:
        seconds, returns = round(time.time() - self._began, 6), _numpy(info["final_info"]["returns"])
        for row in rows:
            own = float(returns[row, self.vector_env.reward_seat])
            infos[row] = {
                "terminal_observation": _numpy(info["final_obs"][row]),
                "TimeLimit.truncated": bool(truncated[row]),
                "returns": returns[row],
                "episode": {"r": own, "l": int(self._lengths[row]), "t": seconds},
            }
        self._lengths[rows] = 0

    @property
    def starts(self) -> NDArray[np.bool_]:
        """(n,) bool: no action has been played yet in the row's game."""
        fresh: NDArray[np.bool_] = self._lengths == 0
        return fresh

    def running(self) -> dict[str, NDArray[Any]]:
        """Returns and lengths of unfinished games, and memories of other players; together with `vector_env.engine.fields()` all that `resume` needs."""
        others = {OTHERS + name: _numpy(array) for name, array in self.vector_env.players_state().items()}
        return {"returns": _numpy(self.vector_env.running_returns), "lengths": self._lengths} | others

    def resume(self, running: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Continue the games that the engine has restored, instead of a reset; returns observations (n, *shape).

        If memories of other players are missing (see `PolicySeats.restore`), new games are started.

        Args:
            running: the result of `running`.
        """
        others = {name.removeprefix(OTHERS): array for name, array in running.items() if name.startswith(OTHERS)}
        known = self.vector_env.restore_players(others)
        self._lengths[:] = running["lengths"]
        observations = _numpy(self.vector_env.resume(running["returns"], running["lengths"]))
        return observations if known else self.reset()

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal masks bool (n, A) of the next actions."""
        return _numpy(self.vector_env.action_masks())

    def _mask_of(self, row: int) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = self.action_masks()[row]
        return mask

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Attribute of the vector environment, once per row, since all rows share it. `action_masks` is a function per row.

        Raises:
            AttributeError: there is no such attribute.
        """
        rows = list(self._get_indices(indices))
        if attr_name == "action_masks":
            return [partial(self._mask_of, row) for row in rows]
        return [getattr(self.vector_env, attr_name)] * len(rows)

    def set_attr(self, attr_name: str, value: object, indices: Indices = None) -> None:
        """Set an attribute of the vector environment, which all rows share.

        Raises:
            OptionError: `indices` does not include all rows.
        """
        if len(set(self._get_indices(indices))) != self.num_envs:
            raise OptionError(f"set_attr({attr_name!r}): all rows share one environment; leave indices out")
        setattr(self.vector_env, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """`action_masks` of the rows; call other methods on the vector environment, where they work on all rows at once.

        Raises:
            AttributeError: any other method.
        """
        if method_name != "action_masks":
            raise AttributeError(
                f"rows have no method {method_name!r}, only 'action_masks'; call vec_env.vector_env.{method_name}(...)"
            )
        masks = self.action_masks()
        return [masks[row] for row in self._get_indices(indices)]

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: Indices = None
    ) -> list[bool]:
        """True for `Monitor`, whose work this class does, else False."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[Any] | None]:
        """The pixels of each row's game, if the vector environment was made with render_mode="rgb_array"; else None per row."""
        if self.vector_env.render_mode != "rgb_array":
            return [None] * self.num_envs
        return self.vector_env.render() or ()

    def __repr__(self) -> str:
        return f"<GameVecEnv of {self.num_envs:,} x {self.vector_env.game.name}>"

    def _repr_html_(self) -> str:
        return self.vector_env._repr_html_()

    def close(self) -> None:
        """Close the vector environment."""
        self.vector_env.close()


def _numpy(array: Array) -> NDArray[Any]:
    on_cpu: NDArray[Any] = array if isinstance(array, np.ndarray) else array.cpu().numpy()
    return on_cpu
