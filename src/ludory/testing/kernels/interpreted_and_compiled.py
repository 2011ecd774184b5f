"""Properties of kernels: they stay in their row, and give the same results interpreted and compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ludory.envs.engine.protocol import Engine
from ludory.envs.engine.storage import state_class
from ludory.errors import ConformanceError
from ludory.testing.recording import Array, segment_place, to_numpy
from ludory.testing.trial import Trial, require

from .interpreted import GuardedField, interpreted

ROW = 1
"""Kernels run on the middle game of three, so that a write to the wrong row is possible, and noticed."""

POSITIONS = 12
"""Number of stages of a game to test; interpreted kernels are a hundred times slower than compiled ones."""


def kernels_stay_in_their_row(trial: Trial) -> None:
    """Interpreted kernels use only their own row, within bounds, store values that fit, and agree with compiled code.

    All legal actions are tried, not only recorded ones; this often reveals a mask that allows too much.
    """
    kernels = {
        name: interpreted(kernel)
        for name, kernel in trial.game.needed_kernels("this check")._asdict().items()
        if kernel
    }
    generator = trial.generator("kernels")
    for step, engine in trial.positions(POSITIONS):
        running = np.flatnonzero(to_numpy(engine.to_move) >= 0)
        for game in generator.permutation(running)[:1]:
            # games on both sides of it, so that a write to a neighbour shows
            others = generator.integers(engine.num_games, size=2)
            trio = engine.gather([others[0], game, others[1]])
            _check_views(trial, kernels, trio, f"step {step}, game {game}")
            _check_training(trial, kernels, trio, f"step {step}, game {game}")
            _check_steps(trial, kernels, trio, f"step {step}, game {game}")
            _check_draws(trial, kernels, trio, f"step {step}, game {game}")


def _guarded(engine: Engine, call: Callable[..., Any], where: str, *args: Any) -> dict[str, Array]:
    """Call a kernel on a guarded copy of the state; returns the resulting fields."""
    names = engine.state._fields
    arrays = {name: to_numpy(getattr(engine.state, name)) for name in names}
    shared = engine.game.shared_names
    fields = [GuardedField(f"state.{name}", array, None if name in shared else ROW) for name, array in arrays.items()]
    state = state_class(names)(*fields)
    try:
        with np.errstate(all="ignore"):
            call(state, ROW, *args)
    except ConformanceError as error:
        raise ConformanceError(f"{where} {error}") from error
    return arrays


def _check_views(trial: Trial, kernels: Mapping[str, Any], engine: Engine, where: str) -> None:
    facts = trial.facts
    for seat in range(facts.players):
        seen = np.zeros(facts.observation.size, facts.observation.dtype)
        _guarded(engine, kernels["observe"], f"{where}: observe(seat {seat})", seat, GuardedField("out", seen))
        expected = to_numpy(engine.observe(seat=seat))[ROW].reshape(-1)
        for entry in np.flatnonzero(~np.isclose(seen, expected))[:1]:
            got = f"{seen[entry]} interpreted, {expected[entry]} compiled"
            require(False, f"{where}: observe(seat {seat}) gives {segment_place(facts, int(entry))} = {got}")
        if facts.simultaneous or int(engine.to_move[ROW]) == seat:
            mask = np.zeros(facts.num_actions, bool)
            _guarded(engine, kernels["legal"], f"{where}: legal(seat {seat})", seat, GuardedField("mask", mask))
            legal = to_numpy(engine.legal())[ROW]
            compiled = legal[seat] if facts.simultaneous else legal
            for action in np.flatnonzero(mask != compiled)[:1]:
                got = f"{mask[action]} interpreted, {compiled[action]} compiled"
                require(False, f"{where}: legal(seat {seat}) gives action {action} = {got}")


def _check_training(trial: Trial, kernels: Mapping[str, Any], engine: Engine, where: str) -> None:
    """Check `used` for actions of every seat, and `critic`."""
    facts, spec = trial.facts, trial.facts.critic_spec
    every = to_numpy(engine.deciding)[ROW]
    for seat in np.flatnonzero(every).tolist():
        mask = to_numpy(engine.legal())[ROW]
        for action in (
            _covering_actions(mask[seat] if facts.simultaneous else mask, facts.head_sizes) if "used" in kernels else ()
        ):
            flags, row = np.zeros(len(facts.heads), bool), np.atleast_1d(action)
            _guarded(engine, kernels["used"], f"{where}: used(seat {seat})", seat, row, GuardedField("out", flags))
            compiled = to_numpy(engine.used(np.stack([action] * 3), seat=seat))[ROW]
            require(
                (flags == compiled).all(),
                f"{where}: used(seat {seat}, {row.tolist()}) is {flags} interpreted, {compiled} compiled",
            )
    for seat in range(facts.players) if "critic" in kernels else ():
        seen = np.zeros(spec.size, spec.dtype)
        _guarded(engine, kernels["critic"], f"{where}: critic(seat {seat})", seat, GuardedField("out", seen))
        expected = to_numpy(engine.critic(seat=seat))[ROW]
        for entry in np.flatnonzero(~np.isclose(seen, expected))[:1]:
            got = f"{seen[entry]} interpreted, {expected[entry]} compiled"
            require(False, f"{where}: critic(seat {seat}) gives entry {entry} = {got}")


def _check_steps(trial: Trial, kernels: Mapping[str, Any], engine: Engine, where: str) -> None:
    masks = to_numpy(engine.legal())[ROW]
    for actions in _covering_actions(masks, trial.facts.head_sizes):
        step = f"{where}: step({actions.tolist()})"
        compiled = engine.gather([ROW] * 3)
        compiled.step(np.stack([actions] * 3))
        cleared = engine.clone()
        # kernels expect rewards of 0, which the engine sees to
        cleared.state.rewards[:] = 0
        fields = _guarded(cleared, kernels["step"], step, actions)
        _compare_rows(compiled, fields, step)


def _covering_actions(masks: Array, head_sizes: tuple[int, ...]) -> list[Array]:
    """Actions that contain every legal value of every head (of every seat) at least once."""
    parts = np.split(masks, np.cumsum(head_sizes)[:-1], axis=-1)
    values = [[np.flatnonzero(row) for row in part.reshape(-1, part.shape[-1])] for part in parts]  # [head][seat]
    most = max(len(legal) for head in values for legal in head)
    shape = (len(parts),) if masks.ndim == 1 else (len(masks), len(parts))
    # the k-th legal value of every head, round and round
    cubes = [
        np.array([[legal[k % len(legal)] for legal in head] for head in values]).T.reshape(shape) for k in range(most)
    ]
    return [cube[0] for cube in cubes] if shape == (1,) else cubes


def _check_draws(trial: Trial, kernels: Mapping[str, Any], engine: Engine, where: str) -> None:
    started = engine.clone()
    started.reset()
    cleared = engine.clone()
    cleared.state.rewards[:] = 0
    _compare_rows(started, _guarded(cleared, kernels["reset"], f"{where}: reset"), f"{where}: reset")
    for seat in range(trial.facts.players) if "redeal" in kernels else ():
        _guarded(engine, kernels["redeal"], f"{where}: redeal(seat {seat})", seat)


def _compare_rows(compiled: Engine, fields: Mapping[str, Array], where: str) -> None:
    for name, array in fields.items():
        theirs = to_numpy(getattr(compiled.state, name))
        if name in compiled.game.shared_names:
            require((array == theirs).all(), f"{where}: writes to state.{name}, which all games share")
            continue
        mine, theirs = array[ROW], theirs[ROW]
        # floating-point sums of compiled code may differ in the last bit
        same = np.allclose(mine, theirs, equal_nan=True) if array.dtype.kind == "f" else (mine == theirs).all()
        require(same, f"{where}: state.{name} is {mine.tolist()} interpreted, {theirs.tolist()} compiled")
