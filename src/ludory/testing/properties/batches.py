"""Properties of batches: a game is the same alone, among others, and in whatever order the games are stepped."""

from __future__ import annotations

import numpy as np

from ludory.testing.recording import compare, look, replay
from ludory.testing.trial import Trial, require


def games_are_the_same_alone(trial: Trial) -> None:
    """Game k of a batch equals the one game of an engine with `first_game=k`."""
    for k in sorted({0, 1 % trial.games, trial.games // 2, trial.games - 1}):
        engine = trial.engine(games=1, first_game=k)
        replay(engine, trial.recording.rows([k]), what=f"game {k} of the batch played alone")


def games_can_be_stepped_apart(trial: Trial) -> None:
    """`step(actions, rows)` plays in those games only: stepped in two shuffled halves, the games are the same."""
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


def games_can_be_reset_apart(trial: Trial) -> None:
    """`reset(rows)` starts new games there and leaves the others as they are."""
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
