"""What `ludory bench hanabi-search` found: figures of every contender and budget, a table and curves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ludory.agents.evaluation.evaluation_result import estimate
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.charts.axes import linear_axis, log_axis
from ludory.charts.curves import Plot, Point, Series, interval_plot

from .search_deck import ALONE, INDEPENDENT, JOINT, SINGLE

TITLES = {
    SINGLE: "one seat searches",
    JOINT: "both seats search together",
    INDEPENDENT: "both, each as if the other did not",
}


def summary(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Figures of every (contender, budget), the blueprint alone first; gains are paired by deck."""
    groups: dict[tuple[str, int], dict[int, dict[str, Any]]] = {}
    for line in lines:
        groups.setdefault((line["contender"], line["budget"]), {})[line["deck"]] = line
    alone = groups[ALONE, 0]
    found = [_figures(key, by_deck, alone) for key, by_deck in sorted(groups.items(), key=lambda item: item[0])]
    for one in found:
        rival = groups.get((SINGLE, one["budget"]))
        ours = groups[one["contender"], one["budget"]]
        one["over_single"] = _ahead(ours, rival) if rival and one["contender"] != SINGLE else None
    return found


def _ahead(ours: dict[int, dict[str, Any]], theirs: dict[int, dict[str, Any]]) -> dict[str, float | None]:
    """Lead of `ours` in points, paired by deck."""
    return _estimate([line["score"] - theirs[deck]["score"] for deck, line in ours.items()])


def _figures(key: tuple[str, int], by_deck: dict[int, dict[str, Any]], alone: dict[int, Any]) -> dict[str, Any]:
    lines = [by_deck[deck] for deck in sorted(by_deck)]
    seconds, rollouts = _mean(lines, "cpu_seconds"), _mean(lines, "rollouts")
    return {
        "contender": key[0],
        "budget": key[1],
        "decks": len(lines),
        "score": _estimate([line["score"] for line in lines]),
        "gain": None if key[0] == ALONE else _ahead(by_deck, alone),
        "stacks": _mean(lines, "stacks"),
        "bomb": float(np.mean([line["end"] == "bomb" for line in lines])),
        "perfect": float(np.mean([line["end"] == "perfect" for line in lines])),
        "moves": _mean(lines, "moves"),
        "changed": _mean(lines, "changed"),
        "searches": _mean(lines, "searches"),
        "cpu_seconds": seconds,
        "rollouts": rollouts,
        "rollouts_per_cpu_second": rollouts / seconds if rollouts else None,
    }


def _mean(lines: Sequence[dict[str, Any]], name: str) -> float:
    return float(np.mean([line[name] for line in lines]))


def _estimate(values: Sequence[float]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in estimate(values)._asdict().items()}


def shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    """A row for every contender and budget, and how far searches in both seats are ahead."""
    columns = ("", "rollouts", "score", "gain", "95 %", "bombs", "perfect", "changed", "CPU-s a game")
    title = f"{report['game']}, {report['blueprint']}, {report['decks']} decks; a bomb scores 0"
    yield table(title, columns, map(_cells, report["contenders"]))
    for one in report["contenders"]:
        if ahead := one["over_single"]:
            yield (
                f"{one['contender']} over single at {one['budget']:,} rollouts: {ahead['mean']:+.2f} ± {ahead['stderr']:.2f}, "
                f"95 % {ahead['low']:+.2f} .. {ahead['high']:+.2f}"
            )


def _cells(one: Mapping[str, Any]) -> list[str]:
    gain = one["gain"]
    return [
        one["contender"],
        f"{one['budget']:,}" if one["budget"] else "",
        f"{one['score']['mean']:.2f} ± {one['score']['stderr']:.2f}",
        f"{gain['mean']:+.2f} ± {gain['stderr']:.2f}" if gain else "",
        f"{gain['low']:+.2f} .. {gain['high']:+.2f}" if gain else "",
        f"{one['bomb']:.1%}",
        f"{one['perfect']:.1%}",
        f"{one['changed']:.1f}",
        f"{one['cpu_seconds']:.2f}",
    ]


def chart(report: Mapping[str, Any]) -> str:
    """Gain by rollouts a decision, and by CPU-seconds a game."""
    found = [one for one in report["contenders"] if one["gain"]]
    heights = [value for one in found for value in (one["gain"]["low"], one["gain"]["high"])]
    upwards = linear_axis("gain in points", min(0.0, *heights), max(0.0, *heights), 6)
    plots = []
    for name, title in (("budget", "rollouts a decision"), ("cpu_seconds", "CPU-seconds a game")):
        series = [
            Series(title_of, [_point(one, name) for one in found if one["contender"] == contender])
            for contender, title_of in TITLES.items()
        ]
        across = log_axis(title, [one[name] for one in found])
        plots.append(Plot(across, upwards, [one for one in series if one.points]))
    caption = [
        f"{report['decks']} decks, the same for all; bars are 95 % intervals; a bomb scores 0",
        f"{report['machine']['name']}, one core a game",
    ]
    return interval_plot(f"{report['game']}: search over {report['blueprint']}", plots, caption)


def _point(one: dict[str, Any], name: str) -> Point:
    gain = one["gain"]
    return Point(one[name], gain["mean"], gain["low"], gain["high"])
