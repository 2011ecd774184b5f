"""Properties of seats that are out before the end of a game, and of seats that wait (`Engine.deciding`)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ludory.testing.random_moves import head_parts
from ludory.testing.recording import Array, Moment
from ludory.testing.trial import Trial, require


def seats_that_are_out_stay_out(trial: Trial) -> str | None:
    """A seat is settled once, at a step in which it took part; afterwards it has no reward and one legal value per head."""
    moments = trial.recording.moments
    for step, (before, after) in enumerate(pairwise(moments), start=1):
        _check_step(before, after, f"step {step}")
    for step, moment in enumerate(moments):
        if trial.facts.simultaneous:
            _check_masks(trial, moment, ~moment.alive & ~moment.over[:, None], f"step {step}, game", "is out")
    out = sum(bool(((~moment.alive) & ~moment.over[:, None]).any()) for moment in moments)
    return None if out or not trial.game.seats_leave else f"no seat was out early in {trial.games} random games"


def _check_step(before: Moment, after: Moment, where: str) -> None:
    over = before.over[:, None]
    settled = after.seat_terminated & ~over
    for game, seat in np.argwhere(settled & ~before.alive):
        require(False, f"{where}, game {game}: seat {seat} is settled a second time")
    for game, seat in np.argwhere(after.terminated[:, None] & before.alive & ~settled):
        require(False, f"{where}, game {game} terminates: seat {seat} was alive and is not settled")
    running = ~after.over[:, None]
    for game, seat in np.argwhere(running & (after.alive != (before.alive & ~settled))):
        was = "settled" if settled[game, seat] else "not settled"
        require(False, f"{where}, game {game}: seat {seat} was {was}, but alive is {after.alive[game, seat]}")
    for game, seat in np.argwhere(~before.alive & (after.rewards != 0)):
        require(False, f"{where}, game {game}: seat {seat} was out and has the reward {after.rewards[game, seat]}")


def _check_masks(trial: Trial, moment: Moment, idle: Array, where: str, why: str) -> None:
    """Seats (N, P) that are `idle` have one legal value of each head."""
    for name, part in zip(trial.facts.head_names, head_parts(trial.facts, moment.masks), strict=True):
        for game, seat in np.argwhere(idle & (part.sum(-1) != 1)):
            count = int(part[game, seat].sum())
            wrong = f"{why} and has {count} legal values of head {name!r}, must have one"
            require(False, f"{where} {game}: seat {seat} {wrong}")


def seats_that_wait_have_no_choice(trial: Trial) -> str | None:
    """The seat to move decides; in simultaneous games, all living seats that do not wait. Waiting seats have one legal value per head."""
    facts, waited = trial.facts, False
    for step, moment in enumerate(trial.recording.moments):
        where, shape = f"step {step}", (trial.games, facts.players)
        got = f"{moment.deciding.dtype}{moment.deciding.shape}"
        require(moment.deciding.shape == shape and moment.deciding.dtype == bool, f"{where}: deciding is {got}")
        for game, seat in np.argwhere(moment.deciding & ~moment.alive):
            require(False, f"{where}, game {game}: seat {seat} decides, but it is out or the game is over")
        if not facts.simultaneous:
            expected = moment.to_move[:, None] == np.arange(facts.players)
            require((moment.deciding == expected).all(), f"{where}: deciding is not the seat to move")
            continue
        waits = moment.alive & ~moment.deciding
        waited = waited or bool(waits.any())
        for game, seat in np.argwhere(waits if not trial.game.seats_wait else np.zeros_like(waits)):
            require(
                False,
                f"{where}, game {game}: seat {seat} waits; add ludory.envs.waiting(players), or facts.seats_wait=True",
            )
        _check_masks(trial, moment, waits, f"{where}, game", "waits")
    return f"no seat waited in {trial.games} random games" if trial.game.seats_wait and not waited else None
