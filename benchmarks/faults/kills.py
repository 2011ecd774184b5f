"""Kills: every job is stopped at random moments and started again until it is done; then its result is that of an undisturbed run."""

from __future__ import annotations

import random
import signal
from pathlib import Path

from ludory.errors import LudoryError

from .findings import Case, FaultTally, Place, last_line
from .jobs import JOBS, Job, left_behind, prepared, ran
from .outcomes import files

KILLS = 5
"""Of a job in a round."""
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
"""What is sent, by equal chances."""
MOST_IN_A_LIFE = 3
"""Kills before a job is let run to its end."""
MOST_LIVES = 6


def cases() -> dict[str, Case]:
    """One for each job."""
    return {name: _case(job) for name, job in JOBS.items()}


def _case(job: Job) -> Case:
    def run(place: Place) -> FaultTally:
        tally, draw = FaultTally(), random.Random(place.seed)
        whole = prepared(job, place.scratch / "whole", place.inputs, place.commands)
        seconds = ran(job, whole, place.inputs, place.commands)
        wanted, lives = max(1, round(KILLS * place.amount)), 0
        while tally.trials.total() < wanted and lives < MOST_LIVES:
            lives += 1
            killed = prepared(job, place.scratch / "killed", place.inputs, place.commands)
            kills = min(MOST_IN_A_LIFE, wanted - tally.trials.total())
            if _one_life(job, killed, place, draw, seconds, kills, tally):
                _compare(job, whole, killed, tally)
        return tally

    return run


def _one_life(
    job: Job, folder: Path, place: Place, draw: random.Random, seconds: float, kills: int, tally: FaultTally
) -> bool:
    """From an empty folder to the end, with up to `kills` signals; returns whether it came to its end."""
    sent: list[str] = []
    while True:
        number = draw.choice(SIGNALS) if len(sent) < kills else None
        after = draw.uniform(0.01, 0.95 * seconds)
        words = job.words(place.inputs, folder)
        ended = place.commands.run(words, folder, number=number, after=after)
        if number is not None and ended.reached:
            sent.append(f"{signal.Signals(number).name} after {after:.2f} s")
            tally.trials[signal.Signals(number).name] += 1
        told = f"ludory {' '.join(words)} [{', '.join(sent)}]"
        tally.add_ending(ended, told)
        if ended.hung or ended.crashed:
            return False
        if ended.code == 0:
            return True
        if number is None or not ended.reached:  # it was not disturbed this time, and failed
            tally.add("lost", f"{told}: does not go on, exit code {ended.code}: {last_line(ended.err)}")
            return False


def _compare(job: Job, whole: Path, killed: Path, tally: FaultTally) -> None:
    told = f"{job.command.split(' --')[0]}, exit code 0"
    try:
        tally.add_difference(job.result(whole), job.result(killed), told)
    except (LudoryError, OSError, ValueError, KeyError) as error:
        tally.add("lost", f"{told}: its result cannot be read: {error!r}")
    if left := left_behind(job, files(whole), killed):
        tally.add("left behind", f"{told}: {len(left)} files, such as {', '.join(left[:3])}")
