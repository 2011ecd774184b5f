"""Properties of seeds and batches: a seed repeats its games, alone or in a batch, in whatever order they are stepped."""

from __future__ import annotations

import numpy as np

from ludory.envs.engine.protocol import Engine
from ludory.testing.recording import compare, look, record, replay, to_numpy
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
