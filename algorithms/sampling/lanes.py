"""`Lanes`: the decisions that one policy makes side by side. A lane is a game, or a seat of a game where all seats move at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ludory.envs import Array, Engine, Game, GameFacts, on_host
from ludory.envs.seats.opponents import Others, own_seat
from ludory.envs.seats.policy_seats import PolicySeats
from ludory.envs.seats.table import Listener, tell_of_moves
from ludory.errors import OptionError

OTHERS = "others/"
"""Prefix of the state of players of other seats."""


class Lanes(Protocol):
    """The decisions of one policy, as a sampler sees them: N games, P seats, A = sum of the head sizes.

    Classes that inherit from it get defaults for lanes that never change and have nobody else to ask.

    A step is: `observe`, `legal`, `seats`, `alive`, then `joint`, `used`, `play`, then `ends`, `over`, `close` and `start`.
    """

    game: Game
    engine: Engine
    facts: GameFacts
    own_rewards: bool
    """Whether every seat has its own reward; `play` then returns (N, P) for N lanes."""
    generator: torch.Generator | None
    """Generator of opponents without their own; the sampler sets it before it plays."""

    @property
    def games(self) -> Tensor:
        """(lanes,) int64: the game of each lane."""

    def begin(self) -> None:
        """Called at the start of a rollout; the lanes stay the same until the next call. By default they never change."""
        return

    def seats(self) -> Tensor:
        """(lanes,) int64: the deciding seat."""

    def movers(self, seats: Tensor) -> tuple[Tensor, Tensor]:
        """Index into (N, P): the seats that move in this step, given those of the lanes; by default these."""
        return self.games, seats

    def observe(self, lanes: Tensor | None = None) -> Tensor:
        """Observations of the deciding seats: bits (lanes, bytes) or floats (lanes, size); of all lanes or some."""

    def typical(self, observation: Tensor) -> Tensor:
        """Observations like those to come, given those of all lanes; compiled networks adapt to them."""
        return observation

    def observe_seat(self, seat: int, rows: ArrayLike) -> Tensor:
        """Observations of `seat` in the games `rows`."""

    def critic(self, lanes: Tensor | None = None) -> Tensor:
        """Input of a privileged value of the deciding seats: bits (lanes, bytes) or floats (lanes, size)."""

    def critic_of_seat(self, seat: int, rows: ArrayLike) -> Tensor:
        """As `critic`, of `seat` in the games `rows`."""

    def legal(self) -> Tensor:
        """(lanes, A) bool."""

    def alive(self) -> Tensor | None:
        """(lanes,) bool, the lane has a decision to make; None, the default: all have."""
        return None

    def decided(self) -> Tensor | None:
        """(lanes,) bool, the lane's seat must act now; None, the default: as `alive` says. Called before `play`."""
        return None

    def joint(self, actions: Tensor) -> Tensor:
        """The actions of all seats that move at once, given those of the lanes (lanes, H); by default nobody else moves."""
        return actions

    def used(self, joint: Tensor) -> Tensor | None:
        """(lanes, H) bool, the heads whose value has an effect; None: all have in this game. Called before `play`."""

    def play(self, joint: Tensor) -> Array:
        """Play the actions that `joint` returned; returns rewards (N, P) up to the policy's next decision."""

    def ends(self) -> tuple[Tensor, Tensor]:
        """(lanes,) bool each: the lane's game is terminated, is truncated."""

    def over(self) -> Array:
        """(N,) bool, games to restart."""

    def rewards(self, rewards: Tensor) -> Tensor:
        """(lanes,) of (N, P): the reward of each lane; all of them if `own_rewards`."""

    def results(self, rewards: Array) -> Array:
        """(N,) of (N, P): the rewards that count as the result of the policy."""

    def memory(self, memory: Tensor) -> Tensor:
        """A copy of the memory (N, P, size) with which a rollout begins, as `Rollout.memory`."""
        return memory.clone()

    def close(self, rows: Array, returns: Array, lengths: Array) -> None:
        """Called when the games `rows` ended with these returns of the policy after so many of its steps."""
        return

    def listen(self, listener: Listener | None) -> None:
        """Call `listener` with every move of games in which seats take turns, before it is applied; None: no listener."""

    def start(self, rows: Array | None = None) -> None:
        """Start new games in `rows` (default all)."""

    def state(self) -> dict[str, Tensor]:
        """State of other players and their generators, by name; by default there are none."""
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> bool:
        """Restore what `state` returned, among other entries; returns False if games must start anew."""
        return True


class EngineLanes(Lanes):
    """Base of lanes that read one engine, with a lane per game."""

    own_rewards = False
    generator: torch.Generator | None = None
    reward_seat = 0
    """Column of the policy's reward."""

    def __init__(self, game: Game, engine: Engine, per_game: int = 1) -> None:
        self.game, self.engine, self.facts, self.bits = game, engine, game.facts, game.facts.observation.bits
        self.device = torch.as_tensor(engine.to_move).device
        self._games = torch.arange(engine.num_games, device=self.device).repeat_interleave(per_game)
        self._listener: Listener | None = None

    @property
    def games(self) -> Tensor:
        return self._games

    def seats(self) -> Tensor:
        """As `Lanes.seats`: whose turn it is."""
        return torch.as_tensor(self.engine.to_move).long()

    def observe_seat(self, seat: int, rows: ArrayLike) -> Tensor:
        return self._seen(seat, rows)

    def critic_of_seat(self, seat: int, rows: ArrayLike) -> Tensor:
        return self._critic(seat, rows)

    def _seen(self, seat: int | None, rows: Any = None) -> Tensor:
        seen = torch.as_tensor(self.engine.observe(seat, rows, packed=self.bits)).flatten(1)
        return seen if self.bits else seen.float()

    def _critic(self, seat: int | None, rows: Any = None) -> Tensor:
        bits = self.facts.critic_spec.bits
        seen = torch.as_tensor(self.engine.critic(seat, rows, packed=bits))
        return seen if bits else seen.float()

    def rewards(self, rewards: Tensor) -> Tensor:
        return rewards if self.own_rewards else rewards[:, self.reward_seat]

    def results(self, rewards: Array) -> Array:
        return rewards[:, self.reward_seat]

    def over(self) -> Array:
        return self.engine.terminated | self.engine.truncated

    def start(self, rows: Array | None = None) -> None:
        self.engine.reset(rows)

    def listen(self, listener: Listener | None) -> None:
        self._listener = listener


class SideLanes(EngineLanes):
    """One seat against players, or every seat of a game with a shared reward: a lane per game, one reward per lane."""

    def __init__(self, game: Game, engine: Engine, seat: int | None, others: Others = "random") -> None:
        super().__init__(game, engine)
        self.policy_seats = PolicySeats(game, engine, *(("all", None) if seat is None else (seat, others)))
        self.reward_seat = self.policy_seats.reward_seat

    def seats(self) -> Tensor:
        own, to_move = self.policy_seats.own, super().seats()
        return to_move if own is None else torch.full_like(to_move, own)

    def observe(self, lanes: Tensor | None = None) -> Tensor:
        return self._seen(self.policy_seats.own, _rows(lanes))

    def critic(self, lanes: Tensor | None = None) -> Tensor:
        return self._critic(self.policy_seats.own, _rows(lanes))

    def legal(self) -> Tensor:
        return torch.as_tensor(self.policy_seats.legal())

    def decided(self) -> Tensor | None:
        """As `Lanes.decided`. Where the seat waits, its action has no effect."""
        if not self.game.seats_wait:
            return None
        return torch.as_tensor(self.engine.deciding)[:, self.policy_seats.own or 0]

    def used(self, joint: Tensor) -> Tensor | None:
        if not self.game.tells_used:
            return None
        return torch.as_tensor(self.engine.used(played(joint), self.policy_seats.own))

    def play(self, joint: Tensor) -> Array:
        return self.policy_seats.play(played(joint))

    def ends(self) -> tuple[Tensor, Tensor]:
        """As `Lanes.ends`, never both. A game whose only learning seat is out restarts."""
        terminated, truncated = map(torch.as_tensor, self.policy_seats.ends())
        return terminated, truncated & ~terminated

    def over(self) -> Array:
        terminated, truncated = self.policy_seats.ends()
        return terminated | truncated

    def listen(self, listener: Listener | None) -> None:
        self.policy_seats.listen(listener)

    def start(self, rows: Array | None = None) -> None:
        self.policy_seats.start(rows)

    def state(self) -> dict[str, Tensor]:
        return {OTHERS + name: torch.as_tensor(array) for name, array in self.policy_seats.state().items()}

    def restore(self, state: Mapping[str, Tensor]) -> bool:
        """As `Lanes.restore`; see `PolicySeats.restore`."""
        others = {name.removeprefix(OTHERS): tensor for name, tensor in state.items() if name.startswith(OTHERS)}
        return self.policy_seats.restore(others)


class SelfPlayLanes(EngineLanes):
    """Every seat of a game in which seats take turns and each has its own reward: a lane per game."""

    own_rewards = True

    def observe(self, lanes: Tensor | None = None) -> Tensor:
        return self._seen(None, _rows(lanes))

    def critic(self, lanes: Tensor | None = None) -> Tensor:
        return self._critic(None, _rows(lanes))

    def legal(self) -> Tensor:
        return torch.as_tensor(self.engine.legal())

    def used(self, joint: Tensor) -> Tensor | None:
        return None if not self.game.tells_used else torch.as_tensor(self.engine.used(played(joint)))

    def ends(self) -> tuple[Tensor, Tensor]:
        """As `Lanes.ends`, never both."""
        terminated = torch.as_tensor(self.engine.terminated)
        return terminated, torch.as_tensor(self.engine.truncated) & ~terminated

    def play(self, joint: Tensor) -> Array:
        """As `Lanes.play`: the rewards of this move."""
        moves = played(joint)
        tell_of_moves(self._listener, self.engine, moves)
        self.engine.step(moves)
        return self.engine.rewards


class SimultaneousLanes(EngineLanes):
    """Every seat of a game in which all move at once: lane = game * P + seat, one reward per lane."""

    def __init__(self, game: Game, engine: Engine) -> None:
        super().__init__(game, engine, game.facts.players)

    def lanes_of(self, by_seat: Tensor) -> Tensor:
        """(lanes, ...) of a tensor (N, P, ...)."""
        return by_seat.flatten(0, 1)

    def on_seats(self, joint: Tensor) -> Array:
        """What `joint` returned as the engine takes it, (N, P, H)."""
        return on_engine(joint.unflatten(0, (-1, self.facts.players)))

    def seats(self) -> Tensor:
        return torch.arange(self.facts.players, device=self.device).repeat(self.engine.num_games)

    def observe(self, lanes: Tensor | None = None) -> Tensor:
        """As `Lanes.observe`, the seats of a game one after another."""
        rows, at = self._places(lanes)
        seen = torch.as_tensor(self.engine.observe(None, rows, packed=self.bits)).flatten(0, 1).flatten(1)[at]
        return seen if self.bits else seen.float()

    def critic(self, lanes: Tensor | None = None) -> Tensor:
        """As `Lanes.critic`, the seats of a game one after another."""
        rows, at = self._places(lanes)
        return self._critic(None, rows).flatten(0, 1)[at]

    def _places(self, lanes: Tensor | None) -> tuple[Any, Any]:
        """The games of `lanes`, and where the lanes stand among all seats of these games."""
        if lanes is None:
            return None, slice(None)
        players = self.facts.players
        games, place = torch.unique(lanes // players, return_inverse=True)
        return _rows(games), place * players + lanes % players

    def legal(self) -> Tensor:
        return self.lanes_of(torch.as_tensor(self.engine.legal()))

    def alive(self) -> Tensor | None:
        """As `Lanes.alive`: seats that are out wait for the end of their game."""
        return self.lanes_of(torch.as_tensor(self.engine.alive)) if self.game.seats_leave else None

    def decided(self) -> Tensor | None:
        return self.lanes_of(torch.as_tensor(self.engine.deciding)) if self.game.seats_wait else None

    def used(self, joint: Tensor) -> Tensor | None:
        if not self.game.tells_used:
            return None
        return self.lanes_of(torch.as_tensor(self.engine.used(self.on_seats(joint))))

    def ends(self) -> tuple[Tensor, Tensor]:
        """As `Lanes.ends`, never both: a seat's place is settled when it is out, or with its game."""
        terminated = torch.as_tensor(self.engine.seat_terminated).flatten()
        truncated = torch.as_tensor(self.engine.truncated).repeat_interleave(self.facts.players)
        return terminated, truncated & ~terminated

    def rewards(self, rewards: Tensor) -> Tensor:
        return self.lanes_of(rewards)

    def memory(self, memory: Tensor) -> Tensor:
        """As `Lanes.memory`: a lane is a seat."""
        return self.lanes_of(memory.clone())

    def play(self, joint: Tensor) -> Array:
        """As `Lanes.play`: the rewards of this move."""
        self.engine.step(self.on_seats(joint))
        return self.engine.rewards


def on_engine(actions: Tensor) -> Array:
    """Actions as engines take them: tensors on CUDA, NumPy arrays on the CPU."""
    return actions if actions.is_cuda else actions.numpy()


def played(actions: Tensor) -> Array:
    """(lanes, H), or (lanes, D) of continuous actions, as engines take the actions of one seat."""
    return on_engine(actions[:, 0] if actions.shape[1] == 1 and not actions.is_floating_point() else actions)


def _rows(lanes: Tensor | None) -> Array | None:
    """Lanes that are games, as engines take rows."""
    return None if lanes is None else on_host(lanes)


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
    return SideLanes(game, engine, own_seat(facts, wanted), others)  # type: ignore[arg-type]
