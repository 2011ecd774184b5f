"""`HandRange`: the hands that a seat may hold, exactly, when all other seats are known to play a certain rule bot.

Source: Lerer et al., Improving Policies via Search in Cooperative Partially Observable Games, arXiv 1912.02318. The range is
a set; the weight of a hand in it is counted anew at each decision from the copies that are unseen then, so that cards
that others drew and cards that the seat drew itself are accounted for exactly.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs.chance import COUNTER, KEY, hash_rows
from ludory.envs.hanabi.state import CARD, DISCARD, HINT_COLOR, HINT_RANK, KIND, PLAY, SLOT, TARGET

from ..search.belief import Draw
from ..search.blueprint import Blueprint, records_of
from ..seat import Move, Seat
from .hand_sets import Hands, all_hands, count_hands, fits, has_card, pack, ways, with_drawn_card, without_slot

TEMPLATE = Path(__file__).parent / "hand_replay.py"
NO_TAKE = (-1, 0, 0)
SAYS_NOTHING = -1


class Event(NamedTuple):
    """A move, the state before it, and what the seat played or discarded in it: slot (-1: nothing), card, whether it drew."""

    before: NDArray[Any]
    move: Move
    take: tuple[int, int, int] = NO_TAKE


class HandRange:
    """Hands that a seat may hold, given the hints, its own draws, and what the other seats did.

    While there are more than `limit` hands that fit the hints, the moves of others are kept in a list and hands are drawn
    by rejection; the draws are exact all the same.

    Args:
        blueprint: what the other seats play.
        seat: whose hand.
        limit: most hands that are listed at once.
    """

    def __init__(self, blueprint: Blueprint, seat: int, limit: int = 100_000) -> None:
        self.blueprint, self.seat, self.limit = blueprint, seat, limit
        self.hands: Hands | None = None
        """The range; None while it is all that fits the hints and the moves in `pending`."""
        self.pending: list[Event] = []
        self.contradictions = 0
        """How often no hand agreed with a move; then the range became all hands that fit the hints."""
        self._classes: NDArray[np.int32] = np.zeros(1, np.int32)
        self._memories = blueprint.no_memory(1)
        self._open: Event | None = None

    def watch(self, seat: Seat, move: Move) -> None:
        """Take note of a move about to be made; what it leads to is seen in the next call."""
        self._open = Event(self.catch_up(seat), move)

    def catch_up(self, seat: Seat) -> NDArray[Any]:
        """Draw the conclusions from the last move, now that its outcome is seen; gives one world of now, a record [1]."""
        now = self._world(seat)
        if self._open:
            event, self._open = self._with_take(self._open, now), None
            if self.hands is None:
                self.pending = [*self.pending, event]
                if count_hands(*_unseen(now, self.seat)) <= self.limit:
                    self.list_hands(now)
            else:
                self._narrow(self.hands, event, now)
        return now

    def _world(self, seat: Seat) -> NDArray[Any]:
        return records_of(seat.worlds(1, seed=0), "an exact range").copy()

    def _with_take(self, event: Event, now: NDArray[Any]) -> Event:
        last = now["last"][0]
        if event.move.seat != self.seat or last[KIND] not in (PLAY, DISCARD):
            return event
        drew = now["held"][0, self.seat] == event.before["held"][0, self.seat]
        return event._replace(take=(int(last[SLOT]), int(last[CARD]), int(drew)))

    def list_hands(self, now: NDArray[Any]) -> None:
        """List the hands that agree with everything, however many there are."""
        counts, allowed = _unseen(now, self.seat)
        hands = all_hands(counts, allowed, now["hands"].shape[2])
        self._keep(hands, self._replay(self.pending, hands), now)

    def _narrow(self, hands: Hands, event: Event, now: NDArray[Any]) -> None:
        last = now["last"][0]
        keep = np.ones(len(hands), bool)
        if last[KIND] in (HINT_COLOR, HINT_RANK) and last[TARGET] == self.seat:
            keep = fits(hands, _unseen(now, self.seat)[1])
        slot, card, drew = event.take
        if slot >= 0:
            keep = has_card(hands, slot, card)
        hands = self._take_rows(hands, keep)
        after = self._replay([event._replace(take=NO_TAKE)], hands)
        hands, after = hands[after >= 0], after[after >= 0]
        if slot >= 0:
            hands = without_slot(hands, slot)
        if slot >= 0 and drew:
            counts = _unseen(now, self.seat)[0]
            hands = with_drawn_card(hands, int(now["held"][0, self.seat]) - 1, counts)
            after = after.repeat(np.count_nonzero(counts))
        self.pending = [event]
        self._keep(hands, after, now)

    def _take_rows(self, hands: Hands, keep: NDArray[np.bool_]) -> Hands:
        if len(self._classes) > 1:
            self._classes = self._classes[keep]
        return hands[keep]

    def _keep(self, hands: Hands, after: NDArray[np.int32], now: NDArray[Any]) -> None:
        """Keep the hands that agree and can be made of what is unseen."""
        counts, allowed = _unseen(now, self.seat)
        keep = (after >= 0) & (ways(hands, len(allowed), counts) > 0)
        if keep.any():
            self.hands, self.pending = hands[keep], []
            self._set_classes(after[keep])
        else:
            self._forget_conventions(now)

    def _set_classes(self, classes: NDArray[np.int32]) -> None:
        """Keep the memories that some hand still has; one class for all needs no list."""
        used, places = np.unique(classes, return_inverse=True)
        self._memories = self._found[used].copy()
        self._classes = places.astype(np.int32) if len(used) > 1 else np.zeros(1, np.int32)

    def _forget_conventions(self, now: NDArray[Any]) -> None:
        """The others do not play the bot: go on from what the rules tell, with what the bot would have in mind."""
        self.contradictions += 1
        self._classes = np.zeros(1, np.int32)
        hand = _own_hands(now, self.seat)
        self._replay(self.pending, hand, says_nothing=True)
        self._memories = self._found[:1].copy()
        self.hands, self.pending = None, []

    def _replay(self, events: list[Event], hands: Hands, says_nothing: bool = False) -> NDArray[np.int32]:
        """For each hand the row of `_found` that the memories end in, -1 if it does not agree with the moves of others."""
        after = np.zeros(len(hands), np.int32)
        if not events:
            self._found = self._memories
            after[:] = self._classes
            return after
        states = np.concatenate([event.before for event in events])
        moves = np.array([[SAYS_NOTHING if says_nothing else e.move.seat, e.move.action] for e in events], np.int64)
        takes = np.array([event.take for event in events], np.int64)
        past, memory = np.empty(len(events), np.int64), self.blueprint.no_memory(1)[0]
        replay = self.blueprint.bound(TEMPLATE, states).replay
        room = 4
        while True:
            self._found = self.blueprint.no_memory(room)
            rest = (hands, self._classes, self._memories, past, memory, after, self._found)
            if replay(moves, takes, states, self.seat, *rest) >= 0:
                return after
            room *= 4

    def posterior(self, now: NDArray[Any]) -> tuple[Hands, NDArray[np.int64]]:
        """The hands of the range, listed if need be, and the weight of each: its probability times a common number."""
        while self.hands is None:  # twice, if a contradiction shows only now
            self.list_hands(now)
        counts, allowed = _unseen(now, self.seat)
        return self.hands, ways(self.hands, len(allowed), counts)

    @property
    def size(self) -> int | None:
        """Number of hands in the range; None while they are not listed."""
        return None if self.hands is None else len(self.hands)

    def draw(self, seat: Seat, count: int, key: int) -> Draw:
        """`count` worlds drawn from the range and a shuffled deck, a function of `key`."""
        now = self.catch_up(seat)
        while self.hands is None:
            drawn = self._draw_by_rejection(seat, count, key)
            if drawn:
                return drawn
            self.list_hands(now)
        hands, weights = self.posterior(now)
        total = np.cumsum(weights)
        keys = hash_rows(key, np.arange(count))
        picks = hash_rows(keys, np.zeros(count, np.int64)).view(np.uint64) % np.uint64(total[-1])
        chosen = np.searchsorted(total, picks.astype(np.int64), side="right")
        worlds = np.repeat(now, count)
        worlds["random"][:, KEY], worlds["random"][:, COUNTER] = keys, 1
        counts = _unseen(now, self.seat)[0]
        deal = self.blueprint.bound(TEMPLATE, worlds).deal_worlds
        deal(worlds, self.seat, hands[chosen], counts, np.empty_like(counts), 0, count)
        return Draw(
            worlds, self._memories[self._classes[chosen] if len(self._classes) > 1 else np.zeros(count, np.int64)]
        )

    def _draw_by_rejection(self, seat: Seat, count: int, key: int) -> Draw | None:
        """As `draw`, from worlds that fit the hints; None if hardly any of them agrees with the moves in `pending`."""
        worlds: list[NDArray[Any]] = []
        memories: list[NDArray[np.int32]] = []
        found, tried = 0, 0
        while found < count:
            if tried >= 1000 and found < tried // 100:
                return None
            seed = int(hash_rows(key, len(worlds))) & (1 << 62) - 1
            candidates = records_of(seat.worlds(max(2 * (count - found), 16), seed), "an exact range")
            after = self._replay(self.pending, _own_hands(candidates, self.seat))
            worlds.append(candidates[after >= 0])
            memories.append(self._found[after[after >= 0]])
            found, tried = found + len(worlds[-1]), tried + len(candidates)
        return Draw(np.concatenate(worlds)[:count], np.concatenate(memories)[:count])


def _own_hands(records: NDArray[Any], seat: int) -> Hands:
    """The packed hands that a seat has in some worlds."""
    return pack(records["hands"][:, seat, : int(records["held"][0, seat])], records["hands"].shape[2])


def _unseen(now: NDArray[Any], seat: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Copies (C*R) that a seat has not seen, and per own slot the bit set of the cards that fit its hints (held)."""
    cards, held = now["discards"].shape[1], int(now["held"][0, seat])
    hidden = np.concatenate([now["deck"][0, int(now["deck_top"][0]) :], now["hands"][0, seat, :held]])
    colors, ranks = now["colors"][0, seat, :held, None], now["ranks"][0, seat, :held, None]
    ids, ranks_per_color = np.arange(cards), cards // now["fireworks"].shape[1]
    plausible = (colors >> (ids // ranks_per_color)) & (ranks >> (ids % ranks_per_color)) & 1
    allowed = (plausible.astype(np.int64) << ids).sum(axis=1)
    return np.bincount(hidden, minlength=cards).astype(np.int64), allowed
