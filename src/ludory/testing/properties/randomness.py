"""Properties of random numbers: a seed gives the same games, another seed others."""

from __future__ import annotations

from ludory.envs.engine.protocol import Engine
from ludory.testing.recording import compare, look, record, replay
from ludory.testing.trial import Trial, require


def seeds_repeat(trial: Trial) -> None:
    """The same seed and actions give the same games, in a new engine and by `reset(seed=...)`, and the same next games."""
    engine, again = trial.engine(), trial.engine(seed=trial.seed + 1)
    replay(engine, trial.recording, what="a new engine with the same seed")
    again.reset(seed=trial.seed)
    replay(again, trial.recording, what="reset(seed=...) with the same seed")
    engine.reset()
    again.reset()
    compare(trial.facts, look(again), look(engine), "second games of the same seed")


def seeds_differ(trial: Trial) -> str | None:
    """With chance, other seeds, other indices and later games of a seed are other games; without chance all are the same."""
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
    """All that random play shows."""
    moments = record(engine, trial.generator("seeds")).moments
    return b"".join(part.tobytes() for moment in moments for part in moment)
