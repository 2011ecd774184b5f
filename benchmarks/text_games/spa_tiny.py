"""World-model fine-tuning before PPO, with a small model made on the spot, beside PPO without it.

For each seed: the form of replies, play, fine-tuning on corrected replies, PPO; PPO without states and PPO without fine-tuning start from
the same weights. All are evaluated on the same rooms, with random play and the optimum beside them. Parts lie in one folder; the command
goes on where an earlier one stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ludory.algorithms.world_model.scripted import text_env
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.benchmarks.text_games.tiny_run import ABLATIONS, ARMS, TinyConfig, TinyRun, tiny_anchors
from ludory.charts.curves import line_chart

SOKOBAN = "Sokoban-v0"
LIMITS = (
    "a model from scratch on compact texts; the prompt that asks for states is kept in PPO; penalty and KL differ from the paper's; "
    "few seeds, settings chosen on seed 1; direct PPO is not given more iterations for the CPU time of fine-tuning"
)


@dataclass(frozen=True, slots=True)
class SpaTinyOptions:
    """Options of `ludory bench spa-tiny`."""

    fast: bool = False
    """All stages in less than three minutes, with one seed and sizes of its own; nothing is learnt that one could show."""
    seeds: tuple[Natural, ...] = (2, 3, 4)
    """A run of all arms each; settings were chosen on seed 1."""
    env: str = SOKOBAN
    """Id of a game with rooms and texts of single words, such as FrozenLakeFirm-v0 or Sudoku4-v0."""
    success_rate: float | None = None
    """Chance that a move on a lake goes where it was meant to, with --env FrozenLakeAny-v0."""
    arms: tuple[str, ...] = ("direct", "control", "spa")
    """Which models PPO trains: "direct" without states, "control" with states but without fine-tuning, "spa" after fine-tuning; "uncorrected" after fine-tuning on states as the model wrote them; "spa-grpo" and "spa-gae" with other advantages than leave-one-out."""
    ablations: tuple[str, ...] = ABLATIONS
    """Masks of fine-tuning to compare with the paper's."""
    form_steps: Count = 400
    """Gradient steps in which the model learns the form of replies."""
    batches: Count = 8
    """Batches of play from which fine-tuning learns."""
    groups: Count = 64
    """Rooms of a batch of play, and of an iteration of PPO; 8 episodes in each."""
    epochs: Count = 15
    """Passes of fine-tuning over the replies."""
    iterations: Count = 60
    """Iterations of PPO."""
    eval_every: Count = 20
    """Iterations between evaluations."""
    rooms: Count = 128
    """Rooms of an evaluation."""
    out: Path | None = None
    """Folder for models, data and result; default: runs/spa-tiny, with the game's id if it is not Sokoban."""


@benchmark("spa-tiny", resumes=True)
def run(options: SpaTinyOptions) -> Result:
    """All parts of all seeds."""
    chosen = {} if options.success_rate is None else {"success_rate": options.success_rate}
    config = TinyConfig(options=chosen, **{name: getattr(options, name) for name in _SIZES})
    seeds: Sequence[int] = options.seeds
    if options.fast:
        config, seeds = config.fast(), seeds[:1]
    name = result_name(config)
    out = options.out or Path("runs") / name
    runs = [TinyRun(config, seed, out / f"seed{seed}", _say).run() for seed in seeds]
    return Result(out / f"{name}.json", report_of(config, runs), shown, chart)


_SIZES = ("env", "arms", "ablations", "form_steps", "batches", "groups", "epochs", "iterations", "eval_every", "rooms")
"""Options that are fields of `TinyConfig`."""


def result_name(config: TinyConfig) -> str:
    """Name of the result file: "spa-tiny" for Sokoban, with the id and the options of any other game."""
    options = [f"{name}-{value}" for name, value in config.options.items()]
    return "-".join(["spa-tiny", *([config.env, *options] if config.env != SOKOBAN else [])])


def _say(line: str) -> None:
    print(line, flush=True)


def report_of(config: TinyConfig, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The content of the result file."""
    arms = {arm: _arm(config, [one[arm]["curve"] for one in runs]) for arm in config.arms}
    return {
        "config": asdict(config),
        "convention": _convention(config),
        "limits": LIMITS,
        "seeds": [one["seed"] for one in runs],
        "anchors": tiny_anchors(config),
        "arms": arms,
        "difference": _differences(config, runs),
        "masks": {name: _masks([one[name] for one in runs]) for name in _fine_tuned(config)},
        "runs": list(runs),
    }


def _convention(config: TinyConfig) -> str:
    env = text_env(config.text, 1)
    env.close()
    return (
        f"Pass@k at temperature 1 within {env.preset.turns} turns and {env.most_actions} actions; RAGEN's validation seeds; "
        "standard errors over seeds"
    )


def _fine_tuned(config: TinyConfig) -> list[str]:
    starts = {ARMS[arm].start for arm in config.arms}
    return [*(name for name in ("sft", "sft-self") if name in starts), *(f"sft-{mask}" for mask in config.ablations)]


def _mean(values: Iterable[float | None]) -> list[float | None]:
    """Mean, and standard error over seeds (0 with one seed); None where there are no rooms."""
    found = np.array([value for value in values if value is not None], float)
    if not len(found):
        return [None, None]
    error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
    return [round(float(found.mean()), 4), round(float(error), 4)]


def _arm(config: TinyConfig, curves: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over seeds at each iteration."""
    passes = [f"pass@{k}{part}" for k in (1, config.samples) for part in ("", "_seen", "_unseen")]
    points = sorted(set.intersection(*(set(curve) for curve in curves)), key=int)
    return {
        point: {name: _mean(curve[point][name][0] for curve in curves) for name in passes}
        | {
            name: _mean(curve[point][name] for curve in curves)
            for name in ("form_ok", "observation_copied", "next_state_exact", "spent_cpu_s")
        }
        for point in points
    }


def _differences(config: TinyConfig, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """SPA minus direct PPO, Pass@1 on unseen rooms, seed by seed."""
    if not {"spa", "direct"} <= set(config.arms):
        return {}
    found = {}
    for point in runs[0]["spa"]["curve"]:
        each = [
            one["spa"]["curve"][point]["pass@1_unseen"][0] - one["direct"]["curve"][point]["pass@1_unseen"][0]
            for one in runs
            if all(
                one[arm]["curve"].get(point, {}).get("pass@1_unseen", [None])[0] is not None
                for arm in ("spa", "direct")
            )
        ]
        if each:
            found[point] = {"each": [round(value, 4) for value in each], "mean": _mean(each)}
    return found


def _masks(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = ("form_ok", "observation_copied", "next_state_exact")
    return {
        "mask": parts[0]["mask"],
        "epochs": parts[0]["epochs"],
        "pass@1": _mean(one["world_model"]["pass@1"][0] for one in parts),
        **{name: _mean(one["world_model"][name] for one in parts) for name in names},
        "cpu_s": _mean(one["cpu_s"] for one in parts),
    }


def shown(report: Mapping[str, Any]) -> Iterable[Shown]:
    """Tables of arms and of masks, and what to keep in mind."""
    samples, anchors = report["config"]["samples"], report["anchors"]
    points = sorted({point for arm in report["arms"].values() for point in arm}, key=int)
    columns = [
        "Pass@1 / Pass@k, %",
        *(f"it {point}" for point in points),
        "unseen, last",
        "form",
        "next state",
        "CPU s",
    ]
    rows = [
        [name, _pair(anchors[name], samples), *[""] * (len(points) - 1), _pair(anchors[name], samples, "_unseen")]
        for name in ("random", "optimum")
    ]
    for name, arm in report["arms"].items():
        last = arm[max(arm, key=int)]
        rows.append(
            [
                name,
                *(_pair(arm[point], samples) if point in arm else "" for point in points),
                _pair(last, samples, "_unseen"),
                _percent(last["form_ok"]),
                _percent(last["next_state_exact"]),
                f"{last['spent_cpu_s'][0]:.0f}",
            ]
        )
    seeds = ", ".join(map(str, report["seeds"]))
    yield table(
        f"{game_of(report)}: {anchors['rooms']} rooms, {anchors['unseen_rooms']} unseen; seeds {seeds}",
        columns,
        rows,
    )
    masks = [
        [
            one["mask"],
            str(one["epochs"]),
            *(_percent(one[name]) for name in ("form_ok", "observation_copied", "next_state_exact", "pass@1")),
            f"{one['cpu_s'][0]:.0f}",
        ]
        for one in report["masks"].values()
    ]
    yield table(
        "Fine-tuning by mask, %", ["mask", "epochs", "form", "observation", "next state", "Pass@1", "CPU s"], masks
    )
    for point, one in report["difference"].items():
        each = ", ".join(f"{100 * value:+.1f}" for value in one["each"])
        yield f"iteration {point}: SPA - direct PPO on unseen rooms {_percent(one['mean'])} points (seeds: {each})"
    yield report["convention"]
    yield f"Limits: {report['limits']}."


def game_of(report: Mapping[str, Any]) -> str:
    """Id and options of the game of a result."""
    config = report["config"]
    return ", ".join([config["env"], *(f"{name} {value}" for name, value in config["options"].items())])


def _pair(scores: Mapping[str, Any], samples: int, part: str = "") -> str:
    if scores[f"pass@1{part}"][0] is None:
        return "no rooms"
    return f"{_percent(scores[f'pass@1{part}'])} / {100 * scores[f'pass@{samples}{part}'][0]:.1f}"


def _percent(pair: Sequence[float]) -> str:
    """Mean, and standard error where there is one."""
    return f"{100 * pair[0]:.1f}" + (f" ± {100 * pair[1]:.1f}" if pair[1] else "")


def chart(report: Mapping[str, Any]) -> str:
    """Pass@1 on unseen rooms over the iterations of PPO."""
    lines: dict[str, list[tuple[float, float]]] = {
        name: [(int(point), 100 * (arm[point]["pass@1_unseen"][0] or 0)) for point in sorted(arm, key=int)]
        for name, arm in report["arms"].items()
    }
    last = max(point for line in lines.values() for point, _ in line)
    for name in ("random", "optimum"):
        level = 100 * (report["anchors"][name]["pass@1_unseen"][0] or 0)
        lines[name] = [(0, level), (last, level)]
    return line_chart(
        f"Self-play fine-tuning before PPO, {game_of(report)}", "iterations of PPO", "Pass@1 on unseen rooms, %", lines
    )
