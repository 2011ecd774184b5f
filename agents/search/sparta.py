"""`sparta(<blueprint>)`: one seat searches, all others play the blueprint.

Source: Lerer et al., Improving Policies via Search in Cooperative Partially Observable Games, arXiv 1912.02318.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ludory.envs.chance import hash_rows
from ludory.envs.engine import Array, Engine
from ludory.envs.game import Game
from ludory.envs.parallel import run_parts
from ludory.envs.player import Memory
from ludory.errors import OptionError

from ..make import make_agent
from ..seat import Move, Seat, SeatAgent
from .belief import Belief, Draw
from .blueprint import Blueprint
from .paired import PairedReturns

TEMPLATE = Path(__file__).parent / "playout.py"
ROUNDS_BETWEEN_CHECKS = 40
ROUNDS_DRAWN_AT_ONCE = 1000
ROUNDS_PER_THREAD = 8

_searching: WeakKeyDictionary[Engine, int] = WeakKeyDictionary()
"""Which seat searches in the games of an engine."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a search found before one move; A actions."""

    action: int
    blueprint_action: int
    values: NDArray[np.float64]
    """(A,) mean return from here on; NaN for illegal actions."""
    stderrs: NDArray[np.float64]
    """(A,) standard error of the value less the blueprint action's, in the same worlds; NaN for illegal actions."""
    counts: NDArray[np.int64]
    """(A,) number of worlds in which each action was tried."""
    range_size: int | None
    """Number of hands held possible; None while they are not counted."""

    @property
    def rollouts(self) -> int:
        """Games played to their end."""
        return int(self.counts.sum())

    @property
    def gain(self) -> float:
        """Value of the action less the blueprint action's; too high by the choice of the best, unless `confirm` was asked for."""
        return float(self.values[self.action] - self.values[self.blueprint_action])


@dataclass
class SearchNotes:
    """What a search remembers of one game."""

    belief: Belief | None = None
    key: int = 0
    """Hash of the moves so far: random draws depend on it and the seed, not on where in a batch the game is."""
    decisions: list[Decision] = field(default_factory=list)
    """Of the seat's own moves, forced ones left out."""


class Sparta(SeatAgent):
    """Plays every legal action to the end in the same drawn worlds, all seats on the blueprint, and takes what went best.

    Worlds come from the exact posterior given that the others play the blueprint. The blueprint's own action is kept
    unless another is better by `threshold`. Deterministic from `seed`, unless `seconds` is given.

    Args:
        game: what is played.
        blueprint: a rule bot, or its name.
        rollouts: games played out per decision, shared by the legal actions.
        threshold: in points of the game.
        seed: of the draws.
        seconds: stop a search after this time as well.
        confirm: compare the action found with the blueprint's once more in fresh worlds, so that `Decision.gain` is unbiased.
        unsound: let more than one seat of a game search on its own, each taking the others for the blueprint.

    Raises:
        OptionError: a value that is not allowed, a blueprint that is no rule bot, or a game without a belief.
    """

    def __init__(
        self,
        game: Game,
        blueprint: Any,
        rollouts: int = 10_000,
        threshold: float = 0.05,
        seed: int = 0,
        seconds: float | None = None,
        confirm: bool = False,
        unsound: bool = False,
    ) -> None:
        bot = make_agent(blueprint, game)
        self.name = f"sparta({bot.name})"
        super().__init__(game)
        if not isinstance(rollouts, int) or rollouts < 1:
            raise OptionError(f"rollouts={rollouts!r}: must be an integer of at least 1")
        if threshold < 0:
            raise OptionError(f"threshold={threshold!r}: must be at least 0 points")
        if seconds is not None and seconds <= 0:
            raise OptionError(f"seconds={seconds!r}: must be above 0, or none")
        self.blueprint = Blueprint(bot, game, self.name)
        self.rollouts, self.threshold, self.seconds = rollouts, threshold, seconds
        self.confirm, self.unsound = confirm, unsound
        self._new_belief = belief_maker(self.blueprint, self.name)
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start the draws anew."""
        self._seed = int(seed)

    def begin(self) -> SearchNotes:
        """Nothing known yet."""
        return SearchNotes(key=int(hash_rows(self._seed, 0)))

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of `seat` in the games `rows`.

        Raises:
            OptionError: another seat of the same games searches too.
        """
        searching = _searching.setdefault(engine, seat)
        if searching != seat and not self.unsound:
            raise OptionError(
                f"{self.name} searches in seat {searching} and in seat {seat} of the same games: each would take the other for "
                f"{self.blueprint.agent.name}, which it is not; give the other seats {self.blueprint.agent.name}, "
                f"or type {self.name[:-1]}, unsound=True)"
            )
        return super().choose(engine, seat, rows, memory)

    def watch(self, seat: Seat, move: Move, own: SearchNotes) -> None:
        """Let the belief take note."""
        self._belief(seat, own).watch(seat, move)
        own.key = int(hash_rows(hash_rows(own.key, move.seat), move.action))

    def _belief(self, seat: Seat, own: SearchNotes) -> Belief:
        if own.belief is None:
            own.belief = self._new_belief(seat.number)
        return own.belief

    def decide(self, seat: Seat, own: SearchNotes) -> int:
        """The action found; what is known of it stands in `own.decisions`."""
        legal, belief = np.flatnonzero(seat.mask), self._belief(seat, own)
        if len(legal) == 1:
            return int(legal[0])
        rounds = max(self.rollouts // len(legal), 1)
        drawn = belief.draw(seat, min(rounds, ROUNDS_DRAWN_AT_ONCE), own.key)
        blueprint_action = self._blueprint_action(drawn, seat.number)
        paired = PairedReturns(len(legal), int(np.searchsorted(legal, blueprint_action)), self.threshold)
        self._search(seat, own, belief, drawn, legal, paired, rounds)
        action, values = int(legal[paired.best()]), paired.values
        if self.confirm and action != blueprint_action:
            values = self._confirmed(seat, own, belief, legal, paired)
        own.decisions.append(self._decision(legal, action, blueprint_action, paired, values, belief.size))
        return action

    def _blueprint_action(self, drawn: Draw, seat: int) -> int:
        """What the blueprint does here: the same in every world, as it knows no more than the seat."""
        return int(self._kernels(drawn.worlds).choose_with(drawn.worlds[:1].copy(), 0, seat, drawn.memories[0].copy()))

    def _kernels(self, worlds: NDArray[Any]) -> Any:
        return self.blueprint.bound(TEMPLATE, worlds)

    def _search(
        self,
        seat: Seat,
        own: SearchNotes,
        belief: Belief,
        drawn: Draw,
        legal: Array,
        paired: PairedReturns,
        rounds: int,
    ) -> None:
        started, done, first = time.monotonic(), 0, 0
        while done < rounds and len(paired.tried) > 1:
            if self.seconds is not None and done and time.monotonic() - started > self.seconds:
                return
            if done - first == len(drawn.worlds):
                first = done
                count = min(rounds - done, ROUNDS_DRAWN_AT_ONCE)
                drawn = belief.draw(seat, count, int(hash_rows(own.key, first)))
            block = slice(done - first, min(done - first + ROUNDS_BETWEEN_CHECKS, len(drawn.worlds)))
            paired.add(self.play(Draw(drawn.worlds[block], drawn.memories[block]), legal[paired.tried], seat.number))
            paired.give_up()
            done = first + block.stop

    def _confirmed(
        self, seat: Seat, own: SearchNotes, belief: Belief, legal: Array, paired: PairedReturns
    ) -> NDArray[np.float64]:
        """Values, that of the best action as found in as many fresh worlds as it was tried in."""
        best = paired.best()
        count = int(paired.rounds[best])
        fresh = belief.draw(seat, count, int(hash_rows(own.key, -1)))
        returns = self.play(fresh, legal[[paired.baseline, best]], seat.number)
        values = paired.values
        values[best] = values[paired.baseline] + (returns[:, 1] - returns[:, 0]).mean()
        return values

    def play(self, drawn: Draw, actions: NDArray[np.int64], seat: int) -> NDArray[np.float64]:
        """Returns (n, len(actions)) of `seat` when each action is played in each of n worlds, and then the blueprint."""
        worlds = np.ascontiguousarray(drawn.worlds)
        as_bytes = worlds.view(np.uint8).reshape(len(worlds), -1)
        returns, kernels = np.empty((len(worlds), len(actions))), self._kernels(worlds)

        def play_part(start: int, stop: int) -> None:
            scratch, memory = worlds[:1].copy(), drawn.memories[0].copy()
            work = (scratch, scratch.view(np.uint8).reshape(1, -1), memory)
            kernels.play_rounds(as_bytes, drawn.memories, actions, seat, *work, returns, start, stop)

        run_parts(play_part, len(worlds), rows_per_thread=ROUNDS_PER_THREAD)
        return returns

    def _decision(
        self,
        legal: NDArray[np.int64],
        action: int,
        blueprint_action: int,
        paired: PairedReturns,
        values: NDArray[np.float64],
        size: int | None,
    ) -> Decision:
        count = self.game.facts.num_actions
        every, errors, counts = np.full(count, np.nan), np.full(count, np.nan), np.zeros(count, np.int64)
        every[legal], errors[legal], counts[legal] = values, paired.stderrs, paired.rounds
        return Decision(action, blueprint_action, every, errors, counts, size)


def belief_maker(blueprint: Blueprint, searcher: str) -> Callable[[int], Belief]:
    """Makes the belief of a seat.

    Raises:
        OptionError: none is known for this game.
    """
    from ludory.envs.hanabi.rules import step

    if blueprint.game.kernels.step is step:
        from ..hanabi.hand_range import HandRange

        return lambda seat: HandRange(blueprint, seat)
    raise OptionError(
        f"{searcher} knows what to believe in Hanabi only, got {blueprint.game.id or blueprint.game.facts.name}; try Hanabi2P-v0"
    )
