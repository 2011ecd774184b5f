"""Properties of games in which seats are out before the end."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ludory.testing.recording import Moment
from ludory.testing.trial import Trial, require


def seats_that_are_out_stay_out(trial: Trial) -> str | None:
    """A seat's place is settled once, in a decision in which it took part; from then on it has no reward and one legal value per head."""
    moments = trial.recording.moments
    for step, (before, after) in enumerate(pairwise(moments), start=1):
        _check_step(before, after, f"step {step}")
    for step, moment in enumerate(moments):
        _check_masks(trial, moment, f"step {step}")
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


def _check_masks(trial: Trial, moment: Moment, where: str) -> None:
    if not trial.facts.simultaneous:
        return
    parts = np.split(moment.masks, np.cumsum(trial.facts.head_sizes)[:-1], axis=-1)
    for name, part in zip(trial.facts.head_names, parts, strict=True):
        for game, seat in np.argwhere(~moment.alive & ~moment.over[:, None] & (part.sum(-1) != 1)):
            count = int(part[game, seat].sum())
            require(
                False,
                f"{where}, game {game}: seat {seat} is out and has {count} legal values of head {name!r}, must have one",
            )
