"""Analysis in short pieces of work, as the server's processes do them: values of one position, a whole game, and their state between pieces."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

from ludory.data.replay import Replay, replay_json

from .report import PositionAnalysis
from .review import JudgedMove, review

SECONDS = 0.2
"""Work of one piece: four slices."""
MOST_ROLLOUTS = 200_000
"""Rollouts after which a position is no longer refined."""
LINE_FROM = 5_000
"""Rollouts from which on the expected line is followed."""
HELD = 8
"""Questions whose state a process keeps."""

Held = TypeVar("Held")


class PositionQuestion(NamedTuple):
    """What to analyse; arguments as of `PositionAnalysis`."""

    replay: Replay
    number: int
    view: int | None = None
    seat: int | None = None
    agent: str | None = None
    seed: int = 0
    rollouts: int = MOST_ROLLOUTS
    also: tuple[str, ...] = ()


class PositionAnswer(NamedTuple):
    """What is known of a position after some rounds."""

    rounds: int
    report: dict[str, Any] | None
    """None before the first piece."""
    done: bool


class ReviewQuestion(NamedTuple):
    """Which game to judge; arguments as of `review`."""

    replay: Replay
    view: int | None = None
    agent: str | None = None
    seed: int = 0
    rollouts: int = 1000


class ReviewAnswer(NamedTuple):
    """The decisions judged so far."""

    judged: tuple[JudgedMove, ...]
    done: bool


def refine_position(question: PositionQuestion, rounds: int) -> PositionAnswer:
    """Refine the values beyond `rounds` rounds.

    A process that does not have their state computes it again, with the same result; one that is ahead, since nobody waited for its last
    piece, goes on from there.
    """
    key = question_key(question)
    # popped and kept again, so that the newest are kept
    held = _positions.pop(key, None)
    if held is None:
        replay, number, view, seat, agent, seed, _, also = question
        held = PositionAnalysis(replay, number, view, seat, agent, seed, also=also)
    search = held.search
    stop = time.monotonic() + SECONDS
    while search is not None and not search.enough(question.rollouts):
        # at least one round beyond what was asked for, then until the time is up
        if search.rounds >= rounds + 1 and time.monotonic() >= stop:
            break
        held.run_slice(question.rollouts)
    if rounds or search is None or search.done:  # networks are loaded only after the first values are shown
        held.ask()
    _keep(_positions, key, held)
    done = held.done(question.rollouts)
    # the expected line takes a moment, so that it waits until values have settled
    line = done or (search is not None and search.rollouts >= LINE_FROM)
    return PositionAnswer(search.rounds if search is not None else 0, held.report(line), done)


def judge_more(question: ReviewQuestion, first: int) -> ReviewAnswer:
    """Judge some more decisions, from position `first` on."""
    key = question_key(question)
    held = _reviews.pop(key, None)
    if held is None:
        replay, view, agent, seed, rollouts = question
        held = _HeldReview(review(replay, rollouts, seed, agent, view, first=first))
    judged, stop = held.judged, time.monotonic() + SECONDS
    while not held.done and (time.monotonic() < stop or not judged):
        found = next(held.judging, None)
        held.done = found is None
        judged += [] if found is None else [found]
    _keep(_reviews, key, held)
    return ReviewAnswer(tuple(one for one in judged if one.number >= first), held.done)


class _HeldReview:
    def __init__(self, judging: Iterator[JudgedMove]) -> None:
        self.judging, self.judged, self.done = judging, list[JudgedMove](), False


_positions: OrderedDict[str, PositionAnalysis] = OrderedDict()
_reviews: OrderedDict[str, _HeldReview] = OrderedDict()


def question_key(question: PositionQuestion | ReviewQuestion) -> str:
    """The same for equal questions, other ones for others."""
    return f"{type(question).__name__} {replay_json(question.replay)} {question[1:]}"


def _keep(kept: OrderedDict[str, Held], key: str, held: Held) -> None:
    kept[key] = held
    while len(kept) > HELD:
        kept.popitem(last=False)
