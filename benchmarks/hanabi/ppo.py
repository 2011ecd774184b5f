"""Train PPO on a Hanabi for a given time, seed by seed, and compare its score with that of a rule bot on the same decks.

Where a bomb costs all points, nearly every game of a beginner is worth 0 and there is nothing to learn from. So training starts with
the game in which a bomb keeps the points and ends with the real one; all scores are those of the real one. Time is CPU time of the
training; the command goes on where an earlier one stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ludory.agents.evaluation.evaluate import evaluate
from ludory.algorithms.ppo import PPO
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural, Seconds
from ludory.benchmarks.harness.parts import check_setting
from ludory.charts.axes import linear_axis
from ludory.charts.curves import Plot, Point, Series, interval_plot
from ludory.envs.make import make_game
from ludory.errors import OptionError

from .score import score_beside, score_lines
from .timed_stage import CurveFile, Points, train_stage

SETTINGS: dict[str, Any] = {
    "num_envs": 1024,
    "n_steps": 32,
    "batch_size": 4096,
    "n_epochs": 2,
    "hidden": (256, 256),
    "gamma": 0.999,
    "learning_rate": 1e-3,
    "final_learning_rate": 2e-4,
    "ent_coef": 0.02,
    "final_ent_coef": 0.002,
}
CUDA_SETTINGS: dict[str, Any] = SETTINGS | {
    "num_envs": 8192,
    "n_steps": 64,
    "batch_size": 65536,
    "gae_lambda": 0.9,
    "precision": "bf16",
}
POLICIES = {"cpu": "mlp", "cuda": "gru(hidden=(512,), memory_size=512)"}
"""By device: a network with memory is too slow on a CPU."""
FINE = {"learning_rate": 3e-4}
"""Changes of the last stage."""
RIVAL = "hanabi/iggi"
_TIME = {"cpu": "CPU time of the training", "cuda": "time of the training on the clock"}
"""What is counted, by device."""
_FILES = ("init_from", "teacher")
"""Settings that name a file of one machine."""
PUBLISHED = {"Hanabi2P-v0": (("IPPO [2103.01955]", 24.00), ("IPPO, RNN [2511.22581]", 24.48))}
"""What others report of learning without search after 1e10 steps, with arXiv numbers; drawn into the chart."""
CURVE_DECKS = 5_000_011
"""Seed of the decks of curves, unlike those of the last evaluation."""


@dataclass(frozen=True, slots=True)
class HanabiPPOOptions:
    """Options of `ludory bench hanabi-ppo`."""

    game: str = "Hanabi2P-v0"
    """Id of a Hanabi."""
    observation: str = "tactical"
    """What a seat sees; "tactical" has hand-made features, "card_knowledge" is the canonical observation."""
    minutes: Seconds = 30.0
    """Of training in all, per seed: CPU time of all threads; on CUDA, time on the clock."""
    warmup: float = 0.5
    """Share of it on the game in which a bomb keeps the points."""
    seeds: tuple[Natural, ...] = (1,)
    """Of the trainings."""
    symmetry: bool = False
    """Learn from every minibatch under a random permutation of the colours."""
    init_from: Path | None = None
    """Checkpoint to start from, such as a clone of a bot; none: from scratch."""
    teacher: Path | None = None
    """Checkpoint to stay close to in the first stage, of any network; none: that of --init-from."""
    kl_coef: float = 0.0
    """Weight of the KL to the teacher at the start; it goes to 0 within the first stage."""
    learning_rate: float | None = None
    """At the start of every stage but the last; none: that of training from scratch, which soon undoes what a clone has learnt."""
    final_learning_rate: float | None = None
    """At the end of the last stage; none: 2e-4, which is better for a short training."""
    ent_coef: float | None = None
    """Weight of the entropy at the start of every stage; none: that of training from scratch."""
    n_epochs: Count | None = None
    """Passes over the decisions of an iteration; none: that of training from scratch, 2. One leaves time for 1.6 times as many decisions, which helps a good network, not a new one."""
    num_envs: Count | None = None
    """Games side by side; none: 1,024, or 8,192 on CUDA."""
    batch_size: Count | None = None
    """Decisions of a minibatch; none: 4,096, or 65,536 on CUDA."""
    precision: Literal["32", "bf16"] | None = None
    """Of the network's matrix products; none: float32 on a CPU, bfloat16 on CUDA."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where games and network live."""
    policy: str | None = None
    """Network, e.g. 'gru(memory_size=128)'; none: mlp on a CPU, a GRU on CUDA."""
    games: Count = 2000
    """Of the evaluation."""
    decks: Natural = 1_000_003
    """Seed of the evaluation's decks, unlike the training's."""
    points: Count = 20
    """Points of the curve."""
    point_games: Count = 500
    """Games of a point of the curve."""
    out: Path = Path("runs/hanabi-ppo")
    """Folder for agents, curves and results."""

    @property
    def name(self) -> str:
        """Of the files."""
        return f"{self.game}-{self.observation}"


class Stage(NamedTuple):
    """A part of the training; `share` of its time."""

    name: str
    rules: dict[str, str]
    share: float
    changes: dict[str, Any]


def stages(options: HanabiPPOOptions) -> list[Stage]:
    """The stages that take time. The first one stays close to a teacher, if it is told to.

    Raises:
        OptionError: a teacher without a weight, or a weight without a teacher.
    """
    rest = 1 - options.warmup
    every = [
        Stage("keep", {"bomb": "keep"}, options.warmup, {}),
        Stage("zero", {}, 0.6 * rest, {}),
        Stage("fine", {}, 0.4 * rest, FINE),
    ]
    found = [stage for stage in every if stage.share > 0]
    if options.final_learning_rate is not None:
        found[-1] = found[-1]._replace(changes=found[-1].changes | {"final_learning_rate": options.final_learning_rate})
    start: dict[str, Any] = {} if options.init_from is None else {"init_from": str(options.init_from)}
    teacher = options.teacher or options.init_from
    if options.kl_coef:
        if teacher is None:
            raise OptionError(f"--kl-coef {options.kl_coef:g}: name the --teacher to stay close to")
        start |= {"teacher": str(teacher), "kl_coef": options.kl_coef, "final_kl_coef": 0.0}
    elif options.teacher is not None:
        raise OptionError("--teacher: say how close to stay to it, such as --kl-coef 1")
    found[0] = found[0]._replace(changes=found[0].changes | start)
    return found


@benchmark("hanabi-ppo", resumes=True)
def run(options: HanabiPPOOptions) -> list[Result]:
    """Train and evaluate every seed."""
    reports = [_seed(options, seed) for seed in options.seeds]
    results = [
        Result(options.out / f"hanabi-ppo-{options.name}-seed{report['seed']}.json", report, _shown)
        for report in reports
    ]
    curves = {
        "game": options.game,
        "observation": options.observation,
        "minutes": options.minutes,
        "device": options.device,
        "init_from": options.init_from.name if options.init_from else None,
        "teacher": options.teacher.name if options.teacher else None,
        "symmetry": options.symmetry,
        "seeds": list(options.seeds),
        "convention": f"a bomb scores 0; greedy moves; one agent in all seats; minutes are {_TIME[options.device]}",
        "curves": [report["curve"] for report in reports],
    }
    return [*results, Result(options.out / f"hanabi-ppo-curves-{options.name}.json", curves, _curve_lines, chart)]


def _seed(options: HanabiPPOOptions, seed: int) -> dict[str, Any]:
    """The report of one seed."""
    start = options.out / f"{options.name}-seed{seed}"
    plan, settings = stages(options), CUDA_SETTINGS if options.device == "cuda" else SETTINGS
    settings = settings | ({"symmetry_augmentation": True} if options.symmetry else {})
    named = ("learning_rate", "ent_coef", "n_epochs", "num_envs", "batch_size", "precision")
    settings = settings | {name: value for name in named if (value := getattr(options, name)) is not None}
    policy = options.policy or POLICIES[options.device]
    told = {"stages": [stage._asdict() for stage in plan], "settings": settings, "policy": policy}
    check_setting(start.with_name(f"{start.name}-setting.json"), told | {"minutes": options.minutes})
    curve, total = CurveFile(start.with_name(f"{start.name}-curve.json")), 60 * options.minutes
    before: Path | None = None
    model = None
    for stage in plan:
        file = start.with_name(f"{start.name}-{stage.name}.ludory")
        inputs = {} if before is None else {"init_from": str(before)}
        game = make_game(options.game, observation=options.observation, **stage.rules)
        more = {**settings, **stage.changes, **inputs, "seed": seed, "device": options.device}
        make = partial(PPO, policy, game, **more)
        model = train_stage(
            make, stage.name, file, total * stage.share, total / options.points, curve, partial(_score, options)
        )
        before = file
    assert model is not None
    print(f"agent in {before}")
    seen = {"observation": options.observation}
    score = score_beside(model.as_agent(), RIVAL, options.game, options.games, options.decks, **seen)
    done = [curve.of(stage.name)[-1] for stage in plan]
    parts = [
        {
            "stage": stage.name,
            "timesteps": end["timesteps"],
            "minutes": round(end["seconds"] / 60, 2),
            "timesteps_per_second": round(end["timesteps"] / end["seconds"]),
            "options": stage.rules | seen,
            "policy": policy,
            "settings": {name: value for name, value in (settings | stage.changes).items() if name not in _FILES},
        }
        for stage, end in zip(plan, done, strict=True)
    ]
    return {
        "game": options.game,
        "observation": options.observation,
        "device": options.device,
        "init_from": options.init_from.name if options.init_from else None,
        "teacher": options.teacher.name if options.teacher else None,
        "seed": seed,
        "stages": parts,
        "curve": _joined(curve.points, [stage.name for stage in plan]),
        "evaluation": score,
    }


def _score(options: HanabiPPOOptions, model: PPO) -> dict[str, float]:
    """Score of a point of the curve."""
    found = evaluate(
        [model.as_agent()], options.game, options.point_games, seed=CURVE_DECKS, observation=options.observation
    )
    return {"mean": round(float(found.mean), 4), "stderr": round(float(found.stderr), 4)}


def _joined(points: Points, names: Sequence[str]) -> list[dict[str, Any]]:
    """Points with a score, over decisions and minutes of all stages together."""
    ends = [next(point for point in reversed(points) if point["stage"] == name) for name in names]
    offsets = {
        unit: dict(zip(names, (0, *accumulate(end[unit] for end in ends)), strict=False))
        for unit in ("timesteps", "seconds")
    }
    return [
        {
            "stage": point["stage"],
            "decisions": offsets["timesteps"][point["stage"]] + point["timesteps"],
            "minutes": round((offsets["seconds"][point["stage"]] + point["seconds"]) / 60, 2),
            "mean": point["mean"],
            "stderr": point["stderr"],
        }
        for point in points
        if "mean" in point
    ]


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    for one in report["stages"]:
        speed = f"{one['timesteps_per_second']:,}/s"
        yield f"{one['stage']}: {one['timesteps']:,} steps in {one['minutes']} min, {speed}"
    yield from score_lines(report["evaluation"], RIVAL)


def _curve_lines(report: Mapping[str, Any]) -> Iterator[str]:
    for seed, curve in zip(report["seeds"], report["curves"], strict=True):
        told = ", ".join(f"{point['minutes']:g} min {point['mean']:.2f}" for point in curve)
        yield f"seed {seed}: {told}"


def chart(report: Mapping[str, Any]) -> str:
    """Scores over decisions and over minutes, a line for each seed."""
    every = [point for curve in report["curves"] for point in curve]
    published = PUBLISHED.get(report["game"], ())
    highest = max([25.0, *(point["mean"] for point in every)])
    upwards = linear_axis("score", max(0.0, min(point["mean"] for point in every) // 1 - 1), highest, 6)
    plots = []
    for name, title, unit in (
        ("decisions", "decisions (millions)", 1e6),
        ("minutes", f"minutes, {_TIME[report.get('device', 'cpu')]}", 1),
    ):
        longest = max(point[name] / unit for point in every)
        across = linear_axis(title, 0, longest, 6, widen=False)
        series = [
            Series(f"seed {seed}", [_point(point, point[name] / unit) for point in curve])
            for seed, curve in zip(report["seeds"], report["curves"], strict=True)
        ]
        series += [Series(who, [Point(x, score, score, score) for x in (0.0, longest)]) for who, score in published]
        plots.append(Plot(across, upwards, series))
    caption = [
        "a bomb scores 0; greedy moves, one network in all seats; bars are 95 % intervals over decks",
        f"{report['machine']['name']}, observation {report['observation']}{'; IPPO: after 1e10 steps' if published else ''}",
    ]
    start = [f"from {report['init_from']}"] if report["init_from"] else []
    start += [f"taught by {report['teacher']}"] if report.get("teacher") else []
    return interval_plot(f"{report['game']}: PPO {', '.join(start) or 'from scratch'}", plots, caption)


def _point(point: Mapping[str, Any], x: float) -> Point:
    spread = 1.96 * point["stderr"]
    return Point(x, point["mean"], point["mean"] - spread, point["mean"] + spread)
