"""Bad places: a full disk, a folder that is read-only or disappears, another process in the same folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from ludory.errors import LudoryError

from .commands import Ended
from .findings import Case, FaultTally, Place, last_line
from .jobs import JOBS, Job, JobTrials, prepared

TRIALS = 2
"""Trials of a job in a round."""


def full_disk() -> dict[str, Case]:
    """The disk has room for part of the result, and later for all of it."""
    return _cases(_on_full_disk)


def read_only() -> dict[str, Case]:
    """The place cannot be written to, from the beginning or later on."""
    return _cases(_on_read_only)


def removed() -> dict[str, Case]:
    """Everything that a job has written is deleted while it runs."""
    return _cases(_without_folder)


def together() -> dict[str, Case]:
    """Two processes do the same job in one folder."""
    return _cases(_two_processes)


def _cases(trial: Callable[[JobTrials], None]) -> dict[str, Case]:
    def case(job: Job) -> Case:
        def run(place: Place) -> FaultTally:
            trials = JobTrials.of(job, place)
            for _ in range(max(1, round(TRIALS * place.amount))):
                trial(trials)
            return trials.tally

        return run

    return {name: case(job) for name, job in JOBS.items()}


# --- A full disk ----------------------------------------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[bool]:
    """Mount a file system of `size` bytes at `folder`; yields False, with the folder unchanged, if that is not possible."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)


def unmount_all(folder: Path) -> None:
    """Unmount small disks below a folder that a killed campaign left."""
    table = Path("/proc/self/mounts")
    for line in table.read_text(encoding="utf-8").splitlines() if table.exists() else ():
        point = line.split()[1].encode().decode("unicode_escape")
        if Path(point).is_relative_to(folder):
            subprocess.run(["umount", "--lazy", point], check=False)


def _mount(*arguments: str) -> bool:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


def _on_full_disk(trials: JobTrials) -> None:
    job, place = trials.job, trials.place
    sizes = [file.stat().st_size for file in trials.whole.rglob("*") if file.is_file()]
    share, folder = trials.draw.uniform(0.05, 0.95), place.scratch / "full"
    shutil.rmtree(folder, ignore_errors=True)
    room = max(8192, int(share * sum(-(-size // 4096) * 4096 for size in sizes)))
    with small_disk(folder, 1 << 30) as mounted:
        target = prepared(job, folder / "work", place)
        used = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
        if mounted:
            _mount("-o", f"remount,size={room + used}", str(folder))
        ended = trials.run(target, largest_file=None if mounted else int(share * max(sizes)))
        told = f"ludory {job.command} with room for {share:.0%} of its files"
        trials.count(ended, "full disk", told)
        if ended.code == 0:
            trials.compare(target, f"{told}, exit code 0", claimed=True)
            return
        if mounted:
            _mount("-o", f"remount,size={1 << 30}", str(folder))
        trials.go_on(target, f"{told}, and again when there was room")


# --- Read-only ------------------------------------------------------------------------------------------------------------


def _on_read_only(trials: JobTrials) -> None:
    job, place, draw = trials.job, trials.place, trials.draw
    folder, later = place.scratch / "read-only", draw.random() < 0.5
    shutil.rmtree(folder, ignore_errors=True)
    with small_disk(folder, 1 << 30) as mounted:
        if not mounted and os.geteuid() == 0:
            raise LudoryError("nothing is read-only for root where no file system can be mounted; run this as a user")
        target = prepared(job, folder / "work", place)
        if later:
            trials.run(target, number=signal.SIGKILL, after=draw.uniform(0.3, 0.9) * trials.seconds)
        closed = [target, *(one for one in target.rglob("*") if one.is_dir())]
        if mounted:
            _mount("-o", "remount,ro", str(folder))
        else:
            for one in closed:
                one.chmod(0o555)
        ended = trials.run(target)
        told = f"ludory {job.command} in a read-only folder{', gone on with' if later else ''}"
        trials.count(ended, "read-only", told)
        if ended.code == 0:
            trials.compare(target, f"{told}, exit code 0", claimed=True)
        if not mounted:
            for one in closed:
                one.chmod(0o755)


# --- A folder that goes away ----------------------------------------------------------------------------------------------


def _without_folder(trials: JobTrials) -> None:
    job, target = trials.job, trials.prepared("removed")
    after = trials.draw.uniform(0.2, 0.95) * trials.seconds
    removed, complete = list[Path](), dict(job.result(trials.whole))

    def remove() -> None:
        with trials.place.commands.halted():  # else it could end successfully between the look and the deletion
            with suppress(LudoryError, OSError, ValueError, KeyError):  # no result yet, or an incomplete one
                if dict(job.result(target)) == complete:
                    return  # the result is complete, and only the end of the process is left
            for one in target.iterdir():
                removed.append(one)
                shutil.rmtree(one, ignore_errors=True) if one.is_dir() else one.unlink(missing_ok=True)

    timer = threading.Timer(after, remove)
    timer.start()
    ended = trials.run(target)
    timer.cancel()
    timer.join()
    told = f"ludory {job.command}, its files deleted after {after:.2f} s"
    trials.count(ended, "removed", told)
    if ended.code == 0 and removed:
        trials.compare(target, f"{told}, exit code 0", claimed=True)


# --- Two processes --------------------------------------------------------------------------------------------------------


def _two_processes(trials: JobTrials) -> None:
    job, place, target = trials.job, trials.place, trials.prepared("together")
    beside, late = place.commands.twin, trials.draw.uniform(0, 0.5) * trials.seconds
    started = threading.Event()

    def second() -> Ended:
        started.wait(late)
        return beside.run(job.words(place.inputs, target), target)

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(second)
        ended = [trials.run(target), other.result()]
    told = f"ludory {job.command}, twice, the second after {late:.2f} s"
    for one in ended:
        trials.count(one, "together", told)
    if any(one.code == 0 for one in ended):
        trials.compare(target, told)
    else:
        trials.go_on(target, f"{told}, and once more")
    if job.shared and any(one.code != 0 for one in ended):
        wrong = next(one for one in ended if one.code != 0)
        trials.tally.add("lost", f"{told}: does not share the work, exit code {wrong.code}: {last_line(wrong.err)}")
