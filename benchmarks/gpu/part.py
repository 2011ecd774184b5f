"""A part of the campaign: work that is named, done in a process of its own, and kept as soon as it is done.

Run as a script, `python -m ludory.benchmarks.gpu.part NAME FOLDER JOBS`, it does what is left of a part of the campaign in a folder.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from ludory.benchmarks.harness.parts import in_processes, kept_lines, read_lines

Row = dict[str, Any]
"""Figures of one piece of work."""


@dataclass(frozen=True, slots=True)
class CampaignPart:
    """What a part has to know."""

    name: str
    folder: Path
    """Of the campaign."""
    device: str
    """"cuda", or "cpu" where a small form stands in for it."""
    small: bool
    """Sizes for a machine without a GPU."""
    minutes: float
    """Of the long training."""
    jobs: int = 1
    """Processes of a part that measures no time."""
    quick: bool = False
    """Shorter measurements."""


class NamedWork(NamedTuple):
    """One row of a part, and what makes it."""

    key: str
    make: Callable[[], Row]


PARTS: Mapping[str, str] = {
    "parity": "parity:parity",
    "tests": "checks:gpu_tests",
    "maths": "checks:maths",
    "turns": "turns:turns",
    "graphs": "training:graphs",
    "rates": "rates:rates",
    "transfers": "training:transfers",
    "training": "training:training",
    "search": "search:search",
    "language": "search:language",
    "hanabi": "training:hanabi",
}
"""Parts in the order in which they run: what is right first, then what is fast."""
SIDE_BY_SIDE = ("parity",)
"""Parts that measure no time: their work is done in several processes, since compiling games takes longest."""
COMPLETE = "complete"
"""Key of the line that says that nothing is left of a part."""


def rows_of(folder: Path, name: str) -> list[Row]:
    """What is known of a part, without the line that says that it is complete."""
    return [row for row in read_lines(folder / f"{name}.jsonl") if row["key"] != COMPLETE]


def is_complete(folder: Path, name: str) -> bool:
    """Whether nothing is left of a part."""
    return any(row["key"] == COMPLETE for row in read_lines(folder / f"{name}.jsonl"))


def do_part(part: CampaignPart) -> None:
    """Do what is left of a part. NamedWork that fails is kept with its error, and the next work follows."""
    module, function = PARTS[part.name].split(":")
    make: Callable[[CampaignPart], Iterator[NamedWork]] = getattr(import_module(f"{__package__}.{module}"), function)
    with kept_lines(part.folder / f"{part.name}.jsonl", f"ludory bench gpu, part {part.name}") as (lines, keep):
        done = {line["key"] for line in lines}
        left = (work for work in make(part) if work.key not in done)
        several = part.jobs > 1 and part.name in SIDE_BY_SIDE
        for row in in_processes(_row, left, part.jobs) if several else map(_row, left):
            keep(row)
        keep({"key": COMPLETE})


def _row(work: NamedWork) -> Row:
    """What the work found, or its error, and the seconds that it took."""
    began = perf_counter()
    try:
        found = work.make()
    except Exception as error:
        traceback.print_exc()
        found = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    return {"key": work.key, **found, "wall_s": round(perf_counter() - began, 2)}


def main(name: str, folder: str, jobs: str) -> None:
    """Do a part of the campaign in `folder`, whose setting lies there."""
    setting = json.loads((Path(folder) / "setting.json").read_text(encoding="utf-8"))
    device, small, minutes, quick = (setting[key] for key in ("device", "small", "minutes", "quick"))
    do_part(CampaignPart(name, Path(folder), device, small, minutes, int(jobs), quick))


if __name__ == "__main__":
    main(*sys.argv[1:])
