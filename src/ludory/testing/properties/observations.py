"""Properties of the arrays that engines return: shapes, dtypes, ranges, and ownership by the caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ludory.envs.engine.protocol import Engine
from ludory.testing.recording import look, segment_place, to_numpy
from ludory.testing.trial import Trial, require


def observations_fit_their_spec(trial: Trial) -> None:
    """Shape, dtype and range match `facts.observation`; packed observations are `numpy.packbits` of whole ones."""
    facts, spec, n = trial.facts, trial.facts.observation, trial.games
    for step, moment in enumerate(trial.recording.moments):
        seen = moment.observations
        require(
            seen.shape == (n, facts.players, *spec.shape),
            f"step {step}: observations have shape {seen.shape[2:]}, must be {spec.shape}",
        )
        require(seen.dtype == spec.dtype, f"step {step}: observations are {seen.dtype}, must be {spec.dtype}")
        outside = np.argwhere(~((seen >= spec.low) & (seen <= spec.high)).reshape(n, facts.players, -1))
        if len(outside):
            game, seat, entry = (int(k) for k in outside[0])
            value = seen[game, seat].reshape(-1)[entry]
            where = f"step {step}, game {game}, seat {seat}: {segment_place(facts, entry)}"
            require(False, f"{where} is {value}, must lie in {spec.low}..{spec.high}")
    for step, engine in trial.positions():
        _check_forms(trial, engine, f"step {step}")


def _check_forms(trial: Trial, engine: Engine, where: str) -> None:
    """`seat=None`, a seat per game, `rows` and `packed` give the same observations."""
    facts, whole = trial.facts, look(engine).observations
    n, rows = engine.num_games, np.arange(engine.num_games)[::3]
    seats = np.arange(n) % facts.players
    each = to_numpy(engine.observe(seat=seats))
    require(
        (each == whole[np.arange(n), seats]).all(), f"{where}: observe(seat=array) differs from observe(seat=number)"
    )
    some = to_numpy(engine.observe(seat=0, rows=rows))
    require((some == whole[rows, 0]).all(), f"{where}: observe(rows=...) differs from observe()")
    mover, running = to_numpy(engine.observe()), np.flatnonzero(to_numpy(engine.to_move) >= 0)
    if facts.simultaneous:
        require((mover == whole).all(), f"{where}: observe() differs from observe(seat) of each seat")
    else:
        same = mover[running] == whole[running, to_numpy(engine.to_move)[running]]
        require(same.all(), f"{where}: observe() differs from observe(seat to move)")
    if facts.observation.bits:
        packed = to_numpy(engine.observe(seat=0, packed=True))
        expected = np.packbits(whole[:, 0].reshape(n, -1), axis=1)
        require((packed == expected).all(), f"{where}: packed observations differ from numpy.packbits of whole ones")


def arrays_are_fresh(trial: Trial) -> None:
    """Later moves do not change returned arrays, and writing to them changes no game."""
    engine = trial.engine()
    for step, actions in enumerate(trial.recording.actions):
        returned = [(name, array, to_numpy(array)) for name, read in READERS.items() for array in [read(engine)]]
        engine.step(actions)
        look(engine)
        for name, array, before in returned:
            require((to_numpy(array) == before).all(), f"step {step}: a later call changed what {name} had returned")
    after = look(engine)
    for name, read in READERS.items():
        # written to on purpose: the engine must not notice
        read(engine)[:] = 1
        same = all((mine == theirs).all() for mine, theirs in zip(look(engine), after, strict=True))
        require(same, f"writing to what {name} returned changed the games")


READERS: dict[str, Callable[[Engine], Any]] = {
    "observe()": lambda engine: engine.observe(),
    "observe(seat=0)": lambda engine: engine.observe(seat=0),
    "legal()": lambda engine: engine.legal(),
    "rewards": lambda engine: engine.rewards,
    "terminated": lambda engine: engine.terminated,
    "truncated": lambda engine: engine.truncated,
    "to_move": lambda engine: engine.to_move,
}
