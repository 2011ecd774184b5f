"""`ludory bench faults`: kills, damaged files, full disks and other faults drawn from a seed, and counts of what they caused."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from ludory.agents.evaluation.evaluate import check_count
from ludory.arguments import located_out
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.result_file import write_result
from ludory.errors import LudoryError, OptionError
from ludory.plugins.requirements import needs_unix

from . import clusters, damaged_files, kills, places, processes
from .commands import Commands
from .findings import KINDS, Case, FaultTally, Place, total

INTERRUPTED = 130
PARTS: dict[str, Callable[[], Mapping[str, Case]]] = {
    "kills": kills.cases,
    "files": damaged_files.cases,
    "disk": places.full_disk,
    "read-only": places.read_only,
    "removed": places.removed,
    "together": places.together,
    "fork": processes.forks,
    "cache": processes.compiled_code,
    "cluster": clusters.cases,
}
"""Part of the campaign -> its cases by name."""


class Piece(NamedTuple):
    """One case in one round."""

    part: str
    case: str
    round: int

    def file(self, folder: Path, seed: int) -> Path:
        """File of its tally."""
        return (
            folder / "pieces" / self.part / f"{re.sub(r'[^a-z0-9]+', '-', self.case.lower())}-{seed}-{self.round}.json"
        )

    def seed(self, seed: int) -> int:
        """Its own seed, derived from that of the campaign."""
        return zlib.crc32(f"{seed} {self}".encode())


def run(argv: list[str]) -> int:
    """Try the pieces that are left, print and write the result; returns 0 without findings, else 1.

    Raises:
        OptionError: a number, part or case is invalid.
        OutputError: the folder cannot be written to.
        PluginError: this system cannot fork processes.
    """
    options = _parser().parse_args(argv)
    if not hasattr(os, "fork"):
        raise needs_unix("benchmark 'faults'")
    for name, least in (("rounds", 1), ("seed", 0), ("jobs", 1)):
        check_count(f"--{name}", getattr(options, name), least)
    wanted = list(_pieces(options))
    waiting = [piece for piece in wanted if not piece.file(options.out, options.seed).exists()]
    started_from = origin()
    print(
        f"{len(wanted) - len(waiting)} of {len(wanted)} pieces are in {options.out}, {len(waiting)} to go", flush=True
    )
    try:
        untried = _try_all(waiting, options)
    except KeyboardInterrupt:
        print(f"interrupted: what is done is in {options.out}; go on with the same command")
        return INTERRUPTED
    tallies = {
        piece: FaultTally.from_json(json.loads(file.read_text(encoding="utf-8")))
        for piece in wanted
        if (file := piece.file(options.out, options.seed)).exists()
    }
    target = options.out / "faults.json"
    write_result(target, _report(tallies, untried, options) | started_from)
    _print(tallies, untried)
    print(f"result in {target}")
    return int(bool(untried) or any(tally.findings for tally in tallies.values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory bench faults",
        description="Kill, damage and starve Ludory, and count what is lost, doubled, different, accepted, or ends in a traceback, "
        "a hang or a crash. Pieces that are done are kept: the same command goes on where it was stopped.",
    )
    parser.add_argument("--rounds", type=int, default=1, help="each tries every case once (default 1)")
    parser.add_argument("--seed", type=int, default=0, help="of moments and damages (default 0)")
    parser.add_argument("--jobs", type=int, default=1, help="cases at once (default 1)")
    parser.add_argument("--only", metavar="PARTS", help=f"comma-separated, of {', '.join(PARTS)}")
    parser.add_argument(
        "--case", action="append", metavar="NAME", help='a job or format, e.g. "train ppo"; may be repeated'
    )
    parser.add_argument(
        "--out", type=located_out, default=Path("runs/faults"), help="folder of the results (default runs/faults)"
    )
    return parser


def _pieces(options: argparse.Namespace) -> Iterator[Piece]:
    parts = options.only.split(",") if options.only else list(PARTS)
    for part in parts:
        if part not in PARTS:
            raise OptionError(f"--only {options.only}: {part!r} is no part; must be of {', '.join(PARTS)}")
    every = {part: list(PARTS[part]()) for part in parts}
    for case in options.case or ():
        if not any(case in cases for cases in every.values()):
            known = ", ".join(sorted({name for cases in every.values() for name in cases}))
            raise OptionError(f"--case {case!r}: no such case; must be one of {known}")
    for number in range(options.rounds):
        for part, cases in every.items():
            yield from (Piece(part, case, number) for case in cases if not options.case or case in options.case)


def _try_all(waiting: list[Piece], options: argparse.Namespace) -> dict[Piece, str]:
    """Try every piece; returns those that could not be tried, with the reasons."""
    untried: dict[Piece, str] = {}
    own, opened = threading.local(), list[Commands]()
    scratch = (options.out / "scratch").resolve()
    places.unmount_all(scratch)

    def one(piece: Piece) -> FaultTally:
        if not hasattr(own, "commands"):
            opened.append(Commands(scratch / f"streams-{len(opened)}"))
            own.commands = opened[-1]
        folder = scratch / f"{piece.part}-{zlib.crc32(str(piece).encode())}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        cases = PARTS[piece.part]()
        tally = cases[piece.case](Place(folder, scratch / "inputs", own.commands, piece.seed(options.seed)))
        write_result(piece.file(options.out, options.seed), tally.as_json())
        shutil.rmtree(folder, ignore_errors=True)
        return tally

    pool = ThreadPoolExecutor(options.jobs)
    try:
        futures = {pool.submit(one, piece): piece for piece in waiting}
        for future in as_completed(futures):
            piece = futures[future]
            try:
                tally = future.result()
            except LudoryError as error:
                untried[piece] = str(error)
                print(f"{piece.part}, {piece.case}, round {piece.round + 1}: not tried: {error}", flush=True)
            else:
                print(f"{piece.part}, {piece.case}, round {piece.round + 1}: {_words(tally)}", flush=True)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for commands in opened:  # ends unfinished cases, too
            commands.close()
        pool.shutdown()
    return untried


def _words(tally: FaultTally) -> str:
    trials = ", ".join(f"{count} {sort}" for sort, count in sorted(tally.trials.items()))
    return "; ".join([trials, *(f"{one.kind.upper()}: {one.what}" for one in tally.findings)])


def _report(
    tallies: Mapping[Piece, FaultTally], untried: Mapping[Piece, str], options: argparse.Namespace
) -> dict[str, Any]:
    return {
        "benchmark": "faults",
        "seed": options.seed,
        "rounds": options.rounds,
        "parts": {
            part: {"trials": found.trials.total(), "sorts": dict(found.trials), **_counts(found)}
            for part, found in _by_part(tallies).items()
        },
        "cases": [
            {"part": piece.part, "case": piece.case, "round": piece.round + 1, **tally.as_json()}
            for piece, tally in tallies.items()
        ],
        "not tried": [{"part": piece.part, "case": piece.case, "why": why} for piece, why in untried.items()],
    }


def _by_part(tallies: Mapping[Piece, FaultTally]) -> dict[str, FaultTally]:
    parts = list(dict.fromkeys(piece.part for piece in tallies))
    return {part: total(tally for piece, tally in tallies.items() if piece.part == part) for part in parts}


def _counts(tally: FaultTally) -> dict[str, int]:
    return {kind: sum(one.kind == kind for one in tally.findings) for kind in KINDS}


def _print(tallies: Mapping[Piece, FaultTally], untried: Mapping[Piece, str]) -> None:
    table = Table(title="Faults", title_justify="left")
    for name in ("part", "trials", *KINDS):
        table.add_column(name, justify="left" if name == "part" else "right")
    for part, found in _by_part(tallies).items():
        table.add_row(part, f"{found.trials.total():,}", *map(str, _counts(found).values()))
    console = Console(width=140)
    console.print(table)
    for part, found in _by_part(tallies).items():
        for one in found.findings:
            console.print(f"{part}: {one.kind}: {one.what}", highlight=False, markup=False, soft_wrap=True)
    for piece, why in untried.items():
        console.print(f"{piece.part}: {piece.case} was not tried: {why}", highlight=False, markup=False, soft_wrap=True)
