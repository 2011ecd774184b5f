"""`PooledEngine`: an `ExternalEngine` with one environment of a process pool per game."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.game import Game

from .external import NEW_GAME, ExternalEngine, ExternalState, Rows
from .pool_worker import ArraySpec, Environment
from .process_pool import OnCrash, ProcessPool

POOL_OPTIONS: Mapping[str, Any] = {"workers": 0, "worker_timeout": 60.0, "on_crash": "raise"}
"""`Rules.engine_options` of games that a `PooledEngine` plays."""
_UNSHARED = ("random", "engine")
"""Fields of the state that environments neither read nor write."""


class PooledEngine(ExternalEngine):
    """Plays each game in its own `Environment`; `Rules.engine` is `functools.partial(PooledEngine, environment=...)`.

    Environments write to the arrays of the state directly, so nothing is copied. The row of an environment has the fields of
    `ExternalState` except `random` and `engine`. Their values on entry to `reset` and `step` are those described at `start_games` and
    `play_games`.

    Args:
        environment: makes an environment; anything that cloudpickle accepts. A list has one such function per game.
        workers: number of processes; 0 plays in this process, which is best for a few cheap environments.
        worker_timeout: seconds that a worker may take for one step of all its environments.
        on_crash: "raise" a WorkerError; or "restart": the games of an environment that fails, or of a worker that crashes or hangs,
            end truncated with reward 0, and new environments play the next games.
        (others): as for `ExternalEngine`.
    """

    def __init__(
        self,
        game: Game,
        num_games: int = 1,
        seed: int | None = None,
        first_game: int = 0,
        threads: int | None = None,
        device: str = "cpu",
        *,
        environment: Callable[[], Environment] | Sequence[Callable[[], Environment]],
        workers: int = 0,
        worker_timeout: float = 60.0,
        on_crash: OnCrash = "raise",
    ) -> None:
        self._environment, self._pool_options = environment, (workers, worker_timeout, on_crash)
        super().__init__(game, num_games, seed, first_game, threads, device)

    def _new_state(self) -> ExternalState:
        state = super()._new_state()
        mine = {name: array for name, array in state._asdict().items() if name not in _UNSHARED}
        facts = self.facts
        shape = (facts.players, facts.action_size) if facts.simultaneous else (facts.action_size,)
        self.pool = self._made_pool(
            {name: ArraySpec(array.shape[1:], str(array.dtype)) for name, array in mine.items()},
            ArraySpec(shape, "int64" if facts.box is None else "float32"),
        )
        for name, array in mine.items():
            self.pool.arrays[name][:] = array
        return ExternalState(**(state._asdict() | {name: self.pool.arrays[name] for name in mine}))

    def _made_pool(self, layout: dict[str, ArraySpec], action: ArraySpec) -> ProcessPool:
        """The pool whose arrays hold at least those of `layout`."""
        made = self._environment
        factories = [made] * self.num_games if callable(made) else made
        return ProcessPool(factories, layout, action, *self._pool_options, new_game=NEW_GAME)

    def start_games(self, rows: Rows, seeds: NDArray[np.int64], options: Mapping[str, Any]) -> None:
        """As for `ExternalEngine`. An environment that fails here is made again once.

        Raises:
            WorkerError: it fails again, or `on_crash` is "raise".
        """
        self.pool.arrays["next_seed"][rows] = self.next_seeds(rows)
        given = {int(row): {name: values[k] for name, values in options.items()} for k, row in enumerate(rows)}
        self._start(rows, seeds, given if options else None)

    def _start(self, rows: Rows, seeds: NDArray[np.int64], given: Mapping[int, Mapping[str, Any]] | None) -> None:
        """Start games with options by row; see `start_games`."""
        failed = self.pool.reset(rows, seeds, given)
        if len(failed):
            again = np.isin(rows, failed)
            if len(self.pool.reset(rows[again], seeds[again], given)):
                assert self.pool.last_error is not None
                raise self.pool.last_error
            self._truncate(np.setdiff1d(failed, rows))

    def play_games(self, rows: Rows, actions: NDArray[Any]) -> None:
        """As for `ExternalEngine`. With on_crash="restart", games that are lost end truncated."""
        failed = self.pool.step(rows, actions)
        if len(failed):
            self.state.terminated[np.intersect1d(failed, rows)] = (
                False  # whatever the environment wrote before it crashed
            )
            self._truncate(failed)

    def _truncate(self, rows: NDArray[np.int64]) -> None:
        """End the running games of `rows`, whose environments are lost."""
        lost = rows[~self.state.terminated[rows]]
        self.state.rewards[lost] = 0
        self.state.truncated[lost] = True
        self._settle(lost)

    def close(self) -> None:
        """Close all environments and end the workers."""
        self.pool.close()
