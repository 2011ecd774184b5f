"""What the jobs of Texas 42 that fill folders share: their options, the dry run, the progress, and a stop between files."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice, tee
from time import monotonic
from typing import TYPE_CHECKING

from ludory.cli.common import Count, Flag, Folder, Maybe, Placed
from ludory.errors import OptionError

from .words import Seeds

if TYPE_CHECKING:
    from pathlib import Path

    from ludory.cluster import Workers
    from ludory.data.formats.texas42.jobs import FileName, Name

_NUMBER = re.compile(r"[a-z]+_(\d{8})")
AHEAD = 1000
"""Seeds beyond the last file that a dry run of an endless job looks at."""


@dataclass(frozen=True, kw_only=True)
class FillOptions:
    """Options of a job that fills a folder with files."""

    out: Folder
    """Folder of the files."""
    limit: Maybe[Count] = None
    """Stop after so many new files."""
    replace: Flag = False
    """Write damaged and foreign files anew, instead of stopping."""

    def fill(
        self,
        wanted: Iterable[Name],
        check: Callable[[Path, Name], None],
        make: Callable[[Path, Name], int],
        unit: str,
        workers: Workers | None = None,
    ) -> int:
        """Write the files that are missing, showing each; returns the exit code.

        The first Ctrl+C or SIGTERM ends the job after the file in work, a second one at once.

        Args:
            wanted: names of the files.
            check: raises DataError for a file that is damaged or of another job.
            make: writes a file and returns the number of its rows.
            unit: what rows are called.
            workers: who makes the files, which are written here; None: this process.
        """
        from ludory.algorithms import exit_code, stop_on_interrupt
        from ludory.data.formats.texas42.jobs import fill, made_by, missing

        rows, started = 0, monotonic()
        if workers is not None:
            wanted, ahead = tee(wanted)
            make = made_by(workers, islice(missing(self.out, ahead, check, replace=self.replace), self.limit), make)

        def counted(file: Path, name: Name) -> None:
            nonlocal rows
            rows += make(file, name)

        def report(name: FileName) -> None:
            rate = rows / max(monotonic() - started, 1e-9)
            print(f"{name.path}: {rows:,} {unit} so far, {rate:,.0f} a second", file=sys.stderr)

        with stop_on_interrupt(lambda: None) as interrupted:
            done = fill(
                self.out,
                wanted,
                check,
                counted,
                limit=self.limit,
                replace=self.replace,
                stop=lambda: bool(interrupted),
                report=report,
            )
        elsewhere = f", {done.elsewhere:,} in work elsewhere" if done.elsewhere else ""
        state = "interrupted: " if interrupted else ""
        again = "; the same command goes on" if interrupted else ""
        print(
            f"{state}{done.made:,} files written ({rows:,} {unit}), {done.kept:,} were there{elsewhere}, in {self.out}{again}"
        )
        return exit_code(interrupted[0]) if interrupted else 0


@dataclass(frozen=True, kw_only=True)
class SeedOptions(Placed, FillOptions):
    """Options of a job that writes files by seed."""

    seeds: Maybe[Seeds] = None
    """Only these seeds (default: go on until Ctrl+C or SIGTERM)."""
    start_seed: Count = 0
    """First seed."""
    dry_run: Flag = False
    """Say what is missing and how big it will be, and write nothing."""

    def wanted_seeds(self) -> range | None:
        """The seeds asked for; None: endless. A dry run without seeds looks at those up to the last file, and some more.

        Raises:
            OptionError: a seed that no file can have, or both --seeds and --start-seed.
        """
        from ludory.data.formats.texas42.names import check_seed

        for seed in (self.start_seed, *(self.seeds or ())[:1], *(self.seeds or ())[-1:]):
            check_seed(seed)
        if self.limit == 0:
            raise OptionError("--limit 0: must be at least 1; --dry-run writes nothing")
        if self.seeds is not None and self.start_seed:
            raise OptionError(f"--start-seed {self.start_seed} says nothing beside --seeds; leave one of them out")
        if self.seeds is not None or not self.dry_run:
            return self.seeds
        numbers = [int(found[1]) for file in self.out.glob("*/*") if (found := _NUMBER.match(file.name))]
        return range(self.start_seed, max([self.start_seed + AHEAD, *(number + 1 for number in numbers)]))

    def do(
        self,
        wanted: Iterable[Name],
        check: Callable[[Path, Name], None],
        make: Callable[[Path, Name], int],
        unit: str,
        bytes_each: float,
    ) -> int:
        """Fill the folder; in a dry run, show what is missing, taking files for `bytes_each` where there are none yet."""
        if self.dry_run:
            return self._show_missing(wanted, check, bytes_each)
        with self.placement.open() as workers:
            return self.fill(wanted, check, make, unit, workers)

    def _show_missing(self, wanted: Iterable[Name], check: Callable[[Path, Name], None], bytes_each: float) -> int:
        """What is missing in each split, and about how big it will be."""
        from ludory.data.formats.texas42.jobs import missing
        from ludory.data.formats.texas42.names import SPLITS

        names = list(wanted)
        lacking = list(missing(self.out, names, check))
        sizes = [(self.out / name.path).stat().st_size for name in names if (self.out / name.path).exists()]
        each = sum(sizes) / len(sizes) if sizes else bytes_each
        for split in SPLITS:
            all_of, gone = ([name for name in part if name.path.parts[0] == split] for part in (names, lacking))
            first = ", ".join(name.path.name for name in gone[:3]) + (", ..." if len(gone) > 3 else "")
            print(f"{split:5}  {len(all_of) - len(gone):7,} there  {len(gone):7,} missing  {first}")
        number = len(lacking) if self.limit is None else min(self.limit, len(lacking))
        endless = (
            ""
            if self.seeds or self.limit
            else f" up to {names[-1].path.name}; without --seeds or --limit the job goes on behind it"
        )
        print(f"to write: {number:,} files, about {_size(number * each)}, in {self.out}{endless}")
        return 0


def _size(number: float) -> str:
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if number >= unit:
            return f"{number / unit:,.1f} {name}"
    return f"{number / 1e3:,.1f} kB"
