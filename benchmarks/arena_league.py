"""`ludory bench arena-league`: leagues of duels, plain self-play with the same budget, and leagues without one of their parts."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ludory.atomic import atomic_file
from ludory.errors import OptionError, TrainingError

from .arena_league_run import CONTENDERS, GAME, LEARNER, OPTIONS, STYLES
from .bar_chart import Bar, Panel, bar_chart
from .machine import origin
from .result_file import write_result
from .worker_process import THREADS

INTERRUPTED = 130


def run(argv: list[str]) -> int:
    """Train what is not trained yet, measure, write; gives the exit code.

    Raises:
        OptionError: an option is not allowed.
        TrainingError: a run failed; finished ones are kept.
    """
    options = _parser().parse_args(argv)
    if not options.teacher.is_file():
        raise OptionError(
            f"--teacher {options.teacher}: there is no such file; "
            f"`ludory train pipeline --env {GAME} --option observation=tactical --out runs/pipeline` makes one (pi_sup.ludory)"
        )
    started_from = origin()
    tasks = [_task(options, contender, seed) for contender in options.contenders for seed in options.seeds]
    waiting = [task for task in tasks if not (Path(task["folder"]) / "result.json").exists()]
    print(f"{len(tasks) - len(waiting)} of {len(tasks)} runs are done, {len(waiting)} to go", flush=True)
    try:
        _work(waiting, options.jobs)
    except KeyboardInterrupt:
        print("interrupted: go on with the same command")
        return INTERRUPTED
    results = [json.loads((Path(task["folder"]) / "result.json").read_text()) for task in tasks]
    report = {
        "benchmark": "arena-league",
        "game": GAME,
        "options": OPTIONS,
        "learner": LEARNER,
        "minutes": options.minutes,
        "processor_time": options.processor_time,
        "processes_at_once": options.jobs,
        "convention": "share of points, draws half; moves drawn with temperature 1; every start from both seats",
        "contenders": {
            name: _summary([one for one in results if one["contender"] == name]) for name in options.contenders
        },
        "runs": results,
        **started_from,
    }
    target = options.out / f"arena-league-{options.name}.json"
    write_result(target, report)
    with atomic_file(target.with_suffix(".svg"), "w") as handle:
        handle.write(_chart(report))
    _print(report)
    print(f"result in {target}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory bench arena-league",
        description="Leagues from one supervised policy, each in a process with one thread; the final main against every "
        "scripted style, every frozen player of its run, and fresh exploiters. Finished runs are kept.",
    )
    parser.add_argument("--teacher", type=Path, required=True, metavar="FILE", help="supervised policy of all runs")
    parser.add_argument("--minutes", type=float, default=20.0, help="of every run (default 20)")
    parser.add_argument(
        "--processor-time", action="store_true", help="minutes of one core's time, for machines with other work"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="(default 1 2 3)")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), help="(default all)")
    parser.add_argument("--duels", type=int, default=1000, help="against each style and exploiter (default 1000)")
    parser.add_argument("--past-duels", type=int, default=400, help="against each frozen player (default 400)")
    parser.add_argument("--exploiters", type=int, default=3, help="fresh exploiters of every run (default 3)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once (default 2)")
    parser.add_argument("--name", default="runs", help="of the result file: arena-league-NAME.json")
    parser.add_argument("--out", type=Path, default=Path("runs/arena-league"), help="folder of runs and result")
    return parser


def _task(options: argparse.Namespace, contender: str, seed: int) -> dict[str, Any]:
    return {
        "contender": contender,
        "seed": seed,
        "minutes": options.minutes,
        "processor_time": options.processor_time,
        "teacher": str(options.teacher),
        "duels": options.duels,
        "past_duels": options.past_duels,
        "exploiters": options.exploiters,
        "folder": str(options.out / f"{options.name}-{contender.replace(' ', '-')}-seed{seed}"),
    }


def _work(tasks: Sequence[dict[str, Any]], jobs: int) -> None:
    """Run the tasks, `jobs` at once; the first failure ends all."""
    waiting, running = list(tasks), list[tuple[dict[str, Any], subprocess.Popen[str]]]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.pop(0)
                command = [sys.executable, "-m", "ludory.benchmarks.arena_league_run", json.dumps(task)]
                environment = os.environ | dict.fromkeys(THREADS, "1")
                process = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
                )
                running.append((task, process))
            for task, process in [one for one in running if one[1].poll() is not None]:
                said = (process.communicate()[0] or "").strip().splitlines()
                if process.returncode:
                    raise TrainingError(
                        f"{task['folder']}: {said[-1] if said else 'no message'}; finished runs are kept"
                    )
                running.remove((task, process))
                print(_line(json.loads((Path(task["folder"]) / "result.json").read_text())), flush=True)
            time.sleep(0.5)
    finally:
        for _, process in running:
            process.kill()
            process.wait()


def _line(result: dict[str, Any]) -> str:
    past = "-" if result["min_past"] is None else f"{result['min_past']:.3f}"
    exploit = max((one["score"] for one in result["exploiters"]), default=None)
    return (
        f"{result['contender']}, seed {result['seed']}: smallest score against a style {result['min_styles']:.3f}, against its "
        f"frozen players {past}, largest of a fresh exploiter {'-' if exploit is None else f'{exploit:.3f}'}; "
        f"{result['main_steps']:,} of {result['env_steps']:,} agent steps, {result['seconds'] / 60:.1f} min"
    )


def _summary(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds, and each seed's numbers."""
    exploiters = [one["score"] for result in results for one in result["exploiters"]]
    return {
        "seeds": [result["seed"] for result in results],
        "min_styles": [result["min_styles"] for result in results],
        "min_past": [result["min_past"] for result in results],
        "styles": {
            style: sum(result["styles"][style]["score"] for result in results) / len(results) for style in STYLES
        },
        "exploiter_max": max(exploiters, default=None),
        "exploiter_mean": sum(exploiters) / len(exploiters) if exploiters else None,
        "main_steps": [result["main_steps"] for result in results],
        "minutes": [result["seconds"] / 60 for result in results],
    }


def _chart(report: dict[str, Any]) -> str:
    panels = []
    for style in STYLES:
        bars = [
            Bar(name, 100 * found["styles"][style], name == "league") for name, found in report["contenders"].items()
        ]
        panels.append(Panel(f"points of the final main against {style}, in percent", bars))
    machine = report["machine"]["name"]
    return bar_chart(panels, f"{report['minutes']:g} minutes each, means over seeds; {machine}, {report['date']}")


def _print(report: dict[str, Any]) -> None:
    table = Table(
        "contender", *(style.partition("/")[2] for style in STYLES), "min style", "min past", "exploiter max / mean"
    )
    for name, found in report["contenders"].items():
        past = [one for one in found["min_past"] if one is not None]
        exploit = (
            "-" if found["exploiter_max"] is None else f"{found['exploiter_max']:.2f} / {found['exploiter_mean']:.2f}"
        )
        table.add_row(
            name,
            *(f"{found['styles'][style]:.2f}" for style in STYLES),
            " ".join(f"{one:.2f}" for one in found["min_styles"]),
            " ".join(f"{one:.2f}" for one in past),
            exploit,
        )
    Console(width=140).print(table)
