"""Properties of hidden information: a seat sees what it may know and nothing else, and `redeal` draws the rest as fresh deals do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from ludory.envs.engine.binding.kernel_faults import Places
from ludory.envs.engine.protocol import Engine
from ludory.errors import ConformanceError
from ludory.testing.random_moves import RandomMoves
from ludory.testing.recording import Array, Moment, compare, look, same_state, to_numpy
from ludory.testing.trial import Trial, require

from .pictures import drawn

DRAWN = 3
"""Number of games of a batch whose `info` and pictures are compared."""


def hidden_information_stays_hidden(trial: Trial) -> str | None:
    """When only hidden information changes (`redeal`), a seat's observation, mask, info, pictures and text stay the same."""
    reason = not_applicable(trial)
    if reason:
        return reason
    for step, engine in trial.positions():
        for seat in range(trial.facts.players):
            other = _redealt(trial, engine, seat)
            where = f"step {step}, other hidden information (redeal({seat}))"
            compare(trial.facts, _known(trial, look(other), seat), _known(trial, look(engine), seat), where)
            _compare_told(trial, engine, other, seat, where)
    return None


def redeal_draws_what_is_hidden(trial: Trial) -> str | None:
    """`redeal` is repeatable by its seed, and sometimes changes what another seat sees or what happens next."""
    reason = not_applicable(trial)
    if reason:
        return reason
    changed = False
    for step, engine in trial.positions(6):
        for seat in range(trial.facts.players):
            other, again = _redealt(trial, engine, seat), _redealt(trial, engine, seat)
            same_state(again.state, other.state, f"step {step}, redeal({seat}) with the same seed")
            seen = look(other).observations != look(engine).observations
            changed = changed or bool(seen.any()) or _goes_on_differently(trial, engine, other)
    require(
        changed,
        "facts.hidden_information is true, but redeal changed neither what another seat sees nor what comes next",
    )
    return None


def not_applicable(trial: Trial) -> str | None:
    """Why hidden information cannot be tested; None if it can."""
    if not trial.facts.hidden_information:
        return "the game hides nothing"
    if trial.facts.privileged_observation:
        return "the observation shows hidden information on purpose"
    return "the game has no redeal, so leaks cannot be looked for" if not trial.game.redeals else None


def _redealt(trial: Trial, engine: Engine, seat: int) -> Engine:
    other = engine.clone()
    other.redeal(seat, trial.seed)
    return other


def _known(trial: Trial, moment: Moment, seat: int) -> Moment:
    """What `seat` may know of a moment: public facts, its own observation and, if it is to move, its mask; the rest is zero."""
    masks, observations = np.zeros_like(moment.masks), np.zeros_like(moment.observations)
    observations[:, seat] = moment.observations[:, seat]
    if trial.facts.simultaneous:
        masks[:, seat] = moment.masks[:, seat]
    else:
        # the mask of another seat may tell what it holds
        mine = (moment.to_move == seat) | moment.over
        masks[mine] = moment.masks[mine]
    return moment._replace(masks=masks, observations=observations)


def _compare_told(trial: Trial, engine: Engine, other: Engine, seat: int, where: str) -> None:
    """Compare `info` if the seat is to move, and the pictures drawn for it, in a few games."""
    game, moment = trial.game, look(engine)
    for i in range(min(DRAWN, engine.num_games)):
        if moment.to_move[i] == (0 if trial.facts.simultaneous else seat):
            mine, theirs = game.look.info(other.state, i), game.look.info(engine.state, i)
            require(mine == theirs, f"{where}, game {i}: info is {mine}, was {theirs}")
        written = {"codec": game.language.encode} if game.language else {}
        for name, draw in (drawn(game) | written).items():
            same = draw(other.state, i, seat) == draw(engine.state, i, seat)
            require(same, f"{where}, game {i}: {name} shows seat {seat} something else")


def _goes_on_differently(trial: Trial, engine: Engine, other: Engine) -> bool:
    """Whether a few random moves, the same in both, reveal a difference."""
    mine, theirs = engine.clone(), other.clone()
    for _ in range(4):
        # a move must be legal in both, and a mask that differs is a difference already
        masks = look(mine).masks & look(theirs).masks
        if (masks != look(mine).masks).any():
            return True
        actions = RandomMoves(trial.facts, trial.games, trial.generator("redeal"))(masks)
        mine.step(actions)
        theirs.step(actions)
        if (look(mine).observations != look(theirs).observations).any():
            return True
    return False


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
        # where the recorded move is illegal, the deal is another one
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
