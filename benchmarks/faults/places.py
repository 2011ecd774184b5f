"""Bad places: a disk that is full, a folder that is read-only or goes away, another process in the same folder."""

from __future__ import annotations

import os
import random
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
from .jobs import JOBS, Job, prepared, ran

TRIALS = 2
"""Of a job in a round."""
Trial = Callable[[Job, Place, Path, float, random.Random, FaultTally], None]
"""One trial, beside the folder and the seconds of an undisturbed run."""


def full_disk() -> dict[str, Case]:
    """The disk has room for a part of the result, later for all of it."""
    return {name: _case(job, _on_full_disk) for name, job in JOBS.items()}


def read_only() -> dict[str, Case]:
    """The place cannot be written to, at the beginning or later on."""
    return {name: _case(job, _on_read_only) for name, job in JOBS.items()}


def removed() -> dict[str, Case]:
    """All that a job has written is deleted while it runs."""
    return {name: _case(job, _without_folder) for name, job in JOBS.items()}


def together() -> dict[str, Case]:
    """Two processes do the same job in one folder."""
    return {name: _case(job, _two_processes) for name, job in JOBS.items()}


def _case(job: Job, trial: Trial) -> Case:
    def run(place: Place) -> FaultTally:
        tally, draw = FaultTally(), random.Random(place.seed)
        whole = prepared(job, place.scratch / "whole", place.inputs, place.commands)
        seconds = ran(job, whole, place.inputs, place.commands)
        for _ in range(max(1, round(TRIALS * place.amount))):
            trial(job, place, whole, seconds, draw, tally)
        return tally

    return run


# --- A full disk ----------------------------------------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[bool]:
    """A file system of `size` bytes at `folder`; returns False, and leaves the folder as it is, where none can be mounted."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)


def unmount_all(folder: Path) -> None:
    """Let go of small disks below a folder, which a campaign that was killed left."""
    table = Path("/proc/self/mounts")
    for line in table.read_text(encoding="utf-8").splitlines() if table.exists() else ():
        point = line.split()[1].encode().decode("unicode_escape")
        if Path(point).is_relative_to(folder):
            subprocess.run(["umount", "--lazy", point], check=False)


def _mount(*arguments: str) -> bool:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


def _on_full_disk(job: Job, place: Place, whole: Path, seconds: float, draw: random.Random, tally: FaultTally) -> None:
    sizes = [file.stat().st_size for file in whole.rglob("*") if file.is_file()]
    share, folder = draw.uniform(0.05, 0.95), place.scratch / "full"
    shutil.rmtree(folder, ignore_errors=True)
    room = max(8192, int(share * sum(-(-size // 4096) * 4096 for size in sizes)))
    with small_disk(folder, 1 << 30) as mounted:
        target = prepared(job, folder / "work", place.inputs, place.commands)
        used = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
        if mounted:
            _mount("-o", f"remount,size={room + used}", str(folder))
        ended = place.commands.run(
            job.words(place.inputs, target), target, largest_file=None if mounted else int(share * max(sizes))
        )
        told = f"ludory {job.command} with room for {share:.0%} of its files"
        _count(ended, "full disk", told, tally)
        if ended.code == 0:
            _compare(job, whole, target, f"{told}, exit code 0", tally, success=True)
            return
        if mounted:
            _mount("-o", f"remount,size={1 << 30}", str(folder))
        _go_on(job, place, whole, target, f"{told}, and again when there was room", tally)


# --- Read-only ------------------------------------------------------------------------------------------------------------


def _on_read_only(job: Job, place: Place, whole: Path, seconds: float, draw: random.Random, tally: FaultTally) -> None:
    folder, later = place.scratch / "read-only", draw.random() < 0.5
    shutil.rmtree(folder, ignore_errors=True)
    with small_disk(folder, 1 << 30) as mounted:
        if not mounted and os.geteuid() == 0:
            raise LudoryError("nothing is read-only for root where no file system can be mounted; run this as a user")
        target = prepared(job, folder / "work", place.inputs, place.commands)
        if later:
            place.commands.run(
                job.words(place.inputs, target), target, number=signal.SIGKILL, after=draw.uniform(0.3, 0.9) * seconds
            )
        closed = [target, *(one for one in target.rglob("*") if one.is_dir())]
        if mounted:
            _mount("-o", "remount,ro", str(folder))
        else:
            for one in closed:
                one.chmod(0o555)
        ended = place.commands.run(job.words(place.inputs, target), target)
        told = f"ludory {job.command} in a read-only folder{', gone on with' if later else ''}"
        _count(ended, "read-only", told, tally)
        if ended.code == 0:
            _compare(job, whole, target, f"{told}, exit code 0", tally, success=True)
        if not mounted:
            for one in closed:
                one.chmod(0o755)


# --- A folder that goes away ----------------------------------------------------------------------------------------------


def _without_folder(
    job: Job, place: Place, whole: Path, seconds: float, draw: random.Random, tally: FaultTally
) -> None:
    target = prepared(job, place.scratch / "removed", place.inputs, place.commands)
    after = draw.uniform(0.2, 0.95) * seconds

    removed, complete = list[Path](), dict(job.result(whole))

    def remove() -> None:
        with suppress(LudoryError, OSError, ValueError, KeyError):  # not there yet, or half there
            if dict(job.result(target)) == complete:
                return  # the result is there, and only the end of its process is left
        for one in target.iterdir():
            removed.append(one)
            shutil.rmtree(one, ignore_errors=True) if one.is_dir() else one.unlink(missing_ok=True)

    timer = threading.Timer(after, remove)
    timer.start()
    ended = place.commands.run(job.words(place.inputs, target), target)
    timer.cancel()
    timer.join()
    told = f"ludory {job.command}, its files deleted after {after:.2f} s"
    _count(ended, "removed", told, tally)
    if ended.code == 0 and removed:
        _compare(job, whole, target, f"{told}, exit code 0", tally, success=True)


# --- Two processes --------------------------------------------------------------------------------------------------------


def _two_processes(job: Job, place: Place, whole: Path, seconds: float, draw: random.Random, tally: FaultTally) -> None:
    target = prepared(job, place.scratch / "together", place.inputs, place.commands)
    both, late = (place.commands, place.commands.twin), draw.uniform(0, 0.5) * seconds
    started = threading.Event()

    def second() -> Ended:
        started.wait(late)
        return both[1].run(job.words(place.inputs, target), target)

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(second)
        ended = [both[0].run(job.words(place.inputs, target), target), other.result()]
    told = f"ludory {job.command}, twice, the second after {late:.2f} s"
    for one in ended:
        _count(one, "together", told, tally)
    if all(one.code == 0 for one in ended) or any(one.code == 0 for one in ended):
        _compare(job, whole, target, told, tally)
    else:
        _go_on(job, place, whole, target, f"{told}, and once more", tally)
    if job.shared and any(one.code != 0 for one in ended):
        wrong = next(one for one in ended if one.code != 0)
        tally.add("lost", f"{told}: does not share the work, exit code {wrong.code}: {last_line(wrong.err)}")


# --- What all have in common ----------------------------------------------------------------------------------------------


def _count(ended: Ended, sort: str, told: str, tally: FaultTally) -> None:
    tally.trials[sort] += 1
    tally.add_ending(ended, told)


def _go_on(job: Job, place: Place, whole: Path, target: Path, told: str, tally: FaultTally) -> None:
    """The same command in a good place comes to the same end."""
    ended = place.commands.run(job.words(place.inputs, target), target)
    tally.add_ending(ended, told)
    if ended.code == 0:
        _compare(job, whole, target, told, tally)
    else:
        tally.add("lost", f"{told}: does not go on, exit code {ended.code}: {last_line(ended.err)}")


def _compare(job: Job, whole: Path, target: Path, told: str, tally: FaultTally, success: bool = False) -> None:
    """`success`: a difference means that success was claimed without it."""
    found = FaultTally()
    try:
        found.add_difference(job.result(whole), job.result(target), told)
    except (LudoryError, OSError, ValueError, KeyError) as error:
        found.add("lost", f"{told}: its result cannot be read: {error!r}")
    for one in found.findings:
        tally.add("false success" if success else one.kind, one.what)
