"""`sparta(<blueprint>)`: one seat searches, all others play the blueprint.

Source: Lerer et al., Improving Policies via Search in Cooperative Partially Observable Games, arXiv 1912.02318.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ludory.envs.chance import hash_rows
from ludory.envs.engine import Array, Engine
from ludory.envs.game import Game
from ludory.envs.player import Memory
from ludory.errors import OptionError

from ..make import make_agent
from ..seat import Move, Seat, SeatAgent
from .belief import Belief
from .blueprint import Blueprint
from .rollouts import Decision, RolloutSearch

_searching: WeakKeyDictionary[Engine, int] = WeakKeyDictionary()
"""Which seat searches in the games of an engine."""


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
        self.blueprint = Blueprint(bot, game, self.name)
        self.search = RolloutSearch(self.blueprint, rollouts, threshold, seconds)
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
            bot = self.blueprint.agent.name
            raise OptionError(
                f"{self.name} searches in seat {searching} and in seat {seat} of the same games: each would take the other for "
                f"{bot}, which it is not; give the other seats {bot}, let both search together with {self.name[:-1]}, joint=True), "
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

        def draw(count: int, key: int) -> Any:
            return belief.draw(seat, count, key)

        found = self.search.run(draw, legal, seat.number, own.key)
        values = self.search.confirmed(draw, found, seat.number, own.key) if self.confirm else found.paired.values
        own.decisions.append(found.decision(self.game.facts.num_actions, values, belief.size))
        return found.action


def belief_maker(blueprint: Blueprint, searcher: str) -> Callable[[int], Belief]:
    """Makes the belief of a seat.

    Raises:
        OptionError: none is known for this game.
    """
    from ludory.envs.hanabi.rules import step

    if blueprint.game.kernels.step is step:
        from ..hanabi.hand_belief import HandBelief

        return lambda seat: HandBelief(blueprint, seat)
    raise OptionError(
        f"{searcher} knows what to believe in Hanabi only, got {blueprint.game.id or blueprint.game.facts.name}; try Hanabi2P-v0"
    )


def make(
    game: Game,
    blueprint: Any,
    rollouts: int = 10_000,
    threshold: float = 0.05,
    seed: int = 0,
    seconds: float | None = None,
    confirm: bool = False,
    unsound: bool = False,
    joint: bool = False,
    range_max: int = 2_000,
) -> SeatAgent:
    """`sparta(hanabi/smartbot)`, or with joint=True for both seats of a game for two; see `Sparta` and `JointSparta`.

    Raises:
        OptionError: as those.
    """
    if not joint:
        return Sparta(game, blueprint, rollouts, threshold, seed, seconds, confirm, unsound)
    if seconds is not None or confirm or unsound:
        raise OptionError(
            "sparta(joint=True) takes rollouts, threshold, seed and range_max; a search must come out the same in both seats, "
            "so it can not be cut short by seconds"
        )
    from ..hanabi.joint_search import JointSparta

    return JointSparta(game, blueprint, rollouts, threshold, seed, range_max)
