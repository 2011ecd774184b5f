"""What Ray costs beside one process at equal cores: a job on a cluster of one core and in this process with one thread, in turns.

A pair is the same job in both places, with the order exchanged in every other pair. CPU seconds are those of this process and of all
processes of the cluster; on a machine with other work they say more than wall seconds. A first pair, which compiles, is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import psutil

from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.evaluation.record import record
from ludory.algorithms.make import make_algorithm
from ludory.algorithms.ppo.ppo import WORTH_LOADING
from ludory.algorithms.running.threads import one_thread
from ludory.benchmarks.harness.benchmark import Report, Result, benchmark
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.cluster.placement import PlacedOn
from ludory.cluster.workers import Workers, one_thread_each
from ludory.limits import PositiveFloat, PositiveInt

Job = Callable[[Workers | None], Any]


@dataclass(frozen=True)
class OverheadOptions:
    """Jobs that are measured in both places."""

    pairs: PositiveInt = 5
    """Pairs of each job."""
    amount: PositiveFloat = 1.0
    """Length of the jobs; 1: about four CPU seconds each."""
    out: Path | None = None
    """File of the result."""


@benchmark("ray-overhead")
def run(options: OverheadOptions) -> Result:
    """Run the jobs in turns, and compare."""
    one_thread_each()
    with PlacedOn(ray=True, cores=1).open() as workers:
        assert workers is not None
        jobs = {name: _compared(job, workers, options.pairs) for name, job in jobs_of(options.amount).items()}
    return Result(options.out, {"pairs": options.pairs, "amount": options.amount, "jobs": jobs}, _shown)


def jobs_of(amount: float) -> dict[str, Job]:
    """Jobs by name; each takes workers, or None for this process."""
    blocks, games, steps = (max(1, round(number * amount)) for number in (55, 120, 60_000))
    models: dict[bool, Any] = {}

    def evaluated(workers: Workers | None) -> None:
        evaluate(["hanabi/smartbot"], "Hanabi2P-v0", 1000 * blocks, seed=1, batch=1000, workers=workers)

    def searched(workers: Workers | None) -> None:
        with TemporaryDirectory() as folder:
            spec = "sparta(hanabi/iggi, rollouts=4000)"
            record(spec, "HanabiTiny2P-v0", games, folder, seed=1, shard_games=10, workers=workers)

    def trained(workers: Workers | None) -> None:
        """The same run goes on in every call, so that starting its worker is not counted."""
        model = models.get(workers is None)
        if model is None:
            model = models[workers is None] = make_algorithm("ppo", "Hanabi2P-v0", num_envs=256, n_steps=64, seed=1)
            model.num_timesteps = WORTH_LOADING  # the code of long runs
            if workers is not None:
                model.sample_at(workers, 1)
        with one_thread():
            model.learn(steps, reset_num_timesteps=False)

    return {
        "eval, blocks of 1,000 games": evaluated,
        "record of a search, single games": searched,
        "train ppo, one sampler": trained,
    }


def _compared(job: Job, workers: Workers, pairs: int) -> dict[str, Any]:
    """Seconds of the job in both places, and the median of the ratios of the pairs."""
    found: dict[str, list[tuple[float, float]]] = {"here": [], "ray": []}
    for pair in range(pairs + 1):
        places = [("here", None), ("ray", workers)]
        for name, where in places if pair % 2 else reversed(places):
            wall, processor = perf_counter(), _processor_seconds()
            job(where)
            found[name].append((perf_counter() - wall, _processor_seconds() - processor))
    here, there = (rows[1:] for rows in found.values())
    return {
        "wall_here": [wall for wall, _ in here],
        "wall_ray": [wall for wall, _ in there],
        "cpu_here": [processor for _, processor in here],
        "cpu_ray": [processor for _, processor in there],
        "wall_ratio": median(b[0] / a[0] for a, b in zip(here, there, strict=True)),
        "cpu_ratio": median(b[1] / a[1] for a, b in zip(here, there, strict=True)),
    }


def _processor_seconds() -> float:
    """Of this process and of all that it started and that still run."""
    me, total = psutil.Process(), 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def _shown(report: Report) -> Iterable[Shown]:
    rows = [
        (
            name,
            f"{median(job['cpu_here']):.2f}",
            f"{median(job['cpu_ray']):.2f}",
            f"{100 * (job['cpu_ratio'] - 1):+.0f} %",
            f"{median(job['wall_here']):.2f}",
            f"{median(job['wall_ray']):.2f}",
            f"{100 * (job['wall_ratio'] - 1):+.0f} %",
        )
        for name, job in report["jobs"].items()
    ]
    title = f"one core on Ray beside one process, medians of {report['pairs']} pairs"
    columns = ("job", "CPU s here", "CPU s on Ray", "more CPU", "wall s here", "wall s on Ray", "more wall")
    yield table(title, columns, rows)
