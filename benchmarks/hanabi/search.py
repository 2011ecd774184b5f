"""`ludory bench hanabi-search`: a bot alone, with one seat that searches, and with both seats searching, on the same decks.

Each deck's result is on disk as soon as it is played, and a stopped command goes on where it was. A bomb scores 0.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Columns

from ludory.agents.evaluation.evaluate import check_count
from ludory.agents.make import make_agent
from ludory.algorithms.running.interrupt import exit_code
from ludory.atomic import atomic_file
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.result_file import write_result
from ludory.envs.make import make_game
from ludory.errors import DataError

from .search_deck import ALONE, JOINT, SINGLE, Setting, Task, begin_worker, play_deck, spec
from .search_report import chart, summary

RESULTS = "decks.jsonl"
WIDTH = 120
"""Columns that the table needs."""


def run(argv: list[str]) -> int:
    """Play what is not played yet, summarise, write; returns the exit code.

    Raises:
        OptionError: an option is not allowed.
        DataError: the folder holds results of other settings.
    """
    chosen = _parser().parse_args(argv)
    for name, number, least in (
        ("decks", chosen.decks, 2),
        ("processes", chosen.processes, 1),
        *(("budget", b, 1) for b in chosen.budget),
    ):
        check_count(f"--{name}", number, least)
    started_from = origin()
    setting = Setting(chosen.game, chosen.blueprint, chosen.seed, f", {chosen.options}" if chosen.options else "")
    for contender in chosen.contenders:
        make_agent(spec(setting, contender, 1), make_game(chosen.game))  # a fault is told before anything is written
    file = chosen.out / RESULTS
    done = _read(chosen.out, setting)
    tasks = [Task(ALONE, 0, deck) for deck in range(chosen.decks)]
    tasks += [Task(c, b, deck) for deck in range(chosen.decks) for b in chosen.budget for c in chosen.contenders]
    waiting = [task for task in tasks if task not in done]
    print(f"{len(tasks) - len(waiting):,} of {len(tasks):,} games are played, {len(waiting):,} to go", flush=True)
    try:
        with file.open("a", encoding="utf-8") as handle:
            for line in _played(setting, waiting, chosen.processes):
                done[Task(line["contender"], line["budget"], line["deck"])] = line
                handle.write(json.dumps(line) + "\n")
                handle.flush()
                os.fsync(handle.fileno())
    except KeyboardInterrupt as stop:
        print("interrupted: go on with the same command")
        return exit_code(stop)
    report = {
        "benchmark": "hanabi-search",
        **setting._asdict(),
        "decks": chosen.decks,
        "processes": chosen.processes,
        "convention": "a bomb scores 0; gains deck by deck over the blueprint in all seats, with 95 % bootstrap intervals",
        "contenders": summary([done[task] for task in tasks]),
        **started_from,
    }
    target = chosen.out / f"hanabi-search-{chosen.name}.json"
    write_result(target, report)
    with atomic_file(target.with_suffix(".svg"), "w") as out:
        out.write(chart(report))
    _print(report)
    print(f"result in {target}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ludory bench hanabi-search", description=__doc__)
    parser.add_argument("--game", default="Hanabi2P-v0", help="id of a Hanabi (default Hanabi2P-v0)")
    parser.add_argument(
        "--blueprint", default="hanabi/smartbot", help="bot or checkpoint to search over (default hanabi/smartbot)"
    )
    parser.add_argument("--decks", type=int, default=500, help="how many, the same for all (default 500)")
    parser.add_argument(
        "--budget", type=int, nargs="+", default=[10_000], metavar="N", help="rollouts a decision (default 10,000)"
    )
    parser.add_argument(
        "--contenders",
        nargs="+",
        choices=(SINGLE, JOINT),
        default=[SINGLE],
        help="who searches (default single; joint takes many times as long: see range_max in docs/search.md)",
    )
    parser.add_argument("--options", default="", help="further arguments of sparta, e.g. 'threshold=0.1, errors=0'")
    parser.add_argument(
        "--seed", type=int, default=2_000_003, help="of the decks, unlike those that settings were chosen on (1000003)"
    )
    parser.add_argument("--processes", type=int, default=1, help="games at once, one thread each (default 1)")
    parser.add_argument("--name", default="run", help="of the result: hanabi-search-NAME.json and .svg")
    parser.add_argument("--out", type=Path, default=Path("runs/hanabi-search"), help="folder of all results")
    return parser


def _read(folder: Path, setting: Setting) -> dict[Task, dict[str, Any]]:
    """What is played already; a line that was cut off is taken away.

    Raises:
        DataError: it was played with other settings, or a line cannot be read.
    """
    stamp, file = folder / "setting.json", folder / RESULTS
    wanted = setting._asdict()
    if not stamp.exists():
        with atomic_file(stamp, "w") as handle:
            json.dump(wanted, handle)
    found = json.loads(stamp.read_text(encoding="utf-8"))
    for name, value in wanted.items():
        if found.get(name) != value:
            raise DataError(
                f"{stamp}: the results there are of {name}={found.get(name)!r}, asked for is {value!r}; name another folder with --out"
            )
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        with atomic_file(file, "w") as handle:
            handle.write(whole)
    lines: dict[Task, dict[str, Any]] = {}
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            one = json.loads(line)
            lines[Task(one["contender"], one["budget"], one["deck"])] = one
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise DataError(
                f"{file}, line {number}: not a result ({error}); take it away, and its deck is played again"
            ) from error
    return lines


def _played(setting: Setting, tasks: Sequence[Task], processes: int) -> Iterator[dict[str, Any]]:
    """Results as they come."""
    if not tasks:
        return
    pool = ProcessPoolExecutor(
        min(processes, len(tasks)), get_context("spawn"), initializer=begin_worker, initargs=(setting,)
    )
    left, running = iter(tasks), set()
    try:
        for task in left:
            running.add(pool.submit(play_deck, setting, task))
            if len(running) >= 2 * processes:
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for one in ended:
                    yield one.result()
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for one in ended:
                yield one.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _print(report: dict[str, Any]) -> None:
    table = Columns(
        title=f"{report['game']}, {report['blueprint']}, {report['decks']} decks; a bomb scores 0", title_justify="left"
    )
    for name in ("", "rollouts", "score", "gain", "95 %", "bombs", "perfect", "changed", "CPU-s a game"):
        table.add_column(name, justify="left" if not name else "right")
    for one in report["contenders"]:
        gain = one["gain"]
        table.add_row(
            one["contender"],
            f"{one['budget']:,}" if one["budget"] else "",
            f"{one['score']['mean']:.2f} ± {one['score']['stderr']:.2f}",
            f"{gain['mean']:+.2f} ± {gain['stderr']:.2f}" if gain else "",
            f"{gain['low']:+.2f} .. {gain['high']:+.2f}" if gain else "",
            f"{one['bomb']:.1%}",
            f"{one['perfect']:.1%}",
            f"{one['changed']:.1f}",
            f"{one['cpu_seconds']:.2f}",
        )
    table.caption = "\n".join(
        f"joint over single at {one['budget']:,} rollouts: {ahead['mean']:+.2f} ± {ahead['stderr']:.2f}, "
        f"95 % {ahead['low']:+.2f} .. {ahead['high']:+.2f}"
        for one in report["contenders"]
        if (ahead := one["over_single"])
    )
    console = Console(markup=False, highlight=False)
    console.width = max(console.width, WIDTH)
    console.print(table)
