"""Properties of copies: clone, gather, save and restore."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ludory.envs.engine.protocol import Engine
from ludory.envs.engine.snapshot import check_fields
from ludory.errors import ConformanceError, SnapshotError
from ludory.testing.random_moves import RandomMoves
from ludory.testing.recording import compare, look, replay, same_state
from ludory.testing.trial import Trial


def clones_diverge_only_by_actions(trial: Trial) -> None:
    """A clone with the same moves stays the same; one with other moves, or after `reset`, leaves the original unchanged."""
    choose = RandomMoves(trial.facts, trial.games, trial.generator("clones"))
    for step, engine in trial.positions(4):
        same, other, before = engine.clone(), engine.clone(), look(engine)
        for _ in range(3):
            other.step(choose(look(other).masks))
        other.reset()
        compare(trial.facts, look(engine), before, f"step {step}, after moves in a clone")
        replay(same, trial.recording, step, "a clone")
        compare(trial.facts, look(engine), before, f"step {step}, after moves in a clone")
        same.reset()
        replay(engine, trial.recording, step, "the original of a clone")
        engine.reset()
        compare(trial.facts, look(engine), look(same), f"cloned at step {step}, next games")


def gather_copies(trial: Trial) -> None:
    """`gather(rows)`, also with repeated rows, returns independent games that continue like the originals."""
    rows = trial.generator("gather").integers(trial.games, size=trial.games + 3)
    for step, engine in trial.positions(4):
        before, part = look(engine), engine.gather(rows)
        replay(part, trial.recording.rows(rows), step, f"gather({rows[:3].tolist()} and more)")
        compare(trial.facts, look(engine), before, f"step {step}, after moves in a gathered batch")


def restored_games_continue(trial: Trial) -> None:
    """`save` and `restore` preserve the state bit for bit, and later random draws."""
    with tempfile.TemporaryDirectory() as folder:
        for step, engine in trial.positions(4):
            file = Path(folder) / f"{step}.npz"
            engine.save(file)
            restored = trial.engine(games=1, seed=trial.seed + 1)
            restored.restore(file)
            where = f"saved and restored at step {step}"
            same_state(restored.state, engine.state, where)
            replay(restored, trial.recording, step, where)
            replay(engine, trial.recording, step, "an engine after save")
            restored.reset()
            engine.reset()
            compare(trial.facts, look(restored), look(engine), f"{where}, next games")


def states_stay_within_their_bounds(trial: Trial) -> None:
    """From start to end, and after `redeal`, each field of the state is within its bounds, and the fields are consistent."""
    for step, engine in trial.positions(100):
        _require_bounds(trial, engine, f"step {step}")
        if trial.game.redeals:
            engine.redeal(step % trial.facts.players, trial.seed)
            _require_bounds(trial, engine, f"step {step}, redealt for seat {step % trial.facts.players}")


def _require_bounds(trial: Trial, engine: Engine, where: str) -> None:
    try:
        check_fields(trial.game, engine.fields())
    except SnapshotError as error:
        raise ConformanceError(f"{where}: {error}") from error
