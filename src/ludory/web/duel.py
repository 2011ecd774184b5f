"""Two agents compared game by game, until one is surely better."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from ludory.agents.evaluation.beside import paired_scores
from ludory.agents.evaluation.intervals import LEAST_GAMES, SequentialInterval, sequential_interval
from ludory.agents.make import make_agent
from ludory.charts.curves import Point, Series, small_plot
from ludory.envs.make import make_game
from ludory.errors import OptionError
from ludory.plugins.spec import short_name

__all__ = [
    "NO_GAMES",
    "DuelAnswer",
    "DuelQuestion",
    "check_duel",
    "duel_chart",
    "duel_page",
    "joined",
    "next_pairs",
]

FIRST, MOST = 8, 5_000
"""Pairs of the first piece of work, and of a whole duel."""
SECONDS = 0.5
"""Time that a piece should take."""
DRAWN = 60
"""Points of the chart."""


class DuelQuestion(NamedTuple):
    """Who plays what."""

    game: str
    first: str
    second: str
    seed: int


class DuelAnswer(NamedTuple):
    """The games so far."""

    scores: tuple[tuple[float, float], ...]
    """Of the first and the second agent, pair by pair."""
    piece: int
    """Pairs of the next piece."""

    @property
    def lead(self) -> SequentialInterval:
        """The first's score minus the second's."""
        return sequential_interval([first - second for first, second in self.scores])

    @property
    def done(self) -> bool:
        """Whether it is decided, or long enough."""
        return len(self.scores) >= MOST or self.lead.decided


NO_GAMES = DuelAnswer((), FIRST)
"""The answer that a duel begins with."""


def check_duel(question: DuelQuestion) -> None:
    """Make game and agents once, so that mistakes are told at once.

    Raises:
        OptionError: an agent does not play the game, or both are the same.
        UnknownIdError: there is no such game or agent.
    """
    game = make_game(question.game)
    if question.first == question.second:
        raise OptionError(f"both agents are {question.first}: choose two that differ")
    for name in (question.first, question.second):
        if name == "human":
            raise OptionError("people do not play thousands of games: choose an agent")
        make_agent(name, game)


def play_pairs(question: DuelQuestion, first_pair: int, count: int) -> tuple[tuple[tuple[float, float], ...], float]:
    """The scores of the pairs `first_pair`, `first_pair` + 1, ...; and the seconds that they took.

    A pair is the same game played by each agent, or the same deal with the seats exchanged, see `paired_scores`.
    """
    started = time.monotonic()
    game = make_game(question.game)
    own, other = paired_scores(question.first, question.second, game, count, question.seed, first_pair)
    return tuple(zip(own.tolist(), other.tolist(), strict=True)), time.monotonic() - started


def next_pairs(question: DuelQuestion, answer: DuelAnswer) -> tuple[Any, ...] | None:
    """The next piece of work; None if nothing is left to do."""
    if answer.done:
        return None
    return play_pairs, question, len(answer.scores), min(answer.piece, MOST - len(answer.scores))


def joined(answer: DuelAnswer, found: tuple[tuple[tuple[float, float], ...], float]) -> DuelAnswer:
    """The answer with the games of one more piece."""
    scores, seconds = found
    faster = seconds < SECONDS / 2
    return DuelAnswer((*answer.scores, *scores), answer.piece * 2 if faster else max(answer.piece, 1))


def duel_page(question: DuelQuestion, answer: DuelAnswer) -> dict[str, Any]:
    """What the page shows, as JSON values."""
    lead, scores = answer.lead, np.array(answer.scores).reshape(-1, 2)
    pairs, games = len(scores), make_game(question.game).facts
    together = games.reward == "shared" or games.players == 1
    found: dict[str, Any] = {
        "game": question.game,
        "agents": [short_name(question.first), short_name(question.second)],
        "seed": question.seed,
        "pairs": pairs,
        "most": MOST,
        "together": together,
        "decided": lead.decided,
        "done": answer.done,
        "verdict": _verdict(question, lead, answer.done),
    }
    if pairs < 2:
        return found
    leads = scores[:, 0] - scores[:, 1]
    found |= {
        "means": scores.mean(axis=0).tolist(),
        "stderrs": (scores.std(axis=0, ddof=1) / np.sqrt(pairs)).tolist(),
        "better": [int((leads > 0).sum()), int((leads < 0).sum())],
        "equal": int((leads == 0).sum()),
        "lead": {"mean": lead.mean, "low": lead.low, "high": lead.high},
    }
    return found


def _verdict(question: DuelQuestion, lead: SequentialInterval, done: bool) -> str:
    if lead.decided:
        better = question.first if lead.mean > 0 else question.second
        return f"Decided after {lead.games:,} pairs: {short_name(better)} is better."
    if done:
        return f"Not decided after {lead.games:,} pairs: the two are about equally good."
    return "Not decided yet." if lead.games >= LEAST_GAMES else f"Nothing is decided before {LEAST_GAMES} pairs."


def duel_chart(answer: DuelAnswer, title: str) -> str:
    """SVG document of the lead with its interval over the number of pairs; "" before there is one."""
    count = len(answer.scores)
    if count < FIRST:
        return ""
    leads = [first - second for first, second in answer.scores]
    steps = sorted({max(FIRST, round(count * (k + 1) / DRAWN)) for k in range(DRAWN)})
    found = [sequential_interval(leads[:step]) for step in steps]
    points = [Point(step, one.mean, one.low, one.high) for step, one in zip(steps, found, strict=True)]
    zero = [Point(steps[0], 0.0, 0.0, 0.0), Point(steps[-1] + 1, 0.0, 0.0, 0.0)]
    return small_plot(title, [Series("lead", points), Series("equal", zero)], "pairs played")
