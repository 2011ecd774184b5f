"""Properties of who must act: `Engine.deciding`."""

from __future__ import annotations

import numpy as np

from ludory.testing.trial import Trial, require


def seats_that_wait_have_no_choice(trial: Trial) -> str | None:
    """In turns the seat to move decides; where all move at once, living seats do, but for those that wait: they have one legal value per head."""
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
                f"{where}, game {game}: seat {seat} waits; add ludory.envs.game.waiting(players), or facts.seats_wait=True",
            )
        parts = np.split(moment.masks, np.cumsum(facts.head_sizes)[:-1], axis=-1)
        for name, part in zip(facts.head_names, parts, strict=True):
            for game, seat in np.argwhere(waits & (part.sum(-1) != 1)):
                count = int(part[game, seat].sum())
                require(
                    False,
                    f"{where}, game {game}: seat {seat} waits and has {count} legal values of head {name!r}, must have one",
                )
    return f"no seat waited in {trial.games} random games" if trial.game.seats_wait and not waited else None
