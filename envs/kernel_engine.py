"""`KernelEngine`: a batch of games run by compiled kernels on the CPU."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from ludory.errors import IllegalActionError, NotResetError, OptionError
from numpy.typing import NDArray

from .bind import bind
from .chance import COUNTER, EPISODE, KEY, STREAM, mix
from .game import Game, State
from .snapshot import read_snapshot, write_snapshot
from .storage import new_records, views

ROWS_PER_THREAD = 256
"""A batch is split over threads only in parts of at least this many games: a split costs about 30 microseconds."""


class KernelEngine:
    """A batch of `num_games` games on the CPU; see `ludory.envs.engine.Engine` for the methods.

    Game k of the batch draws from a random stream of (seed, first_game + k): alone or in a batch, it is the same game.

    Args:
        game: what is played.
        num_games: N, at least 1.
        seed: of all random draws; None takes a fresh one from the operating system.
        first_game: index of the first game in the sequence of games that the seed stands for.
        threads: how many threads share a large batch; None: `LUDORY_NUM_THREADS`, else the number of cores.
    """

    device = "cpu"

    def __init__(
        self, game: Game, num_games: int = 1, seed: int | None = None, first_game: int = 0, threads: int | None = None
    ) -> None:
        if not isinstance(num_games, int | np.integer) or num_games < 1:
            raise OptionError(f"num_games={num_games!r}: must be an integer of at least 1")
        self.game, self.facts, self.num_games = game, game.facts, int(num_games)
        self.threads = _thread_count(threads)
        self._records = new_records(game.fields, self.num_games)
        self._started = np.zeros(self.num_games, bool)
        self._all = np.arange(self.num_games)
        self._first_game = first_game
        self._masks = np.ones((self.num_games, self._mask_rows, self.facts.num_actions), bool)
        self._records["terminated"] = True
        self._seed_streams(seed)

    @property
    def _mask_rows(self) -> int:
        return self.facts.players if self.facts.simultaneous else 1

    @cached_property
    def _bound(self) -> ModuleType:
        return bind("batch_cpu", {name: kernel for name, kernel in self.game.kernels._asdict().items() if kernel})

    @cached_property
    def state(self) -> State:
        """NamedTuple of live arrays, first axis = game."""
        return views(self.game.fields, self._records)

    @property
    def records(self) -> NDArray[Any]:
        """The state as kernels get it: one record per game."""
        return self._records

    def _seed_streams(self, seed: int | None) -> None:
        self.seed = secrets.randbits(62) if seed is None else _checked_seed(seed)
        self._records["random"][:, STREAM] = hash_rows(self.seed, self._first_game + self._all)
        self._records["random"][:, EPISODE] = 0

    def run(self, kernel: Callable[..., None], count: int, *args: Any) -> None:
        """Call a batch kernel for `count` rows, in one part or shared by threads; it gets start and stop as its last arguments."""
        parts = min(self.threads, count // ROWS_PER_THREAD)
        if parts < 2:
            kernel(*args, 0, count)
            return
        edges = [count * part // parts for part in range(parts + 1)]
        jobs = [_pool(self.threads).submit(kernel, *args, edges[k], edges[k + 1]) for k in range(parts)]
        for job in jobs:
            job.result()

    def reset(
        self, rows: Any | None = None, options: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        """Start the next game in `rows` (default all); see `Engine.reset`."""
        rows = self._all if rows is None else _checked_rows(rows, self.num_games)
        given = self._start_fields(options, len(rows))
        if seed is not None:
            self._seed_streams(seed)
        for name, values in given.items():
            self._records[name][rows] = values
        self.run(self._bound.reset_rows, len(rows), self._records, rows, self._masks)
        self._started[rows] = True

    def _start_fields(self, options: Mapping[str, Any] | None, count: int) -> Mapping[str, NDArray[Any]]:
        if not options:
            return {}
        if self.game.start is None:
            raise OptionError(f"{self.facts.name} takes no reset options, got {', '.join(map(repr, options))}")
        return self.game.start(options, count)

    def step(self, actions: Any) -> None:
        """Play one action per running game; see `Engine.step`."""
        chosen = self._checked_actions(actions)
        self.run(self._bound.step_rows, self.num_games, self._records, chosen, self._masks)

    def _checked_actions(self, actions: Any) -> NDArray[np.int64]:
        facts, n = self.facts, self.num_games
        chosen = np.asarray(actions)
        heads = len(facts.heads)
        shape = (n, facts.players, heads) if facts.simultaneous else (n,) if heads == 1 else (n, heads)
        if chosen.shape != shape:
            raise IllegalActionError(f"{facts.name}: actions have shape {chosen.shape}, must be {shape}")
        if chosen.dtype.kind not in "iu":
            raise IllegalActionError(f"{facts.name}: actions have dtype {chosen.dtype}, must be integers")
        chosen = np.ascontiguousarray(chosen, np.int64)
        if not self._started.all():
            raise NotResetError(f"{facts.name}: game {int(np.argmin(self._started))} was never started; call engine.reset() first")
        cube = chosen.reshape(n, self._mask_rows, heads)
        fault = int(self._bound.first_illegal(self._records, cube, self._masks, self._offsets))
        if fault >= 0:
            raise IllegalActionError(self._illegal_message(fault, cube))
        return chosen

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self.facts.head_sizes)])

    def _illegal_message(self, fault: int, cube: NDArray[np.int64]) -> str:
        heads = len(self.facts.heads)
        row, head = divmod(fault, heads)
        i, s = divmod(row, self._mask_rows)
        action = int(cube[i, s, head])
        name, size = self.facts.heads[head]
        seat = s if self.facts.simultaneous else int(self._records["to_move"][i])
        allowed = np.flatnonzero(self._masks[i, s, self._offsets[head] : self._offsets[head] + size])
        listed = ", ".join(f"{a} ({self.game.action_name(head, int(a))})" for a in allowed)
        what = f"{action} ({self.game.action_name(head, action)})" if 0 <= action < size else f"{action}, outside 0..{size - 1},"
        where = f"{self.facts.name}, game {i}, seat {seat}" + (f", head {name}" if heads > 1 else "")
        return f"{where}: action {what} is not legal; legal: {listed}"

    def legal(self) -> NDArray[np.bool_]:
        """Legal masks; see `Engine.legal`."""
        return self._masks.copy() if self.facts.simultaneous else self._masks[:, 0].copy()

    def observe(self, seat: Any | None = None, rows: Any | None = None, packed: bool = False) -> NDArray[Any]:
        """What a seat sees; see `Engine.observe`."""
        rows = self._all if rows is None else _checked_rows(rows, self.num_games)
        if not self._started[rows].all():
            raise NotResetError(f"{self.facts.name}: nothing to observe before engine.reset()")
        if seat is None and self.facts.simultaneous:
            seats = range(self.facts.players)
            return np.stack([self._observe(np.full(len(rows), s), rows, packed) for s in seats], axis=1)
        if seat is None:
            return self._observe(np.full(len(rows), -1), rows, packed)
        return self._observe(_checked_seats(seat, len(rows), self.facts), rows, packed)

    def _observe(self, seats: NDArray[np.int64], rows: NDArray[np.int64], packed: bool) -> NDArray[Any]:
        spec, count = self.facts.observation, len(rows)
        if not packed:
            out = np.empty((count, spec.size), spec.dtype)
            self.run(self._bound.observe_rows, count, self._records, rows, seats, out)
            return out.reshape(count, *spec.shape)
        if not spec.bits:
            raise OptionError(f"{self.facts.name}: observation {spec.name!r} is {spec.dtype}, only 0/1 observations can be packed")
        out = np.empty((count, -(-spec.size // 8)), np.uint8)
        self.run(self._packed_rows, count, rows, seats, out)
        return out

    def _packed_rows(self, rows: Any, seats: Any, out: NDArray[np.uint8], start: int, stop: int) -> None:
        words = np.empty(out.shape[1], np.uint64)
        self._bound.observe_packed_rows(self._records, rows, seats, words, out, start, stop)

    @property
    def over(self) -> NDArray[np.bool_]:
        """(N,) bool: terminated or truncated."""
        return self._records["terminated"] | self._records["truncated"]

    @property
    def to_move(self) -> NDArray[np.int64]:
        """(N,) seat to move, -1 when the game is over; simultaneous games: 0 while running."""
        seat = 0 if self.facts.simultaneous else self._records["to_move"]
        return np.where(self.over, -1, seat).astype(np.int64)

    @property
    def rewards(self) -> NDArray[np.float32]:
        """(N, P) float32, of the last step."""
        return self._records["rewards"].copy()

    @property
    def terminated(self) -> NDArray[np.bool_]:
        """(N,) bool, ended by the rules."""
        return self._records["terminated"].copy()

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """(N,) bool, ended by an outside limit."""
        return self._records["truncated"].copy()

    def clone(self) -> KernelEngine:
        """Independent copy of all games."""
        return self.gather(self._all)

    def gather(self, rows: Any) -> KernelEngine:
        """Copy chosen games, repeats allowed, into a new batch."""
        rows = _checked_rows(rows, self.num_games)
        other = object.__new__(KernelEngine)
        other.game, other.facts, other.num_games = self.game, self.facts, len(rows)
        other.threads, other.seed, other._first_game = self.threads, self.seed, self._first_game
        other._records, other._masks, other._started = self._records[rows], self._masks[rows], self._started[rows]
        other._all = np.arange(len(rows))
        return other

    def redeal(self, seat: Any, seed: int) -> None:
        """Re-draw what `seat` does not know; see `Engine.redeal`."""
        if self.game.kernels.redeal is None:
            raise OptionError(f"{self.facts.name} with options {dict(self.game.options)} can not be redealt")
        seats = _checked_seats(seat, self.num_games, self.facts)
        keys = hash_rows(_checked_seed(seed), self._all)
        self._records["random"][:, STREAM] = keys
        self._records["random"][:, EPISODE] = 0
        self._records["random"][:, KEY] = hash_rows(keys, -1)
        self._records["random"][:, COUNTER] = 0
        self.run(self._bound.redeal_rows, self.num_games, self._records, self._all, seats)

    @property
    def _identity(self) -> dict[str, Any]:
        return {"id": self.game.id or self.facts.name, "options": dict(self.game.options)}

    def save(self, file: str | Path) -> None:
        """Write all games to `file`, atomically."""
        arrays = {name: self._records[name] for name in self.game.fields}
        write_snapshot(file, self._identity, arrays | {"_started": self._started})

    def restore(self, file: str | Path) -> None:
        """Continue from a file of `save`; the number of games becomes that of the file."""
        arrays = read_snapshot(file, self._identity)
        records = new_records(self.game.fields, len(arrays["to_move"]))
        for name in self.game.fields:
            records[name] = arrays[name]
        self._records, self._started, self.num_games = records, arrays["_started"], len(records)
        self._all = np.arange(self.num_games)
        self.__dict__.pop("state", None)
        self._masks = np.ones((self.num_games, self._mask_rows, self.facts.num_actions), bool)
        self.run(self._bound.legal_rows, self.num_games, self._records, self._masks)


def hash_rows(seed: Any, rows: Any) -> NDArray[np.int64]:
    """`chance.mix` over arrays."""
    plain = getattr(mix, "py_func", mix)
    with np.errstate(over="ignore"):
        return np.asarray(plain(np.asarray(seed, np.int64), np.asarray(rows, np.int64)))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="ludory")


def _thread_count(threads: int | None) -> int:
    count = threads if threads is not None else int(os.environ.get("LUDORY_NUM_THREADS", os.cpu_count() or 1))
    if count < 1:
        raise OptionError(f"threads={count}: must be at least 1")
    return count


def _checked_seed(seed: Any) -> int:
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise OptionError(f"seed={seed!r}: must be an integer from 0 to 2**63 - 1")
    return int(seed)


def _checked_rows(rows: Any, count: int) -> NDArray[np.int64]:
    array = np.asarray(rows)
    if array.dtype == bool and array.shape == (count,):
        array = np.flatnonzero(array)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise OptionError(f"rows: must be a list of game numbers or a bool array ({count},), got dtype {array.dtype}, shape {array.shape}")
    if array.size and not (array.min() >= 0 and array.max() < count):
        raise OptionError(f"rows: must lie in 0..{count - 1}, got {array.min()}..{array.max()}")
    return np.ascontiguousarray(array, np.int64)


def _checked_seats(seat: Any, count: int, facts: Any) -> NDArray[np.int64]:
    array = np.asarray(seat)
    if array.dtype.kind not in "iu" or array.shape not in ((), (count,)):
        raise OptionError(f"seat: must be an integer or an integer array ({count},), got {seat!r}")
    if array.size and not (array.min() >= 0 and array.max() < facts.players):
        raise OptionError(f"seat={seat!r}: must lie in 0..{facts.players - 1}")
    return np.ascontiguousarray(np.broadcast_to(array, (count,)), np.int64)
