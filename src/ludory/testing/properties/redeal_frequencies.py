"""The property that `redeal` draws hidden information with the frequencies of fresh deals; tested by rejection sampling in small games."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from ludory.envs.engine.binding.kernel_faults import Places
from ludory.envs.engine.protocol import Engine
from ludory.errors import ConformanceError
from ludory.testing.recording import Array, Moment, look, to_numpy
from ludory.testing.trial import Trial

from .hidden import not_applicable

FRESH, TRIED = 16384, 1024
"""Number of fresh deals, and of those tried first to see whether enough of them look the same."""
LEAST, MOST = 400, 800
"""Range of the number of deals that look the same: fewer are not compared, more are not needed."""
GAMES, DECISIONS = 2, 2
"""Number of recorded games to compare, and of decisions in each."""
DEVIATION = 5.0
"""Limit for chi-squared in standard deviations; chance exceeds it once in three million cases."""
EXPECTED = 5
"""Rarer outcomes are pooled, as usual with chi-squared."""


def redeal_draws_as_often_as_fresh_deals(trial: Trial) -> str | None:
    """Among fresh deals that look the same to a seat throughout, hidden information is distributed as after `redeal`.

    Fresh deals play the recorded actions and are rejected as soon as the seat sees something else. Compared are the observations of the
    other seats and `critic`.
    """
    reason = not_applicable(trial)
    if reason:
        return reason
    compared = 0
    for game in range(min(GAMES, trial.games)):
        for seat in range(trial.facts.players):
            for step, same in _same_to(trial, game, seat):
                compared += _compare(trial, game, seat, step, same)
    return None if compared else "too many deals are possible to compare redeal with fresh ones"


def _same_to(trial: Trial, game: int, seat: int) -> Iterator[tuple[int, Engine]]:
    """Yield (step, fresh deals that look to `seat` like the recorded game so far), as long as there are enough."""
    recording = trial.recording
    # a few deals tell whether enough of the many will look the same
    if _agreeing(trial, _fresh(trial, TRIED), recording.moments[0], game, seat).mean() * FRESH < LEAST:
        return
    engine = _fresh(trial, FRESH)
    for step, moment in enumerate(recording.moments[: DECISIONS + 1]):
        rows = np.flatnonzero(_agreeing(trial, engine, moment, game, seat))
        rows = rows[_told_the_same(trial, engine, rows, game, seat, step)]
        if len(rows) < LEAST or moment.over[game]:
            return
        engine = engine.gather(rows)
        yield step, engine
        if step == len(recording.actions):
            return
        action = recording.actions[step][game]
        allowed = np.flatnonzero(_is_legal(trial, engine, action))
        if len(allowed) < LEAST:
            return
        engine = engine.gather(allowed)
        engine.step(np.broadcast_to(action, (engine.num_games, *np.shape(action))))


def _fresh(trial: Trial, games: int) -> Engine:
    return trial.engine(games=games, seed=trial.seed + 1)


def _agreeing(trial: Trial, engine: Engine, moment: Moment, game: int, seat: int) -> Array:
    """(N,) bool: observation and mask of `seat`, the seat to move, rewards and ends equal those of the recorded game."""
    same = _equal(to_numpy(engine.observe(seat=seat)), moment.observations[game, seat])
    for name in ("to_move", "terminated", "truncated", "rewards", "alive"):
        same &= _equal(to_numpy(getattr(engine, name)), getattr(moment, name)[game])
    masks = to_numpy(engine.legal())
    if trial.facts.simultaneous:
        same &= _equal(masks[:, seat], moment.masks[game, seat])
    elif moment.to_move[game] == seat:
        same &= _equal(masks, moment.masks[game])
    return same


def _equal(got: Array, recorded: Array) -> Array:
    """(N,) bool: which rows of (N, ...) equal `recorded` (...)."""
    return np.asarray((got == recorded).reshape(len(got), -1).all(axis=1))


def _told_the_same(trial: Trial, engine: Engine, rows: Array, game: int, seat: int, step: int) -> Array:
    """Up to `MOST` places in `rows` whose text for `seat` equals that of the recorded game; it may show more than the observation."""
    text, chosen = trial.game.look.text, np.arange(min(len(rows), MOST))
    if text is None or step == 0:
        return chosen
    recorded = text(_recorded(trial, game, step).state, 0, seat)
    return chosen[[text(engine.state, int(rows[k]), seat) == recorded for k in chosen]]


def _recorded(trial: Trial, game: int, step: int) -> Engine:
    """The recorded game alone at a step."""
    engine = trial.engine()
    for actions in trial.recording.actions[:step]:
        engine.step(actions)
    return engine.gather([game])


def _is_legal(trial: Trial, engine: Engine, action: Array) -> Array:
    """(N,) bool."""
    masks, parts = to_numpy(engine.legal()), np.cumsum([0, *trial.facts.head_sizes[:-1]])
    columns = np.reshape(action, (*masks.shape[1:-1], len(parts))) + parts
    legal = np.take_along_axis(masks, np.broadcast_to(columns, (len(masks), *columns.shape)), -1)
    return np.asarray(legal.reshape(len(masks), -1).all(axis=1))


def _compare(trial: Trial, game: int, seat: int, step: int, fresh: Engine) -> bool:
    """Raise ConformanceError if `redeal` has other frequencies; returns False if there is too little to compare."""
    redealt = _recorded(trial, game, step).gather(np.zeros(fresh.num_games, np.int64))
    redealt.redeal(seat, trial.seed)
    # outcomes are numbered by what is seen: equal rows, equal numbers
    both = np.concatenate([_hidden(trial, fresh, seat), _hidden(trial, redealt, seat)])
    _, outcomes = np.unique(both, axis=0, return_inverse=True)
    mine, theirs = np.split(outcomes.reshape(-1), 2)
    width = int(outcomes.max()) + 1
    counts = np.stack([np.bincount(mine, minlength=width), np.bincount(theirs, minlength=width)])
    # expected in both samples together
    rare = counts.sum(axis=0) < 2 * EXPECTED
    if rare.any():
        counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    counts = counts[:, counts.sum(axis=0) >= 2 * EXPECTED]
    if counts.shape[1] < 2:
        return False
    expected = np.broadcast_to(counts.sum(axis=0) / 2, counts.shape)
    deviation = chi_squared(counts, expected, freedom=counts.shape[1] - 1)
    if deviation > DEVIATION:
        worst = int((np.abs(counts[0] - counts[1]) / np.sqrt(counts.sum(axis=0))).argmax())
        kernels = trial.game.needed_kernels("this check")
        place = Places(kernels).of(kernels.redeal) if kernels.redeal else "redeal"
        raise ConformanceError(
            f"step {step}, game {game}: {place}: redeal({seat}) draws otherwise than the game deals: what the other seats see came "
            f"{counts[0, worst]} times among {fresh.num_games} fresh deals that look the same to seat {seat}, and {counts[1, worst]} "
            f"times after redeal (chi-squared {deviation:.0f} standard deviations above its mean)"
        )
    return True


def _hidden(trial: Trial, engine: Engine, seat: int) -> Array:
    """(N, ...): observations of the other seats, and `critic`."""
    others = np.delete(look(engine).observations, seat, axis=1).reshape(engine.num_games, -1)
    if trial.game.needed_kernels("this check").critic is None:
        return np.ascontiguousarray(others)
    return np.column_stack([others, to_numpy(engine.critic(seat=seat)).reshape(engine.num_games, -1)])


def chi_squared(counts: ArrayLike, expected: ArrayLike, freedom: int | None = None) -> float:
    """Pearson's statistic, as standard deviations above its mean (Wilson-Hilferty's normal approximation).

    freedom: degrees of freedom; None: one less than there are counts.
    """
    counts, expected = np.asarray(counts, float), np.asarray(expected, float)
    degrees = counts.size - 1 if freedom is None else freedom
    statistic = ((counts - expected) ** 2 / expected).sum()
    spread = 2 / (9 * degrees)
    return float(((statistic / degrees) ** (1 / 3) - (1 - spread)) / np.sqrt(spread))
