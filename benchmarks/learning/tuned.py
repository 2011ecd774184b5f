"""Train with the tuned settings of `ludory train`, over several seeds, and compare the scores with the stated baselines.

Every row states its baseline and the CPU-minutes of one core in which it must be done. A row holds if the agent leads its baseline by more
than 3 standard errors over the seeds, within that time; compiling the game's kernels is not counted. Rows that are known already are kept in
the folder, so that the same command goes on after a stop; `--write` copies the scores into the files of tuned settings.

`--precisions float32 bf16` trains each row in both, and says how far apart they end.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ludory.agents.evaluation.beside import score_beside_baseline
from ludory.algorithms.running.threads import one_thread
from ludory.algorithms.tuned import settings as tuned_files
from ludory.algorithms.tuned.plan import train
from ludory.algorithms.tuned.settings import MeasuredScore, TunedSettings, tuned_algorithms, tuned_games, tuned_json
from ludory.atomic import atomic_file
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.options import Count, Natural
from ludory.benchmarks.harness.parts import kept_lines
from ludory.errors import OptionError

ABOUT = ("cpu_minutes", "sweep", "reached")
"""Fields of tuned settings that do not change a training."""
COMPILING = 1000
"""Timesteps before the clock starts, in which the game's kernels are compiled."""


@dataclass(frozen=True, slots=True)
class TunedOptions:
    """Options of `ludory bench tuned`."""

    algorithms: tuple[str, ...] = ()
    """Which, e.g. ppo vtrace; none: all with tuned settings."""
    games: tuple[str, ...] = ()
    """Ids of games; none: all with tuned settings."""
    seeds: tuple[Natural, ...] = (1, 2, 3)
    """Of the trainings."""
    evaluation_games: Count = 2000
    """Games of each evaluation."""
    evaluation_seed: Natural = 1_000_003
    """Seed of these games, unlike the trainings'."""
    precisions: tuple[Literal["float32", "bf16"], ...] = ()
    """Of the learner, to compare; none: as tuned."""
    policy: str = "auto"
    """Network instead of the tuned one."""
    write: bool = False
    """Write the scores into the files of tuned settings."""
    out: Path = Path("runs/tuned")
    """Folder for trainings that are done, and the result."""


@benchmark("tuned", resumes=True)
def run(options: TunedOptions) -> Result:
    """Train and score what is not known yet."""
    rows = chosen_rows(options)
    if options.write and (options.precisions or options.policy != "auto"):
        raise OptionError("--write keeps what the tuned settings reach; leave out --precisions and --policy")
    with kept_lines(options.out / "runs.jsonl", "ludory bench tuned") as (kept, keep):
        known = {_key(line): line for line in kept}
        for algorithm, entry, changes in rows:
            for seed in options.seeds:
                asked = _asked(algorithm, entry, changes, seed, options)
                if _key(asked) not in known:
                    line = asked | _trained(algorithm, entry, changes, seed, options)
                    keep(line)
                    known[_key(line)] = line
    report = [
        _row(
            algorithm, entry, [known[_key(_asked(algorithm, entry, changes, seed, options))] for seed in options.seeds]
        )
        | changes
        for algorithm, entry, changes in rows
    ]
    if options.write:
        _write_scores(report, options)
    return Result(
        options.out / ("precision.json" if options.precisions else "tuned.json"),
        {"seeds": list(options.seeds), "rows": report},
        _shown,
    )


def chosen_rows(options: TunedOptions) -> list[tuple[str, TunedSettings, dict[str, Any]]]:
    """Algorithms, entries and changes of their settings to measure.

    Raises:
        OptionError: there are none.
    """
    rows = [
        (algorithm, entry)
        for algorithm in options.algorithms or tuned_algorithms()
        for entry in tuned_games(algorithm).values()
        if not options.games or entry.game in options.games
    ]
    if not rows:
        there = ", ".join(f"{name} {game}" for name in tuned_algorithms() for game in tuned_games(name))
        raise OptionError(f"no tuned settings for {options.algorithms} {options.games}; there are: {there}")
    policy: dict[str, Any] = {} if options.policy == "auto" else {"policy": options.policy}
    changes = [policy | {"precision": one} for one in options.precisions] or [policy]
    return [(algorithm, entry, change) for algorithm, entry in rows for change in changes]


def _asked(
    algorithm: str, entry: TunedSettings, changes: Mapping[str, Any], seed: int, options: TunedOptions
) -> dict[str, Any]:
    """What makes a training another one."""
    settings = dataclasses.asdict(dataclasses.replace(entry, stages=()))
    settings = {name: value for name, value in settings.items() if name not in ABOUT}
    settings["stages"] = [stage._asdict() for stage in entry.stages]
    played = {"games": options.evaluation_games, "evaluation_seed": options.evaluation_seed}
    return {"algorithm": algorithm, "settings": settings, "seed": seed, **played, **changes}


def _key(line: Mapping[str, Any]) -> str:
    """Of a training, whether it was just asked for or read from the file."""
    names = ("algorithm", "seed", "games", "evaluation_seed", "policy", "precision")
    asked = {name: line[name] for name in names if name in line}
    settings = {name: value for name, value in line["settings"].items() if name not in ABOUT}
    return json.dumps(asked | {"settings": settings}, sort_keys=True)


def _trained(
    algorithm: str, entry: TunedSettings, changes: Mapping[str, Any], seed: int, options: TunedOptions
) -> dict[str, Any]:
    with one_thread():
        train(algorithm, entry.game, COMPILING, seed=seed, **changes)
        started = time.process_time()
        model = train(algorithm, entry.game, seed=seed, **changes)
        minutes = (time.process_time() - started) / 60
        found = score_beside_baseline(
            model.as_agent(), entry.baseline, model.game, options.evaluation_games, options.evaluation_seed
        )
    words = " ".join([algorithm, entry.game, *changes.values()])
    print(f"{words} seed {seed}: {found.agent.mean:.3f}, {minutes:.2f} CPU-minutes", flush=True)
    return {
        "cpu_minutes": minutes,
        "agent": [found.agent.mean, found.agent.stderr],
        "baseline": [found.baseline.mean, found.baseline.stderr],
        "lead": [found.lead.mean, found.lead.stderr],
    }


def _row(algorithm: str, entry: TunedSettings, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds. The standard error of the lead is that over seeds, or over games where it is larger or there is one seed."""
    leads = np.array([line["lead"][0] for line in lines])
    within = float(np.sqrt(np.sum([line["lead"][1] ** 2 for line in lines]))) / len(lines)
    between = float(leads.std(ddof=1) / np.sqrt(len(leads))) if len(leads) > 1 else 0.0
    stderr, minutes = max(within, between), max(line["cpu_minutes"] for line in lines)
    lead = float(leads.mean())
    return {
        "algorithm": algorithm,
        "game": entry.game,
        "baseline": entry.baseline,
        "scores": [line["agent"][0] for line in lines],
        "score_stderrs": [line["agent"][1] for line in lines],
        "baseline_score": [
            float(np.mean(column)) for column in zip(*(line["baseline"] for line in lines), strict=True)
        ],
        "games": lines[0]["games"],
        "seeds": [line["seed"] for line in lines],
        "lead": lead,
        "lead_stderr": stderr,
        "cpu_minutes": minutes,
        "stated_minutes": entry.cpu_minutes,
        "holds": bool(lead > 3 * stderr and minutes <= entry.cpu_minutes),
    }


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    for row in report["rows"]:
        baseline, error = row["baseline_score"]
        ahead = row["lead"] / row["lead_stderr"] if row["lead_stderr"] else float("inf")
        changes = "".join(f"{row[name]:8} " for name in ("policy", "precision") if name in row)
        yield (
            f"{row['algorithm']:7} {row['game']:20} {changes}{np.mean(row['scores']):8.3f}  {row['baseline']} {baseline:.3f} ± {error:.3f}  "
            f"ahead {row['lead']:+.3f} ± {row['lead_stderr']:.3f} ({ahead:.1f} s.e.)  "
            f"{row['cpu_minutes']:.2f} of {row['stated_minutes']:g} CPU-minutes  {'holds' if row['holds'] else 'DOES NOT HOLD'}"
        )
    yield f"{sum(row['holds'] for row in report['rows'])} of {len(report['rows'])} rows hold"
    for one, other in pairwise(report["rows"]):
        if (one["algorithm"], one["game"]) == (other["algorithm"], other["game"]):
            apart, stderr = _apart(one["scores"], other["scores"])
            yield (
                f"{one['algorithm']:7} {one['game']:20} {other['precision']} - {one['precision']}: {apart:+.3f} ± {stderr:.3f} over seeds"
            )


def _apart(scores: list[float], others: list[float]) -> tuple[float, float]:
    """How far the mean of `others` lies above that of `scores`, and the standard error over seeds."""
    variances = [np.var(group, ddof=1) / len(group) if len(group) > 1 else np.nan for group in (scores, others)]
    return float(np.mean(others) - np.mean(scores)), float(np.sqrt(sum(variances)))


def _write_scores(rows: list[dict[str, Any]], options: TunedOptions) -> None:
    """Keep the scores in the files of tuned settings."""
    found = origin()
    for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
        entries = dict(tuned_games(algorithm))
        for row in (row for row in rows if row["algorithm"] == algorithm):
            count = len(row["scores"])
            between = float(np.std(row["scores"], ddof=1) / np.sqrt(count)) if count > 1 else row["score_stderrs"][0]
            reached = MeasuredScore(
                round(float(np.mean(row["scores"])), 4),
                round(between, 4),
                round(row["baseline_score"][0], 4),
                round(row["baseline_score"][1], 4),
                games=row["games"],
                seeds=tuple(row["seeds"]),
                cpu_minutes=round(row["cpu_minutes"], 3),
                machine=found["machine"]["name"],
                commit=found["commit"],
            )
            entries[row["game"]] = dataclasses.replace(entries[row["game"]], reached=reached)
        with atomic_file(Path(tuned_files.__file__).with_name(f"{algorithm}.json"), "w") as handle:
            handle.write(tuned_json(entries))
