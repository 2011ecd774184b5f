"""`HandRange`: the exact set of hands that a seat may hold when all other seats play a known blueprint.

Source: Lerer et al., Improving Policies via Search in Cooperative Partially Observable Games, arXiv 1912.02318. The range is
a set; the weight of a hand is recounted at each decision from the copies that are unseen then, which accounts exactly for
cards drawn by others and by the seat itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents import Blueprint, Draw, Seat, SeatMove, records_of
from ludory.agents.hanabi.known_cards import (
    EmptyRangeError,
    Record,
    allowed_cards,
    as_known_to,
    own_hands,
    unseen_counts,
)
from ludory.envs import COUNTER, KEY, hash_rows
from ludory.envs.hanabi.state import CARD, DISCARD, HINT_COLOR, HINT_RANK, KIND, PLAY, SLOT, TARGET

from .hand_events import NOTHING_TAKEN, TEMPLATE, HandEvent, Take, hands_before, replay
from .hand_sets import Counts, Hands, all_hands, count_hands, fits, has_card, ways, with_drawn_card, without_slot

MOST_TRIED = 20_000
"""Most hands that are drawn to find some that agree, where they cannot all be listed."""
NOBODY = -1


class Frame(NamedTuple):
    """A move whose meaning is costly to compute: a function that tells which hands of that time agree with it."""

    agree: Callable[[Hands], NDArray[np.bool_]]
    takes: int
    """Number of cards that the seat had taken before."""


class Listed(NamedTuple):
    """All hands of a range, with the bot's memories: `memories[classes]`."""

    hands: Hands
    classes: NDArray[np.int32]
    memories: NDArray[np.int32]


class HandRange:
    """Hands that a seat may hold, given the hints, its own draws, and the moves of the other seats.

    While more than `limit` hands fit the hints, the moves of others are kept in a list and hands are drawn by rejection. These
    draws are exact as well, provided that all hands can be listed where hardly any drawn hand agrees. With a network they cannot
    (`Blueprint.most_listed`): the hands that agree among `MOST_TRIED` are then reused, and a random part is kept of a range that
    grows too large.
    Ranges are copied with `copy.copy`: nothing in them is changed in place except a list of all hands, which copies share once one
    of them has made it.

    Args:
        blueprint: what the other seats play.
        seat: whose hand.
        limit: most hands that are listed at once; None: the blueprint's `range_limit`.
        public: use only what is known without seeing any hand, for two seats that follow each other's reasoning; the memory of
            `seat` itself, which depends on the other hand, is then ignored.
    """

    def __init__(self, blueprint: Blueprint, seat: int, limit: int | None = None, public: bool = False) -> None:
        self.blueprint, self.seat = blueprint, seat
        self.limit = blueprint.range_limit if limit is None else limit
        self.hands: Hands | None = None
        """The range; None while it is everything that fits the hints and the moves in `pending`."""
        self.pending: tuple[HandEvent, ...] = ()
        self.frames: tuple[Frame, ...] = ()
        """Moves whose meaning is not computed yet; until then the range is too wide."""
        self.takes: tuple[Take, ...] = ()
        """All cards that the seat has played or discarded."""
        self.contradictions = 0
        """Number of moves with which no hand agreed; the range then became all hands that fit the hints."""
        self._ignored = seat if public else NOBODY
        self._hidden = tuple(range(blueprint.game.facts.players)) if public else (seat,)
        self._classes: NDArray[np.int32] = np.zeros(1, np.int32)
        self._memories = blueprint.no_memory(1)
        self._listed: list[Listed] = []

    @property
    def size(self) -> int | None:
        """Number of hands in the range; None while they are not listed."""
        return None if self.hands is None else len(self.hands)

    def advance(
        self, before: Record, move: SeatMove, now: Record, agree: Callable[[Hands], NDArray[np.bool_]] | None = None
    ) -> None:
        """Narrow the range by a move, now that its outcome is visible.

        agree: given if the move was not the bot's but that of a search, see `Frame`.
        """
        self._listed = []
        take = self._taken(before, move, now)
        # the meaning is computed for hands of that time, so the cards taken since then must be known
        if agree:
            self.frames = (*self.frames, Frame(agree, len(self.takes)))
        if take.slot >= 0:
            self.takes = (*self.takes, take)
        event = HandEvent(before, move, take, tells=agree is None and move.seat != self.seat)
        if self.hands is not None:
            self._narrow(self.hands, event, now)
            return
        self.pending = (*self.pending, event)
        if count_hands(self._counts(now), allowed_cards(now, self.seat), self.limit + 1) <= self.limit:
            self.list_hands(now)

    def _taken(self, before: Record, move: SeatMove, now: Record) -> Take:
        last = now["last"][0]
        if move.seat != self.seat or last[KIND] not in (PLAY, DISCARD):
            return NOTHING_TAKEN
        held = int(before["held"][0, self.seat])
        return Take(int(last[SLOT]), int(last[CARD]), int(now["held"][0, self.seat]) == held, held)

    def _counts(self, now: Record) -> Counts:
        return unseen_counts(now, self._hidden)

    def list_hands(self, now: Record) -> None:
        """List the hands that agree with everything, however many there are.

        The list of a `public` range does not depend on the hidden hands of `now`, so its copies share it.
        """
        if self._listed:
            self.hands, self._classes, self._memories = self._listed[0]
            self.pending = ()
            return
        shared = self._listed
        hands = all_hands(self._counts(now), allowed_cards(now, self.seat), now["hands"].shape[2])
        self._keep(hands, self._replay(self.pending, hands), now)
        if self.hands is not None and len(self._hidden) > 1:
            shared.append(Listed(self.hands, self._classes, self._memories))

    def _narrow(self, hands: Hands, event: HandEvent, now: Record) -> None:
        last, take = now["last"][0], event.take
        keep = np.ones(len(hands), bool)
        if last[KIND] in (HINT_COLOR, HINT_RANK) and last[TARGET] == self.seat:
            keep = fits(hands, allowed_cards(now, self.seat))
        if take.slot >= 0:
            keep = has_card(hands, take.slot, take.card)
        hands, self._classes = hands[keep], self._classes[keep] if len(self._classes) > 1 else self._classes
        # the slot is not closed yet: these are the hands before the take
        after = self._replay((event._replace(take=NOTHING_TAKEN),), hands)
        hands, after = hands[after >= 0], after[after >= 0]
        if take.slot >= 0:
            # only now: the bot was asked about the hand as it was
            hands = without_slot(hands, take.slot)
        if take.drew:
            counts = self._counts(now)
            hands = with_drawn_card(hands, take.held - 1, counts)
            # in the order in which `with_drawn_card` lists them
            after = after.repeat(np.count_nonzero(counts))
            if len(hands) > self.blueprint.most_listed:
                # chosen by a hash, so that equal ranges keep the same part
                some = np.argsort(hash_rows(len(hands), np.arange(len(hands))))[: int(self.blueprint.most_listed)]
                hands, after = hands[some], after[some]
        self.pending = (event,)
        self._keep(hands, after, now)

    def _keep(self, hands: Hands, after: NDArray[np.int32], now: Record) -> None:
        """Keep the hands that agree and consist of unseen cards."""
        # a card drawn or shown elsewhere since then may use up the copies of a hand
        keep = (after >= 0) & (ways(hands, int(now["held"][0, self.seat]), self._counts(now)) > 0)
        if not keep.any():
            self._forget_conventions(now)
            return
        self.hands, self.pending = hands[keep], ()
        # memories that no hand refers to are dropped, so that they stay few
        used, places = np.unique(after[keep], return_inverse=True)
        self._memories = self._found[used].copy()
        self._classes = places.astype(np.int32) if len(used) > 1 else np.zeros(1, np.int32)

    def _forget_conventions(self, now: Record) -> None:
        """The others do not play the bot: continue with what the rules allow, and the memories that the bot would have."""
        self.contradictions += 1
        self._listed = []
        self._classes = np.zeros(1, np.int32)
        # any hand will do, since with `tells=False` none is refused; it only brings the memories up to date
        self._replay(tuple(event._replace(tells=False) for event in self.pending), own_hands(now, self.seat))
        self._memories = self._found[:1].copy()
        self.hands, self.pending, self.frames = None, (), ()

    def _replay(self, events: tuple[HandEvent, ...], hands: Hands) -> NDArray[np.int32]:
        """For each hand the row of `_found` with its final memories, -1 if it does not agree with the moves of others."""
        if not events:
            after = np.zeros(len(hands), np.int32)
            self._found = self._memories
            after[:] = self._classes
            return after
        after, self._found = replay(
            self.blueprint, events, self.seat, hands, self._classes, self._memories, self._ignored
        )
        return after

    def resolve(self, now: Record, most: int) -> bool:
        """Evaluate the moves in `frames` as long as at most `most` hands must be checked; returns whether none is left."""
        while self.frames and self.hands is not None:
            frame = self.frames[0]
            before = self.hands
            for take in reversed(self.takes[frame.takes :]):
                before = hands_before(take, before)
            # hands of now may have been one hand then: each is judged once
            then, places = np.unique(before, return_inverse=True)
            if len(then) > most:
                return False
            keep = frame.agree(then)[places]
            after = np.zeros(len(self.hands), np.int32)
            after[:] = self._classes
            self._found, self.frames = self._memories, self.frames[1:]
            self._keep(self.hands, np.where(keep, after, NOBODY).astype(np.int32), now)
        return not self.frames

    def memories_of(self, hands: Hands) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
        """Which of some hands are in the range, and the bot's memories with them, int32 [n, P, M]."""
        if self.hands is None:
            after = self._replay(self.pending, hands)
            return after >= 0, self._found[np.maximum(after, 0)]
        order = np.argsort(self.hands)
        # the range is not sorted; `order` makes it so for the search
        places = order[np.minimum(np.searchsorted(self.hands, hands, sorter=order), len(order) - 1)]
        classes = self._classes[places] if len(self._classes) > 1 else np.zeros(len(hands), np.int64)
        return self.hands[places] == hands, self._memories[classes]

    def posterior(self, now: Record) -> tuple[Hands, NDArray[np.int64]]:
        """The hands of the range, listed if necessary, and their weights, proportional to their probabilities.

        now: as `seat` sees it, the hands of the others included.
        """
        while self.hands is None:  # twice, if a contradiction appears only now
            self.list_hands(now)
        # the hands of others are taken out of the copies here, not before: a public range must not know them
        return self.hands, ways(self.hands, int(now["held"][0, self.seat]), unseen_counts(now, (self.seat,)))

    def draw(self, now: Record, count: int, key: int) -> Draw:
        """`count` worlds with a hand of the range and a shuffled deck, a function of `key` and of what the seat knows.

        now: as `seat` sees it, the hands of the others included.

        Raises:
            EmptyRangeError: no hand of a `public` range consists of cards that `seat` has not seen.
        """
        now = as_known_to(now, self.seat)
        while self.hands is None:
            drawn = self._draw_by_rejection(now, count, key)
            if drawn:
                return drawn
            self.list_hands(now)
        hands, weights = self.posterior(now)
        total = np.cumsum(weights)
        if total[-1] == 0:
            raise EmptyRangeError("no hand of this range can be made of the cards that the seat has not seen")
        keys = hash_rows(key, np.arange(count))
        # draw 0 of each stream chooses the hand of its world
        picks = hash_rows(keys, np.zeros(count, np.int64)).view(np.uint64) % np.uint64(total[-1])
        chosen = np.searchsorted(total, picks.astype(np.int64), side="right")
        worlds, counts = _worlds(now, keys), unseen_counts(now, (self.seat,))
        deal = self.blueprint.bound(TEMPLATE, worlds).deal_worlds
        deal(worlds, self.seat, hands[chosen], counts, np.empty_like(counts), 0, count)
        return Draw(
            worlds, self._memories[self._classes[chosen if len(self._classes) > 1 else np.zeros(count, np.int64)]]
        )

    def _draw_by_rejection(self, now: Record, count: int, key: int) -> Draw | None:
        """As `draw`, by rejection from worlds that fit the hints; None if hardly any agrees with the moves in `pending`."""
        parts: list[Draw] = []
        found, tried = 0, 0
        while found < count:
            # fewer than one in a hundred agrees: listing is faster, where it is possible
            if tried >= 1000 and found < tried // 100:
                if self._can_list(now):
                    return None
                if tried >= MOST_TRIED:
                    break
            more = max(
                2 * (count - found), min(tried, MOST_TRIED - tried), 16
            )  # a network is asked in ever larger batches
            worlds = _worlds(now, hash_rows(key, np.arange(tried, tried + more)))
            self.blueprint.bound(TEMPLATE, worlds).redeal_worlds(worlds, self.seat, 0, len(worlds))
            after = self._replay(self.pending, own_hands(worlds, self.seat))
            parts.append(Draw(worlds[after >= 0], self._found[after[after >= 0]]))
            found, tried = found + len(parts[-1].worlds), tried + len(worlds)
        if not found:
            self._forget_conventions(now)
            return self._draw_by_rejection(now, count, key)
        worlds, memories = (np.concatenate(part) for part in zip(*parts, strict=True))
        used = np.arange(count) % found
        return Draw(worlds[used], memories[used])

    def _can_list(self, now: Record) -> bool:
        most = self.blueprint.most_listed
        return most == np.inf or count_hands(self._counts(now), allowed_cards(now, self.seat), int(most) + 1) <= most


def _worlds(now: Record, keys: NDArray[np.int64]) -> NDArray[np.void]:
    """Copies of a record that draw from the streams `keys`, of which draw 0 is already used."""
    worlds = np.repeat(now, len(keys))
    worlds["random"][:, KEY], worlds["random"][:, COUNTER] = keys, 1
    return worlds


def known_record(seat: Seat) -> Record:
    """The game as a record without anything that `seat` does not know."""
    return as_known_to(records_of(seat.worlds(1, seed=0), "an exact range"), seat.number)


class HandBelief:
    """The `HandRange` of a seat when all others play `blueprint`, as a `Belief`."""

    def __init__(self, blueprint: Blueprint, seat: int, limit: int | None = None) -> None:
        self.range = HandRange(blueprint, seat, limit)
        self._last: tuple[Record, SeatMove] | None = None

    @property
    def size(self) -> int | None:
        """Number of hands in the range; None while they are not listed."""
        return self.range.size

    @property
    def contradictions(self) -> int:
        """Number of moves by others with which no hand agreed."""
        return self.range.contradictions

    def watch(self, seat: Seat, move: SeatMove) -> None:
        """Update the belief with a move about to be made; its outcome is read in the next call."""
        self._last = self.catch_up(seat), move

    def catch_up(self, seat: Seat) -> Record:
        """Narrow the range by the last move, now that its outcome is visible; returns the game as the seat knows it."""
        now = known_record(seat)
        if self._last:
            self.range.advance(*self._last, now)
            self._last = None
        return now

    def draw(self, seat: Seat, count: int, key: int) -> Draw:
        """`count` worlds, a function of `key` and of what the seat knows."""
        return self.range.draw(self.catch_up(seat), count, key)
