"""`Shaping`: rewards of training for progress on the way; results of games are never counted with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine import Engine, on_host
from ludory.envs.game import Game
from ludory.errors import OptionError


class Shaping:
    """Follows `Game.progress` of a batch.

    Args:
        game: with a `progress`.
        engine: its batch of N games, P seats.
        scale: what a unit of progress is worth.

    Raises:
        OptionError: the game has no notion of progress.
    """

    def __init__(self, game: Game, engine: Engine, scale: float) -> None:
        if game.progress is None:
            raise OptionError(f"shaping={scale}: {game.id or game.facts.name} has no progress to reward; leave it at 0")
        self._progress, self._engine, self._scale = game.progress, engine, scale
        self._before = self._now()

    def _now(self) -> NDArray[np.float32]:
        return np.asarray(on_host(self._progress(self._engine.state)), np.float32)

    def gains(self) -> NDArray[np.float32]:
        """(N, P): what the seats made since the last call, or since `forget` of their game."""
        now = self._now()
        gained = self._scale * (now - self._before)
        self._before = now
        return np.asarray(gained, np.float32)

    def forget(self, rows: Any) -> None:
        """Games `rows` have just begun."""
        self._before[rows] = self._now()[rows]
