"""`PolicySeats`: a batch of games that one policy plays: every seat of a cooperative game, or one seat against players."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike

from ludory.envs.engine.protocol import Array, Engine, NextTurn
from ludory.envs.facts import GameFacts
from ludory.envs.game import Game
from ludory.errors import OptionError

from .opponents import Others, Seats, own_seat, seat_players
from .table import Listener, Table, first_legal, tell_of_moves


class Arrays(Protocol):
    """Arrays on one device."""

    def zeros(self, *shape: int, dtype: str) -> Array:
        """Zeros; `dtype` is the NumPy name."""

    def arange(self, count: int) -> Array:
        """0..count-1, int64."""

    def asarray(self, values: ArrayLike) -> Array:
        """`values` on this device, not copied if they are there already."""

    def copy(self, array: Array) -> Array:
        """A contiguous copy."""

    def integers(self, array: Array) -> bool:
        """Whether the dtype is an integer type."""

    def int64(self, array: Array) -> Array:
        """`array` as int64, not copied if it has that dtype."""

    def where(self, mask: Array) -> Array:
        """Indices of the rows where `mask` (n,) is True."""

    def int8(self, mask: Array) -> Array:
        """A bool array viewed as 0 and 1, in the same memory."""

    def boxed(self, mask: Array, values: Array) -> Array:
        """`values` (m, ...) in the m rows where `mask` (n,) is True: an object array with None elsewhere; on CUDA a dense tensor with zeros."""


class _NumpyArrays:
    """`Arrays` on the CPU."""

    def zeros(self, *shape: int, dtype: str) -> Array:
        return np.zeros(shape, dtype)

    def arange(self, count: int) -> Array:
        return np.arange(count)

    def asarray(self, values: Any) -> Array:
        return np.asarray(values)

    def copy(self, array: Array) -> Array:
        return np.array(array, order="C")

    def integers(self, array: Array) -> bool:
        return array.dtype.kind in "iu"

    def int64(self, array: Array) -> Array:
        return array.astype(np.int64, copy=False)

    def where(self, mask: Array) -> Array:
        return np.flatnonzero(mask)

    def int8(self, mask: Array) -> Array:
        return mask.view(np.int8)

    def boxed(self, mask: Array, values: Array) -> Array:
        boxes = np.full(len(mask), None, object)
        for row, value in zip(np.flatnonzero(mask), values, strict=True):
            boxes[row] = value
        return boxes


class _TorchArrays:
    """`Arrays` on a CUDA device."""

    def __init__(self, device: Any) -> None:
        import torch

        self._torch, self._device = torch, device

    def zeros(self, *shape: int, dtype: str) -> Array:
        return self._torch.zeros(shape, dtype=getattr(self._torch, dtype), device=self._device)

    def arange(self, count: int) -> Array:
        return self._torch.arange(count, device=self._device)

    def asarray(self, values: Any) -> Array:
        return self._torch.as_tensor(values, device=self._device)

    def copy(self, array: Array) -> Array:
        return array.clone(memory_format=self._torch.contiguous_format)

    def integers(self, array: Array) -> bool:
        return not array.is_floating_point() and array.dtype != self._torch.bool

    def int64(self, array: Array) -> Array:
        return array.to(self._torch.int64)

    def where(self, mask: Array) -> Array:
        return mask.nonzero().flatten()

    def int8(self, mask: Array) -> Array:
        return mask.view(self._torch.int8)

    def boxed(self, mask: Array, values: Array) -> Array:
        dense = self._torch.zeros((len(mask), *values.shape[1:]), dtype=values.dtype, device=self._device)
        dense[mask] = values
        return dense


def arrays_of(engine: Engine) -> Arrays:
    """Array operations for the arrays of an engine."""
    sample = engine.terminated
    return _NumpyArrays() if isinstance(sample, np.ndarray) else _TorchArrays(sample.device)


Illegal = Literal["lose", "raise"]
MOST_STARTS = 1000
"""Number of consecutive games that may end before the policy's first move."""


class PolicySeats:
    """The policy's side of a table. N games, P seats, H heads, A = sum of the head sizes.

    Args:
        game: the game to play.
        engine: a batch of it.
        seats: "all", or the policy's seat; None: "all" if that is possible and no `others` are named, else 0.
        others: players of the other seats, as for `seat_players`; None: "random".

    Raises:
        OptionError: as `own_seat` and `seat_players`; or every seat is the policy's, and `others` are named.
    """

    def __init__(self, game: Game, engine: Engine, seats: Seats = None, others: Others | None = None) -> None:
        self.game, self.engine, self.facts = game, engine, game.facts
        self.arrays = arrays_of(engine)
        self.own = own_seat(game.facts, 0 if seats is None and others is not None else seats)
        """The policy's seat; None: all seats, which share their reward."""
        self._table: Table | None = None
        self._listener: Listener | None = None
        self._early: Array = self.arrays.zeros(engine.num_games, game.facts.players, dtype="float32")
        if self.own is not None:
            if engine.device != "cpu":
                raise OptionError(
                    f"seats={self.own}: players sit at device='cpu' engines, this one is on {engine.device!r}"
                )
            self._table = Table(engine, seat_players(game, self.own, "random" if others is None else others))
            self._seed_players(getattr(engine, "seed", 0))
        elif others is not None and self.facts.players > 1:
            raise OptionError(
                f"seats='all' leaves no seat for others={others!r}; leave one of them out, or give seats=0"
            )

    def listen(self, listener: Listener | None) -> None:
        """Report every move of sequential games to `listener` before it is applied; None: to nobody."""
        if self._table is None:
            self._listener = listener
        else:
            self._table.listener = listener

    @property
    def reward_seat(self) -> int:
        """Column of the policy's reward."""
        return self.own or 0

    def start(
        self, rows: Array | None = None, options: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        """Start new games in `rows` (default all) and play up to the policy's first decision; games that end before it are restarted.

        Players that can be seeded are seeded with `seed` as well.

        Raises:
            OptionError: `options` are not allowed, or lead to games that end before the policy's first move.
        """
        if self._table is None:
            self.engine.reset(rows, options=options, seed=seed)
            return
        if seed is not None:
            self._seed_players(seed)
        rows = self.arrays.arange(self.engine.num_games) if rows is None else rows
        for _ in range(MOST_STARTS):
            self._table.start(rows, options, seed)
            # paid with the first move of the policy, see `play`
            self._early[rows] = self._table.rewards[rows]
            terminated, truncated = self.ends()
            # begun again, with the draws that come next
            rows, seed = rows[(terminated | truncated)[rows]], None
            if not len(rows):
                return
            if options:
                raise OptionError(f"options: game {rows[0]} is over before seat {self.own} moves; give another start")
        raise OptionError(
            f"seat {self.own} of {self.facts.name} did not come to move in {MOST_STARTS} games; choose another seat or other players"
        )

    def _seed_players(self, seed: int) -> None:
        assert self._table is not None
        self._players_seed = seed
        for seat, player in enumerate(self._table.players):
            if callable(start_anew := getattr(player, "seed", None)):
                start_anew((seed + seat) % 2**31)

    def state(self) -> dict[str, Array]:
        """Memories and seed of the players: together with the engine's fields, everything needed to continue the running games."""
        if self._table is None:
            return {}
        return {"seed": np.array(self._players_seed), "early": self._early} | self._table.state()

    def restore(self, state: Mapping[str, Array]) -> bool:
        """Restore what `state` returned, after the engine is restored.

        Returns:
            False if memories of the running games are missing (those of searches are not saved, and earlier versions saved none).
            The games must then be reset.
        """
        if self._table is None:
            return True
        if "seed" in state:
            self._seed_players(int(state["seed"]))
            self._early[:] = state["early"]
        return self._table.restore(state)

    def play(self, actions: Array, rows: Array | None = None) -> Array:
        """Play the policy's actions, (N,) or (N, H), then those of the players up to its next decision; returns the rewards (N, P).

        rows: play in these games only; `actions` then has len(rows) entries, all other games have reward 0.

        Raises:
            IllegalActionError: an action is illegal; nothing has been played.
        """
        if self._table is None:
            tell_of_moves(self._listener, self.engine, actions, rows)
            self.engine.step(actions, rows)
            return self.engine.rewards
        if not self.legal_rows(
            actions, rows
        ).all():  # let the engine raise its error before players are told of the move
            self.engine.step(self._at_table(actions, self._first_legal(rows)), rows)
        self._table.play(self._at_table(actions, 0), rows)
        rewards = self._table.rewards + self._early
        self._early[:] = 0
        return rewards

    def turn(self, actions: Array) -> tuple[Array, NextTurn]:
        """As `play` in all games: the rewards, live where there are no players, and masks and observations of the next decisions."""
        if self._table is None and self._listener is None:
            turn = self.engine.play(actions)
            return self.engine.state.rewards, turn
        rewards = self.play(actions)
        return rewards, NextTurn(self.legal(), self.observe())

    def _at_table(self, actions: Array, others: Array | int) -> Array:
        """Actions in the form of the engine; in simultaneous games (n, P, H), with `others` for the seats of players."""
        if not self.facts.simultaneous:
            return actions
        size, dtype = self.facts.action_size, "int64" if self.facts.box is None else "float32"
        cube = self.arrays.zeros(len(actions), self.facts.players, size, dtype=dtype)
        cube[:] = others
        cube[:, self.own] = actions.reshape(len(actions), size)
        return cube

    def _first_legal(self, rows: Array | None) -> Array:
        return first_legal(self.engine.legal() if rows is None else self.engine.legal()[rows], self.facts)

    def ends(self) -> tuple[Array, Array]:
        """(N,) bool: terminated and truncated. The game is terminated for a seat that is out, even if the others play on."""
        terminated, truncated = self.engine.terminated, self.engine.truncated
        if self.own is not None and self.game.seats_leave:
            settled = self.engine.seat_terminated[:, self.own] | ~(terminated | truncated)
            out = ~self.engine.alive[:, self.own] & settled
            return terminated | out, truncated & ~out
        return terminated, truncated

    def ended(self) -> tuple[bool, bool]:
        """`ends` of the first game."""
        if self.own is None or not self.game.seats_leave:
            state = self.engine.state
            return bool(state.terminated.item(0)), bool(state.truncated.item(0))
        terminated, truncated = self.ends()
        return bool(terminated[0]), bool(truncated[0])

    def observe(self, rows: Array | None = None) -> Array:
        """What the policy sees, (N, *shape): the observation of its seat, or of the seat to move."""
        return self.engine.observe(self.own, rows)

    def legal(self) -> Array:
        """Legal masks (N, A) bool of the policy's decision, all True in finished games."""
        masks = self.engine.legal()
        return masks[:, self.own] if self.facts.simultaneous else masks

    def legal_rows(self, actions: Array, rows: Array | None = None) -> Array:
        """(n,) bool: the action is in range and legal."""
        if self.facts.box is not None:
            low, high = (np.array(end, np.float32) for end in self.facts.box)
            within: Array = ((actions >= low) & (actions <= high)).all(axis=-1)
            return within
        masks = self.legal() if rows is None else self.legal()[rows]
        columns = actions.reshape(len(actions), len(self.facts.heads))
        index = self.arrays.arange(len(masks))
        fits, offset = index >= 0, 0
        for head, size in enumerate(self.facts.head_sizes):
            # what is out of range is looked up at the end of it, and does not fit
            chosen = columns[:, head].clip(0, size - 1)
            fits &= (chosen == columns[:, head]) & masks[index, offset + chosen]
            offset += size
        return fits

    def forfeit(self, returns: Array) -> Array:
        """Rewards (m, P) of games that the policy lost by an illegal action, given the returns (m, P) so far."""
        return forfeit_rewards(self.facts, returns, [self.reward_seat])


def checked_illegal(illegal: str) -> str:
    """`illegal`, if it is "lose" or "raise".

    Raises:
        OptionError: it is neither.
    """
    if illegal not in get_args(Illegal):
        raise OptionError(f"illegal={illegal!r}: must be 'lose' (the game ends with the worst return) or 'raise'")
    return illegal


def forfeit_rewards(facts: GameFacts, returns: Array, seats: Sequence[int]) -> Array:
    """Final rewards (m, P) of m games that `seats` lost by an illegal action, given the returns (m, P) so far.

    The return of a seat that lost becomes the worst possible one, or decreases by 1 if returns have no lower bound. Shared rewards are
    the same for all seats; otherwise the other seats have reward 0.
    """
    rewards = returns * 0
    losers = range(facts.players) if facts.reward == "shared" else seats
    for seat in losers:
        rewards[:, seat] = facts.min_return - returns[:, seat] if isfinite(facts.min_return) else -1
    return rewards
