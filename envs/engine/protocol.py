"""`Engine`: the protocol that views, searches and samplers use. `KernelEngine` implements it for compiled games on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.envs.facts import GameFacts
from ludory.envs.game import Game
from ludory.envs.parts import State

if TYPE_CHECKING:
    from torch import Tensor

# Any, since a union would ask every caller of an engine which of the two it holds before it indexes or writes.
Array = Any
"""A NumPy array on the CPU, a torch tensor on CUDA."""
ArrayOrTensor: TypeAlias = "NDArray[Any] | Tensor"
"""An argument that may be either."""


def on_host(array: ArrayOrTensor) -> NDArray[Any]:
    """`array` as a NumPy array; tensors are copied from their device."""
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


def state_on_host(state: State) -> State:
    """`state` with NumPy arrays for its tensors, which is what the functions of `Look` read; an engine's on the CPU is not copied."""
    if not isinstance(state, tuple):
        return state
    return type(state)(*(field.cpu().numpy() if hasattr(field, "cpu") else field for field in state))


class NextTurn(NamedTuple):
    """What the seats to move have before them."""

    masks: Array
    """As `Engine.legal` returns them."""
    observations: Array
    """As `Engine.observe` returns them."""


@runtime_checkable
class Engine(Protocol):
    """A batch of N games of one kind. It never resets a game by itself and never clips or punishes actions.

    P seats, H heads, A = sum of the head sizes. Returned arrays are new ones, except `state` and `fields`, and those that a caller gives as
    `out`: they are filled and returned, and large batches save the time of fresh memory.
    """

    game: Game
    facts: GameFacts
    num_games: int
    device: str

    def reset(
        self, rows: ArrayLike | None = None, options: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        """Start the next game in `rows` (default all). `options` are arrays of len(rows); `seed` restarts the random streams."""

    def step(self, actions: ArrayLike, rows: ArrayLike | None = None) -> None:
        """Play actions (N,) of one head, (N, H) of several, (N, P, H) in simultaneous games. Finished games ignore them and have reward 0.

        rows: play in these games only; `actions` then has len(rows) entries, and all other games have reward 0.

        Raises:
            IllegalActionError: names game, seat, action and the legal actions; no action has been played.
        """

    def play(self, actions: ArrayLike, packed: bool = False, out: NextTurn | None = None) -> NextTurn:
        """`step`, `legal` and `observe(packed=packed)` in one call, which costs threads one hand-over instead of three.

        out: a `NextTurn` returned before, to be filled again.
        """

    def legal(self, out: Array | None = None) -> Array:
        """Legal mask bool (N, A) for the seat to move, (N, P, A) in simultaneous games; all True in finished games."""

    def observe(
        self,
        seat: ArrayLike | None = None,
        rows: ArrayLike | None = None,
        packed: bool = False,
        out: Array | None = None,
    ) -> Array:
        """What `seat` sees, `(N, *shape)`. None: the seat to move (in a finished game the next one); in simultaneous games all, `(N, P, *shape)`.

        rows: only these games. packed: 0/1 observations as bits, uint8 (N, ceil(size / 8)), in the order of `numpy.packbits`.
        out: array of the result's shape and dtype to be filled.
        """

    def used(self, actions: ArrayLike, seat: ArrayLike | None = None, rows: ArrayLike | None = None) -> Array:
        """Which heads of `actions`, legal and about to be played, have an effect: bool (N, H), (N, P, H) in simultaneous games.

        Call it before `step` with the same actions. All False in finished games and for seats that are out.

        seat: the actions (N,) or (N, H) are those of one seat, and the result is (N, H). rows: only these games.
        """

    def critic(
        self,
        seat: ArrayLike | None = None,
        rows: ArrayLike | None = None,
        packed: bool = False,
        out: Array | None = None,
    ) -> Array:
        """What a value function of `seat` may see in training, including hidden information: (N, C), C = facts.critic_spec.size.

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
        """(N, P) bool, the seat left the game in the last decision: by elimination, or because the game ended."""

    @property
    def alive(self) -> Array:
        """(N, P) bool, the game is running and the seat is not out."""

    @property
    def deciding(self) -> Array:
        """(N, P) bool, who must act now: `to_move` where seats take turns; `alive` where all move at once, except seats that wait.

        All False in finished games. A running game in which nobody decides is stepped with any legal actions.
        """

    @property
    def truncated(self) -> Array:
        """(N,) bool, ended by an outside limit."""

    def clone(self) -> Engine:
        """Independent copy of all games, future random draws included."""

    def gather(self, rows: ArrayLike) -> Engine:
        """Copy the games `rows`, repeats allowed, into a new batch."""

    def redeal(self, seat: ArrayLike, seed: int) -> None:
        """Draw anew in every game what `seat` (one, or (N,)) does not know, from its exact conditional distribution."""

    def fields(self) -> dict[str, Array]:
        """Everything that a restored batch needs, by name; the arrays are live."""

    def load_fields(self, fields: Mapping[str, Array], check: bool = True) -> None:
        """Restore what `fields` returned; the number of games becomes that of the arrays.

        check: pass False only for the state of an engine of this process, as searches do: values out of bounds crash the process.

        Raises:
            SnapshotError: names field, game and value, and what is allowed; the engine is unchanged.
        """

    def close(self) -> None:
        """Release resources such as processes; the engine cannot be used afterwards. May be called twice."""

    def save(self, file: str | Path) -> None:
        """Write all games to `file`, atomically."""

    def restore(self, file: str | Path) -> None:
        """Continue from a file of `save`, bit for bit, future random draws included.

        Raises:
            SnapshotError: unreadable, of another game or version, too large, or a value is out of bounds; the engine is unchanged.
        """
