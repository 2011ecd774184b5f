"""`Engine`: the one protocol that views, searches and samplers talk to. `KernelEngine` implements it for compiled games."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ludory.envs.game import Game, GameFacts, State

Array = Any
"""NumPy array on the CPU, torch tensor on CUDA."""


def on_host(array: Array) -> NDArray[Any]:
    """`array` as NumPy: itself, or a tensor copied from its device."""
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


@runtime_checkable
class Engine(Protocol):
    """A batch of N games of one kind. It never resets by itself, never clips, never punishes.

    P seats, H heads, A = sum of the head sizes. Arrays that a method or property returns are fresh, except `state`.
    """

    game: Game
    facts: GameFacts
    num_games: int
    device: str

    def reset(
        self, rows: Array | None = None, options: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        """Start the next game in `rows` (default all); `options` hold arrays of len(rows); `seed` starts the random streams anew."""

    def step(self, actions: Array, rows: Array | None = None) -> None:
        """Play: (N,) one head, (N, H) several heads, (N, P, H) simultaneous. Rows of finished games are ignored and give reward 0.

        rows: play in these games only; `actions` then has len(rows) entries, and all other games have reward 0.

        Raises:
            IllegalActionError: naming game, seat, action and the legal ones; nothing has been played then.
        """

    def legal(self) -> Array:
        """Legal mask bool (N, A) for the seat to move, (N, P, A) in simultaneous games; all true for a finished game."""

    def observe(self, seat: int | Array | None = None, rows: Array | None = None, packed: bool = False) -> Array:
        """What `seat` sees, (N, *shape); None: the seat to move (in a finished game, who would be next); simultaneous (N, P, *shape).

        rows: only these games. packed: 0/1 observations as bits, uint8 (N, ceil(size / 8)), the order of `numpy.packbits`.
        """

    def used(self, actions: Array, seat: int | Array | None = None, rows: Array | None = None) -> Array:
        """Which heads of `actions`, legal and about to be played, have an effect: bool (N, H), (N, P, H) in simultaneous games.

        To be called before `step` with the same actions. All False in finished games and for seats that are out.

        seat: the actions are those of one seat, (N,) or (N, H), and so is the answer, (N, H). rows: only these games.
        """

    def critic(self, seat: int | Array | None = None, rows: Array | None = None, packed: bool = False) -> Array:
        """What a value function of `seat` may see in training, hidden things too: (N, C), C = facts.critic_spec.size.

        None: the seat to move; simultaneous (N, P, C). rows, packed: as for `observe`. Never shown to a player.
        """

    @property
    def state(self) -> State:
        """NamedTuple of live arrays, first axis = game."""

    @property
    def to_move(self) -> Array:
        """(N,) seat to move, -1 when the game is over; simultaneous games: 0 while running."""

    @property
    def rewards(self) -> Array:
        """(N, P) float32, of the last step."""

    @property
    def terminated(self) -> Array:
        """(N,) bool, ended by the rules."""

    @property
    def seat_terminated(self) -> Array:
        """(N, P) bool, the seat's place was settled in the last decision: by elimination, or by the end of the game."""

    @property
    def alive(self) -> Array:
        """(N, P) bool, the seat's place is not settled, and the game is running."""

    @property
    def deciding(self) -> Array:
        """(N, P) bool, who must act now: `to_move` where seats take turns, `alive` where all move at once, but for seats that wait.

        All False in finished games. A running game in which nobody decides is stepped on with any legal actions.
        """

    @property
    def truncated(self) -> Array:
        """(N,) bool, ended by an outside limit."""

    def clone(self) -> Engine:
        """Independent copy; clones diverge only by actions."""

    def gather(self, rows: Array) -> Engine:
        """Copy chosen games, repeats allowed, into a new batch."""

    def redeal(self, seat: int | Array, seed: int) -> None:
        """Re-draw in every game what `seat` (one, or (N,)) does not know, from its exact conditional distribution."""

    def fields(self) -> dict[str, Array]:
        """All that a restored batch needs, by name; the arrays are live."""

    def load_fields(self, fields: Mapping[str, Array], check: bool = True) -> None:
        """Restore what `fields` returned; the number of games becomes that of the arrays.

        check: False only for the state of an engine of this process, as searches have it: values out of bounds end the process.

        Raises:
            SnapshotError: naming field, game and value, and what is allowed; nothing has been taken up then.
        """

    def close(self) -> None:
        """Release what the engine holds outside Python, such as processes; it cannot be used afterwards. May be called twice."""

    def save(self, file: str | Path) -> None:
        """Write all games to `file`, atomically."""

    def restore(self, file: str | Path) -> None:
        """Continue from a file of `save`, bit for bit, future random draws included.

        Raises:
            SnapshotError: unreadable, of another game or version, too large, or a value is out of bounds; the games stay as they were.
        """
