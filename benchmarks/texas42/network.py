"""Train a network on new deals, and score it on others beside random and greedy play.

Checkpoint and result lie in one folder; the command goes on where an earlier one stopped. Seconds are the sum over all commands that
were not killed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Literal, NamedTuple

from ludory.algorithms.running.train_to_file import train_to_file
from ludory.algorithms.texas42.oracle import Texas42Oracle
from ludory.algorithms.texas42.oracle.fresh import unseen_states
from ludory.algorithms.texas42.oracle.tally import as_json, score_network, tally_tables
from ludory.arguments import Positional
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.terminal import Shown


class Recipe(NamedTuple):
    """Which network, how long, and how many deals its scores are of."""

    policy: str
    settings: dict[str, Any]
    deals: int = 2000


RECIPES = {
    "minute": Recipe(
        "domino_mlp(hidden=(256, 256))",
        {"num_epochs": 3, "fresh_states": 100_000, "batch_size": 256, "learning_rate": 2e-3},
        200,
    ),
    "hour": Recipe(
        "domino_mlp(hidden=(512, 512, 512))",
        {"num_epochs": 30, "fresh_states": 500_000, "batch_size": 512, "learning_rate": 3e-3},
    ),
    "gpu": Recipe(
        "domino_mlp(hidden=(2048, 2048, 2048))",
        {
            "num_epochs": 200,
            "fresh_states": 1_000_000,
            "batch_size": 8192,
            "learning_rate": 1e-3,
            "device": "cuda",
            "precision": "bf16",
        },
    ),
}
"""By name: a quick run of all steps; an hour or more of one core; a GPU and about 16 cores."""


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """Options of `ludory bench texas42-network`."""

    recipe: Positional[Literal["minute", "hour", "gpu"]]
    """minute: a look; hour: one core; gpu: a GPU and 16 cores."""
    minutes: float | None = None
    """Of training, at most; the same command goes on; none: all epochs."""
    seed: int = 1
    """Of weights and deals."""
    out: Path | None = None
    """Folder of the network; none: runs/texas42-network-RECIPE."""
    result: Path | None = None
    """JSON file; none: texas42-network-RECIPE.json in the folder."""


@benchmark("texas42-network")
def run(options: NetworkOptions) -> Result:
    """Train, score."""
    recipe = RECIPES[options.recipe]
    folder = options.out or Path("runs") / f"texas42-network-{options.recipe}"
    file = folder / "network.ludory"
    target = options.result or folder / f"texas42-network-{options.recipe}.json"
    model, interrupted, seconds, cpu_seconds = _model(file, recipe, options.seed), 0, 0.0, 0.0
    if not model.finished:
        begun, cpu_begun = perf_counter(), process_time()
        interrupted = train_to_file(model, model.planned_timesteps, file, minutes=options.minutes, progress_bar=True)
        seconds, cpu_seconds = perf_counter() - begun, process_time() - cpu_begun
    counted = score_network(model.policy, unseen_states(recipe.deals, options.seed))
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
        "seconds": seconds + before.get("seconds", 0),
        "cpu_seconds": cpu_seconds + before.get("cpu_seconds", 0),
        "validation": as_json(counted),
    }

    def shown(report: Mapping[str, Any]) -> Iterator[Shown]:
        size = f"{report['parameters']:,} parameters, {report['samples']:,} samples"
        yield tally_tables(f"{report['recipe']}: {size}; every decision has the same weight", counted)
        state = "finished" if report["finished"] else "not finished, the same command goes on"
        yield f"{state}: network in {file}"

    return Result(target, report, shown, interrupted=interrupted)


def _model(file: Path, recipe: Recipe, seed: int) -> Texas42Oracle:
    """The model of an earlier command, or a new one."""
    if file.exists():
        return Texas42Oracle.load(file)
    return Texas42Oracle(recipe.policy, seed=seed, **recipe.settings)
