"""`Shaping`: training rewards for progress; results of games never include them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ludory.envs import Array, Engine, Game, on_host
from ludory.errors import OptionError


class Shaping:
    """Tracks `Analysis.progress` of a batch of games.

    Args:
        game: with a `progress`.
        engine: its batch of N games, P seats.
        scale: reward per unit of progress.

    Raises:
        OptionError: the game has no `progress`.
    """

    def __init__(self, game: Game, engine: Engine, scale: float) -> None:
        if game.analysis.progress is None:
            raise OptionError(f"shaping={scale}: {game.id or game.facts.name} has no progress to reward; leave it at 0")
        self._progress, self._engine, self._scale = game.analysis.progress, engine, scale
        self._before = self._now()

    @classmethod
    def of(cls, game: Game, engine: Engine, scale: float) -> Shaping | None:
        """None for a scale of 0."""
        return cls(game, engine, scale) if scale else None

    def _now(self) -> NDArray[np.float32]:
        return np.asarray(on_host(self._progress(self._engine.state)), np.float32)

    def gains(self, like: Array) -> Array:
        """(N, P): rewards for progress since the last call, or since `forget` of the game; an array or a tensor like `like`."""
        now = self._now()
        gained = np.asarray(self._scale * (now - self._before), np.float32)
        self._before = now
        return gained if isinstance(like, np.ndarray) else torch.from_numpy(gained).to(like.device)

    def forget(self, rows: NDArray[Any]) -> None:
        """Called when the games `rows` have just begun."""
        self._before[rows] = self._now()[rows]
