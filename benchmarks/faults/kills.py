"""Kills: every job is killed at random moments and resumed until it is done; its result must be that of an undisturbed run."""

from __future__ import annotations

import signal
from pathlib import Path

from .findings import Case, FaultTally, Place, last_line
from .jobs import JOBS, Job, JobTrials

KILLS = 5
"""Kills of a job in a round."""
SIGNALS = ("SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM", "SIGINT")
"""Signals to send, with equal probabilities."""
MOST_IN_A_LIFE = 3
"""Kills before a job may run to its end."""
MOST_LIVES = 6


def cases() -> dict[str, Case]:
    """One for each job."""
    return {name: _case(job) for name, job in JOBS.items()}


def _case(job: Job) -> Case:
    def run(place: Place) -> FaultTally:
        trials = JobTrials.of(job, place)
        tally, wanted, lives = trials.tally, max(1, round(KILLS * place.amount)), 0
        while tally.trials.total() < wanted and lives < MOST_LIVES:
            lives += 1
            killed = trials.prepared("killed")
            if not _one_life(trials, killed, min(MOST_IN_A_LIFE, wanted - tally.trials.total())):
                continue
            told = f"{job.command.split(' --')[0]}, exit code 0"
            trials.compare(killed, told)
            if left := trials.left_behind(killed):
                tally.add("left behind", f"{told}: {len(left)} files, such as {', '.join(left[:3])}")
        return tally

    return run


def _one_life(trials: JobTrials, folder: Path, kills: int) -> bool:
    """From an empty folder to the end with up to `kills` signals; returns whether the job reached its end."""
    sent: list[str] = []
    draw, tally = trials.draw, trials.tally
    while True:
        number = signal.Signals[draw.choice(SIGNALS)] if len(sent) < kills else None
        after = draw.uniform(0.01, 0.95 * trials.seconds)
        words = trials.job.words(trials.place.inputs, folder)
        ended = trials.place.commands.run(words, folder, number=number, after=after)
        if number is not None and ended.reached:
            sent.append(f"{signal.Signals(number).name} after {after:.2f} s")
            tally.trials[signal.Signals(number).name] += 1
        told = f"ludory {' '.join(words)} [{', '.join(sent)}]"
        tally.add_ending(ended, told)
        if ended.hung or ended.crashed:
            return False
        if ended.code == 0:
            return True
        if number is None or not ended.reached:  # it failed although it was not disturbed this time
            tally.add("lost", f"{told}: does not go on, exit code {ended.code}: {last_line(ended.err)}")
            return False
