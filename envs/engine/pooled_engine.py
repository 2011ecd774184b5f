"""`PooledEngine`: an `ExternalEngine` over environments of the process pool, one per game."""

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
"""For `Game.engine_options` of games that are played by a `PooledEngine`."""
_UNSHARED = ("random", "engine")
"""Fields of the state that environments neither read nor write."""


class PooledEngine(ExternalEngine):
    """Plays each game in an `Environment` of its own; `Game.engine` is `functools.partial(PooledEngine, environment=...)`.

    The arrays of the state are those that the environments write, so nothing is copied. The row of an environment has the fields of
    `ExternalState` but for `random` and `engine`; on entry to `reset` and `step` they hold what `start_games` and `play_games` say.

    Args:
        environment: makes an environment; anything that cloudpickle takes. A list: one such function for each game.
        workers: how many processes play; 0: this one, right for a few cheap environments.
        worker_timeout: seconds that a worker may take for one step of all its environments.
        on_crash: "raise" a WorkerError; or "restart": games of an environment that fails, or of a worker that crashes or hangs,
            end truncated with reward 0, and new environments play the next ones.
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
        self.pool = ProcessPool(
            [self._environment] * self.num_games if callable(self._environment) else self._environment,
            {name: ArraySpec(array.shape[1:], str(array.dtype)) for name, array in mine.items()},
            ArraySpec(shape, "int64" if facts.box is None else "float32"),
            *self._pool_options,
            new_game=NEW_GAME,
        )
        for name, array in mine.items():
            self.pool.arrays[name][:] = array
        return ExternalState(**(state._asdict() | {name: self.pool.arrays[name] for name in mine}))

    def start_games(self, rows: Rows, seeds: NDArray[np.int64], options: Mapping[str, Any]) -> None:
        """See `ExternalEngine`. An environment that fails here is made anew once.

        Raises:
            WorkerError: it fails again, or `on_crash` is "raise".
        """
        self.pool.arrays["next_seed"][rows] = self.next_seeds(rows)
        given = {int(row): {name: values[k] for name, values in options.items()} for k, row in enumerate(rows)}
        failed = self.pool.reset(rows, seeds, given if options else None)
        if len(failed):
            again = np.isin(rows, failed)
            if len(self.pool.reset(rows[again], seeds[again], given if options else None)):
                assert self.pool.last_error is not None
                raise self.pool.last_error
            self._truncate(np.setdiff1d(failed, rows))

    def play_games(self, rows: Rows, actions: NDArray[Any]) -> None:
        """See `ExternalEngine`."""
        failed = self.pool.step(rows, actions)
        if len(failed):
            self.state.terminated[np.intersect1d(failed, rows)] = False  # whatever was written before the crash
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
