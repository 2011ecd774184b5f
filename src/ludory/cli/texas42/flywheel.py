"""`ludory texas42 flywheel`: label new seeds, fine-tune the oracle's network, keep what is better, again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from ludory.arguments import Arg
from ludory.cli.common import Folder, common_fields, parse, run_job
from ludory.cli.train.flywheel import FlywheelSteps, resume_turns, run_turns, show_turns

JOBS = {
    "run": ("texas42.flywheel:begin", "begin: label new seeds, fine-tune, score on golden seeds, keep what is better"),
    "resume": ("texas42.flywheel:resume", "go on with a flywheel that was stopped or killed"),
    "status": ("texas42.flywheel:status", "how far a flywheel is, and what its turns brought"),
}


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    return run_job("texas42 flywheel", "Label new seeds, fine-tune, score, keep what is better.", JOBS, argv)


@dataclass(frozen=True, kw_only=True)
class _Run(FlywheelSteps):
    """Begin a flywheel: label new seeds, fine-tune, score on golden seeds, keep what is better, and begin again.

    Example: ludory texas42 flywheel run --start runs/net.ludory --start-seed 10000 --out runs/oracle
    """

    start: Annotated[str, Arg(metavar="FILE")]
    """Checkpoint of `ludory train texas42_oracle`."""
    out: Folder
    """Folder of the flywheel."""
    deals: int = 500
    """New seeds a turn, a multiple of 50."""
    start_seed: Annotated[int, Arg(metavar="N")] = 0
    """The first of them."""
    golden: int = 1000
    """Seeds of val to score on."""
    paths: int = 2
    """Hands of each deal."""
    num_epochs: int = 2
    """Epochs of a turn, over all labels so far."""
    learning_rate: float = 3e-5
    """Step size."""
    batch_size: int = 512
    """States of a gradient step."""
    confidence: float = 0.975
    """Keep a network that is better with this confidence, one-sided."""
    turns: int = 10
    """Turns in all."""
    seed: int = 0
    """Seed of labels and of learning."""


def begin(argv: list[str]) -> int:
    """Begin a flywheel; returns the exit code."""
    chosen = parse(_Run, argv, "texas42 flywheel run")
    from ludory.algorithms.texas42.oracle import flywheel

    config = flywheel.OracleFlywheelConfig(**common_fields(chosen, flywheel.OracleFlywheelConfig))
    if chosen.dry_run:
        print(flywheel.OracleFlywheelState(config, flywheel.FIRST).plan(chosen.out))
        return 0
    return run_turns(flywheel.start_oracle_flywheel(config, chosen.out), chosen.once)


def resume(argv: list[str]) -> int:
    """Go on with a flywheel; returns the exit code."""
    return resume_turns("texas42 flywheel resume", argv, _classes)


def status(argv: list[str]) -> int:
    """Show a flywheel; returns the exit code."""
    return show_turns("texas42 flywheel status", argv, _classes)


def _classes() -> Any:
    from ludory.algorithms.texas42.oracle import flywheel

    return flywheel.OracleFlywheelState, flywheel.OracleFlywheel
