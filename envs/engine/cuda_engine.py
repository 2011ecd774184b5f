"""`CudaEngine`: a batch of games on a GPU, run by the same scalar kernels with one thread per game."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ludory.envs.chance import redeal_streams
from ludory.envs.engine.binding.bind import bind
from ludory.envs.facts import ObservationSpec
from ludory.envs.game import Game

from . import checks
from .base import EngineBase
from .cuda_device import DeviceState, Kernel, Pools, find_device, gather_pools, new_pools, pool_views
from .protocol import NextTurn
from .snapshot import check_fields
from .storage import own_fields, record_dtype, shared_arrays

if TYPE_CHECKING:  # not needed to start: importing it takes time
    from typing_extensions import Self

GAME_THREADS = (64,)
"""Threads per block where each thread plays a game. Blocks are small, so that 10,000 games occupy every multiprocessor."""
ENTRY_THREADS = (256,)
"""Threads per block where each thread writes an entry."""
TILE_THREADS = (32, 8)
"""Threads per block that transposes tiles: each warp handles one row of a tile at a time."""
MOST_THREADS = 1 << 17
"""Threads of a turn, as many as a large GPU holds at once: each has its own working memory, which then stays in the cache."""


class TurnArrays(NamedTuple):
    """What a turn of N games reads and writes on a GPU: P seats, S mask rows (1, or P where all move at once), H heads, A actions."""

    actions: Tensor
    """int64 (N,), (N, H) or (N, P, H), as `Engine.step` takes them; read, or written where the turn draws them."""
    rewards: Tensor
    """float32 [N, P], of this turn."""
    ends: Tensor
    """int8 [3, N]: terminated, truncated, and the seat to move at the end, before a game starts anew."""
    seats: Tensor
    """int64 [N], the seat to move next."""
    legal: Tensor
    """uint8 [N * S, ceil(A / 8)] bits, or [N * S, A]: legal masks of the next turn."""
    seen: Tensor
    """int32 [N * S, ceil(size / 32)] bits, or the spec's dtype [N * S, size]: observations of who moves next."""
    finals: Tensor
    """As `seen`, [N * P, ...]: what every seat saw at the end of games that were truncated and start anew; others are not written."""
    fault: Tensor
    """int64 [1], lowered to the first illegal action, as a flat index."""
    streams: Tensor
    """int64 [2, N], key and counter of each game's drawn actions."""


class CudaEngine(EngineBase):
    """A batch of `num_games` games on a GPU; see `ludory.envs.engine.protocol.Engine` for the methods. Its arrays are torch tensors.

    The same game, seed and actions lead to the same games as on the CPU, bit for bit. Tensors on the GPU are accepted and returned
    without a copy through the CPU, with two exceptions: `step` waits for one number, which says whether all actions are legal; and
    tensors of rows or seats are copied to the CPU to be checked (NumPy arrays, lists and `None` need no wait).

    Args:
        game: the game to play.
        num_games: N, at least 1.
        seed: seed of all random draws; None draws one from the operating system.
        first_game: number of the first game in the sequence of games that the seed stands for.
        device: "cuda", the current GPU, or "cuda:<number>".

    Raises:
        PluginError: numba-cuda is not installed.
        OptionError: there is no such GPU; the message says what to type.
    """

    def __init__(
        self, game: Game, num_games: int = 1, seed: int | None = None, first_game: int = 0, device: str = "cuda"
    ) -> None:
        self.game, self.facts, self.num_games = game, game.facts, checks.checked_num_games(num_games)
        self._kernels = game.needed_kernels(f"device={device!r}")
        self.device, self._first_game = device, first_game
        self._device = find_device(device)
        self._shared = {
            name: torch.tensor(array, device=self._device.torch_device) for name, array in shared_arrays(game).items()
        }
        pools = new_pools(game.rules.fields, self.num_games, self._device.torch_device)
        self._adopt(pools, np.zeros(self.num_games, bool))
        self.state.terminated.fill_(True)
        self._seed_streams(seed)

    def _adopt(self, pools: Pools, started: NDArray[np.bool_], masks: Tensor | None = None) -> None:
        """Use `pools` as the state; masks [A, S, n]."""
        count, where = len(started), self._device.torch_device
        self._pools, self._started, self.num_games = pools, started, count
        self.state = pool_views(self.game.rules.fields, pools, self._shared)
        self._fields = DeviceState(self.state, record_dtype(self.game.rules.fields))
        self._all = np.arange(count)
        self._all_rows = torch.arange(count, device=where)
        for derived in ("_turn_kept", "_scratch"):  # they have a column for each game
            self.__dict__.pop(derived, None)
        shape = (self.facts.num_actions, self._mask_rows, count)
        self._masks = torch.ones(shape, dtype=torch.bool, device=where) if masks is None else masks

    @cached_property
    def _bound(self) -> ModuleType:
        kernels = {name: kernel for name, kernel in self._kernels._asdict().items() if kernel}
        return bind("batch_cuda", kernels, self._fields.dtype, self.game.shared_names)

    @property
    def records(self) -> DeviceState:
        """The state in the form in which kernels take it."""
        return self._fields

    def tensor(self, values: ArrayLike) -> Tensor:
        """`values` on this engine's device, not copied if they are there already."""
        if isinstance(values, np.ndarray) and not values.flags.writeable:
            values = values.copy()
        return torch.as_tensor(values, device=self._device.torch_device)

    def _copied(self, values: Tensor, dtype: str = "") -> Tensor:
        copy = values.clone(memory_format=torch.contiguous_format)
        return copy.to(getattr(torch, dtype)) if dtype else copy

    def run(self, kernel: Kernel, count: int, *args: Any) -> None:
        """Launch a bound batch kernel with one thread per row, for `count` rows."""
        self._launch(kernel, count, GAME_THREADS, *args)

    def _launch(self, kernel: Kernel, work: int, threads: tuple[int, ...], *args: Any) -> None:
        """Launch enough blocks for `work` threads."""
        if work:
            self._device.launch(kernel, -(-work // int(np.prod(threads))), threads, *args)

    def reset(
        self, rows: ArrayLike | None = None, options: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        """Start the next game in `rows` (default all); see `Engine.reset`."""
        chosen = self._all if rows is None else checks.distinct_rows(_off_device(rows), self.num_games)
        given = checks.start_fields(
            self.game, {name: _off_device(value) for name, value in (options or {}).items()}, len(chosen)
        )
        if seed is not None:
            self._seed_streams(seed)
        where = self._row_tensor(chosen)
        layout = self.game.rules.fields
        for name, values in given.items():
            getattr(self.state, name)[where] = self.tensor(np.ascontiguousarray(values, layout[name].dtype))
        self.run(self._bound.reset_rows, len(chosen), self._fields, where, self._masks)
        self._started[chosen] = True

    def _row_tensor(self, rows: NDArray[np.int64]) -> Tensor:
        return self._all_rows if rows is self._all else self.tensor(rows)

    def step(self, actions: ArrayLike, rows: ArrayLike | None = None) -> None:
        """Play one action in every running game, or in `rows` only; see `Engine.step`."""
        chosen = self._all if rows is None else checks.distinct_rows(_off_device(rows), self.num_games)
        played = self._checked_actions(actions, len(chosen))
        checks.check_started(self.facts, self._started, chosen)
        where, state, fault = self._row_tensor(chosen), self.state, self._new_fault()
        cube = played.view(len(chosen), self._mask_rows, len(self.facts.heads))
        over = state.terminated, state.truncated
        self.run(self._bound.first_illegal, len(chosen), *over, where, cube, self._masks, self._offsets, fault)
        # The kernels below do nothing if there is a fault, so the only wait, for its number, comes after everything is launched.
        if rows is not None:
            self.run(self._bound.clear_rewards, self.num_games, state.rewards, fault)
        self.run(self._bound.step_rows, len(chosen), self._fields, where, played, self._masks, fault)
        self._refuse_fault(fault, chosen, cube)

    def _refuse_fault(self, fault: Tensor, rows: NDArray[np.int64], cube: Tensor) -> None:
        """Raise the error of an illegal action; waits for the GPU."""
        found = int(fault)
        if found != self._bound.NO_FAULT:
            masks, to_move = self._masks.permute(2, 1, 0).cpu().numpy(), self.state.to_move.cpu().numpy()
            raise checks.illegal_action(self.game, found, rows, cube.cpu().numpy(), masks, to_move)

    def play(self, actions: ArrayLike, packed: bool = False, out: NextTurn | None = None) -> NextTurn:
        """Step, and return masks and observations of the seats to move, in two launches: one checks, one does all else; see `Engine.play`.

        Packed observations are rows of words, of which the last bytes are cut off: they are strided. `Autoreset` plays without the check.
        """
        spec, count, seats = self.facts.observation, self.num_games, self.facts.simultaneous
        if packed:
            checks.check_packable(self.facts, spec)
        elif spec.size > self._bound.TILE:  # tiles write long rows faster
            return super().play(actions, packed, out)
        checks.check_started(self.facts, self._started, self._all)
        each = (count, self.facts.players) if seats else (count,)
        kept, played = self._turn_kept, self._checked_actions(actions, count)
        masks = torch.empty((*each, self.facts.num_actions), dtype=torch.bool, device=self._device.torch_device)
        width, dtype = (kept.seen.shape[1], kept.seen.dtype) if packed else (spec.size, self._spec_dtype)
        seen = torch.empty((masks.shape[:-1].numel(), width), dtype=dtype, device=masks.device)
        arrays = kept._replace(actions=played, legal=masks.flatten(0, -2), seen=seen, fault=self._new_fault())
        cube, over = self._cube(arrays.actions), (self.state.terminated, self.state.truncated)
        self.run(
            self._bound.first_illegal, count, *over, self._all_rows, cube, self._masks, self._offsets, arrays.fault
        )
        self.turn(arrays, restart=False, wait=arrays.fault)
        self._refuse_fault(arrays.fault, self._all, cube)
        seen = shown_bits(seen, spec) if packed else seen
        turn = NextTurn(masks, seen.view(*each, *(spec.shape if not packed else seen.shape[1:])))
        return turn if out is None else NextTurn(*map(checks.filled, out, turn))

    def turn_arrays(self, actions: Tensor) -> TurnArrays:
        """New arrays for a turn with these actions."""
        count, players, spec = self.num_games, self.facts.players, self.facts.observation
        rows, where = count * self._mask_rows, self._device.torch_device

        def made(*shape: int, dtype: torch.dtype) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=where)

        width, entry = (-(-spec.size // 32), torch.int32) if spec.bits else (spec.size, self._spec_dtype)
        return TurnArrays(
            actions,
            made(count, players, dtype=torch.float32),
            made(3, count, dtype=torch.int8),
            made(count, dtype=torch.int64),
            made(rows, -(-self.facts.num_actions // 8), dtype=torch.uint8),
            made(rows, width, dtype=entry),
            made(1, width, dtype=entry),
            self._new_fault(),
            made(2, 1, dtype=torch.int64),
        )

    def turn(
        self,
        arrays: TurnArrays,
        play: bool = True,
        draw: bool = False,
        restart: bool = True,
        look: bool = True,
        wait: Tensor | None = None,
    ) -> None:
        """One turn of every game in one launch, without waiting for the GPU.

        Args:
            arrays: read and written.
            play: play the actions; False: only look, and restart.
            draw: draw uniform legal actions, instead of reading them.
            restart: start games anew that are over at the end of the turn.
            look: write legal masks and observations of who moves next.
            wait: a fault [1] of an earlier launch, with which nothing happens; None: games with an illegal action stay as they are.
        """
        bound = self._bound
        flags = {bound.PLAY: play, bound.DRAW: draw, bound.RESTART: restart, bound.LOOK: look}
        packed, bits = arrays.seen.dtype == torch.int32, arrays.legal.dtype == torch.uint8
        finals = arrays.finals if arrays.finals.dtype == arrays.seen.dtype else arrays.seen
        self._launch(
            bound.turn_rows,
            min(self.num_games, MOST_THREADS),
            GAME_THREADS,
            self._fields,
            self._masks,
            self._offsets,
            arrays.streams,
            self._cube(arrays.actions),
            arrays.actions,
            arrays.fault,
            self._no_fault if wait is None else wait,
            arrays.rewards,
            arrays.ends,
            arrays.seats,
            arrays.legal.view(torch.uint8),
            8 if bits else 1,
            self._scratch,
            *(part.view(torch.uint32) if packed else part for part in (arrays.seen, finals)),
            32 if packed else 1,
            sum(flag for flag, asked in flags.items() if asked),
        )

    @property
    def masks(self) -> Tensor:
        """Legal masks, live, bool (N, S, A): those of the decisions to come; S = 1, or P where all seats move at once."""
        return self._masks.permute(2, 1, 0)

    @cached_property
    def _turn_kept(self) -> TurnArrays:
        return self.turn_arrays(torch.zeros(1, dtype=torch.int64, device=self._device.torch_device))

    def _cube(self, actions: Tensor) -> Tensor:
        return actions.view(self.num_games, self._mask_rows, len(self.facts.heads))

    @cached_property
    def _spec_dtype(self) -> torch.dtype:
        dtype: torch.dtype = getattr(torch, self.facts.observation.dtype)
        return dtype

    @cached_property
    def _no_fault(self) -> Tensor:
        return self._new_fault()

    @cached_property
    def _scratch(self) -> Tensor:
        """[size, threads], zeros: where each thread of a turn writes an observation before it is packed."""
        threads = int(np.prod(GAME_THREADS))
        shape = self.facts.observation.size, -(-min(self.num_games, MOST_THREADS) // threads) * threads
        return torch.zeros(shape, dtype=self._spec_dtype, device=self._device.torch_device)

    def _new_fault(self) -> Tensor:
        return torch.full((1,), self._bound.NO_FAULT, device=self._device.torch_device)

    def _checked_actions(self, actions: Any, count: int, one_seat: bool = False) -> Tensor:
        """Actions as int64 on the device, contiguous."""
        given = actions if isinstance(actions, Tensor) else np.asarray(actions)
        checks.check_actions(self.facts, tuple(given.shape), given.dtype, _integers(given), count, one_seat)
        if isinstance(given, np.ndarray):
            given = torch.from_numpy(np.ascontiguousarray(given, np.int64))
        return given.to(self._device.torch_device, torch.int64).contiguous()

    @cached_property
    def _offsets(self) -> Tensor:
        return self.tensor(checks.head_offsets(self.facts))

    def legal(self, out: Tensor | None = None) -> Tensor:
        """Legal masks; see `Engine.legal`."""
        masks = self._masks.permute(2, 1, 0) if self.facts.simultaneous else self._masks[:, 0].T
        return self._copied(masks) if out is None else checks.filled(out, masks)

    def observe(
        self,
        seat: ArrayLike | None = None,
        rows: ArrayLike | None = None,
        packed: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """What a seat sees; see `Engine.observe`."""
        return checks.filled(out, self._seen(self._bound.observe_rows, self.facts.observation, seat, rows, packed))

    def critic(
        self,
        seat: ArrayLike | None = None,
        rows: ArrayLike | None = None,
        packed: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """What a value function may see in training; see `Engine.critic`."""
        kernel = self._bound.critic_rows if self._kernels.critic else self._bound.every_seat_rows
        return checks.filled(out, self._seen(kernel, checks.critic_spec(self.game), seat, rows, packed))

    def used(self, actions: ArrayLike, seat: ArrayLike | None = None, rows: ArrayLike | None = None) -> Tensor:
        """Which heads have an effect; see `Engine.used`."""
        chosen = self._all if rows is None else checks.checked_rows(_off_device(rows), self.num_games)
        played = self._checked_actions(actions, len(chosen), seat is not None)
        where, seats, heads = *self._rows_and_seats(seat, chosen), len(self.facts.heads)
        out = torch.full((len(where), heads), not self._kernels.used, device=self._device.torch_device)
        if self._kernels.used:
            self.run(self._bound.used_rows, len(where), self._fields, where, seats, played.view(-1, heads), out)
        acting = self.deciding if self.facts.simultaneous else self.alive
        out &= acting[where, torch.where(seats < 0, self.state.to_move[where], seats)].unsqueeze(1)
        return out.view(-1, self.facts.players, heads) if seat is None and self.facts.simultaneous else out

    def _rows_and_seats(self, seat: Any, chosen: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Rows and seats to observe: one seat per game, or every seat of simultaneous games; -1 is the seat to move."""
        checks.check_started(self.facts, self._started, chosen)
        where = self._row_tensor(chosen)
        if seat is not None:
            return where, self.tensor(checks.checked_seats(_off_device(seat), len(chosen), self.facts))
        if self.facts.simultaneous:
            seats = torch.arange(self.facts.players, device=where.device).repeat(len(chosen))
            return where.repeat_interleave(self.facts.players), seats
        return where, torch.full_like(where, -1)

    def _seen(self, kernel: Kernel, spec: ObservationSpec, seat: Any, rows: Any, packed: bool) -> Tensor:
        """What `kernel` writes for `seat`, (m, *shape), or for every seat of simultaneous games, (m, P, *shape)."""
        chosen = self._all if rows is None else checks.checked_rows(_off_device(rows), self.num_games)
        seen = self._looked(kernel, spec, *self._rows_and_seats(seat, chosen), packed)
        every = seat is None and self.facts.simultaneous
        return seen.view(len(chosen), self.facts.players, *seen.shape[1:]) if every else seen

    def _looked(self, kernel: Kernel, spec: ObservationSpec, rows: Tensor, seats: Tensor, packed: bool) -> Tensor:
        count, device = len(rows), self._device.torch_device
        if packed:
            checks.check_packable(self.facts, spec)
        columns = torch.zeros((spec.size, count), dtype=getattr(torch, spec.dtype), device=device)
        self.run(kernel, count, self._fields, rows, seats, columns)
        if packed:
            out = torch.empty((count, -(-spec.size // 8)), dtype=torch.uint8, device=device)
            self._launch(self._bound.pack_bits, out.numel(), ENTRY_THREADS, columns, out)
            return out
        out = torch.empty((count, spec.size), dtype=columns.dtype, device=device)
        tiles = -(-count // self._bound.TILE) * -(-spec.size // self._bound.TILE)
        self._launch(self._bound.turn_tiles, tiles * int(np.prod(TILE_THREADS)), TILE_THREADS, columns, out)
        return out.view(count, *spec.shape)

    def gather(self, rows: ArrayLike) -> Self:
        """Copy chosen games, repeats allowed, into a new batch."""
        chosen = checks.checked_rows(_off_device(rows), self.num_games)
        where = self.tensor(chosen)
        other = object.__new__(type(self))
        other.game, other.facts, other.device, other._device = self.game, self.facts, self.device, self._device
        other._shared = self._shared
        other.seed, other._first_game, other._kernels = self.seed, self._first_game, self._kernels
        other._adopt(gather_pools(self._pools, where), self._started[chosen], self._masks.index_select(2, where))
        return other

    def _arguments(self) -> dict[str, Any]:
        return super()._arguments() | {"device": self.device}

    def redeal(self, seat: ArrayLike, seed: int) -> None:
        """Draw anew what `seat` does not know; see `Engine.redeal`."""
        checks.check_redeal(self.game)
        checks.check_started(self.facts, self._started, self._all)
        seats = self.tensor(checks.checked_seats(_off_device(seat), self.num_games, self.facts))
        self.state.random.copy_(self.tensor(redeal_streams(checks.checked_seed(seed), self.num_games)))
        self.run(self._bound.redeal_rows, self.num_games, self._fields, self._all_rows, seats)
        # Legal actions of other seats may depend on what was redealt.
        self.run(self._bound.legal_rows, self.num_games, self._fields, self._masks)

    def fields(self) -> dict[str, Any]:
        """Everything that a restored batch needs, by name; the arrays are live."""
        mine = {name: getattr(self.state, name) for name in own_fields(self.game.rules.fields)}
        return {**mine, "_started": self._started}

    def load_fields(self, fields: Mapping[str, Any], check: bool = True) -> None:
        """Restore what `fields` returned, on this or another device; see `Engine.load_fields`."""
        if check:
            check_fields(self.game, fields)
        count = len(fields["to_move"])
        pools = new_pools(self.game.rules.fields, count, self._device.torch_device)
        for name, field in pool_views(own_fields(self.game.rules.fields), pools)._asdict().items():
            field.copy_(self.tensor(fields[name]))
        self._adopt(pools, np.array(_off_device(fields["_started"]), bool))
        self.run(self._bound.legal_rows, count, self._fields, self._masks)


def shown_bits(words: Tensor, spec: ObservationSpec) -> Tensor:
    """uint8 [..., ceil(size / 8)], a view: the bytes of packed observations in rows of words."""
    return words.view(torch.uint8)[..., : -(-spec.size // 8)]


def _off_device(values: Any) -> Any:
    """Tensors as NumPy arrays, anything else as it is."""
    return values.cpu().numpy() if isinstance(values, Tensor) else values


def _integers(actions: Tensor | NDArray[Any]) -> bool:
    if isinstance(actions, np.ndarray):
        return actions.dtype.kind in "iu"
    return not (actions.is_floating_point() or actions.is_complex() or actions.dtype == torch.bool)
