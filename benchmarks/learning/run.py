"""One training run of `ludory bench learning`, in a process of its own: `python -m ludory.benchmarks.learning.run RUN FILE [BC]`."""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.result_file import write_result
from ludory.errors import OptionError

from .suites import DECKS, GAMES, Contender, Suite

MODULE = "ludory.benchmarks.learning.run"


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """Everything that a curve depends on."""

    suite: str
    game: str
    contender: Contender
    seed: int
    budgets: tuple[int, ...]
    """Decisions at which the score is taken."""
    games: int = GAMES
    decks: int = DECKS
    bc: str | None = None
    """SHA-256 of the initial weights."""

    @property
    def name(self) -> str:
        """Name of the run and of its file."""
        return f"{self.suite}-{self.contender.key}-seed{self.seed}"

    def as_json(self) -> dict[str, Any]:
        """The run as JSON has it: tuples become lists."""
        facts: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return facts


class StartingWeights(NamedTuple):
    """The checkpoint that runs may start from."""

    policy: str
    sha256: str
    """Of the weights."""


def runs_of(suite: Suite, seeds: int, steps: int | None, bc: StartingWeights | None) -> list[TrainingRun]:
    """Every run of a suite, seed by seed; where one contender starts from a checkpoint, all have its network."""
    contenders = suite.contenders
    if suite.from_bc and bc:
        contenders = tuple(replace(one, policy=bc.policy) for one in contenders)
    return [
        TrainingRun(
            suite.key, suite.game, one, seed, suite.budgets(steps), bc=bc.sha256 if one.from_bc and bc else None
        )
        for seed in range(1, seeds + 1)
        for one in contenders
    ]


def run_command(run: TrainingRun, file: Path, bc: Path | None) -> list[str]:
    """Command line of a process that makes the curve."""
    command = [sys.executable, "-m", MODULE, json.dumps(run.as_json()), str(file)]
    return [*command, str(bc)] if run.bc and bc else command


def finished(run: TrainingRun, file: Path) -> dict[str, Any] | None:
    """The curve of a run, None if it is still to be made.

    Raises:
        OptionError: the file is of a run with other settings.
    """
    if not file.exists():
        return None
    curve: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    differing = [name for name, value in run.as_json().items() if curve["run"].get(name) != value]
    if differing:
        raise OptionError(
            f"{file} was made with other settings ({', '.join(differing)}); name another folder with --out, or delete the file"
        )
    return curve


def make_curve(run: TrainingRun, bc: str | None = None) -> dict[str, Any]:
    """Train, and evaluate at every budget; iterations are whole, so `timesteps` may exceed the budgets."""
    from ludory.agents.evaluation.evaluate import evaluate
    from ludory.algorithms.make import make_algorithm

    from .stale import StaleSampler

    one, began = run.contender, origin()
    start: dict[str, Any] = {"init_from": bc, "teacher": bc} if one.from_bc else {}
    model = make_algorithm(one.algorithm, run.game, one.policy, seed=run.seed, **one.settings, **start)
    if one.lag:
        model.sampler = StaleSampler(model.sampler.lanes, one.lag, one.taken_for_fresh)
    timesteps: list[int] = []
    scores: list[float] = []
    seconds = 0.0
    for budget in run.budgets:
        started = perf_counter()
        model.learn(max(0, budget - model.num_timesteps), reset_num_timesteps=False)
        seconds += perf_counter() - started
        timesteps.append(model.num_timesteps)
        scores.append(float(evaluate([model.as_agent()], run.game, games=run.games, seed=run.decks).mean))
    return {"run": run.as_json(), "timesteps": timesteps, "scores": scores, "seconds": round(seconds, 1), **began}


def main(arguments: list[str]) -> None:
    """Make the curve of a run and write it."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    facts = json.loads(arguments[0])
    run = TrainingRun(**facts | {"contender": Contender(**facts["contender"]), "budgets": tuple(facts["budgets"])})
    curve = make_curve(run, *arguments[2:])
    write_result(arguments[1], curve)


def _end_with_parent() -> None:
    """Exit when the parent does: it holds the other end of the standard input and never writes."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
