"""`ludory bench arena-league`: leagues of duels against self-play with equal steps: held-out styles, cross-play and exploiters."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from ludory.algorithms.league.evaluator import Evaluator
from ludory.algorithms.league.messages import EvaluationOrder
from ludory.algorithms.league.metagame.nash_averaging import nash_averaging
from ludory.algorithms.league.opponent_runners import Opponent
from ludory.algorithms.league.player_files import open_league
from ludory.algorithms.running.interrupt import exit_code
from ludory.algorithms.running.threads import one_thread
from ludory.atomic import atomic_file
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.options import Count, Natural, TwoOrMore, parse_options
from ludory.benchmarks.harness.result_file import write_result
from ludory.charts.bars import Bar, Panel, bar_chart
from ludory.cluster.failure import LostWork
from ludory.cluster.placement import PlacedOn
from ludory.cluster.workers import Pending, Workers
from ludory.errors import LostWorkerError, OptionError

from .league_run import (
    CONTENDERS,
    GAME,
    HELD_OUT,
    LEARNER,
    OPTIONS,
    RESULT,
    STARTS_SEED,
    STYLES,
    RunPart,
    keep_part,
    main,
    part_of,
    play_part,
)

DESCRIPTION = """Leagues and self-play from one supervised policy, equal numbers of agent steps, each with one thread; the final main
against every scripted style, every frozen player of its run, all other finals, and exploiters that start as its copy. Finished runs are
kept."""
PART_SECONDS = 600.0
"""Length of a part of a run at a worker, after which it is safe from the loss of its machine."""

CONVENTION = (
    "share of points, draws half; moves drawn with temperature 1; every start from both seats; intervals are of a mean over "
    "seeds, Student's t, 95 %"
)


@dataclass(frozen=True, kw_only=True)
class LeagueBenchOptions:
    """Who trains, for how long, and how it is measured."""

    teacher: Path
    """Supervised policy of all runs."""
    steps: Count = 100_000_000
    """Agent steps of all learners of a run together."""
    seeds: tuple[Natural, ...] = (1, 2, 3)
    """Seeds of the runs of each contender."""
    contenders: tuple[str, ...] = ("league", "self-play")
    """Ways to train, each in quotes where its name has blanks."""
    duels: TwoOrMore = 2000
    """Duels against each style, final and exploiter."""
    past_duels: TwoOrMore = 200
    """Duels against each frozen player."""
    exploiters: Count = 1
    """Exploiters of every run."""
    exploiter_steps: Count = 20_000_000
    """Agent steps of each exploiter."""
    jobs: Count = 2
    """Runs at once, as processes of this machine."""
    ray: bool = False
    """Play the runs on a Ray cluster instead, one on each core; needs ludory[ray]."""
    address: str = "local"
    """Cluster for --ray: local (started on this machine, for this job), auto (the one that this machine belongs to), or HOST:PORT of its head."""
    name: str = "runs"
    """Of the result file: arena-league-NAME.json."""
    out: Path = Path("runs/arena-league")
    """Folder of runs and result."""


def run(argv: Sequence[str]) -> int:
    """Train the missing runs, evaluate, write; returns the exit code.

    Raises:
        OptionError: an option is not allowed.
        LudoryError: a run failed; finished runs are kept.
    """
    options = parse_options(LeagueBenchOptions, "arena-league", DESCRIPTION, argv)
    placement = PlacedOn(options.ray, options.address, jobs=0 if options.ray else options.jobs)
    for name in options.contenders:
        if name not in CONTENDERS:
            raise OptionError(f"--contenders {name!r}: must be {', '.join(map(repr, CONTENDERS))}")
    if not options.teacher.is_file():
        raise OptionError(
            f"--teacher {options.teacher}: there is no such file; docs/jobs/league.md, Measured, has the two commands that make it"
        )
    started_from = origin()
    tasks = [_task(options, contender, seed) for seed in options.seeds for contender in options.contenders]
    waiting = [task for task in tasks if not (Path(task["folder"]) / RESULT).exists()]
    print(f"{len(tasks) - len(waiting)} of {len(tasks)} runs are done, {len(waiting)} to go", flush=True)
    try:
        with placement.open() as workers:
            assert workers is not None
            (work_elsewhere if options.ray else _work)(waiting, workers)
    except KeyboardInterrupt as stop:
        print("interrupted: the same command continues")
        return exit_code(stop)
    results = [json.loads((Path(task["folder"]) / RESULT).read_text(encoding="utf-8")) for task in tasks]
    report = {
        "benchmark": "arena-league",
        "game": GAME,
        "options": OPTIONS,
        "learner": LEARNER,
        **{name: getattr(options, name) for name in ("steps", "exploiter_steps", "duels", "past_duels")},
        "held_out": list(HELD_OUT),
        "convention": CONVENTION,
        "contenders": {
            name: _summary(name, [one for one in results if one["contender"] == name]) for name in options.contenders
        },
        "cross": _cross_table([Path(task["folder"]) for task in tasks], tasks, options.duels),
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


def _task(options: LeagueBenchOptions, contender: str, seed: int) -> dict[str, Any]:
    names = ("steps", "teacher", "duels", "past_duels", "exploiters", "exploiter_steps")
    known = {name: getattr(options, name) for name in names} | {"teacher": str(options.teacher)}
    folder = options.out / f"{contender.replace(',', '').replace(' ', '-')}-seed{seed}"
    return {"contender": contender, "seed": seed, **known, "folder": str(folder)}


def work_elsewhere(
    tasks: Sequence[dict[str, Any]],
    workers: Workers,
    seconds: float = PART_SECONDS,
    play: Callable[[RunPart], dict[str, bytes]] = play_part,
) -> None:
    """Run the tasks at workers, in parts; the first failure stops all.

    Workers keep nothing: a part begins with the folder that the part before it returned, and a lost one is played again.

    Raises:
        LudoryError: a run failed, or lost its workers again and again; what its parts returned is kept.
    """
    waiting, losses = list(enumerate(tasks)), LostWork("run")
    running: list[tuple[int, dict[str, Any], Pending]] = []
    try:
        while waiting or running:
            while waiting and len(running) < workers.count:
                number, task = waiting.pop(0)
                running.append((number, task, workers.start(play, part_of(task, seconds))))
            number, task, pending = running.pop(workers.first([pending for _, _, pending in running]))
            try:
                files = pending.result()
            except LostWorkerError as error:
                losses.add(number, error)
            else:
                keep_part(task, files)
            if (result := Path(task["folder"]) / RESULT).exists():
                print(_line(json.loads(result.read_text(encoding="utf-8"))), flush=True)
            else:
                waiting.insert(0, (number, task))
    finally:
        for _, _, pending in running:
            pending.cancel()


def _work(tasks: Sequence[dict[str, Any]], workers: Workers) -> None:
    """Run the tasks in processes of this machine, in their folders; the first failure stops all."""
    for task, _ in zip(tasks, workers.map(main, tasks), strict=True):
        print(_line(json.loads((Path(task["folder"]) / RESULT).read_text(encoding="utf-8"))), flush=True)


def _line(result: dict[str, Any]) -> str:
    scores = ", ".join(f"{style.partition('/')[2]} {one['score']:.3f}" for style, one in result["styles"].items())
    curves = "; ".join(
        " ".join(f"{score:.3f}" for _, score in one["curve"]) + f" -> {one['score']:.3f}"
        for one in result["exploiters"]
    )
    past = min((one["score"] for one in result["past"].values()), default=None)
    return (
        f"{result['contender']}, seed {result['seed']}: {scores}; smallest against its frozen players "
        f"{'-' if past is None else f'{past:.3f}'}; exploiters {curves}; {result['main_steps']:,} of "
        f"{result['env_steps']:,} agent steps, {result['frozen']}, {result['seconds'] / 60:.1f} min"
    )


class Mean(NamedTuple):
    """A mean over seeds and its 95 % interval."""

    mean: float
    low: float
    high: float


def mean_over_seeds(values: Sequence[float]) -> Mean:
    """Student's t interval of shares; [0, 1] for a single seed."""
    from scipy.stats import t

    middle = float(np.mean(values))
    if len(values) < 2:
        return Mean(middle, 0.0, 1.0)
    half = float(t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return Mean(middle, middle - half, middle + half)


def _summary(name: str, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds with intervals of the final main's shares of points."""

    def over_seeds(measure: Callable[[dict[str, Any]], float]) -> list[float]:
        return list(mean_over_seeds([measure(result) for result in results]))

    def smallest(scores: dict[str, Any], names: Sequence[str]) -> float:
        return min((scores[name]["score"] for name in names), default=float("nan"))

    styles = {style: over_seeds(partial(_style_score, style)) for style in STYLES}
    return {
        "against": CONTENDERS[name].against,
        "seeds": [result["seed"] for result in results],
        "styles": styles,
        "smallest_style": over_seeds(lambda one: smallest(one["styles"], STYLES)),
        "held_out": over_seeds(lambda one: float(np.mean([one["styles"][style]["score"] for style in HELD_OUT]))),
        "smallest_past": over_seeds(lambda one: smallest(one["past"], list(one["past"]))),
        "exploiter": over_seeds(lambda one: float(np.mean([run["score"] for run in one["exploiters"]]))),
        "exploiter_largest": over_seeds(lambda one: max(run["score"] for run in one["exploiters"])),
        "main_steps": [result["main_steps"] for result in results],
        "env_steps": [result["env_steps"] for result in results],
        "minutes": [result["seconds"] / 60 for result in results],
    }


def _style_score(style: str, result: dict[str, Any]) -> float:
    return float(result["styles"][style]["score"])


def _cross_table(folders: Sequence[Path], tasks: Sequence[dict[str, Any]], duels: int) -> dict[str, Any]:
    """All final mains against each other: points, Nash averaging over all, and each contender against each other one."""
    leagues = {folder.name: open_league(folder) for folder in folders}
    names = list(leagues)

    def find(id: str) -> Opponent:
        return leagues[id].pool.opponent(leagues[id].final_main)

    orders = [EvaluationOrder(i, j, 0, duels) for place, i in enumerate(names) for j in names[place + 1 :]]
    points = np.full((len(names), len(names)), 0.5)
    with one_thread():
        for result in Evaluator(leagues[names[0]].game, find, STARTS_SEED).play(orders):
            i, j = names.index(result.i), names.index(result.j)
            points[i, j] = result.points / duels
            points[j, i] = 1 - points[i, j]
    averaged = nash_averaging(points) if len(names) > 1 else None
    groups = [task["contender"] for task in tasks]
    return {
        "finals": names,
        "duels": duels,
        "points": points.tolist(),
        "nash_mass": averaged and averaged.nash.mixture.tolist(),
        "nash_skill": averaged and averaged.skill.tolist(),
        "mass_of": averaged
        and {
            name: float(sum(mass for mass, group in zip(averaged.nash.mixture, groups, strict=True) if group == name))
            for name in dict.fromkeys(groups)
        },
        "between": [
            _between(points, groups, one, other)
            for one in dict.fromkeys(groups)
            for other in dict.fromkeys(groups)
            if one != other
        ],
    }


def _between(points: Any, groups: Sequence[str], one: str, other: str) -> dict[str, Any]:
    """Points of one contender's finals against another's: the mean over its seeds, each against all of the other's."""
    rows, columns = ([k for k, group in enumerate(groups) if group == name] for name in (one, other))
    return {"of": one, "against": other, "points": list(mean_over_seeds(points[np.ix_(rows, columns)].mean(1)))}


def _chart(report: dict[str, Any]) -> str:
    def panel(title: str, share: Callable[[dict[str, Any]], float]) -> Panel:
        found = report["contenders"].items()
        return Panel(title, [Bar(name, 100 * share(one), name == "league") for name, one in found])

    panels = [
        panel(
            f"points of the final main against {style}{' (held out)' if style in HELD_OUT else ''}, in percent",
            lambda one, style=style: one["styles"][style][0],  # type: ignore[misc]
        )
        for style in STYLES
    ]
    title = "points of an exploiter against the final main, in percent; 50 is none"
    panels.append(panel(title, lambda one: one["exploiter"][0]))
    machine = report["machine"]["name"]
    return bar_chart(panels, f"{report['steps']:,} agent steps each, means over seeds; {machine}, {report['date']}")


def percent(mean: Sequence[float]) -> str:
    """`61.2 [58.0, 64.4]` of a share with its interval; of one seed there is none."""
    middle, low, high = (100 * value for value in mean)
    return f"{middle:.1f} {_interval(low, high)}"


def _interval(low: float, high: float) -> str:
    return "(one seed)" if high - low == 100 else f"[{low:.1f}, {high:.1f}]"


def exploitability(mean: Sequence[float]) -> str:
    """Points of an exploiter above one half, in percent; a best response scores at least one half, so below it none was found."""
    middle, low, high = (100 * value - 50 for value in mean)
    return f"{middle:.1f} {_interval(low, high)}" if middle > 0 else f"none found (upper end {high:+.1f})"


def _print(report: dict[str, Any]) -> None:
    table = Table("contender", "smallest style", "held-out styles", "smallest past", "exploiter - 50", "Nash mass")
    for name, found in report["contenders"].items():
        mass = report["cross"]["mass_of"]
        table.add_row(
            name,
            percent(found["smallest_style"]),
            percent(found["held_out"]),
            percent(found["smallest_past"]),
            exploitability(found["exploiter"]),
            "-" if mass is None else f"{mass[name]:.2f}",
        )
    console = Console(width=160)
    console.print(table)
    for one in report["cross"]["between"]:
        console.print(f"{one['of']} against {one['against']}: {percent(one['points'])}", highlight=False)
