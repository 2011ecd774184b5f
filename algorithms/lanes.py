"""`Lanes`: the decisions that one policy makes side by side. A lane is a game, or a seat of a game where all seats move at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ludory.envs.engine import Array, Engine
from ludory.envs.game import Game
from ludory.envs.table import Listener, tell_of_moves
from ludory.envs.views.seating import Others, own_seat
from ludory.envs.views.side import Side
from ludory.errors import OptionError


class Lanes:
    """One seat against players, or every seat of a game with a shared reward: a lane per game, one reward per lane.

    N games, P seats, A = sum of the head sizes.
    """

    own_rewards = False
    """True if every seat has a reward of its own: `play` then gives (N, P) for N lanes."""

    def __init__(self, game: Game, engine: Engine, seat: int | None, others: Others = "random") -> None:
        self.game, self.engine, self.facts = game, engine, game.facts
        self.side = Side(game, engine, "all" if seat is None else seat, others)
        self.bits = game.facts.observation.bits
        self.reward_seat = self.side.reward_seat

    @property
    def per_game(self) -> int:
        """Lanes of one game."""
        return 1

    def seats(self) -> Tensor:
        """(lanes,) int64: who decides."""
        own, to_move = self.side.own, torch.as_tensor(self.engine.to_move).long()
        return to_move if own is None else torch.full_like(to_move, own)

    def observe(self, rows: Any = None) -> Tensor:
        """What the deciding seats see: bits (lanes, bytes) or floats (lanes, size); of the games `rows` only."""
        return self._flat(self.engine.observe(self.side.own, rows, packed=self.bits))

    def observe_seat(self, seat: int, rows: Any) -> Tensor:
        """What `seat` sees in the games `rows`."""
        return self._flat(self.engine.observe(seat, rows, packed=self.bits))

    def critic(self, rows: Any = None) -> Tensor:
        """What a value function of the deciding seats may see in training: bits (lanes, bytes) or floats (lanes, size)."""
        return self._critic(self.side.own, rows)

    def _critic(self, seat: int | None, rows: Any = None) -> Tensor:
        bits = self.facts.critic_spec.bits
        seen = torch.as_tensor(self.engine.critic(seat, rows, packed=bits))
        return seen if bits else seen.float()

    def critic_of_seat(self, seat: int, rows: Any) -> Tensor:
        """As `critic`, of `seat` in the games `rows`."""
        return self._critic(seat, rows)

    def _flat(self, seen: Array) -> Tensor:
        flat = torch.as_tensor(seen).flatten(1)
        return flat if self.bits else flat.float()

    def legal(self) -> Tensor:
        """(lanes, A) bool."""
        return torch.as_tensor(self.side.legal())

    def alive(self) -> Tensor | None:
        """(lanes,) bool, the lane has a decision to make; None: all have. Games of a lone seat that is out start anew."""
        return None

    def decided(self) -> Tensor | None:
        """(lanes,) bool, the lane's seat must act now; None: as `alive` says. Where it waits, its action has no effect. To be asked before `play`."""
        if not self.game.seats_wait:
            return None
        return torch.as_tensor(self.engine.deciding)[:, self.side.own or 0]

    def used(self, actions: Tensor) -> Tensor | None:
        """(lanes, H) bool, the heads of `actions` that have an effect; None: all have in this game. To be asked before `play`."""
        if not self.game.tells_used:
            return None
        return torch.as_tensor(self.engine.used(_played(actions), self.side.own))

    def ends(self) -> tuple[Tensor, Tensor]:
        """(lanes,) bool each: what the lane plays is terminated, is truncated (never both)."""
        terminated, truncated = map(torch.as_tensor, self.side.ends())
        return terminated, truncated & ~terminated

    def over(self) -> Array:
        """(N,) bool, games to start anew."""
        terminated, truncated = self.side.ends()
        return terminated | truncated

    def listen(self, listener: Listener | None) -> None:
        """Tell `listener` every move of games in which seats take turns, before it is applied; None: nobody."""
        self.side.listen(listener)

    def play(self, actions: Tensor) -> Array:
        """Play (lanes, H); gives rewards (N, P) up to the policy's next decision."""
        return self.side.play(_played(actions))

    def start(self, rows: Array | None = None) -> None:
        """Start new games in `rows` (default all)."""
        self.side.start(rows)

    def state(self) -> dict[str, Tensor]:
        """What the players of other seats know and draw from, by name."""
        return {name: torch.as_tensor(array) for name, array in self.side.state().items()}

    def restore(self, state: Mapping[str, Tensor]) -> bool:
        """Take up what `state` gave; False if games must start anew, see `Side.restore`."""
        return self.side.restore(state)


class SelfPlayLanes(Lanes):
    """Every seat of a game in which seats take turns and each has its own reward."""

    own_rewards = True
    reward_seat = 0

    def __init__(self, game: Game, engine: Engine) -> None:
        self.game, self.engine, self.facts, self.bits = game, engine, game.facts, game.facts.observation.bits
        self._listener: Listener | None = None

    def seats(self) -> Tensor:
        """(lanes,) int64: who decides."""
        return torch.as_tensor(self.engine.to_move).long()

    def observe(self, rows: Any = None) -> Tensor:
        """As `Lanes.observe`."""
        return self._flat(self.engine.observe(None, rows, packed=self.bits))

    def critic(self, rows: Any = None) -> Tensor:
        """As `Lanes.critic`."""
        return self._critic(None, rows)

    def legal(self) -> Tensor:
        """(lanes, A) bool."""
        return torch.as_tensor(self.engine.legal())

    def decided(self) -> Tensor | None:
        """As `Lanes.decided`: in turns, the seat to move decides."""
        return None

    def used(self, actions: Tensor) -> Tensor | None:
        """As `Lanes.used`."""
        return None if not self.game.tells_used else torch.as_tensor(self.engine.used(_played(actions)))

    def ends(self) -> tuple[Tensor, Tensor]:
        """As `Lanes.ends`."""
        terminated = torch.as_tensor(self.engine.terminated)
        return terminated, torch.as_tensor(self.engine.truncated) & ~terminated

    def over(self) -> Array:
        """As `Lanes.over`."""
        return self.engine.terminated | self.engine.truncated

    def listen(self, listener: Listener | None) -> None:
        """As `Lanes.listen`."""
        self._listener = listener

    def play(self, actions: Tensor) -> Array:
        """Play (lanes, H); gives the rewards (N, P) of this move."""
        played = _played(actions)
        tell_of_moves(self._listener, self.engine, played)
        self.engine.step(played)
        return self.engine.rewards

    def start(self, rows: Array | None = None) -> None:
        """Start new games in `rows` (default all)."""
        self.engine.reset(rows)

    def state(self) -> dict[str, Tensor]:
        """As `Lanes.state`: there are no other players."""
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> bool:
        """As `Lanes.restore`."""
        return True


class SimultaneousLanes(SelfPlayLanes):
    """Every seat of a game in which all move at once: lane = game * P + seat, one reward per lane."""

    own_rewards = False

    @property
    def per_game(self) -> int:
        """Lanes of one game: its seats."""
        return self.facts.players

    def seats(self) -> Tensor:
        """(lanes,) int64: who decides."""
        players = torch.arange(self.facts.players, device=torch.as_tensor(self.engine.to_move).device)
        return players.repeat(self.engine.num_games)

    def observe(self, rows: Any = None) -> Tensor:
        """As `Lanes.observe`, the seats of a game one after another."""
        seen = torch.as_tensor(self.engine.observe(None, rows, packed=self.bits)).flatten(0, 1).flatten(1)
        return seen if self.bits else seen.float()

    def critic(self, rows: Any = None) -> Tensor:
        """As `Lanes.critic`, the seats of a game one after another."""
        return self._critic(None, rows).flatten(0, 1)

    def legal(self) -> Tensor:
        """(lanes, A) bool."""
        return torch.as_tensor(self.engine.legal()).flatten(0, 1)

    def alive(self) -> Tensor | None:
        """As `Lanes.alive`: seats that are out wait for the end of their game."""
        return torch.as_tensor(self.engine.alive).flatten() if self.game.seats_leave else None

    def decided(self) -> Tensor | None:
        """As `Lanes.decided`."""
        return torch.as_tensor(self.engine.deciding).flatten() if self.game.seats_wait else None

    def used(self, actions: Tensor) -> Tensor | None:
        """As `Lanes.used`."""
        if not self.game.tells_used:
            return None
        return torch.as_tensor(self.engine.used(self._cube(actions))).flatten(0, 1)

    def ends(self) -> tuple[Tensor, Tensor]:
        """As `Lanes.ends`: a seat's place is settled when it is out, or with its game."""
        terminated = torch.as_tensor(self.engine.seat_terminated).flatten()
        truncated = torch.as_tensor(self.engine.truncated).repeat_interleave(self.facts.players)
        return terminated, truncated & ~terminated

    def _cube(self, actions: Tensor) -> Array:
        cube = actions.unflatten(0, (-1, self.facts.players))
        return cube if cube.is_cuda else cube.numpy()

    def play(self, actions: Tensor) -> Array:
        """Play (lanes, H); gives the rewards (N, P) of this move."""
        self.engine.step(self._cube(actions))
        return self.engine.rewards


def _played(actions: Tensor) -> Array:
    """(lanes, H), or (lanes, D) of continuous actions, as engines take the actions of one seat."""
    played = actions[:, 0] if actions.shape[1] == 1 and not actions.is_floating_point() else actions
    return played if played.is_cuda else played.numpy()


def make_lanes(game: Game, engine: Engine, seats: str, others: Others) -> Lanes:
    """Lanes of `seats`: "all", a seat number, or "auto" (all under a shared reward, else seat 0 against `others`).

    Raises:
        OptionError: no such seat.
    """
    if seats not in ("auto", "all") and not seats.isdigit():
        raise OptionError(f"seats={seats!r}: must be 'auto', 'all' or a seat number")
    facts = game.facts
    if seats == "all" and facts.simultaneous:
        return SimultaneousLanes(game, engine)
    if seats == "all" and facts.reward != "shared":
        return SelfPlayLanes(game, engine)
    wanted = None if seats == "auto" else "all" if seats == "all" else int(seats)
    return Lanes(game, engine, own_seat(facts, wanted), others)  # type: ignore[arg-type]
