"""`EngineBase`: what all engines have in common. It reads the fields of `state`, which are NumPy arrays or torch tensors."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.envs.chance import EPISODE, STREAM, hash_rows
from ludory.envs.facts import GameFacts
from ludory.envs.game import Game
from ludory.envs.parts import State

from .checks import checked_seed
from .protocol import Array, Engine, NextTurn, on_host
from .snapshot import identity, read_snapshot, write_snapshot

if TYPE_CHECKING:  # not needed to start: importing it takes time
    from typing_extensions import Self


class EngineBase(ABC):
    """Base of the engines; see `ludory.envs.engine.protocol.Engine` for the methods and properties."""

    game: Game
    facts: GameFacts
    num_games: int
    state: State
    """NamedTuple of live arrays, first axis = game."""
    seed: int
    device: Any
    _first_game: int
    _started: NDArray[np.bool_]
    """(N,) whether a game was started."""

    @abstractmethod
    def fields(self) -> dict[str, Array]:
        """Everything that a restored batch needs, by name; the arrays are live."""

    @abstractmethod
    def load_fields(self, fields: Mapping[str, Array], check: bool = True) -> None:
        """Restore what `fields` returned; see `Engine.load_fields`."""

    @abstractmethod
    def gather(self, rows: Array) -> Self:
        """Copy chosen games, repeats allowed, into a new batch."""

    def __repr__(self) -> str:
        games = f"{self.num_games:,} game{'' if self.num_games == 1 else 's'}"
        return f"<{type(self).__name__} of {self.game.name}: {games}, seed {self.seed}>"

    def _repr_html_(self) -> str:
        from ludory.envs.pictures import html_pictures

        shown = list[None]() if str(self.device) != "cpu" or not self._started.all() else [None] * self.num_games
        return html_pictures(repr(self), self.game, self.state, shown)

    def tensor(self, values: ArrayLike) -> Array:
        """`values` as an array on this engine's device, not copied if they are there already."""
        return np.asarray(values)

    def _copied(self, values: Array, dtype: str = "") -> Array:
        """A contiguous copy."""
        return values.astype(dtype, order="C") if dtype else values.copy()

    def _seed_streams(self, seed: int | None) -> None:
        """Seed the random streams of all games; None draws a seed from the operating system."""
        self.seed = secrets.randbits(62) if seed is None else checked_seed(seed)
        self.state.random[:, STREAM] = self.tensor(hash_rows(self.seed, self._game_numbers()))
        self.state.random[:, EPISODE] = 0

    def _game_numbers(self) -> NDArray[np.int64]:
        """(N,) each row's place in the sequence of games that the seed stands for."""
        return self._first_game + np.arange(self.num_games)

    @property
    def _mask_rows(self) -> int:
        """S, legal masks per game: one per seat where all move at once."""
        return self.facts.players if self.facts.simultaneous else 1

    @property
    def _seats(self) -> Array:
        """(P,) the seats, on the engine's device."""
        return self.tensor(np.arange(self.facts.players))

    @property
    def over(self) -> Array:
        """(N,) bool: terminated or truncated."""
        return self.state.terminated | self.state.truncated

    @property
    def to_move(self) -> Array:
        """(N,) int64 seat to move, -1 when the game is over; simultaneous games: 0 while running."""
        seat = self._copied(self.state.to_move, "int64")
        if self.facts.simultaneous:
            seat[:] = 0
        seat[self.over] = -1
        return seat

    @property
    def rewards(self) -> Array:
        """(N, P) float32, of the last step."""
        return self._copied(self.state.rewards)

    @property
    def terminated(self) -> Array:
        """(N,) bool, ended by the rules."""
        return self._copied(self.state.terminated)

    @property
    def truncated(self) -> Array:
        """(N,) bool, ended by an outside limit."""
        return self._copied(self.state.truncated)

    @property
    def seat_terminated(self) -> Array:
        """(N, P) bool, the seat left the game in the last decision."""
        if "seat_terminated" in self.state._fields:
            return self._copied(self.state.seat_terminated, "bool")
        return self.state.terminated[:, None] & (self._seats >= 0)

    @property
    def alive(self) -> Array:
        """(N, P) bool, the game is running and the seat is not out."""
        running = ~self.over[:, None]
        if "alive" in self.state._fields:
            return self._copied(self.state.alive, "bool") & running
        return running & (self._seats >= 0)

    @property
    def deciding(self) -> Array:
        """(N, P) bool, who must act now; see `Engine.deciding`."""
        if not self.facts.simultaneous:
            return self.to_move[:, None] == self._seats
        if "deciding" in self.state._fields:
            return self.alive & self._copied(self.state.deciding, "bool")
        return self.alive

    def play(self, actions: ArrayLike, packed: bool = False, out: NextTurn | None = None) -> NextTurn:
        """Step, and return masks and observations of the seats to move; see `Engine.play`."""
        self.step(actions)
        masks, seen = out or (None, None)
        return NextTurn(self.legal(out=masks), self.observe(packed=packed, out=seen))

    @abstractmethod
    def step(self, actions: ArrayLike, rows: ArrayLike | None = None) -> None:
        """Play one action in every running game, or in `rows` only; see `Engine.step`."""

    @abstractmethod
    def legal(self, out: Array | None = None) -> Array:
        """Legal masks; see `Engine.legal`."""

    @abstractmethod
    def observe(
        self,
        seat: ArrayLike | None = None,
        rows: ArrayLike | None = None,
        packed: bool = False,
        out: Array | None = None,
    ) -> Array:
        """What a seat sees; see `Engine.observe`."""

    def clone(self) -> Self:
        """Independent copy of all games."""
        return self.gather(np.arange(self.num_games))

    def __copy__(self) -> Self:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        self.game.need("a copy of an engine", "clones")
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        self.game.need("a pickled engine", "saves")
        return _again, (self.game, self._arguments(), {name: on_host(values) for name, values in self.fields().items()})

    def _arguments(self) -> dict[str, Any]:
        """What `make_engine` must be told to make such an engine."""
        return {"num_games": self.num_games, "seed": self.seed, "first_game": self._first_game}

    def save(self, file: str | Path) -> None:
        """Write all games to `file`, atomically; engines on every device read it."""
        write_snapshot(file, identity(self.game), {name: on_host(values) for name, values in self.fields().items()})

    def restore(self, file: str | Path) -> None:
        """Continue from a file of `save`; the number of games becomes that of the file."""
        self.load_fields(read_snapshot(file, self.game, self.num_games))

    def close(self) -> None:  # noqa: B027, most engines hold nothing open
        """Release what the engine holds outside Python; by default nothing."""

    def check_installed(self) -> None:  # noqa: B027, most engines need nothing else
        """Check that the library, process or program that plays the games is installed; by default there is none.

        Raises:
            PluginError: it is not; says what to type.
        """


def _again(game: Game, arguments: Mapping[str, Any], fields: Mapping[str, Array]) -> Engine:
    """The engine that was pickled."""
    from ludory.envs.make import make_engine

    engine = make_engine(game, **arguments)
    engine.load_fields(fields, check=False)
    return engine
