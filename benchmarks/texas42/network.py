"""Make labels, train a network on them, and score it beside random and greedy play.

Labels, checkpoints and result lie in one folder; the command goes on where an earlier one stopped. Seconds are the sum over all
commands that were not killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, NamedTuple

from ludory.algorithms.running.interrupt import SIGNALS, exit_code, raise_interrupt
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.algorithms.texas42.oracle import Texas42Oracle
from ludory.algorithms.texas42.oracle.data import OracleData, read_split
from ludory.algorithms.texas42.oracle.tally import as_json, score_network, tally_tables
from ludory.arguments import Positional
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count
from ludory.benchmarks.harness.terminal import Shown
from ludory.data.formats.texas42.labels import SEEDS
from ludory.errors import OutputError


class Recipe(NamedTuple):
    """How much data, which network, how long."""

    deals: int
    """Seeds 0, 1, ...; nine of ten for training, about 34 labels each."""
    policy: str
    settings: dict[str, Any]


RECIPES = {
    "minute": Recipe(
        1000,
        "domino(width=48, num_layers=1, num_heads=4, feedforward=96)",
        {"num_epochs": 2, "batch_size": 256, "learning_rate": 2e-3},
    ),
    "hour": Recipe(
        30_000,
        "domino(width=64, num_layers=3, num_heads=4, feedforward=128, dropout=0.0)",
        {"num_epochs": 4, "batch_size": 512, "learning_rate": 1.5e-3},
    ),
    "gpu": Recipe(
        400_000,
        "domino(width=256, num_layers=6, num_heads=8, feedforward=512, dropout=0.0)",
        {"num_epochs": 20, "batch_size": 4096, "learning_rate": 1e-3, "device": "cuda", "precision": "bf16"},
    ),
}
"""By name: a quick run of all steps; an hour on two cores; a GPU and about 16 cores."""


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """Options of `ludory bench texas42-network`."""

    recipe: Positional[Literal["minute", "hour", "gpu"]]
    """minute: a look; hour: two cores; gpu: a GPU and 16 cores."""
    processes: Count = os.cpu_count() or 1
    """Processes that make labels."""
    minutes: float | None = None
    """Of training, at most; the same command goes on; none: all epochs."""
    seed: int = 1
    """Of weights and order."""
    out: Path | None = None
    """Folder of labels and network; none: runs/texas42-network-RECIPE."""
    result: Path | None = None
    """JSON file; none: texas42-network-RECIPE.json in the folder."""


@benchmark("texas42-network")
def run(options: NetworkOptions) -> Result:
    """Label, train, score."""
    recipe, begun = RECIPES[options.recipe], perf_counter()
    folder = options.out or Path("runs") / f"texas42-network-{options.recipe}"
    labels, file = folder / "labels", folder / "network.ludory"
    target = options.result or folder / f"texas42-network-{options.recipe}.json"
    _make_labels(labels, recipe.deals, options.processes)
    seconds = {"labels": perf_counter() - begun, "training": 0.0}
    model, interrupted = _model(file, labels, recipe, options.seed), 0
    if not model.finished:
        begun = perf_counter()
        interrupted = train_to_file(model, model.planned_timesteps, file, minutes=options.minutes, progress_bar=True)
        seconds["training"] = perf_counter() - begun
    validation: OracleData = read_split(labels, "val", 1, 0)
    counted = score_network(model.policy, validation)
    before = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    report = {
        "recipe": options.recipe,
        "deals": recipe.deals,
        "policy": recipe.policy,
        "settings": recipe.settings,
        "seed": options.seed,
        "parameters": model.policy.num_parameters,
        "finished": model.finished,
        "samples": model.num_timesteps,
        "processes": options.processes,
        "seconds": {name: value + before.get("seconds", {}).get(name, 0) for name, value in seconds.items()},
        "validation": as_json(counted),
    }

    def shown(report: Mapping[str, Any]) -> Iterator[Shown]:
        size = f"{report['parameters']:,} parameters, {report['samples']:,} samples"
        yield tally_tables(f"{report['recipe']}: {size}; every decision has the same weight", counted)
        state = "finished" if report["finished"] else "not finished, the same command goes on"
        yield f"{state}: network in {file}"

    return Result(target, report, shown, interrupted=interrupted)


def _make_labels(folder: Path, deals: int, processes: int) -> None:
    """All labels; processes take files from each other's hands until none is missing.

    Raises:
        OutputError: one of them failed.
    """
    if len(list(folder.glob("*/labels_*.parquet"))) == -(-deals // SEEDS):
        return
    command = [
        sys.executable,
        "-m",
        "ludory.cli",
        "texas42",
        "labels",
        "--out",
        str(folder),
        "--seeds",
        f"0-{deals - 1}",
    ]
    alone = {**os.environ, "LUDORY_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    count = min(processes, -(-deals // SEEDS))
    running = [subprocess.Popen(command, env=alone, stdout=subprocess.DEVNULL) for _ in range(count)]
    try:
        codes = [process.wait() for process in running]
    finally:
        for process in running:
            process.terminate()
    if stopped := [code for code in codes if code in map(exit_code, SIGNALS)]:
        raise_interrupt(stopped[0] - exit_code(0))
    if any(codes):
        raise OutputError(
            f"labels could not be made, exit codes {codes}; what stands above says why; the same command goes on"
        )


def _model(file: Path, labels: Path, recipe: Recipe, seed: int) -> Texas42Oracle:
    """The model of an earlier command, or a new one."""
    if file.exists():
        found: Texas42Oracle = Texas42Oracle.load(file, dataset=str(labels))
        return found
    return Texas42Oracle(recipe.policy, dataset=str(labels), seed=seed, **recipe.settings)
