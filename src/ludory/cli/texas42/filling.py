"""What the jobs of Texas 42 that fill folders have in common: their options, the dry run, the bar, and a stop between files."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from ludory.cli.common.options import count
from ludory.errors import OptionError

from .words import seeds

if TYPE_CHECKING:
    from ludory.data.formats.texas42.jobs import FileName, Name

_NUMBER = re.compile(r"[a-z]+_(\d{8})")
AHEAD = 1000
"""Seeds beyond the last file that a dry run of an endless job looks at."""


def add_filling(parser: argparse.ArgumentParser, out: str) -> None:
    """Give `parser` the options of a job that fills a folder."""
    parser.add_argument(
        "--out", type=Path, default=Path(out), metavar="DIR", help=f"folder of the files (default {out})"
    )
    parser.add_argument(
        "--seeds", type=seeds, metavar="N-M", help="only these; without it the job goes on until Ctrl+C or SIGTERM"
    )
    parser.add_argument("--start-seed", type=count, default=0, metavar="N", help="first seed (default 0)")
    parser.add_argument("--limit", type=count, metavar="N", help="stop after so many new files")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what is missing and how big it will be; write nothing"
    )
    parser.add_argument(
        "--replace", action="store_true", help="write damaged and foreign files anew, instead of stopping"
    )


def wanted_seeds(chosen: argparse.Namespace) -> range | None:
    """The seeds asked for; None: endless. A dry run without seeds looks at those up to the last file, and some more.

    Raises:
        OptionError: a seed that no file can have, or both --seeds and --start-seed.
    """
    from ludory.data.formats.texas42.names import check_seed

    for seed in (chosen.start_seed, *(chosen.seeds or ())[:1], *(chosen.seeds or ())[-1:]):
        check_seed(seed)
    if chosen.limit == 0:
        raise OptionError("--limit 0: must be at least 1; --dry-run writes nothing")
    if chosen.seeds is not None and chosen.start_seed:
        raise OptionError(f"--start-seed {chosen.start_seed} says nothing beside --seeds; leave one of them out")
    if chosen.seeds is not None or not chosen.dry_run:
        return chosen.seeds  # type: ignore[no-any-return]
    numbers = [int(found[1]) for file in chosen.out.glob("*/*") if (found := _NUMBER.match(file.name))]
    return range(chosen.start_seed, max([chosen.start_seed + AHEAD, *(number + 1 for number in numbers)]))


def fill_folder(
    chosen: argparse.Namespace,
    wanted: Iterable[Name],
    check: Callable[[Path, Name], None],
    make: Callable[[Path, Name], int],
    unit: str,
) -> int:
    """Run the job, showing each file; the first Ctrl+C or SIGTERM ends it after the file in work, a second one at once. Gives the exit code.

    make: gives the number of rows, which are called `unit`.
    """
    from ludory.algorithms.running.interrupt import exit_code, stop_on_interrupt
    from ludory.data.formats.texas42.jobs import fill

    rows, started = 0, monotonic()

    def counted(file: Path, name: Name) -> None:
        nonlocal rows
        rows += make(file, name)

    def report(name: FileName) -> None:
        rate = rows / max(monotonic() - started, 1e-9)
        print(f"{name.path}: {rows:,} {unit} so far, {rate:,.0f} a second", file=sys.stderr)

    with stop_on_interrupt(lambda: None) as interrupted:
        done = fill(
            chosen.out,
            wanted,
            check,
            counted,
            limit=chosen.limit,
            replace=chosen.replace,
            stop=lambda: bool(interrupted),
            report=report,
        )
    elsewhere = f", {done.elsewhere:,} in work elsewhere" if done.elsewhere else ""
    state = "interrupted: " if interrupted else ""
    again = "; the same command goes on" if interrupted else ""
    print(
        f"{state}{done.made:,} files written ({rows:,} {unit}), {done.kept:,} were there{elsewhere}, in {chosen.out}{again}"
    )
    return exit_code(interrupted[0]) if interrupted else 0


def _size(number: float) -> str:
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if number >= unit:
            return f"{number / unit:,.1f} {name}"
    return f"{number / 1e3:,.1f} kB"


def show_missing(
    chosen: argparse.Namespace, wanted: Iterable[Name], check: Callable[[Path, Name], None], bytes_each: float
) -> int:
    """The dry run: what is missing in each split, and about how big it will be; returns the exit code."""
    from ludory.data.formats.texas42.jobs import missing
    from ludory.data.formats.texas42.names import SPLITS

    names = list(wanted)
    lacking = list(missing(chosen.out, names, check))
    sizes = [(chosen.out / name.path).stat().st_size for name in names if (chosen.out / name.path).exists()]
    each = sum(sizes) / len(sizes) if sizes else bytes_each
    for split in SPLITS:
        all_of, gone = ([name for name in part if name.path.parts[0] == split] for part in (names, lacking))
        first = ", ".join(name.path.name for name in gone[:3]) + (", ..." if len(gone) > 3 else "")
        print(f"{split:5}  {len(all_of) - len(gone):7,} there  {len(gone):7,} missing  {first}")
    number = len(lacking) if chosen.limit is None else min(chosen.limit, len(lacking))
    endless = (
        ""
        if chosen.seeds or chosen.limit
        else f" up to {names[-1].path.name}; without --seeds or --limit the job goes on behind it"
    )
    print(f"to write: {number:,} files, about {_size(number * each)}, in {chosen.out}{endless}")
    return 0
