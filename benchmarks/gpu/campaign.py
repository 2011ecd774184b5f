"""One command for a machine with an NVIDIA GPU: everything is compared with the CPU first, then measured, beside peers where they are installed.

Parts run in processes of their own, one after another; every figure is on disk as soon as it is known, and the same command goes on
where an earlier one stopped. Without a GPU, --small runs every part in little on the CPU, and the comparison of games in Numba's simulator.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import torch

from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Seconds
from ludory.benchmarks.harness.parts import check_setting
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.envs.engine.parallel import thread_count
from ludory.errors import OptionError

from .part import PARTS, Row, is_complete, rows_of

QUICK_PARTS, QUICK_MINUTES = ("turns", "graphs", "transfers", "tests"), 13.0
LONGEST = 9 * 60.0
"""Seconds that a part gets at a time; then it is stopped, and the next command goes on with it."""


@dataclass(frozen=True, slots=True)
class GpuOptions:
    """Options of `ludory bench gpu`."""

    only: tuple[str, ...] = ()
    """Parts to run, of parity, tests, maths, turns, graphs, rates, transfers, training, search, language and hanabi; none: all."""
    minutes: Seconds = 25.0
    """Of the training on Hanabi in part `hanabi`."""
    limit: Seconds | None = None
    """Minutes after which this command stops, and the next one goes on; none: 600."""
    jobs: Count | None = None
    """Processes of part `parity`, in which compiling every game takes longest; none: one for every core."""
    small: bool = False
    """Every part in little, on the CPU where there is no GPU: shows that the parts work, measures nothing."""
    quick: bool = False
    """For a card that is there for a quarter of an hour: parts tests, turns, graphs and transfers with short measurements, unless `--only` names others; stops after 13 minutes, unless `--limit` is given."""
    out: Path = Path("runs/gpu")
    """Folder of the parts and of the result."""


@benchmark("gpu", resumes=True)
def run(options: GpuOptions) -> Result:
    """Run what is left of the parts.

    Raises:
        OptionError: there is no GPU, or an unknown part.
    """
    for name in options.only:
        if name not in PARTS:
            raise OptionError(f"--only {name}: no part has this name; must be among {', '.join(PARTS)}")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not options.small:
        raise OptionError(
            "ludory bench gpu: torch finds no NVIDIA GPU (try `nvidia-smi`); add --small to run every part in little on the CPU"
        )
    limit = options.limit or (QUICK_MINUTES if options.quick else 600.0)
    folder, ends = options.out, monotonic() + 60 * limit
    folder.mkdir(parents=True, exist_ok=True)
    check_setting(
        folder / "setting.json",
        {
            "device": device,
            "small": options.small,
            "quick": options.quick,
            "minutes": options.minutes,
            "gpu": _card(),
        },
    )
    unfinished = []
    for name in options.only or (QUICK_PARTS if options.quick else PARTS):
        if not is_complete(folder, name):
            print(f"part {name}", file=sys.stderr, flush=True)
            _run_part(name, folder, min(LONGEST, ends - monotonic()), thread_count(options.jobs))
        if not is_complete(folder, name):
            unfinished.append(name)
    report = {
        "device": _card(),
        "small": options.small,
        "unfinished": unfinished,
        "parts": {name: rows_of(folder, name) for name in PARTS if (folder / f"{name}.jsonl").exists()},
    }
    return Result(folder / "gpu.json", report, shown, failed=_faults(report) > 0)


def _card() -> dict[str, Any]:
    """What the card is called and what drives it."""
    if not torch.cuda.is_available():
        return {"name": None, "torch": torch.__version__}
    facts = torch.cuda.get_device_properties(0)
    memory = round(facts.total_memory / 2**30)
    return {"name": facts.name, "memory_gib": memory, "cuda": torch.version.cuda, "torch": torch.__version__}


def _run_part(name: str, folder: Path, seconds: float, jobs: int) -> None:
    """Let a process of its own do a part, at most for `seconds`; Ctrl+C stops both."""
    if seconds <= 0:
        return
    command = [sys.executable, "-m", "ludory.benchmarks.gpu.part", name, str(folder), str(jobs)]
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            print(f"part {name} is not finished; the next command goes on with it", file=sys.stderr, flush=True)
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a part with what it started; a training writes its checkpoint first. Windows has neither groups of processes nor SIGTERM."""
    if process.poll() is not None:
        return
    if not hasattr(os, "killpg"):
        process.kill()
        return
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    """A table per part."""
    for name, rows in report["parts"].items():
        columns = COLUMNS.get(name, {})
        lines = [[row["key"], *(show(row) for show in columns.values()), _remark(row)] for row in rows]
        yield table(f"{name} ({report['device']['name'] or 'no GPU'})", ["what", *columns, "remark"], lines)
    yield f"{_faults(report)} rows with faults (differences from the CPU, errors); unfinished parts: {', '.join(report['unfinished']) or 'none'}"


def _faults(report: Mapping[str, Any]) -> int:
    """Rows that differ from the CPU or failed."""
    return sum(bool(_fault(row)) for rows in report["parts"].values() for row in rows)


def _fault(row: Row) -> str:
    """What is wrong with a row, in few words."""
    return "; ".join([*row.get("differences", [])[:2], *([row["error"]] if "error" in row else [])])


def _remark(row: Row) -> str:
    """The fault of a row, or what is missing, short enough for a table."""
    said = _fault(row) or row.get("missing", "")
    return said if len(said) <= 80 else f"{said[:79]}…"


def _number(name: str, form: str = ",.0f") -> Callable[[Row], str]:
    def show(row: Row) -> str:
        value = row.get(name)
        return "" if value is None else format(value, form)

    return show


COLUMNS: Mapping[str, Mapping[str, Callable[[Row], str]]] = {
    "parity": {"games": _number("games"), "moves": _number("moves")},
    "tests": {"passed": _number("passed"), "failed": _number("failed"), "skipped": _number("skipped")},
    "maths": {"largest difference": _number("largest_difference", ".1e")},
    "turns": {
        "launches/s": _number("launches"),
        "graph/s": _number("graph"),
        "bytes a step": _number("step_bytes"),
        "bytes/s": _number("bytes_per_second", ".2e"),
    },
    "graphs": {"timesteps/s": _number("timesteps_per_second"), "card busy": _number("card_busy", ".0%")},
    "rates": {
        "rules/s": _number("rules"),
        "with observations/s": _number("with_observations"),
        "bytes/s": _number("bytes_per_second", ".2e"),
    },
    "transfers": {"to host": _number("to_host_bytes"), "observations": _number("observation_bytes")},
    "training": {"timesteps/s": _number("timesteps_per_second"), "card busy": _number("card_busy", ".0%")},
    "search": {"s, CPU": _number("seconds_cpu", ".3f"), "s, GPU": _number("seconds_cuda", ".3f")},
    "language": {"tokens/s": _number("tokens_per_second")},
    "hanabi": {"score": lambda row: f"{row['evaluation']['agent']['mean']:.2f}" if "evaluation" in row else ""},
}
"""What the table of a part shows."""
