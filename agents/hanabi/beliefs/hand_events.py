"""Moves that tell about a seat's hand, and the hands that agree with them: compiled for rule bots, in batches for networks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents import Blueprint, KernelBlueprint, Memories, SeatMove
from ludory.agents.hanabi.known_cards import Record

from .hand_sets import Hands, unpack, with_card_back

TEMPLATE = Path(__file__).parent / "hand_replay.py"
NOBODY, NO_HAND = -1, -1


class Take(NamedTuple):
    """What the seat played or discarded in a move: slot (-1: nothing), card, whether it drew another, hand size before."""

    slot: int
    card: int
    drew: bool
    held: int


NOTHING_TAKEN = Take(-1, 0, False, 0)


class HandEvent(NamedTuple):
    """A move and the state before it."""

    before: Record
    move: SeatMove
    take: Take
    tells: bool
    """Whether it was the blueprint's move, so that it tells about the hand."""


class Replayed(NamedTuple):
    """after int32 [n]: for hands that agree, the row of `found` [F, P, M] with the memories after all events; -1 for others."""

    after: NDArray[np.int32]
    found: Memories


def replay(
    blueprint: Blueprint,
    events: Sequence[HandEvent],
    seat: int,
    hands: Hands,
    classes: NDArray[np.int32],
    memories: Memories,
    ignored: int = NOBODY,
) -> Replayed:
    """Which hands agree with the moves of others, and the blueprint's memories with them.

    Args:
        blueprint: what the others play.
        events: at least one.
        seat: whose hand.
        hands: after the last event, [n].
        classes: [n], or [1] for all: row of `memories` before the first event.
        memories: [C, P, M].
        ignored: seat whose memory is not updated; rule bots only.
    """
    if isinstance(blueprint, KernelBlueprint):
        return _compiled(blueprint, events, seat, hands, classes, memories, ignored)
    return _in_batches(blueprint, events, seat, hands, memories[classes])


def _compiled(
    blueprint: KernelBlueprint,
    events: Sequence[HandEvent],
    seat: int,
    hands: Hands,
    classes: NDArray[np.int32],
    memories: Memories,
    ignored: int,
) -> Replayed:
    states = np.concatenate([event.before for event in events])
    moves = np.array([[e.move.seat if e.tells else NOBODY, e.move.action] for e in events], np.int64)
    takes = np.array([event.take[:3] for event in events], np.int64)
    past, memory = np.empty(len(events), np.int64), blueprint.no_memory(1)[0]
    run, after, room = blueprint.bound(TEMPLATE, states).replay, np.zeros(len(hands), np.int32), 4
    while True:
        found = blueprint.no_memory(room)
        start = (seat, hands, classes, memories, ignored)
        if run(moves, takes, states, *start, past, memory, after, found) >= 0:
            return Replayed(after, found)
        # how many different memories there are is known only afterwards
        room *= 4


def _in_batches(
    blueprint: Blueprint, events: Sequence[HandEvent], seat: int, hands: Hands, memories: Memories
) -> Replayed:
    """Every hand keeps its own memories."""
    rows = np.arange(len(hands))
    memories = np.array(np.broadcast_to(memories, (len(hands), *memories.shape[1:])))
    past = []
    # hands are given after the last event: cards taken are put back from the end to the start
    for event in reversed(events):
        hands = hands_before(event.take, hands)
        past.append(hands)
    for event, then in zip(events, reversed(past), strict=True):
        mover, action = event.move
        if not len(rows):
            break
        if mover == seat:  # it sees the same whatever it holds, so one query is enough
            once = memories[:1].copy()
            blueprint.asked(event.before, mover, action, once)
            memories[:, seat] = once[:, seat]
        held = int(event.before["held"][0, seat])
        worlds = np.repeat(event.before, len(rows))
        worlds["hands"][:, seat, :held] = unpack(then[rows], held)
        if mover != seat:
            same = blueprint.asked(worlds, mover, action, memories)
            if event.tells:
                rows, memories, worlds = rows[same], memories[same], worlds[same]
        blueprint.noticed(worlds, mover, action, memories)
    after = np.full(len(hands), NO_HAND, np.int32)
    after[rows] = np.arange(len(rows))
    return Replayed(after, memories if len(rows) else blueprint.no_memory(1))


def hands_before(take: Take, hands: Hands) -> Hands:
    """The hands before a take that led to `hands`."""
    return with_card_back(hands, take.held, take.slot, take.card, take.drew) if take.slot >= 0 else hands
