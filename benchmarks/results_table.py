"""The README's table of results, made from the JSON files in benchmarks/results/. `python -m ludory.benchmarks.results_table` writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ludory.atomic import atomic_file

START, END = "<!-- results:", "<!-- end of results -->"

LEARNING = ("demo", "hanabi-bc", "hanabi-ppo")


def results_table(folder: Path) -> str:
    """Markdown of all results in `folder`."""
    throughput = json.loads((folder / "throughput.json").read_text())
    lines = ["| what | Ludory | peer | ratio | machine |", "| --- | --- | --- | --- | --- |"]
    lines += _speed_rows(throughput)
    lines += [
        "",
        "| agent | game | score | bomb | perfect | beside `hanabi/iggi` on the same decks | trained | machine, date |",
    ]
    lines += ["| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for file in sorted(file for kind in LEARNING for file in folder.glob(f"{kind}-Hanabi*.json")):
        lines.append(_learning_row(json.loads(file.read_text())))
    lines += [
        "",
        "| duels of the arena, points in percent | against the styles, smallest | against its own frozen players, smallest "
        "| largest of fresh exploiters | trained | machine, date |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for file in sorted(folder.glob("arena-league-*.json")):
        lines += _league_rows(json.loads(file.read_text()))
    clones = folder / "arena-clones.json"
    if clones.exists():
        lines.append(_clones_row(json.loads(clones.read_text())))
    lines += [
        "",
        "| search at Hanabi | rollouts | gain in points on the same decks, 95 % | CPU-s a game | machine, date |",
    ]
    lines += ["| --- | --- | --- | --- | --- |"]
    for file in sorted(folder.glob("hanabi-search-*.json")):
        lines += _search_rows(json.loads(file.read_text()))
    lines += [
        "",
        "| network at Hanabi, no search | score | on the same decks | machine, date |",
        "| --- | --- | --- | --- |",
    ]
    for file in sorted(folder.glob("hanabi-distill-*.json")):
        lines += _distill_rows(json.loads(file.read_text()))
    return "\n".join(lines)


def _speed_rows(report: dict[str, Any]) -> Iterator[str]:
    rows = {row["key"]: row for row in report["contestants"]}
    for one in report["ratios"]:
        ours, theirs = rows[one["one"]], rows[one["other"]]
        if one["ratio"] is not None:
            speeds = [f"{row['name']}: {row['full']['median']:,.0f}/s" for row in (ours, theirs)]
            yield f"| {ours['section']} | {speeds[0]} | {speeds[1]} | {one['ratio']:.1f}x | {report['machine']['name']} |"


def _learning_row(report: dict[str, Any]) -> str:
    evaluation = report["evaluation"]
    agent, ahead = evaluation["agent"], evaluation["ahead"]
    if report["benchmark"] == "hanabi-bc":
        name, accuracy = "bc", report["held_out"]["accuracy"]
        trained = f"{report['games']:,} games of `{report['bot']}`, held-out accuracy {accuracy:.1%}"
    else:
        minutes = sum(stage["minutes"] for stage in report["stages"])
        steps = sum(stage["timesteps"] for stage in report["stages"])
        name, trained = "ppo", f"{minutes:.0f} min, {steps / 1e6:.0f} M decisions"
    return (
        f"| `{name}`, seed {report['seed']}, {report['benchmark']} | `{report['game']}` | {agent['mean']:.2f} +- {agent['stderr']:.2f} "
        f"({evaluation['games']} games, decks {evaluation['decks_seed']}) | {agent['bomb']:.1%} | {agent['perfect']:.1%} "
        f"| {ahead['mean']:+.2f} +- {ahead['stderr']:.2f} | {trained} "
        f"| {report['machine']['name']}, {report['date']} |"
    )


def _league_rows(report: dict[str, Any]) -> Iterator[str]:
    clock = "of one core's time" if report["processor_time"] else "on one core"
    for name, found in report["contenders"].items():
        past = [score for score in found["min_past"] if score is not None]
        seeds = ", ".join(map(str, found["seeds"]))
        exploiter = "-" if found["exploiter_max"] is None else f"{100 * found['exploiter_max']:.0f}"
        yield (
            f"| {name}, seed {seeds} | {_percents(found['min_styles'])} | {_percents(past)} | {exploiter} "
            f"| {report['minutes']:g} minutes {clock} | {report['machine']['name']}, {report['date']} |"
        )


def _clones_row(report: dict[str, Any]) -> str:
    scores = ", ".join(f"{style} {100 * one['score']:.1f}" for style, one in report["clones"].items())
    return (
        f"| clones, each against its own style | {scores} | - | - | {report['games']:,} games each "
        f"| {report['machine']['name']}, {report['date']} |"
    )


def _search_rows(report: dict[str, Any]) -> Iterator[str]:
    for one in report["contenders"]:
        if gain := one["gain"]:
            who = "both seats" if one["contender"] == "joint" else "one seat"
            yield (
                f"| {who} over `{report['blueprint']}`, {one['decks']} decks | {one['budget']:,} "
                f"| {gain['mean']:+.2f} [{gain['low']:+.2f}, {gain['high']:+.2f}] | {one['cpu_seconds']:.1f} "
                f"| {report['machine']['name']}, {report['date']} |"
            )


def _distill_rows(report: dict[str, Any]) -> Iterator[str]:
    for name, one in report["scores"].items():
        ahead = [
            f"{found['ahead']:+.2f} ± {found['stderr']:.2f} to {found['beside']}"
            for found in report["differences"]
            if found["agent"] == name
        ]
        yield (
            f"| {name} | {one['mean']:.2f} ± {one['stderr']:.2f} | {'; '.join(ahead)} "
            f"| {report['machine']['name']}, {report['date']} |"
        )


def _percents(scores: list[float]) -> str:
    return " ".join(f"{100 * score:.0f}" for score in scores)


def with_results(readme: str, table: str) -> str:
    """The README with its results replaced by `table`."""
    head, _, rest = readme.partition(START)
    marker, _, _ = rest.partition("\n")
    _, _, tail = rest.partition(END)
    return f"{head}{START}{marker}\n\n{table}\n\n{END}{tail}"


def main() -> None:
    """Write the table into README.md of the current folder."""
    file = Path("README.md")
    text = with_results(file.read_text(encoding="utf-8"), results_table(Path("benchmarks/results")))
    with atomic_file(file, "w") as handle:
        handle.write(text)


if __name__ == "__main__":
    main()
