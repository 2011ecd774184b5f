"""`sparta(<blueprint>, joint=True)`: both seats of a game for two search, and each can repeat the search of the other.

Source: Lerer et al., Improving Policies via Search in Cooperative Partially Observable Games, arXiv 1912.02318.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory import agents
from ludory.agents.hanabi.beliefs.hand_range import HandBelief, HandRange, known_record
from ludory.agents.hanabi.beliefs.hand_sets import Hands
from ludory.agents.hanabi.bots.agents import is_hanabi
from ludory.envs import Game, hash_rows
from ludory.envs.hanabi.state import CARD, HINT_COLOR, HINT_RANK, KIND, TOUCHED
from ludory.errors import OptionError

from .known_cards import EmptyRangeError, Record, if_held, own_hands

REPEATED, FEWEST = 200_000, 20
"""Most rollouts for repeating a search for every hand, and fewest hands that it is repeated for, unless `range_max` is given."""
KEPT_ANSWERS = 200_000
"""Number of searches whose outcome is cached."""


@dataclass
class JointNotes:
    """What a seat remembers of one game; all of it is known to the other seat as well."""

    ranges: list[HandRange]
    """The hands that each seat may hold, from what is known without seeing any hand."""
    key: int
    """Hash of the moves so far and of what they revealed."""
    last: tuple[Record, agents.SeatMove, bool] | None = None
    """The last move, the state before it, and whether it was searched."""
    decisions: list[agents.SearchDecision] = field(default_factory=list)
    """Of the seat's own searches."""

    @property
    def contradictions(self) -> int:
        """Number of moves that agreed with no possible hand of the other seat."""
        return sum(one.contradictions for one in self.ranges)


class JointSparta(agents.Searcher):
    """Searches in both seats of Hanabi for two; random draws come from a shared key.

    A searched move tells the partner about its hand only after the partner has repeated the search for every hand it may hold.
    This is deferred until at most `range_max` hands are left; a seat with a deferred search plays the blueprint. So at most one
    seat is uncertain about its range, and rollouts, in which all seats continue with the blueprint, use exact posteriors.

    Args:
        game: Hanabi for two.
        blueprint: a rule bot, or its name.
        rollouts: games played out per decision, shared by the legal actions.
        threshold: in points of the game.
        errors: in standard errors of the difference.
        seed: of the draws; the same for both seats.
        range_max: most hands for which a search is repeated; None: `REPEATED` rollouts' worth, 20 at least.
        halving: as for `Sparta`.

    Raises:
        OptionError: an invalid value, a blueprint that is not a rule bot, or another game.
    """

    blueprint: agents.KernelBlueprint
    alone = False

    def __init__(
        self,
        game: Game,
        blueprint: object,
        rollouts: int = 10_000,
        threshold: float = 0.05,
        errors: float = 2.0,
        seed: int = 0,
        range_max: int | None = None,
        halving: bool = False,
    ) -> None:
        bot = agents.make_agent(blueprint, game)
        self.name = f"sparta({bot.name}, joint=True)"
        super().__init__(game)
        if not is_hanabi(game) or game.facts.players != 2:
            raise OptionError(f"{self.name} plays Hanabi for two only, got {game.name}; try Hanabi2P-v0")
        if range_max is not None and (not isinstance(range_max, int) or range_max < 1):
            raise OptionError(f"range_max={range_max!r}: must be an integer of at least 1, or none")
        if not isinstance(bot, agents.KernelAgent):
            raise OptionError(
                f"{self.name} needs a rule bot such as hanabi/smartbot: both seats must come to the same result to the last bit, "
                f"which sums in a network do not; got {bot.name}; without joint=True one seat may search with it"
            )
        self.blueprint = agents.KernelBlueprint(bot, game, self.name)
        self.search = agents.RolloutSearch(self.blueprint, rollouts, threshold, errors, seconds=None, halving=halving)
        self.range_max = max(REPEATED // rollouts, FEWEST) if range_max is None else range_max
        self._answers: OrderedDict[tuple[int, int, int], int] = OrderedDict()
        self.seed(seed)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the search apart from its seed, as plain values."""
        return super().settings | {"joint": True, "range_max": self.range_max}

    def begin(self) -> JointNotes:
        """Notes of a new game."""
        return JointNotes(
            [HandRange(self.blueprint, seat, public=True) for seat in range(2)], int(hash_rows(self._seed, 0))
        )

    def watch(self, seat: agents.Seat, move: agents.SeatMove, own: JointNotes) -> None:
        """Record a move, and whether it was searched."""
        with self._both_are_this():
            now = self._catch_up(seat, own)
            own.last = now, move, self._knows_its_range(own, move.seat, now)

    # whether the search is repeated is decided by what both seats know, so both decide the same
    def _knows_its_range(self, own: JointNotes, seat: int, now: Record) -> bool:
        return own.ranges[seat].resolve(now, self.range_max)

    def _catch_up(self, seat: agents.Seat, own: JointNotes) -> Record:
        now = known_record(seat)
        if own.last:
            before, move, searched = own.last
            own.last = None
            mover, other = move.seat, 1 - move.seat
            agree = self._frame(own, before, move) if searched else None
            told, last = before.copy(), now["last"][0]
            if last[KIND] in (HINT_COLOR, HINT_RANK):
                told["hands"] = now["hands"]  # it is known now which cards were named, and no card has moved
            own.ranges[other].advance(told, move, now, agree)
            own.ranges[mover].advance(told, move, now)
            # whatever both saw goes into the key: the same moves give the same draws in both seats
            for part in (mover, move.action, int(last[CARD]), int(last[TOUCHED])):
                own.key = int(hash_rows(own.key, part))
        return now

    @contextmanager
    def _both_are_this(self) -> Iterator[None]:
        try:
            yield
        except EmptyRangeError as error:
            raise OptionError(
                f"{self.name}: no hand explains the moves of the other seat, so it is not this search with the same options and seed; "
                f"give {self.name} for both seats, or search in one seat only, without joint=True"
            ) from error

    def decide(self, seat: agents.Seat, own: JointNotes) -> int:
        """The best action; the search is appended to `own.decisions`.

        Raises:
            OptionError: the other seat is not this search.
        """
        with self._both_are_this():
            return self._decided(seat, own)

    def _decided(self, seat: agents.Seat, own: JointNotes) -> int:
        now, me = self._catch_up(seat, own), seat.number
        legal = self._legal(now, me)
        if len(legal) == 1:
            return int(legal[0])
        hand = own_hands(now, 1 - me)
        memory = own.ranges[1 - me].memories_of(hand)[1][0]
        if not self._knows_its_range(own, me, now):
            return self.blueprint.move(now, me, memory)
        found = self._search(now, me, legal, memory, own.ranges[me], own.key)
        # the same search, should this object be asked to repeat it for the other seat
        self._remember((own.key, int(hand[0]), found.action), found.action)
        own.decisions.append(found.decision(self.game.facts.num_actions, found.paired.values, own.ranges[me].size))
        return found.action

    def _legal(self, record: Record, seat: int) -> NDArray[np.int64]:
        mask = np.zeros(self.game.facts.num_actions, bool)
        self.blueprint.kernels(record).legal_mask(record, 0, seat, mask)
        return np.flatnonzero(mask)

    def _search(
        self,
        known: Record,
        seat: int,
        legal: NDArray[np.int64],
        memory: NDArray[np.int32],
        own_range: HandRange,
        key: int,
        wanted: int | None = None,
    ) -> agents.SearchResult:
        """Search as `seat`, from what it knows; memory: its own."""
        # a draw may list the hands; the range in the notes changes with moves only
        own_range = copy.copy(own_range)

        def draw(count: int, key: int) -> agents.Draw:
            drawn = own_range.draw(known, count, key)
            # its own memory is known, those in the range are the partner's guesses
            drawn.memories[:, seat] = memory[seat]
            return drawn

        return self.search.run(draw, legal, seat, key, wanted)

    def _frame(self, own: JointNotes, before: Record, move: agents.SeatMove) -> Callable[[Hands], NDArray[np.bool_]]:
        """Which hands of the other seat lead the mover to the move that it made."""
        # the ranges as they were at the move; they go on changing before the function is called
        mover_range, other_range, key = copy.copy(own.ranges[move.seat]), copy.copy(own.ranges[1 - move.seat]), own.key

        def agree(hands: Hands) -> NDArray[np.bool_]:
            possible, memories = other_range.memories_of(hands)
            same = np.zeros(len(hands), np.bool_)
            for k in np.flatnonzero(possible):
                place = (key, int(hands[k]), move.action)
                if place not in self._answers:
                    self._remember(place, self._would_play(before, move, int(hands[k]), memories[k], mover_range, key))
                same[k] = self._answers[place] == move.action
            return same

        return agree

    def _would_play(
        self,
        before: Record,
        move: agents.SeatMove,
        hand: int,
        memory: NDArray[np.int32],
        mover_range: HandRange,
        key: int,
    ) -> int:
        """The mover's action if the other seat had held `hand`; one action other than `move`'s may stand for all others."""
        try:
            known = if_held(before, 1 - move.seat, hand, move.seat)
            legal = self._legal(known, move.seat)
            # with one legal action nothing is searched, as in `_decided`
            if len(legal) == 1 or move.action not in legal:
                return int(legal[0]) if len(legal) == 1 else -1
            return self._search(known, move.seat, legal, memory, mover_range, key, wanted=move.action).action
        except EmptyRangeError:
            # the mover could hold nothing if the other seat held this hand
            return -1

    def _remember(self, place: tuple[int, int, int], action: int) -> None:
        self._answers[place] = action
        if len(self._answers) > KEPT_ANSWERS:
            self._answers.popitem(last=False)


def beliefs(game: Game) -> agents.GameBeliefs | None:
    """The exact hands that a seat may hold; two seats can also search together."""
    if not is_hanabi(game):
        return None
    return agents.GameBeliefs(
        lambda blueprint, seat, particles: HandBelief(blueprint, seat), JointSparta if game.facts.players == 2 else None
    )
