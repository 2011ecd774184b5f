"""`sparta(<blueprint>)`: one seat searches, all others play the blueprint.

Source: Lerer et al., Improving Policies via Search in Cooperative Partially Observable Games, arXiv 1912.02318.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ludory import agents, plugins
from ludory.envs import Array, Engine, Game, Memory, hash_rows
from ludory.errors import OptionError

ERRORS = 2.0
"""Standard errors by which an action must be better than the blueprint's."""
_searching: WeakKeyDictionary[Engine, int] = WeakKeyDictionary()
"""The seat that searches in the games of an engine."""


@dataclass
class SpartaNotes:
    """What a search remembers of one game."""

    belief: agents.Belief | None = None
    key: int = 0
    """Hash of the seed and the moves so far, on which random draws depend; not on the game's place in a batch."""
    decisions: list[agents.SearchDecision] = field(default_factory=list)
    """Of the seat's own moves, forced ones left out."""

    @property
    def contradictions(self) -> int:
        """Number of moves by others that the blueprint would have made in no possible world."""
        return self.belief.contradictions if self.belief else 0


class Sparta(agents.Searcher):
    """Plays out every legal action in the same drawn worlds, all seats on the blueprint, and takes the best one.

    Worlds come from the posterior given that the others play the blueprint, by the game's own belief (`GameBeliefs`), else by
    `ParticleBelief`; for networks see also `NetworkBlueprint`. The blueprint's own action is kept unless another is better by `threshold`
    and by `errors`. Deterministic for a `seed`, unless `seconds` is given.

    Args:
        game: a sequential game.
        blueprint: a rule bot or a trained network, or its name.
        rollouts: games played out per decision, shared by the legal actions.
        threshold: in points of the game.
        errors: standard errors of the difference; with 0, few rollouts make a player worse.
        seed: of the draws.
        seconds: time limit of a search.
        confirm: compare the action found with the blueprint's again in fresh worlds, so that `SearchDecision.gain` is unbiased.
        particles: worlds to keep where hidden states cannot be enumerated.
        unsound: let several seats of a game search independently, each assuming that the others are the blueprint.
        device: where rollouts of a rule bot are played: "cpu", or "cuda" for large batches.
        halving: drop the worse half of the actions several times, so that most rollouts compare the contenders.

    Raises:
        OptionError: an invalid value, a blueprint that is neither a rule bot nor a network, or a game without a belief.
    """

    def __init__(
        self,
        game: Game,
        blueprint: object,
        rollouts: int = 10_000,
        threshold: float = 0.05,
        errors: float = ERRORS,
        seed: int = 0,
        seconds: float | None = None,
        confirm: bool = False,
        unsound: bool = False,
        particles: int = 1000,
        device: str = "cpu",
        halving: bool = False,
    ) -> None:
        bot = agents.make_agent(blueprint, game)
        self.blueprint_spec = blueprint if isinstance(blueprint, str) else None
        self.name = f"sparta({self.blueprint_spec or bot.name})"
        super().__init__(game)
        self.blueprint = agents.make_blueprint(bot, game, self.name, device)
        self.search = agents.RolloutSearch(self.blueprint, rollouts, threshold, errors, seconds, halving)
        self.confirm, self.unsound, self._device = confirm, unsound, device
        self.alone = not unsound
        self._new_belief = agents.belief_maker(self.blueprint, self.name, particles)
        self.seed(seed)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the search apart from its seed, as plain values."""
        where = {} if self._device == "cpu" else {"device": self._device}
        return super().settings | {"confirm": self.confirm, "joint": False} | where

    def begin(self) -> SpartaNotes:
        """Notes of a new game."""
        return SpartaNotes(key=int(hash_rows(self._seed, 0)))

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of `seat` in the games `rows`.

        Raises:
            OptionError: another seat of the same games searches too.
        """
        searching = _searching.setdefault(engine, seat)
        if searching != seat and not self.unsound:
            bot, own = self.blueprint.agent.name, self.name[:-1]
            offered = self.game.hook(plugins.beliefs, agents.GameBeliefs)
            both = f"let both search together with {own}, joint=True), " if offered and offered.joint else ""
            raise OptionError(
                f"{self.name} searches in seat {searching} and in seat {seat} of the same games: each would take the other for "
                f"{bot}, which it is not; give the other seats {bot}, {both}or type {own}, unsound=True)"
            )
        return super().choose(engine, seat, rows, memory)

    def watch(self, seat: agents.Seat, move: agents.SeatMove, own: SpartaNotes) -> None:
        """Update the belief."""
        self._belief(seat, own).watch(seat, move)
        own.key = int(hash_rows(hash_rows(own.key, move.seat), move.action))

    def _belief(self, seat: agents.Seat, own: SpartaNotes) -> agents.Belief:
        if own.belief is None:
            own.belief = self._new_belief(seat.number)
        return own.belief

    def decide(self, seat: agents.Seat, own: SpartaNotes) -> int:
        """The best action; the search is appended to `own.decisions`."""
        legal, belief = np.flatnonzero(seat.mask), self._belief(seat, own)
        if len(legal) == 1:
            return int(legal[0])

        def draw(count: int, key: int) -> Any:
            return belief.draw(seat, count, key)

        found = self.search.run(draw, legal, seat.number, own.key)
        values = self.search.confirmed(draw, found, seat.number, own.key) if self.confirm else found.paired.values
        own.decisions.append(found.decision(self.game.facts.num_actions, values, belief.size))
        return found.action


def make(
    game: Game,
    blueprint: object,
    rollouts: int = 10_000,
    threshold: float = 0.05,
    errors: float = ERRORS,
    seed: int = 0,
    seconds: float | None = None,
    confirm: bool = False,
    unsound: bool = False,
    particles: int = 1000,
    joint: bool = False,
    range_max: int | None = None,
    device: str = "cpu",
    halving: bool = False,
) -> agents.Searcher:
    """`sparta(hanabi/smartbot)`, a `Sparta`; with joint=True, for all seats of a game, what it offers as `GameBeliefs.joint`.

    Raises:
        OptionError: as these.
    """
    if not joint:
        limits = rollouts, threshold, errors, seed, seconds
        return Sparta(game, blueprint, *limits, confirm, unsound, particles, device, halving)
    if seconds is not None or confirm or unsound or device != "cpu":
        raise OptionError(
            "sparta(joint=True) takes rollouts, threshold, errors, seed, range_max and halving; a search must come out the same in both seats, "
            "so it cannot be cut short by seconds"
        )
    offered = game.hook(plugins.beliefs, agents.GameBeliefs)
    if not offered or not offered.joint:
        raise OptionError(
            f"sparta(joint=True) plays games whose seats can repeat each other's searches, and {game.name} has no such search; "
            "try Hanabi2P-v0, or leave joint out"
        )
    return offered.joint(game, blueprint, rollouts, threshold, errors, seed, range_max, halving)
