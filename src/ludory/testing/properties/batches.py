"""Properties of seeds, batches and copies: a seed repeats its games, alone or in a batch, in whatever order; clones and saved states go on."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from ludory.envs.engine.protocol import Engine
from ludory.envs.engine.snapshot import check_fields
from ludory.errors import ConformanceError, SnapshotError
from ludory.testing.random_moves import RandomMoves
from ludory.testing.recording import compare, look, record, replay, same_state, to_numpy
from ludory.testing.trial import Trial, require


def games_are_the_same_alone(trial: Trial) -> None:
    """Game k of a batch equals the only game of an engine with `first_game=k`."""
    for k in sorted({0, 1 % trial.games, trial.games // 2, trial.games - 1}):
        engine = trial.engine(games=1, first_game=k)
        replay(engine, trial.recording.rows([k]), what=f"game {k} of the batch played alone")


def games_can_be_stepped_apart(trial: Trial) -> None:
    """`step(actions, rows)` affects only those games: stepped in two shuffled parts, the games are the same."""
    engine, generator, facts = trial.engine(), trial.generator("apart"), trial.facts
    moments = trial.recording.moments
    for step, actions in enumerate(trial.recording.actions):
        order = generator.permutation(trial.games)
        rewards = np.zeros_like(moments[0].rewards)
        for rows in (order[: trial.games // 3], order[trial.games // 3 :]):
            engine.step(actions[rows], rows)
            got = look(engine)
            waiting = np.setdiff1d(order, rows)
            require(not got.rewards[waiting].any(), f"step {step}: games that were not stepped have a reward")
            rewards += got.rewards
        compare(
            facts, look(engine)._replace(rewards=rewards), moments[step + 1], f"step {step + 1}, stepped in two parts"
        )


def play_fills_given_arrays(trial: Trial) -> None:
    """`play` is `step`, `legal` and `observe`; arrays given as `out` are filled and returned, also with what another seat sees."""
    engine, facts = trial.engine(), trial.facts
    packed, turn = facts.observation.bits, None
    for step, actions in enumerate(trial.recording.actions):
        played = engine.play(actions, packed=packed, out=turn)
        for name, mine, own in zip(played._fields, played, turn or played, strict=True):
            require(mine is own, f"step {step}: play(out=...) returned other {name} than the given ones")
        turn = played
        fresh = {"masks": engine.legal(), "observations": engine.observe(packed=packed)}
        for name, expected in fresh.items():
            same = (to_numpy(getattr(turn, name)) == to_numpy(expected)).all()
            require(bool(same), f"step {step}: {name} of play(out=...) differ from those of legal() and observe()")
        compare(facts, look(engine), trial.recording.moments[step + 1], f"step {step + 1}, by play")
    readers = {"observe": engine.observe, "critic": engine.critic}
    for name, read in readers.items():
        given = read(seat=0)
        given[:] = 1
        require(read(seat=0, out=given) is given, f"{name}(out=...) returned another array than the given one")
        require(bool((to_numpy(given) == to_numpy(read(seat=0))).all()), f"{name}(out=...) differs from {name}()")


def games_can_be_reset_apart(trial: Trial) -> None:
    """`reset(rows)` starts new games there and leaves the others unchanged."""
    facts, rows = trial.facts, np.arange(0, trial.games, 2)
    others = np.setdiff1d(np.arange(trial.games), rows)
    for step, engine in trial.positions(4):
        before, fresh = look(engine), trial.engine()
        fresh.reset()
        engine.reset(rows)
        after = look(engine)
        compare(facts, after.rows(rows), look(fresh).rows(rows), f"step {step}, reset(rows)")
        if len(others):
            compare(facts, after.rows(others), before.rows(others), f"step {step}, games left out of reset(rows)")


def seeds_repeat(trial: Trial) -> None:
    """The same seed and actions give the same games, also by `reset(seed=...)`, and the same next games."""
    engine, again = trial.engine(), trial.engine(seed=trial.seed + 1)
    replay(engine, trial.recording, what="a new engine with the same seed")
    again.reset(seed=trial.seed)
    replay(again, trial.recording, what="reset(seed=...) with the same seed")
    engine.reset()
    again.reset()
    compare(trial.facts, look(again), look(engine), "second games of the same seed")


def seeds_differ(trial: Trial) -> str | None:
    """With chance, other seeds, other indices and later games of a seed are different; without chance all games are the same."""
    second = trial.engine()
    second.reset()
    first = _fingerprint(trial, trial.engine())
    for what, engine in {
        "another seed gives": trial.engine(seed=trial.seed + 1),
        f"games {trial.games}..{2 * trial.games - 1} of the seed give": trial.engine(first_game=trial.games),
        "the second games of the seed give": second,
    }.items():
        other = _fingerprint(trial, engine) != first
        require(other or not trial.facts.chance, f"{what} the same games as the first ones, but facts.chance is true")
        require(not other or trial.facts.chance, f"{what} other games than the first ones, but facts.chance is false")
    return None if trial.facts.chance else "no chance: all seeds give the same games"


def _fingerprint(trial: Trial, engine: Engine) -> bytes:
    """Everything that random play shows, as bytes."""
    moments = record(engine, trial.generator("seeds")).moments
    return b"".join(part.tobytes() for moment in moments for part in moment)


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
