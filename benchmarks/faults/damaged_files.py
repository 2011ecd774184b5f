"""Damaged files: each is read in a process with limits of time and memory, and must be refused or read as before the damage."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ludory.errors import LudoryError

from .damage import PLACES
from .findings import Case, FaultTally, Kind, Place
from .formats import FORMATS, Format, plain
from .jobs import MAKING, make_input
from .outcomes import digest

SECONDS, WAITED = 10, 120
"""Time limits for one file: processor time, and wall-clock time on a busy machine."""
MEMORY = 2 << 30
"""Bytes that reading a file of a few kilobytes may allocate."""
EACH = 4
"""Files per kind of damage in a round."""
READ, PLAN, LOG = "ludory.benchmarks.faults.damaged_files:read_damaged", "plan.json", "read.jsonl"


class DamageTrial(NamedTuple):
    """One damaged file."""

    damage: str
    seed: int


def cases() -> dict[str, Case]:
    """One for each format."""
    return {name: _case(name, form) for name, form in FORMATS.items()}


def _case(name: str, form: Format) -> Case:
    def run(place: Place) -> FaultTally:
        tally, each = FaultTally(), max(1, round(EACH * place.amount))
        sample = _sample(name, form, place)
        draw = random.Random(place.seed)
        attempts = [DamageTrial(kind, draw.randrange(2**32)) for kind in form.changes for _ in range(each)]
        attempts += [DamageTrial(kind, 0) for kind in PLACES]
        if place.amount < 1:
            attempts = draw.sample(attempts, max(1, round(len(attempts) * place.amount)))
        done = 0
        while done < len(attempts):
            (place.scratch / PLAN).write_text(json.dumps([name, str(sample), attempts[done:]]), encoding="utf-8")
            (place.scratch / LOG).unlink(missing_ok=True)
            ended = place.commands.run(
                [str(place.scratch)], place.scratch, function=READ, memory=MEMORY, longest=WAITED * len(attempts)
            )
            outcomes = [json.loads(line) for line in (place.scratch / LOG).read_text(encoding="utf-8").splitlines()]
            if not outcomes:
                raise LudoryError(f"{name}: the good file cannot be read: {ended.err[-600:]}")
            for attempt, (outcome, told) in zip(attempts[done:], outcomes[1:], strict=False):
                _count(name, form, attempt, outcome, told, tally)
            done += len(outcomes) - 1
            if done < len(attempts):  # the process died while reading this one
                attempt, slow = attempts[done], ended.hung or ended.signal in (signal.SIGALRM, signal.SIGPROF)
                told = f"no answer after {SECONDS} s" if slow else f"ended by signal {ended.signal}, code {ended.code}"
                _count(name, form, attempt, "hang" if slow else "crash", told, tally)
                done += 1
        return tally

    return run


def _sample(name: str, form: Format, place: Place) -> Path:
    """Folder with good files; made once."""
    if isinstance(form.sample, str):
        make_input(form.sample, place.inputs, place.commands)
        return place.inputs / form.sample
    folder = place.inputs / "samples" / name.replace(" ", "-")
    with MAKING:
        if folder.exists():
            return folder
        unfinished = folder.with_name(f"{folder.name}-unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        ended = place.commands.run(
            [name, str(unfinished)], place.scratch, function="ludory.benchmarks.faults.formats:write_sample"
        )
        if ended.code != 0:
            raise LudoryError(f"the sample of {name} cannot be written: {ended.err[-600:]}")
        unfinished.rename(folder)
    return folder


def _count(name: str, form: Format, attempt: DamageTrial, outcome: str, told: str, tally: FaultTally) -> None:
    tally.trials[outcome] += 1
    words = f"{name}, {attempt.damage} (seed {attempt.seed}): {told}"
    kinds: dict[str, Kind] = {"hang": "hang", "crash": "crash", "memory": "memory", "exception": "traceback"}
    if outcome in kinds:
        tally.add(kinds[outcome], words)
    elif outcome == "different" and attempt.damage in form.covered:
        tally.add("accepted", words)


# --- In the process that reads --------------------------------------------------------------------------------------------


def read_damaged(arguments: list[str]) -> int:
    """Carry out the plan in a folder, and log one outcome per line; the first line is that of the good file."""
    scratch = Path(arguments[0])
    name, sample, attempts = json.loads((scratch / PLAN).read_text(encoding="utf-8"))
    form, folder = FORMATS[name], scratch / "files"
    with (scratch / LOG).open("w", encoding="utf-8") as log:
        for outcome in _outcomes(form, Path(sample), folder, [DamageTrial(*one) for one in attempts]):
            log.write(json.dumps(outcome) + "\n")
            log.flush()
    shutil.rmtree(folder)
    return 0


def _outcomes(form: Format, sample: Path, folder: Path, attempts: list[DamageTrial]) -> Iterator[tuple[str, str]]:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sample, folder)
    file = sorted(folder.glob(form.file))[0]
    good = file.read_bytes()
    expected = digest(plain(form.read(folder)))
    yield "good", ""
    for damage, seed in attempts:
        if file.is_dir() and not file.is_symlink():
            file.rmdir()
        file.unlink(missing_ok=True)
        if damage in PLACES:
            PLACES[damage](file)
        else:
            file.write_bytes(form.changes[damage](good, random.Random(seed)))
            os.utime(file, ns=(seed, seed))  # caches of readers compare time and size
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # these timers end the process, even within a library
        signal.setitimer(signal.ITIMER_REAL, WAITED)
        yield _outcome(form.read, folder, expected)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _outcome(read: Callable[[Path], Any], folder: Path, expected: str) -> tuple[str, str]:
    """Outcome of reading, with an explanation."""
    try:
        found = digest(plain(read(folder)))
    except LudoryError as error:
        return "refused", str(error)[:200]
    except OSError as error:  # it names its file; the command line reports it in one line
        return "refused", repr(error)[:200]
    except MemoryError as error:
        return "memory", f"more than {MEMORY >> 20} MiB: {error}"[:300]
    except Exception as error:
        return "exception", f"{type(error).__name__}: {error}"[:300]
    return ("equal", "") if found == expected else ("different", "read as whole, but not as it was")
