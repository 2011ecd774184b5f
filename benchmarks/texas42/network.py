"""`ludory bench texas42-network`: make labels, train a network on them, and score it beside random and greedy play.

Labels, checkpoints and result lie in one folder; the command goes on where an earlier one stopped. Seconds are those of all commands that
ended by themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from rich.console import Console

from ludory.algorithms.running.interrupt import SIGNALS, exit_code, raise_interrupt
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.algorithms.texas42.oracle import Texas42Oracle
from ludory.algorithms.texas42.oracle.data import OracleData, read_split
from ludory.algorithms.texas42.oracle.report import tally_tables
from ludory.algorithms.texas42.oracle.tally import as_json, score_network
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.result_file import write_result
from ludory.data.formats.texas42.labels import SEEDS
from ludory.errors import OptionError, OutputError


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
"""By name: a look at all steps; an hour on two cores; a GPU with some 16 cores beside it."""


def run(argv: list[str]) -> int:
    """Label, train, score, write; returns the exit code."""
    arguments = _parser().parse_args(argv)
    recipe = RECIPES[arguments.recipe]
    if arguments.processes < 1:
        raise OptionError(f"--processes {arguments.processes}: must be at least 1")
    started_from = origin()
    folder = arguments.out or Path("runs") / f"texas42-network-{arguments.recipe}"
    labels = folder / "labels"
    target = arguments.result or folder / f"texas42-network-{arguments.recipe}.json"
    seconds = {"labels": _timed(lambda: _make_labels(labels, recipe.deals, arguments.processes))}
    model = _model(folder / "network.ludory", labels, recipe, arguments.seed)
    interrupted, seconds["training"] = 0, 0.0
    if not model.finished:
        begun = perf_counter()
        interrupted = train_to_file(
            model, model.planned_timesteps, folder / "network.ludory", minutes=arguments.minutes, progress_bar=True
        )
        seconds["training"] = perf_counter() - begun
    validation: OracleData = read_split(labels, "val", 1, 0)
    counted = score_network(model.policy, validation)
    before = json.loads(target.read_text()) if target.exists() else {}
    report = {
        "benchmark": "texas42-network",
        "recipe": arguments.recipe,
        "deals": recipe.deals,
        "policy": recipe.policy,
        "settings": recipe.settings,
        "seed": arguments.seed,
        "parameters": model.policy.num_parameters,
        "finished": model.finished,
        "samples": model.num_timesteps,
        "processes": arguments.processes,
        "seconds": {name: value + before.get("seconds", {}).get(name, 0) for name, value in seconds.items()},
        "validation": as_json(counted),
        **started_from,
    }
    write_result(target, report)
    title = f"{arguments.recipe}: {model.policy.num_parameters:,} numbers, {model.num_timesteps:,} samples; every decision counts the same"
    Console(markup=False, highlight=False).print(tally_tables(title, counted))
    state = "finished" if model.finished else "not finished, the same command goes on"
    print(f"{state}: network in {folder / 'network.ludory'}, result in {target}")
    return exit_code(interrupted) if interrupted else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ludory bench texas42-network", description=__doc__)
    parser.add_argument(
        "recipe", choices=tuple(RECIPES), help="minute: a look; hour: two cores; gpu: a GPU and 16 cores"
    )
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="that make labels (default: the number of cores)"
    )
    parser.add_argument(
        "--minutes", type=float, help="of training, at most; the same command goes on (default: all epochs)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of weights and order (default 1)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of labels and network (default runs/texas42-network-RECIPE)"
    )
    parser.add_argument("--result", type=Path, metavar="FILE", help="default: DIR/texas42-network-RECIPE.json")
    return parser


def _timed(work: Any) -> float:
    begun = perf_counter()
    work()
    return perf_counter() - begun


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
