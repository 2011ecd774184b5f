"""A worker of a `ProcessPool`: it steps its environments on request, in arrays that it shares with the pool."""

from __future__ import annotations

import ctypes
import pickle
import traceback
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ludory.child_processes import begin_child
from ludory.errors import LudoryError

IDLE, STEP, RESET = 0, 1, 2
"""Orders to an environment, one byte per environment."""
GO, GO_WITH_OPTIONS, CALL, DONE, FAULTS, READY, QUIT = b"g", b"o", b"c", b"d", b"f", b"r", b"q"
"""First byte of a message; some messages continue with a pickle."""

# Any, since each pool has arrays of its own.
Row = Any
"""`NamedTuple` of one environment's arrays, views of the pool's arrays: write `row.rewards[seat] = 1`, and scalars `row.truncated[...] = True`."""


class Environment(Protocol):
    """One game that a pool plays. It writes its results to the arrays of its `row`, which keep their values between calls."""

    def reset(self, seed: int, options: Mapping[str, Any], row: Row) -> None:
        """Start a new game whose chance depends on `seed` alone, 0..2**31 - 1."""

    def step(self, action: NDArray[Any], row: Row) -> None:
        """Play `action`, one entry of the pool's actions: (H,), (P, H), ... ."""

    def close(self) -> None:
        """Release what the environment holds."""


EnvironmentFactory = Callable[[], Environment]


class ArraySpec(NamedTuple):
    """Shape per environment and dtype of an array that a pool and its workers share."""

    shape: tuple[int, ...]
    dtype: str


@lru_cache(maxsize=64)
def row_class(names: tuple[str, ...]) -> type:
    """NamedTuple class with one field per array."""
    return namedtuple("EnvironmentRow", names)


ORDERS = {
    "order": ArraySpec((), "uint8"),
    "seed": ArraySpec((), "int64"),
    "next_seed": ArraySpec((), "int64"),
    "ahead_seed": ArraySpec((), "int64"),
}
"""Arrays of every pool, besides `action` and those of its layout."""
AHEAD = "ahead "
"""Prefix of the arrays that hold the first row of an environment's next game, see `EnvironmentBlock`."""
NONE_AHEAD = -1
"""`ahead_seed` of an environment whose next game has not been started."""


def array_bytes(layout: Mapping[str, ArraySpec], count: int) -> int:
    """Size of the buffer that `arrays_in` needs."""
    return sum(_padded(spec, count) for spec in layout.values())


def _padded(spec: ArraySpec, count: int) -> int:
    # rounded up to 64 bytes, so that every array is aligned
    return -(-int(np.dtype(spec.dtype).itemsize * count * np.prod(spec.shape, dtype=np.int64)) // 64) * 64


def arrays_in(
    memory: bytearray | ctypes.Array[ctypes.c_byte], layout: Mapping[str, ArraySpec], count: int
) -> dict[str, NDArray[Any]]:
    """The arrays (count, *shape) of `layout`, one after another in a buffer."""
    arrays, start = {}, 0
    for name, spec in layout.items():
        size = int(np.prod(spec.shape, dtype=np.int64)) * count
        arrays[name] = np.frombuffer(memoryview(memory), spec.dtype, size, start).reshape(count, *spec.shape)
        start += _padded(spec, count)
    return arrays


class EnvironmentFault(NamedTuple):
    """An error that an environment raised."""

    row: int
    text: str


def told(error: Exception) -> str:
    """The text of a fault: the message of an error of Ludory, which says what to do, else the traceback."""
    return str(error) if isinstance(error, LudoryError) else traceback.format_exc()


class GameBlock(Protocol):
    """The games of one worker, for pools in which one object plays many games. It writes to its rows of the pool's arrays.

    Other methods may be called by name with `ProcessPool.call`.
    """

    def obey(self, options: Mapping[int, Mapping[str, Any]]) -> list[EnvironmentFault]:
        """Carry out `arrays["order"]`, set it to `IDLE`, and return the games that failed; `options` are those of resets, by row."""

    def close(self) -> None:
        """Release what the block holds."""


class GameBlocks(NamedTuple):
    """Makes the blocks of a pool of `games` games: `make(start, stop, arrays)` plays games start..stop - 1."""

    games: int
    make: Callable[[int, int, Mapping[str, NDArray[Any]]], GameBlock]


class EnvironmentBlock:
    """Environments start..start + n - 1 of a pool, with their rows of its arrays.

    An environment that raises an error is closed and made again at its next reset.

    Args:
        factories: make the environments.
        start: number of the first.
        arrays: of the pool.
        names: those that environments write.
        new_game: values of these arrays before a reset. If given, an environment whose `terminated` or `truncated` is set by a step is
            reset in the same call, with its `next_seed`, into the arrays whose names begin with `AHEAD`. `ahead_seed` holds that seed.
            The pool then starts the next game without another message.
    """

    def __init__(
        self,
        factories: Sequence[EnvironmentFactory],
        start: int,
        arrays: Mapping[str, NDArray[Any]],
        names: Sequence[str],
        new_game: Mapping[str, Any] | None = None,
    ) -> None:
        self._factories, self._start = factories, start
        self._arrays, self._new_game = arrays, new_game
        stop, make_row = start + len(factories), row_class(tuple(names))
        self._rows = [make_row(*(arrays[name][k, ...] for name in names)) for k in range(start, stop)]
        self._ahead: list[Row] = []
        if new_game is not None:
            self._ahead = [make_row(*(arrays[AHEAD + name][k, ...] for name in names)) for k in range(start, stop)]
        self._orders = arrays["order"][start:stop]
        self.environments: list[Environment | None] = [None] * len(factories)
        for k in range(len(factories)):
            self.environments[k] = factories[k]()

    def obey(self, options: Mapping[int, Mapping[str, Any]]) -> list[EnvironmentFault]:
        """Carry out the orders in the arrays; `options` are those of resets, by row."""
        actions, seeds, faults = self._arrays["action"], self._arrays["seed"], []
        for k, order in enumerate(self._orders.tolist()):
            if order == IDLE:
                continue
            row = self._start + k
            try:
                environment = self.environments[k]
                if environment is None:
                    # an environment that failed is made again at its next order
                    environment = self.environments[k] = self._factories[k]()
                if order == STEP:
                    environment.step(actions[row], self._rows[k])
                    if self._ahead and (self._rows[k].terminated or self._rows[k].truncated):
                        self._start_ahead(k, environment)
                else:
                    environment.reset(int(seeds[row]), options.get(row, {}), self._rows[k])
            except Exception as error:
                faults.append(EnvironmentFault(row, told(error)))
                self._drop(k)
        self._orders[:] = IDLE
        return faults

    def _start_ahead(self, k: int, environment: Environment) -> None:
        assert self._new_game is not None
        row, seed = self._ahead[k], int(self._arrays["next_seed"][self._start + k])
        for name, value in self._new_game.items():
            getattr(row, name)[...] = value
        try:
            environment.reset(seed, {}, row)
        except Exception:  # a reset that is asked for makes a new environment, and reports what fails then
            self._drop(k)
        else:
            self._arrays["ahead_seed"][self._start + k] = seed

    def _drop(self, k: int) -> None:
        environment, self.environments[k] = self.environments[k], None
        try:
            if environment is not None:
                environment.close()
        except Exception:  # it is known to be broken
            pass

    def close(self) -> None:
        """Close all environments."""
        for k in range(len(self.environments)):
            self._drop(k)


def work(
    connection: Connection,
    memory: bytearray | ctypes.Array[ctypes.c_byte],
    layout: Mapping[str, ArraySpec],
    names: Sequence[str],
    count: int,
    start: int,
    stop: int,
    factories: bytes,
    new_game: Mapping[str, Any] | None,
) -> None:
    """Main function of a worker process; `factories`, those of its environments or a `GameBlocks`, are pickled."""
    begin_child()
    try:
        arrays = arrays_in(memory, layout, count)
        made = pickle.loads(factories)
        block: GameBlock = (
            made.make(start, stop, arrays)
            if isinstance(made, GameBlocks)
            else EnvironmentBlock(made, start, arrays, names, new_game)
        )
    except Exception as error:
        connection.send_bytes(FAULTS + pickle.dumps([EnvironmentFault(start, told(error))]))
        return
    connection.send_bytes(READY)
    try:
        while (message := connection.recv_bytes())[:1] != QUIT:
            if message[:1] == CALL:
                connection.send_bytes(_called(block, *pickle.loads(message[1:])))
                continue
            # a message of one byte, unless resets have options
            faults = block.obey(pickle.loads(message[1:]) if message[:1] == GO_WITH_OPTIONS else {})
            connection.send_bytes(FAULTS + pickle.dumps(faults) if faults else DONE)
    except (EOFError, OSError):  # the pool is gone
        pass
    block.close()


def _called(block: GameBlock, start: int, method: str, arguments: tuple[Any, ...]) -> bytes:
    """The answer to a CALL."""
    try:
        return DONE + pickle.dumps(getattr(block, method)(*arguments))
    except Exception as error:
        return FAULTS + pickle.dumps([EnvironmentFault(start, told(error))])
