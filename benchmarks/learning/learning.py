"""`ludory bench learning`: trains algorithms with several seeds and plots their scores, as interquartile means with intervals."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import torch

from ludory.agents.networks.build import PolicySpec, saved_policy
from ludory.algorithms.running.interrupt import exit_code
from ludory.algorithms.sampling.teacher import load_teacher
from ludory.benchmarks.harness.machine import origin
from ludory.checkpoints.checkpoint import read_header
from ludory.envs.make import make_game
from ludory.errors import OptionError

from .processes import train
from .report import curve_line, write_suite
from .run import Checkpoint, finished, runs_of
from .suites import SUITES, Suite

BC_OPTIONS = (
    "--policy 'gru(hidden=(256,), memory_size=128)' --batch-size 1024 --learning-rate 2e-3 --final-learning-rate 1e-4 "
    "--label-smoothing 0 --num-epochs 20 --value-coef 0.01 --checkpoint-dir runs/bc"
)
"""Of the checkpoint that is recommended for the suite imitation."""


def run(argv: list[str]) -> int:
    """Train what is not trained yet, write a JSON file and a plot per suite; returns the exit code.

    Raises:
        OptionError: a number or the checkpoint of --bc is not allowed, or the folder holds curves of other settings.
        TrainingError: a run failed; what had finished is kept.
        OutputError: the folder cannot be written to.
    """
    options = _parser().parse_args(argv)
    for name in ("seeds", "jobs", "steps"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise OptionError(f"--{name} {getattr(options, name)}: must be at least 1")
    suites = [SUITES[key] for key in options.suite or SUITES]
    bc = _checkpoint(suites, options.bc)
    folder, started_from = options.out / "curves", origin()  # before the work: the commit may move while it runs
    planned = {suite.key: runs_of(suite, options.seeds, options.steps, bc) for suite in suites}
    every = [one for runs in planned.values() for one in runs]
    files = {one.name: folder / f"{one.name}.json" for one in every}
    waiting = [one for one in every if finished(one, files[one.name]) is None]
    print(f"{len(every) - len(waiting)} of {len(every)} runs are in {folder}, {len(waiting)} to go")
    try:
        for done in train(waiting, files, options.bc, options.jobs):
            print(curve_line(done, json.loads(files[done.name].read_text())), flush=True)
    except KeyboardInterrupt as stop:
        count = sum(file.exists() for file in files.values())
        print(f"interrupted: {count} of {len(every)} runs are in {folder}; go on with the same command")
        return exit_code(stop)
    for suite in suites:
        curves = [json.loads(files[one.name].read_text()) for one in planned[suite.key]]
        write_suite(suite, curves, options.out, started_from)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory bench learning",
        description="Train algorithms with several seeds, each run in a process of its own with one thread, and plot their "
        "scores against the decisions they made: interquartile means with 95 % bootstrap intervals. Finished runs are kept: "
        "the same command goes on where it was stopped.",
    )
    parser.add_argument(
        "--suite",
        nargs="+",
        choices=tuple(SUITES),
        help="what to train (default all): " + "; ".join(map(_line, SUITES)),
    )
    parser.add_argument("--seeds", type=int, default=5, help="runs of each contender, seeds 1, 2, ... (default 5)")
    parser.add_argument("--steps", type=int, help="decisions of one run (default: the suite's own)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once (default 1)")
    parser.add_argument("--bc", type=Path, metavar="FILE", help="checkpoint of bc that the suite imitation starts from")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/learning"), help="folder of the results (default runs/learning)"
    )
    return parser


def _line(key: str) -> str:
    return f"{key} ({SUITES[key].game}, {SUITES[key].steps:,} decisions)"


def _checkpoint(suites: Sequence[Suite], file: Path | None) -> Checkpoint | None:
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
            return Checkpoint(written(saved_policy(file, read_header(file))), teacher.sha256)
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
