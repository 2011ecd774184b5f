"""`KernelEngine`: a batch of games run by compiled kernels on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import ArrayLike, NDArray

from ludory.envs.chance import redeal_streams
from ludory.envs.engine.binding.bind import bind_fields
from ludory.envs.engine.binding.kernel_faults import compile_error
from ludory.envs.engine.binding.plain_kernels import PLAIN_GAMES, PlainUntilCompiled, plain_rules_asked, until_compiled
from ludory.envs.game import Game
from ludory.envs.parts import State
from ludory.errors import OptionError

from . import checks
from .base import EngineBase
from .binding.state_fields import field_places
from .parallel import Pace, run_parts, thread_count
from .protocol import Array, NextTurn
from .snapshot import check_fields
from .storage import aligned_empty, new_records, own_fields, shared_arrays, views

if TYPE_CHECKING:  # not needed to start: importing it takes time
    from typing_extensions import Self


_INT64 = np.dtype(np.int64)
LARGE_BATCH = 128
"""Fewest games whose kernels are compiled for the sizes of their game; fewer spend their time in Python, and presets share their code."""
PATIENCE = 1.0
"""CPU seconds that up to `PLAIN_GAMES` games of an installed game run in plain Python before their kernels are compiled, if they were never before."""
_FEW_STEPS: ContextVar[float | None] = ContextVar("few steps", default=None)


@contextmanager
def few_steps(asked: bool = True, patience: float = 0.0) -> Iterator[None]:
    """Within it, engines of any size run the code of small batches, and learners PyTorch where compiled code would only be faster.

    For checks, in which compiling takes longer than playing. patience: CPU seconds of plain Python before a game's kernels are compiled,
    in batches of less than `LARGE_BATCH`.
    """
    token = _FEW_STEPS.set(patience if asked else None)
    try:
        yield
    finally:
        _FEW_STEPS.reset(token)


def few_steps_asked() -> bool:
    """Whether this is called within `few_steps`."""
    return _FEW_STEPS.get() is not None


SPLIT_ROWS = 512
"""Fewest rows that are worth splitting and timing."""


class KernelEngine(EngineBase):
    """A batch of `num_games` games on the CPU; see `ludory.envs.engine.protocol.Engine` for the methods.

    Game k of the batch draws from a random stream of (seed, first_game + k), so it is the same game alone and in a batch.

    Args:
        game: the game to play.
        num_games: N, at least 1.
        seed: seed of all random draws; None draws one from the operating system.
        first_game: number of the first game in the sequence of games that the seed stands for.
        threads: number of threads that share a large batch; None: `LUDORY_NUM_THREADS`, else the number of cores.
        compiled: False runs the rules as plain Python, where debuggers stop and `print` prints; the games are the same. A step of one game
            takes about ten times as long, one of a batch far longer. `NUMBA_DISABLE_JIT=1` does so for all of Ludory. True compiles at the
            first call. None does so, too, except that up to four games of an installed game, never compiled on this machine, start in plain
            Python for a second.
    """

    device = "cpu"
    plain_start: bool | None = None
    """Whether up to `PLAIN_GAMES` games are played in plain Python until another process has compiled their kernels; None: for `PATIENCE`
    seconds at most. Set it before the first reset."""
    ran_plain = False
    """Whether a kernel has run as plain Python, so that it would pay to compile it."""

    def __init__(
        self,
        game: Game,
        num_games: int = 1,
        seed: int | None = None,
        first_game: int = 0,
        threads: int | None = None,
        compiled: bool | None = None,
    ) -> None:
        self.game, self.facts, self.num_games = game, game.facts, checks.checked_num_games(num_games)
        self._kernels = game.needed_kernels("KernelEngine")
        self.compiled = compiled is not False and not plain_rules_asked()
        if compiled:
            self.plain_start = False
        self.threads = thread_count(threads) if self.compiled else 1
        self._records, self._shared = new_records(game.rules.fields, self.num_games), shared_arrays(game)
        self._started, self._ready = np.zeros(self.num_games, bool), False
        self._all = np.arange(self.num_games)
        self._first_game = first_game
        self._paces: dict[tuple[str, int], Pace] = {}
        self._modules: dict[tuple[Any, ...], ModuleType] = {}
        self._masks = np.ones((self.num_games, self._mask_rows, self.facts.num_actions), bool)
        self._records["terminated"] = True
        self._seed_streams(seed)

    @cached_property
    def _movers(self) -> NDArray[np.int64]:
        """For `observe`: the seat to move, in every game."""
        return np.full(self.num_games, -1)

    @cached_property
    def _bound(self) -> ModuleType:
        return self.bound("batch_cpu", {name: kernel for name, kernel in self._kernels._asdict().items() if kernel})

    def bound(self, template: str, kernels: Mapping[str, Callable[..., Any]], plain_start: bool = True) -> ModuleType:
        """`bind` for the state of this engine. plain_start: whether plain Python is fast enough, where the engine starts with it."""
        few = _FEW_STEPS.get()
        large = self.num_games >= LARGE_BATCH and few is None
        key = (template, large, *kernels.items())
        if key not in self._modules:
            # small batches find their fields by `field_places`, so that presets of a game share compiled code
            layout = self._records.dtype if large else None
            self._modules[key] = bind_fields(template, kernels, self.game.rules.fields, layout, plain=not self.compiled)
        module = self._modules[key]
        if not (plain_start and self.compiled) or self.plain_start is False:
            return module
        seconds, games = PATIENCE, PLAIN_GAMES
        if self.plain_start:
            seconds = math.inf
        elif few is not None:
            seconds, games = few, LARGE_BATCH - 1
        elif not self.game.id:  # who writes an own game is told at the first call what cannot be compiled
            seconds = 0.0
        return until_compiled(module, seconds, games) if seconds and self.num_games <= games else module

    @cached_property
    def state(self) -> State:
        """NamedTuple of live arrays, first axis = game."""
        return views(self.game.rules.fields, self._records, self._shared)

    @property
    def records(self) -> NDArray[Any]:
        """The fields that every game has of its own: a structured array, one record per game, with the names of the fields in the rules."""
        return self._records

    @cached_property
    def kernel_state(self) -> tuple[NDArray[Any], ...]:
        """The state as batch kernels of `bound` take it, in several arguments: uint8 [N, bytes of a record], `field_places`, shared arrays."""
        return self.state_of(self._records)

    def state_of(self, records: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """`kernel_state` of other records of this game."""
        return (records.view(np.uint8).reshape(len(records), -1), self._places, *self._shared.values())

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        return field_places(self.game.rules.fields, self._records.dtype)

    def run(self, kernel: Callable[..., None], count: int, *args: Any) -> None:
        """Call a batch kernel for `count` rows, split among threads if that saves time; its last arguments are start and stop.

        Raises:
            KernelError: the game's kernels cannot be compiled.
        """
        try:
            if self.threads > 1 and count >= SPLIT_ROWS:
                self._run_paced(kernel, count, *args)
            else:
                kernel(*args, 0, count)
        except NumbaError as error:  # a kernel is compiled on its first call
            raise compile_error(error, self._kernels) from None
        if self.plain_start:
            self.ran_plain |= isinstance(kernel, PlainUntilCompiled) and kernel.ran_plain

    def _run_paced(self, kernel: Callable[..., None], count: int, *args: Any) -> None:
        """Call a batch kernel in one thread or in several, whichever was faster."""
        pace = self._paces.setdefault((kernel.__name__, count.bit_length()), Pace())
        split, began = pace.next_is_split(count), perf_counter()
        if split:
            run_parts(kernel, count, *args, threads=self.threads, rows_per_thread=pace.least_rows)
        else:
            kernel(*args, 0, count)
        pace.note(split, (perf_counter() - began) / count)

    def reset(
        self, rows: ArrayLike | None = None, options: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        """Start the next game in `rows` (default all); see `Engine.reset`."""
        rows = self._all if rows is None else checks.distinct_rows(rows, self.num_games)
        given = checks.start_fields(self.game, options, len(rows))
        if seed is not None:
            self._seed_streams(seed)
        for name, values in given.items():
            self._records[name][rows] = values
        self.run(self._bound.reset_rows, len(rows), *self.kernel_state, rows, self._masks)
        self._started[rows] = True
        self._ready = self._ready or bool(self._started.all())

    def step(self, actions: ArrayLike, rows: ArrayLike | None = None) -> None:
        """Play one action in every running game, or in `rows` only; see `Engine.step`."""
        played = self._all if rows is None else checks.distinct_rows(rows, self.num_games)
        chosen = self._checked_actions(actions, played)
        if rows is not None:
            self._records["rewards"] = 0
        self.run(self._bound.step_rows, len(played), *self.kernel_state, played, chosen, self._masks)

    def play(self, actions: ArrayLike, packed: bool = False, out: NextTurn | None = None) -> NextTurn:
        """Step, and return masks and observations of the seats to move; see `Engine.play`."""
        if self.facts.simultaneous:  # every seat sees: nothing to gain from doing a game at a time
            return super().play(actions, packed, out)
        spec, count = self.facts.observation, self.num_games
        if packed:
            checks.check_packable(self.facts, spec)
        shape, dtype = ((-(-spec.size // 8),), np.uint8) if packed else (spec.shape, spec.dtype)
        if out is None:
            out = NextTurn(np.empty((count, self.facts.num_actions), bool), np.empty((count, *shape), dtype))
        else:
            checks.check_out(out.masks, (count, self.facts.num_actions), np.dtype(bool))
            checks.check_out(out.observations, (count, *shape), np.dtype(dtype))
        chosen = self._checked_actions(actions, self._all)
        masks, seen = out
        if len(shape) != 1:
            seen = seen.reshape(count, spec.size)
        if packed:
            self.run(self._play_packed_rows, count, chosen, masks, seen)
        else:
            self.run(self._bound.play_rows, count, *self.kernel_state, chosen, self._masks, masks, seen)
        return out

    def _play_packed_rows(self, actions: Any, masks: Any, out: NDArray[np.uint8], start: int, stop: int) -> None:
        words = np.empty(out.shape[1], np.uint64)
        size = self.facts.observation.size
        self._bound.play_packed_rows(*self.kernel_state, actions, self._masks, masks, words, size, out, start, stop)

    def _checked_actions(self, actions: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        chosen = np.asarray(actions)
        # a legal move of one game, as views play it, needs no further look
        if chosen.shape == (1,) == rows.shape and self.num_games == 1 and self._ready and self._one_head:
            action = chosen.item() if chosen.dtype == _INT64 else -1
            if 0 <= action < self.facts.num_actions and self._masks.item(0, 0, action):
                return chosen
        checks.check_actions(self.facts, chosen.shape, chosen.dtype, chosen.dtype.kind in "iu", len(rows))
        chosen = checks.own_integers(chosen)
        if not self._ready:
            checks.check_started(self.facts, self._started, rows)
        cube = chosen.reshape(len(rows), self._mask_rows, len(self.facts.heads))
        fault = int(self._bound.first_illegal(*self.kernel_state, rows, cube, self._masks, self._offsets))
        if fault >= 0:
            raise checks.illegal_action(self.game, fault, rows, cube, self._masks, self._records["to_move"])
        return chosen

    @cached_property
    def _one_head(self) -> bool:
        return len(self.facts.heads) == 1 and not self.facts.simultaneous

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        return checks.head_offsets(self.facts)

    def legal(self, out: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Legal masks; see `Engine.legal`."""
        masks: NDArray[np.bool_] = self._masks if self.facts.simultaneous else self._masks[:, 0]
        return masks.copy() if out is None else checks.filled(out, masks)

    def observe(
        self,
        seat: ArrayLike | None = None,
        rows: ArrayLike | None = None,
        packed: bool = False,
        out: Array | None = None,
    ) -> NDArray[Any]:
        """What a seat sees; see `Engine.observe`."""
        if seat is None and rows is None and self._ready and not self.facts.simultaneous:  # as views of one game ask
            return self._observe(self._movers, self._all, packed, out)
        return self._of_seats(self._observe, seat, rows, packed, out)

    def critic(
        self,
        seat: ArrayLike | None = None,
        rows: ArrayLike | None = None,
        packed: bool = False,
        out: Array | None = None,
    ) -> NDArray[Any]:
        """What a value function may see in training; see `Engine.critic`."""
        return self._of_seats(self._critic, seat, rows, packed, out)

    def _of_seats(self, see: Callable[..., NDArray[Any]], seat: Any, rows: Any, packed: bool, out: Any) -> NDArray[Any]:
        """`see(seats, rows, packed, out)` of one seat per game, or of every seat of simultaneous games."""
        rows = self._all if rows is None else checks.checked_rows(rows, self.num_games)
        if not self._ready:
            checks.check_started(self.facts, self._started, rows)
        if seat is None and self.facts.simultaneous:
            seats = range(self.facts.players)
            return checks.filled(out, np.stack([see(np.full(len(rows), s), rows, packed, None) for s in seats], axis=1))
        if seat is None:
            movers = self._movers if len(rows) == self.num_games else np.full(len(rows), -1)
            return see(movers, rows, packed, out)
        return see(checks.checked_seats(seat, len(rows), self.facts), rows, packed, out)

    def _critic(
        self, seats: NDArray[np.int64], rows: NDArray[np.int64], packed: bool, out: NDArray[Any] | None
    ) -> NDArray[Any]:
        spec = checks.critic_spec(self.game)
        kernel = self._bound.critic_rows if self._kernels.critic else self._bound.every_seat_rows
        if packed:
            checks.check_packable(self.facts, spec)
        seen = _space(None if packed else out, (len(rows), spec.size), spec.dtype)
        self.run(kernel, len(rows), *self.kernel_state, rows, seats, seen)
        return checks.filled(out, np.packbits(seen, axis=1)) if packed else seen

    def used(
        self, actions: ArrayLike, seat: ArrayLike | None = None, rows: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Which heads have an effect; see `Engine.used`."""
        rows = self._all if rows is None else checks.checked_rows(rows, self.num_games)
        chosen, count, heads = np.asarray(actions), len(rows), len(self.facts.heads)
        checks.check_actions(self.facts, chosen.shape, chosen.dtype, chosen.dtype.kind in "iu", count, seat is not None)
        if not self._ready:
            checks.check_started(self.facts, self._started, rows)
        every = seat is None and self.facts.simultaneous
        seats = np.full(count, -1) if seat is None else checks.checked_seats(seat, count, self.facts)
        if every:
            rows, seats = rows.repeat(self.facts.players), np.tile(np.arange(self.facts.players), count)
        out = np.ones((len(rows), heads), bool)
        if self._kernels.used:
            played = checks.own_integers(chosen).reshape(len(rows), heads)
            self.run(self._bound.used_rows, len(rows), *self.kernel_state, rows, seats, played, out)
        acting = self.deciding if self.facts.simultaneous else self.alive
        out &= acting[rows, np.where(seats < 0, self._records["to_move"][rows], seats)][:, None]
        return out.reshape(count, self.facts.players, heads) if every else out

    def _observe(
        self, seats: NDArray[np.int64], rows: NDArray[np.int64], packed: bool, out: NDArray[Any] | None
    ) -> NDArray[Any]:
        spec, count = self.facts.observation, len(rows)
        if not packed:
            seen = _space(out, (count, *spec.shape), spec.dtype)
            self.run(self._bound.observe_rows, count, *self.kernel_state, rows, seats, seen.reshape(count, spec.size))
            return seen
        checks.check_packable(self.facts, spec)
        seen = _space(out, (count, -(-spec.size // 8)), np.uint8)
        self.run(self._packed_rows, count, rows, seats, seen)
        return seen

    def _packed_rows(self, rows: Any, seats: Any, out: NDArray[np.uint8], start: int, stop: int) -> None:
        words = np.empty(out.shape[1], np.uint64)
        self._bound.observe_packed_rows(
            *self.kernel_state, rows, seats, words, self.facts.observation.size, out, start, stop
        )

    def gather(self, rows: ArrayLike) -> Self:
        """Copy chosen games, repeats allowed, into a new batch."""
        rows = checks.checked_rows(rows, self.num_games)
        # not by `__init__`, which would seed the streams anew
        other = object.__new__(type(self))
        other.game, other.facts, other._kernels, other.num_games = self.game, self.facts, self._kernels, len(rows)
        other._shared, other._places, other.plain_start = self._shared, self._places, self.plain_start
        other.threads, other.compiled, other.seed, other._first_game = (
            self.threads,
            self.compiled,
            self.seed,
            self._first_game,
        )
        other._records, other._masks, other._started = self._records[rows], self._masks[rows], self._started[rows]
        other._paces, other._modules = self._paces, self._modules
        other._all, other._ready = np.arange(len(rows)), self._ready or bool(other._started.all())
        return other

    def _arguments(self) -> dict[str, Any]:
        return super()._arguments() | {
            "threads": self.threads,
            "compiled": (True if self.plain_start is False else None) if self.compiled else False,
        }

    def seen_as(self, game: Game) -> Self:
        """The same games, not a copy, under the observations of `game`; only to look at, until this engine loads other games.

        Args:
            game: a variant that differs in its observation only, or remembers less than these games for it.

        Raises:
            OptionError: its state has fields that these games lack.
        """
        own, its = self.game.rules.fields, game.rules.fields
        if game.facts.players != self.facts.players or any(own.get(name) != one for name, one in its.items()):
            raise OptionError(
                f"{game.name}: its state has other fields than that of {self.game.name}; both must be one game"
            )
        other = object.__new__(type(self))
        other.__dict__.update(
            {name: value for name, value in self.__dict__.items() if name not in ("_bound", "_places", "kernel_state")}
        )
        other.game, other.facts, other._kernels = game, game.facts, game.needed_kernels("KernelEngine")
        other._paces, other._modules = {}, {}
        return other

    def redeal(self, seat: ArrayLike, seed: int) -> None:
        """Draw anew what `seat` does not know; see `Engine.redeal`."""
        checks.check_redeal(self.game)
        checks.check_started(self.facts, self._started, self._all)
        seats = checks.checked_seats(seat, self.num_games, self.facts)
        self._records["random"] = redeal_streams(checks.checked_seed(seed), self.num_games)
        self.run(self._bound.redeal_rows, self.num_games, *self.kernel_state, self._all, seats)
        # Legal actions of other seats may depend on what was redealt.
        self.run(self._bound.legal_rows, self.num_games, *self.kernel_state, self._masks)

    def fields(self) -> dict[str, NDArray[Any]]:
        """Everything that a restored batch needs, by name; the arrays are live."""
        return {name: self._records[name] for name in own_fields(self.game.rules.fields)} | {"_started": self._started}

    def load_fields(self, fields: Mapping[str, NDArray[Any]], check: bool = True) -> None:
        """Restore what `fields` returned; see `Engine.load_fields`."""
        if check:
            check_fields(self.game, fields)
        records = new_records(self.game.rules.fields, len(fields["to_move"]))
        for name in own_fields(self.game.rules.fields):
            records[name] = fields[name]
        self._records, self._started, self.num_games = records, np.array(fields["_started"], bool), len(records)
        self._all = np.arange(self.num_games)
        self._ready = bool(self._started.all())
        # they point into the records that were replaced
        for derived in ("state", "kernel_state", "_movers"):
            self.__dict__.pop(derived, None)
        self._masks = np.ones((self.num_games, self._mask_rows, self.facts.num_actions), bool)
        self.run(self._bound.legal_rows, self.num_games, *self.kernel_state, self._masks)


def _space(out: NDArray[Any] | None, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """`out` if it is given, else a new array."""
    if out is None:
        return aligned_empty(shape, dtype)
    checks.check_out(out, shape, np.dtype(dtype))
    return out
