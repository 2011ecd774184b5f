"""Array view: a batch of games whose arrays belong to JAX, PyTorch or another library that takes DLPack, without a copy."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ludory.envs.engine.protocol import Array
from ludory.envs.engine.storage import aligned_empty
from ludory.envs.game import Game
from ludory.envs.make import make_engine
from ludory.errors import OptionError, PluginError

from .common import CopiedWhole

LIBRARIES = {"jax": "jax.dlpack", "torch": "torch", "numpy": "numpy"}
"""Module of each library with its `from_dlpack`."""


class ArrayStep(NamedTuple):
    """N games as arrays of one library. A = sum of the head sizes; in simultaneous games `observation` and `mask` have a seat axis."""

    observation: Any
    """(N, *shape) of the seat to move; simultaneous (N, P, *shape)."""
    mask: Any
    """(N, A) bool, legal actions; simultaneous (N, P, A)."""
    to_move: Any
    """(N,) int32, -1 in finished games; 0 in simultaneous games that run."""
    rewards: Any
    """(N, P) float32, of the last step."""
    terminated: Any
    """(N,) bool."""
    truncated: Any
    """(N,) bool."""


class SupportsDLPack(Protocol):
    """An array of any library that exchanges arrays by DLPack."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        """The array as a capsule."""

    def __dlpack_device__(self) -> Any:
        """Kind and number of its device."""


class ArrayGames(CopiedWhole):
    """A batch of games on the CPU or a CUDA device; on the CPU observations are handed over where the kernels wrote them.

    Arrays are new ones in every step, so they may be kept. Games are not reset by themselves: pass the finished rows to `reset`.

    Args:
        game: id, or a `Game`.
        num_games: N.
        library: "jax", "torch", "numpy", or a function that takes an object with `__dlpack__`.
        device: "cpu" or "cuda".
        seed: of all draws; None draws one.
        options: of the game.

    Raises:
        OptionError: no such library; or as `make_engine`.
        PluginError: the library is not installed.
    """

    def __init__(
        self,
        game: str | Game,
        num_games: int = 1,
        library: str | Callable[[Any], Any] = "jax",
        *,
        device: str = "cpu",
        seed: int | None = None,
        **options: Any,
    ) -> None:
        self._convert = _converter(library)
        self.engine = make_engine(game, num_games, device, seed, **options)

    def reset(self, rows: ArrayLike | SupportsDLPack | None = None) -> ArrayStep:
        """Start games in all rows, or where `rows` (N,) bool is True."""
        chosen = None if rows is None else self._taken(rows)
        self.engine.reset(
            chosen if chosen is None else chosen.nonzero()[0] if _on_cpu(chosen) else chosen.nonzero()[:, 0]
        )
        return self._step()

    def step(self, actions: ArrayLike | SupportsDLPack) -> ArrayStep:
        """Play actions of any library, integers (N,) for one head, (N, H) for several, (N, P, H) in simultaneous games.

        Raises:
            IllegalActionError: no action has been played.
        """
        self.engine.step(self._taken(actions))
        return self._step()

    def _taken(self, array: Any) -> Array:
        """An array of any library on the engine's side, without a copy where both are on one device."""
        if self.engine.device == "cpu":
            return np.from_dlpack(array) if hasattr(array, "__dlpack__") else np.asarray(array)
        return importlib.import_module("torch").from_dlpack(array)

    def _step(self) -> ArrayStep:
        engine = self.engine
        parts = (
            engine.observe(),
            engine.legal(),
            engine.to_move.astype(np.int32) if _on_cpu(engine.to_move) else engine.to_move.int(),
            engine.rewards,
            engine.terminated,
            engine.truncated,
        )
        return ArrayStep(*(self._convert(_aligned(part)) for part in parts))


def _converter(library: str | Callable[[Any], Any]) -> Callable[[Any], Any]:
    if not isinstance(library, str):
        return library
    if library not in LIBRARIES:
        raise OptionError(f"library={library!r}: must be one of {', '.join(LIBRARIES)}, or a function")
    try:
        take: Callable[[Any], Any] = importlib.import_module(LIBRARIES[library]).from_dlpack
    except ImportError as error:
        raise PluginError(f"library={library!r} is not installed; type: pip install {library}") from error
    return take


def _on_cpu(array: Array) -> bool:
    return isinstance(array, np.ndarray)


def _aligned(array: Array) -> Array:
    """`array`, or a copy at an address that XLA takes: masks and rewards are small, observations are aligned already."""
    if not _on_cpu(array) or not array.ctypes.data % 64:
        return array
    copy = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy
