"""Properties of legal masks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine.protocol import Engine
from ludory.errors import ConformanceError, IllegalActionError
from ludory.testing.random_moves import RandomMoves
from ludory.testing.recording import Array, compare, look, same_state, to_numpy
from ludory.testing.trial import Trial, require


def masks_have_their_form(trial: Trial) -> str | None:
    """Masks are bool (N, A) or (N, P, A). `record` has already checked that running games have a legal action for every head."""
    facts, n = trial.facts, trial.games
    shape = (n, facts.players, facts.num_actions) if facts.simultaneous else (n, facts.num_actions)
    ever = np.zeros(facts.num_actions, bool)
    for step, moment in enumerate(trial.recording.moments):
        masks = moment.masks
        require(masks.shape == shape, f"step {step}: legal() has shape {masks.shape}, must be {shape}")
        require(masks.dtype == bool, f"step {step}: legal() has dtype {masks.dtype}, must be bool")
        ever |= masks[~moment.over].any(axis=tuple(range(masks.ndim - 1)))
    never = np.flatnonzero(~ever).tolist()
    return f"never legal in {n} random games: actions {never}" if never else None


def legal_actions_can_be_played(trial: Trial) -> str | None:
    """Every legal value of every head can be played."""
    if not trial.game.clones:
        return "only legal actions of random games were played: games cannot be copied"
    for step, engine in trial.positions():
        for attempt in _attempts(trial, engine, legal=True, most=16):
            try:
                engine.gather(attempt.rows).step(attempt.actions)
            except Exception as error:
                raise ConformanceError(
                    f"step {step}, {attempt.what} is legal, but playing it failed: {error}"
                ) from error
    return None


def illegal_actions_are_refused(trial: Trial) -> None:
    """Illegal values and values out of range raise IllegalActionError and change nothing."""
    for step, engine in trial.positions(12):
        copy, before = engine.clone() if trial.game.clones else engine, look(engine)
        for attempt in (*_attempts(trial, engine, legal=False, most=4), *_out_of_range(trial, engine)):
            row, action = attempt.rows[:1], attempt.actions[:1]
            require(_is_refused(copy, action, row), f"step {step}, {attempt.what} is not legal, but it was played")
        compare(trial.facts, look(copy), before, f"step {step}, after refused actions")
        if trial.game.clones:
            same_state(copy.state, engine.state, f"step {step}, after refused actions")


class ActionAttempt(NamedTuple):
    """One value of one head, to be played in games in which it is legal (or is not); the rest of `actions` is legal."""

    rows: NDArray[np.int64]
    actions: NDArray[np.int64]
    what: str


def _attempts(trial: Trial, engine: Engine, legal: bool, most: int) -> Iterator[ActionAttempt]:
    """For every value, up to `most` running games in which it is legal (or is not)."""
    running = np.flatnonzero(to_numpy(engine.to_move) >= 0)
    masks, start = _cube(to_numpy(engine.legal())), 0
    base = _legal_moves(trial, engine)
    for head, (_, size) in enumerate(trial.facts.heads):
        for seat in range(masks.shape[1]):
            for value in range(size):
                rows = running[masks[running, seat, start + value] == legal][:most]
                if len(rows):
                    what = f"game {rows[0]}: {_in_words(trial, engine, int(rows[0]), seat, head, value)}"
                    yield ActionAttempt(rows, _with(base[rows], seat, head, value), what)
        start += size


def _out_of_range(trial: Trial, engine: Engine) -> Iterator[ActionAttempt]:
    rows, base = np.flatnonzero(to_numpy(engine.to_move) >= 0)[:1], _legal_moves(trial, engine)
    if not len(rows):
        return
    for head, (name, size) in enumerate(trial.facts.heads):
        for value in (-1, size, 2**40):
            what = f"game {rows[0]}: {value} of head {name!r} (size {size})"
            yield ActionAttempt(rows, _with(base[rows], 0, head, value), what)
    for entry, (low, high) in enumerate(zip(*trial.facts.box, strict=True) if trial.facts.box else ()):
        ends, away = np.array([low, high], np.float32), np.array([-np.inf, np.inf], np.float32)
        for number in (np.nan, *np.nextafter(ends, away)):
            what = f"game {rows[0]}: {number} as entry {entry} (which lies in {low}..{high})"
            yield ActionAttempt(rows, _with(base[rows], 0, entry, number), what)


def _legal_moves(trial: Trial, engine: Engine) -> Array:
    return RandomMoves(trial.facts, engine.num_games, trial.generator("masks"))(to_numpy(engine.legal()))


def _cube(array: Array) -> Array:
    return array if array.ndim == 3 else array[:, None]


def _with(actions: Array, seat: int, head: int, value: float) -> Array:
    """A copy of `actions` with another value in one place."""
    changed = actions.copy()
    if changed.ndim == 1:  # (N,)
        changed[:] = value
    elif changed.ndim == 2:  # (N, H)
        changed[:, head] = value
    else:  # (N, P, H)
        changed[:, seat, head] = value
    return changed


def _is_refused(engine: Engine, actions: Array, rows: Array) -> bool:
    try:
        engine.step(actions, rows)
    except IllegalActionError:
        return True
    return False


def _in_words(trial: Trial, engine: Engine, row: int, seat: int, head: int, value: int) -> str:
    mover = seat if trial.facts.simultaneous else int(engine.to_move[row])
    return f"seat {mover}, action {value} ({trial.game.look.action_name(head, value)})"
