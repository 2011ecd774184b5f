"""`HandBelief`: the exact range of a seat's own hand, kept up to date from what the seat is told."""

from __future__ import annotations

from ludory.agents.hanabi.known_cards import Record, as_known_to
from ludory.agents.search.belief import Draw
from ludory.agents.search.blueprint import Blueprint, records_of
from ludory.agents.seat import Move, Seat

from .hand_range import HandRange


def known_record(seat: Seat) -> Record:
    """The game as a record that shows nothing which `seat` does not know."""
    return as_known_to(records_of(seat.worlds(1, seed=0), "an exact range"), seat.number)


class HandBelief:
    """What one seat holds possible when all others play `blueprint`; see `HandRange`."""

    def __init__(self, blueprint: Blueprint, seat: int, limit: int | None = None) -> None:
        self.range = HandRange(blueprint, seat, limit)
        self._last: tuple[Record, Move] | None = None

    @property
    def size(self) -> int | None:
        """Number of hands held possible; None while they are not listed."""
        return self.range.size

    @property
    def contradictions(self) -> int:
        """How often no hand agreed with what the others did."""
        return self.range.contradictions

    def watch(self, seat: Seat, move: Move) -> None:
        """Take note of a move about to be made; what it leads to is seen in the next call."""
        self._last = self.catch_up(seat), move

    def catch_up(self, seat: Seat) -> Record:
        """Draw the conclusions from the last move, now that its outcome is seen; returns the game as the seat knows it."""
        now = known_record(seat)
        if self._last:
            self.range.advance(*self._last, now)
            self._last = None
        return now

    def draw(self, seat: Seat, count: int, key: int) -> Draw:
        """`count` worlds, a function of `key` and of what the seat knows."""
        return self.range.draw(self.catch_up(seat), count, key)
