"""`ExternalEngine`: base class of engines for games whose rules run in another library, process or program."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.envs.chance import EPISODE, KEY, STREAM, hash_rows
from ludory.envs.game import Game
from ludory.errors import IllegalActionError, OptionError

from . import checks
from .base import EngineBase
from .protocol import Array

if TYPE_CHECKING:  # not needed to start: importing it takes time
    from typing_extensions import Self

Rows = NDArray[np.int64]
"""(m,) game numbers, all different."""


class ExternalState(NamedTuple):
    """The state of the N games of an `ExternalEngine`, written by `start_games` and `play_games`. S is P in simultaneous games, else 1."""

    random: NDArray[np.int64]  # (N, 4) stream, episode, key, counter; written by the base class
    to_move: NDArray[
        np.int32
    ]  # (N,) seat to move; after the end of a game the seat that would be next; 0 in simultaneous games
    rewards: NDArray[np.float32]  # (N, P) of the last step
    terminated: NDArray[np.bool_]  # (N,) ended by the rules
    truncated: NDArray[np.bool_]  # (N,) ended by an outside limit
    alive: NDArray[np.bool_]  # (N, P) the seat is still in the game
    seat_terminated: NDArray[np.bool_]  # (N, P) the seat left the game in the last step, or its game ended
    deciding: NDArray[np.bool_]  # (N, P) in simultaneous games: the seat must act in the next step
    legal: NDArray[np.bool_]  # (N, S, A)
    observations: NDArray[Any]  # (N, P, *shape)
    engine: ExternalEngine


NEW_GAME: Mapping[str, Any] = {
    "to_move": 0,
    "rewards": 0,
    "seat_terminated": False,
    "terminated": False,
    "truncated": False,
    "alive": True,
    "deciding": True,
    "legal": True,
}
"""Fields of `ExternalState` as `start_games` finds them."""


def _seeds(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    return keys >> 32 & (2**31 - 1)


class ExternalEngine(EngineBase):
    """A batch of N games on the CPU whose rules a subclass provides; see `ludory.envs.engine.protocol.Engine` for the methods.

    A subclass defines `start_games` and `play_games`, which write the rows of `state`; `close` if it holds resources; and, if
    `game.facts` say that it can, `gather`, `redeal`, `fields` and `load_fields`. The base class does checks, finished games, seeds and
    what seats see.

    Args:
        game: the game to play.
        num_games: N, at least 1.
        seed: seed of all random draws; None draws one from the operating system.
        first_game: number of the first game in the sequence of games that the seed stands for.
        threads: number of CPU threads; for subclasses.
        device: must be "cpu".

    Raises:
        OptionError: another device.
    """

    device = "cpu"
    state: ExternalState

    def __init__(
        self,
        game: Game,
        num_games: int = 1,
        seed: int | None = None,
        first_game: int = 0,
        threads: int | None = None,
        device: str = "cpu",
    ) -> None:
        if device != "cpu":
            raise OptionError(
                f"device={device!r}: {game.name} runs on the CPU only (its rules run elsewhere); type 'cpu'"
            )
        self.game, self.facts, self.num_games = game, game.facts, checks.checked_num_games(num_games)
        self.threads = threads
        self._all = np.arange(self.num_games)
        self._sizes, self._offsets = np.array(self.facts.head_sizes), checks.head_offsets(self.facts)[:-1]
        self._mask_row = np.arange(self._mask_rows)[None, :, None]
        self._numbers = first_game + self._all
        self._started = np.zeros(self.num_games, bool)
        self.state = self._new_state()
        self._seed_streams(seed)

    def _new_state(self) -> ExternalState:
        count, players, spec = self.num_games, self.facts.players, self.facts.observation
        masks = players if self.facts.simultaneous else 1
        return ExternalState(
            random=np.zeros((count, 4), np.int64),
            to_move=np.zeros(count, np.int32),
            rewards=np.zeros((count, players), np.float32),
            terminated=np.ones(count, bool),
            truncated=np.zeros(count, bool),
            alive=np.zeros((count, players), bool),
            seat_terminated=np.zeros((count, players), bool),
            deciding=np.zeros((count, players), bool),
            legal=np.ones((count, masks, self.facts.num_actions), bool),
            observations=np.zeros((count, players, *spec.shape), spec.dtype),
            engine=self,
        )

    def number_games(self, numbers: NDArray[np.int64]) -> None:
        """Let row k play game number numbers[k] in the sequence that the seed stands for, from the next `reset` on."""
        self._numbers = np.array(numbers, np.int64)
        self._seed_streams(self.seed)

    def _game_numbers(self) -> NDArray[np.int64]:
        return self._numbers

    @abstractmethod
    def start_games(self, rows: Rows, seeds: NDArray[np.int64], options: Mapping[str, Any]) -> None:
        """Start new games in `rows`: write their observations, and whatever differs from the values on entry.

        Values on entry, in these rows: to_move 0, rewards 0, not over, every seat alive and deciding, every action legal.

        Args:
            rows: which games.
            seeds: (m,) 0..2**31 - 1, seed of each game's chance; they depend only on (seed, game number, episode).
            options: reset options, arrays of len(rows).

        Raises:
            OptionError: an option is not allowed; raised before anything is changed.
        """

    @abstractmethod
    def play_games(self, rows: Rows, actions: NDArray[Any]) -> None:
        """Play legal `actions` in running games: write rewards, ends, observations, legal masks, to_move, alive and deciding of `rows`.

        On entry, in these rows, rewards and seat_terminated are 0; the rest is as the last step left it. The ends of seats must be
        written only where seats leave before their game ends.

        Args:
            rows: which games; none of them is over.
            actions: int64 (m, H), or (m, P, H) in simultaneous games; float32 (m, D) or (m, P, D) for `facts.box`.
        """

    def reset(
        self, rows: ArrayLike | None = None, options: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        """Start the next game in `rows` (default all); see `Engine.reset`."""
        rows = self._all if rows is None else checks.distinct_rows(rows, self.num_games)
        given = self.checked_options(options or {}, len(rows))
        if seed is not None:
            self._seed_streams(seed)
        state = self.state
        state.random[rows, KEY] = self._next_keys(rows)
        state.random[rows, EPISODE] += 1
        for name, value in NEW_GAME.items():
            getattr(state, name)[rows] = value
        if len(rows):
            self.start_games(rows, _seeds(state.random[rows, KEY]), given)
        self._settle(rows)
        self._started[rows] = True

    def _next_keys(self, rows: Rows) -> NDArray[np.int64]:
        """Keys of the games that come next in `rows`."""
        random = self.state.random[rows]
        return hash_rows(hash_rows(random[:, STREAM], 0), random[:, EPISODE])

    def next_seeds(self, rows: Rows) -> NDArray[np.int64]:
        """(m,) the seeds that the next `start_games` of `rows` receives, unless the engine is seeded anew before."""
        return _seeds(self._next_keys(rows))

    def checked_options(self, options: Mapping[str, Any], count: int) -> Mapping[str, Any]:
        """Checked options of `reset` for `count` games; the base class takes none.

        Raises:
            OptionError: an option is not allowed.
        """
        if options:
            raise OptionError(f"{self.facts.name} takes no reset options, got {', '.join(map(repr, options))}")
        return options

    def _settle(self, rows: Rows) -> None:
        """Update seats and masks of the games of `rows` that are over."""
        state = self.state
        over = rows[self.over[rows]]
        if not len(over):
            return
        state.legal[over] = True
        if self.game.seats_leave:
            settled = over[state.terminated[over]]
            state.seat_terminated[settled] |= state.alive[settled]
        else:
            state.seat_terminated[over] = state.terminated[over, None]
        state.alive[over] = False

    def step(self, actions: ArrayLike, rows: ArrayLike | None = None) -> None:
        """Play one action in every running game, or in `rows` only; see `Engine.step`."""
        rows = self._all if rows is None else checks.distinct_rows(rows, self.num_games)
        chosen = self._checked_actions(actions, rows)
        self.state.rewards[:] = 0
        running = ~self.over[rows]
        playing = rows[running]
        self.state.seat_terminated[playing] = False
        if len(playing):
            self.play_games(playing, chosen[running])
        self._settle(rows)

    def _checked_actions(self, actions: Any, rows: Rows) -> NDArray[Any]:
        """Actions in the form that `play_games` takes; those of finished games are not checked."""
        given = np.asarray(actions)
        checks.check_actions(self.facts, given.shape, given.dtype, given.dtype.kind in "iu", len(rows))
        checks.check_started(self.facts, self._started, rows)
        if self.facts.box is not None:
            return self._checked_numbers(given, rows)
        cube = np.ascontiguousarray(given, np.int64).reshape(
            len(rows), self.facts.players if self.facts.simultaneous else 1, len(self.facts.heads)
        )
        fault = self._first_illegal(cube, rows)
        if fault >= 0:
            raise checks.illegal_action(self.game, fault, rows, cube, self.state.legal, self.state.to_move)
        return cube if self.facts.simultaneous else cube[:, 0]

    def _first_illegal(self, cube: NDArray[np.int64], rows: Rows) -> int:
        """Flat index in `cube` [m, S, H] of the first illegal action of a running game, -1 if there is none."""
        exists = (cube >= 0) & (cube < self._sizes)
        columns = np.where(exists, cube, 0) + self._offsets
        wrong = ~(exists & self.state.legal[rows[:, None, None], self._mask_row, columns])
        if not wrong.any():
            return -1
        wrong &= ~self.over[rows, None, None]
        if self.game.rules.ignores_waiting:
            wrong &= self.state.deciding[rows, :, None] | ~exists
        return int(wrong.argmax()) if wrong.any() else -1

    def _checked_numbers(self, given: NDArray[Any], rows: Rows) -> NDArray[np.float32]:
        assert self.facts.box is not None
        low, high = (np.array(end, np.float32) for end in self.facts.box)
        numbers = np.ascontiguousarray(given, np.float32)
        running = ~self.over[rows].reshape(-1, *[1] * (numbers.ndim - 1))
        wrong = ~((numbers >= low) & (numbers <= high) & np.isfinite(numbers)) & running
        if wrong.any():
            place = tuple(int(k) for k in np.argwhere(wrong)[0])
            seat = place[1] if self.facts.simultaneous else int(self.state.to_move[rows[place[0]]])
            raise IllegalActionError(
                f"{self.facts.name}, game {rows[place[0]]}, seat {seat}: entry {place[-1]} of the action is {numbers[place]}, "
                f"must lie in {low[place[-1]]}..{high[place[-1]]}"
            )
        return numbers

    def legal(self, out: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Legal masks; see `Engine.legal`."""
        masks: NDArray[np.bool_] = self.state.legal if self.facts.simultaneous else self.state.legal[:, 0]
        return masks.copy() if out is None else checks.filled(out, masks)

    def observe(
        self,
        seat: ArrayLike | None = None,
        rows: ArrayLike | None = None,
        packed: bool = False,
        out: Array | None = None,
    ) -> NDArray[Any]:
        """What a seat sees; see `Engine.observe`."""
        rows, seats = self._rows_and_seats(seat, rows)
        seen: NDArray[Any] = self.state.observations[rows] if seats is None else self.state.observations[rows, seats]
        return checks.filled(out, self._packed(seen, seen.ndim - len(self.facts.observation.shape)) if packed else seen)

    def critic(
        self,
        seat: ArrayLike | None = None,
        rows: ArrayLike | None = None,
        packed: bool = False,
        out: Array | None = None,
    ) -> NDArray[Any]:
        """What a value function may see in training: the observations of all seats, starting with its own; see `Engine.critic`."""
        rows, seats = self._rows_and_seats(seat, rows)
        if seats is None:
            players = range(self.facts.players)
            seen = np.stack([self.critic_of_seats(rows, np.full(len(rows), player)) for player in players], axis=1)
        else:
            seen = self.critic_of_seats(rows, seats)
        return checks.filled(out, self._packed(seen, seen.ndim - 1, critic=True) if packed else seen)

    def critic_of_seats(self, rows: Rows, seats: NDArray[np.int64]) -> NDArray[Any]:
        """(m, C): what a value function of `seats` (m,) may see; override it if `facts.critic` is set."""
        players = self.facts.players
        turned = (seats[:, None] + np.arange(players)) % players
        seen: NDArray[Any] = self.state.observations[rows[:, None], turned]
        return seen.reshape(len(rows), math.prod(seen.shape[1:]))

    def _rows_and_seats(self, seat: Any, rows: Any) -> tuple[Rows, NDArray[np.int64] | None]:
        """Rows, and the seat to observe in each; None: every seat."""
        rows = self._all if rows is None else checks.checked_rows(rows, self.num_games)
        checks.check_started(self.facts, self._started, rows)
        if seat is not None:
            return rows, checks.checked_seats(seat, len(rows), self.facts)
        return rows, None if self.facts.simultaneous else self.state.to_move[rows].astype(np.int64)

    def _packed(self, seen: NDArray[Any], axes: int, critic: bool = False) -> NDArray[np.uint8]:
        checks.check_packable(self.facts, self.facts.critic_spec if critic else self.facts.observation)
        return np.packbits(seen.reshape(*seen.shape[:axes], -1), axis=-1)

    def used(
        self, actions: ArrayLike, seat: ArrayLike | None = None, rows: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Which heads have an effect: the engine assumes all heads of a seat that must act; see `Engine.used`."""
        given, (rows, seats) = np.asarray(actions), self._rows_and_seats(seat, rows)
        checks.check_actions(
            self.facts, given.shape, given.dtype, given.dtype.kind in "iu", len(rows), seat is not None
        )
        acting = self.deciding[rows] if seats is None else self.deciding[rows, seats]
        return np.repeat(acting[..., None], len(self.facts.heads), axis=-1)

    def gather(self, rows: ArrayLike) -> Self:
        """Copy chosen games into a new batch; refused unless a subclass overrides it."""
        self._refuse("copying an engine", "gather", "clones")

    def _arguments(self) -> dict[str, Any]:
        return {
            "num_games": self.num_games,
            "seed": self.seed,
            "first_game": int(self._numbers[0]),
            "threads": self.threads,
        }

    def redeal(self, seat: ArrayLike, seed: int) -> None:
        """Draw anew what `seat` does not know; refused unless a subclass overrides it."""
        self._refuse("redeal", "redeal", "redeals")

    def fields(self) -> dict[str, Any]:
        """Everything that a restored batch needs; refused unless a subclass overrides it."""
        self._refuse("saving running games", "fields", "saves")

    def load_fields(self, fields: Mapping[str, Any], check: bool = True) -> None:
        """Restore what `fields` returned; refused unless a subclass overrides it."""
        self._refuse("restoring running games", "load_fields", "saves")

    def save(self, file: str | Path) -> None:
        """Write all games to `file`; refused unless a subclass overrides it."""
        self._refuse("saving running games", "save", "saves")

    def restore(self, file: str | Path) -> None:
        """Continue from a file of `save`; refused unless a subclass overrides it."""
        self._refuse("restoring running games", "restore", "saves")

    def _refuse(self, who: str, method: str, ability: Literal["clones", "redeals", "saves"]) -> NoReturn:
        self.game.need(who, ability)
        raise NotImplementedError(
            f"{self.facts.name}: facts.{ability} is True, so {type(self).__name__} must define `{method}`"
        )
