"""Properties of hidden information: a seat sees what it may know and nothing else."""

from __future__ import annotations

import numpy as np

from ludory.envs.engine.protocol import Engine
from ludory.testing.random_moves import RandomMoves
from ludory.testing.recording import Moment, compare, look, same_state
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
        masks = look(mine).masks & look(theirs).masks
        if (masks != look(mine).masks).any():
            return True
        actions = RandomMoves(trial.facts, trial.games, trial.generator("redeal"))(masks)
        mine.step(actions)
        theirs.step(actions)
        if (look(mine).observations != look(theirs).observations).any():
            return True
    return False
