"""Train algorithms with several seeds, each run in a process of its own with one thread, and plot their scores against the decisions.

Scores are interquartile means with 95 % bootstrap intervals. Finished runs are kept: the same command goes on where it was stopped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from ludory.agents.networks.build import PolicySpec, saved_policy
from ludory.algorithms.sampling.teacher import load_teacher
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count
from ludory.checkpoints.checkpoint import read_header
from ludory.envs.make import make_game
from ludory.errors import OptionError

from .processes import train
from .report import curve_line, shown, suite_plot, summary
from .run import StartingWeights, finished, runs_of
from .suites import SUITES, Suite

BC_OPTIONS = (
    "--policy 'gru(hidden=(256,), memory_size=128)' --batch-size 1024 --learning-rate 2e-3 --final-learning-rate 1e-4 "
    "--label-smoothing 0 --num-epochs 20 --value-coef 0.01 --checkpoint-dir runs/bc"
)
"""Of the checkpoint that is recommended for the suite imitation."""


@dataclass(frozen=True, slots=True)
class LearningOptions:
    """Options of `ludory bench learning`."""

    suite: tuple[str, ...] = ()
    """What to train, of algorithms, stale and imitation; none: all. algorithms and stale: 300,000 decisions a run of a tiny Hanabi; imitation: 5,000,000 of Hanabi for two."""
    seeds: Count = 5
    """Runs of each contender, with the seeds 1, 2, ..."""
    steps: Count | None = None
    """Decisions of one run; none: the suite's own number."""
    jobs: Count = 1
    """Runs at once."""
    bc: Path | None = None
    """Checkpoint of bc that the suite imitation starts from."""
    out: Path = Path("runs/learning")
    """Folder of the results."""


@benchmark("learning", resumes=True)
def run(options: LearningOptions) -> list[Result]:
    """Train what is not trained yet; a result and a plot per suite.

    Raises:
        OptionError: a suite or the checkpoint of --bc is not allowed, or the folder holds curves of other settings.
        TrainingError: a run failed; finished runs are kept.
        OutputError: the folder cannot be written to.
    """
    if unknown := [key for key in options.suite if key not in SUITES]:
        raise OptionError(f"--suite {unknown[0]}: no such suite; allowed: {', '.join(SUITES)}")
    suites = [SUITES[key] for key in options.suite or SUITES]
    bc, folder = _checkpoint(suites, options.bc), options.out / "curves"
    planned = {suite.key: runs_of(suite, options.seeds, options.steps, bc) for suite in suites}
    every = [one for runs in planned.values() for one in runs]
    files = {one.name: folder / f"{one.name}.json" for one in every}
    waiting = [one for one in every if finished(one, files[one.name]) is None]
    print(f"{len(every) - len(waiting)} of {len(every)} runs are in {folder}, {len(waiting)} to go")
    for done in train(waiting, files, options.bc, options.jobs):
        print(curve_line(done, json.loads(files[done.name].read_text(encoding="utf-8"))), flush=True)
    results = []
    for suite in suites:
        curves = [json.loads(files[one.name].read_text(encoding="utf-8")) for one in planned[suite.key]]
        results.append(Result(options.out / f"learning-{suite.key}.json", summary(suite, curves), shown, suite_plot))
    return results


def _checkpoint(suites: Sequence[Suite], file: Path | None) -> StartingWeights | None:
    """The checkpoint of --bc, if a suite starts from one.

    Raises:
        OptionError: none is named, or it is not there.
        CheckpointError: it is no checkpoint, or does not fit the game.
    """
    for suite in suites:
        if suite.from_bc:
            if file is None or not file.is_file():
                named = "needs a checkpoint of bc" if file is None else f"--bc {file}: there is no such file"
                raise OptionError(f"--suite {suite.key}: {named}; {_how_to_make(suite)}")
            teacher = load_teacher(file, make_game(suite.game), torch.device("cpu"))
            return StartingWeights(written(saved_policy(file, read_header(file))), teacher.sha256)
    return None


def _how_to_make(suite: Suite) -> str:
    return (
        "make one with\n"
        f"  ludory record hanabi/iggi --game {suite.game} --games 20000 --seed 1 --out runs/iggi\n"
        f"  ludory train bc --env {suite.game} --dataset runs/iggi {BC_OPTIONS} --out runs/bc/model.ludory\n"
        "and name it with --bc runs/bc/best.ludory"
    )


def written(policy: PolicySpec) -> str:
    """A policy as it is asked for: "gru(hidden=(128,), memory_size=128)"."""
    parts = {name: tuple(value) if isinstance(value, list) else value for name, value in policy.arguments.items()}
    return f"{policy.id}({', '.join(f'{name}={value!r}' for name, value in parts.items())})"
