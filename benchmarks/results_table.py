"""The README's table of results, made from the JSON files in benchmarks/results/. `python -m ludory.benchmarks.results_table` writes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ludory.atomic import atomic_file

from .texas42_speed import rows as speed_rows

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
    lines += ["", "| Texas 42 | measured | goal | machine, date |", "| --- | --- | --- | --- |"]
    for file in sorted(folder.glob("texas42-*.json")):
        report = json.loads(file.read_text())
        where = f"{report['machine']['name']}, {report['date']}"
        for what, measured, bar in _TEXAS42[report["benchmark"]](report):
            lines.append(f"| {what} | {measured} | {bar} | {where} |")
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


Cells = Iterator[tuple[str, str, str]]


def _strength_rows(report: dict[str, Any]) -> Cells:
    for duel in report["duels"]:
        rates = [
            f"{100 * rate:.1f} ± {100 * error:.1f}"
            for rate, error in zip(duel["make_rates"], duel["make_rate_errors"], strict=True)
        ]
        deals = sum(duel["pairs"].values())
        yield (
            f"30-bids made, `{duel['first']}` against `{duel['second']}`, {deals:,} deals",
            f"{rates[0]} %, the other way round {rates[1]} %, McNemar z {duel['mcnemar_z']:+.1f}",
            "",
        )


def _bidding_rows(report: dict[str, Any]) -> Cells:
    if "matches" in report:
        found = report["matches"]
        ahead = found["marks_per_game"]
        yield (
            f"marks a game, `{report['bidder']}` against `{report['rival']}`, {found['pairs']} pairs of matches",
            f"{ahead['mean']:+.2f} [{ahead['low']:+.2f}, {ahead['high']:+.2f}], wins {100 * found['wins']:.1f} %",
            "+0.5",
        )
    if "calibration" in report:
        every, deciles = report["calibration"]["all"], report["calibration"]["deciles"]
        for name, words in (("rollout", "hands played"), ("calibrated", "fitted"), ("open_hands", "open hands")):
            errors = [100 * abs(one[name] - one["made"]) for one in deciles]
            yield (
                f"P(make) by {words}, {every['n']:,} contracts",
                f"{100 * every[name]:.1f} % expected, {100 * every['made']:.1f} % made; errors of tenths {sum(errors) / len(errors):.1f}, at most {max(errors):.1f}",
                "3",
            )


def _network_rows(report: dict[str, Any]) -> Cells:
    for player, found in report["validation"].items():
        first, every = found["by_decision"]["0"], found["overall"]
        yield (
            f"points lost a decision, {player if player != 'network' else 'network of ' + report['recipe']}",
            f"{every['q_gap']:.2f}, none in {100 * every['zero_regret']:.1f} %; first lead {first['q_gap']:.2f}, {100 * first['zero_regret']:.1f} %",
            "",
        )


_TEXAS42: dict[str, Callable[[dict[str, Any]], Cells]] = {
    "texas42-speed": speed_rows,
    "texas42-strength": _strength_rows,
    "texas42-bidding": _bidding_rows,
    "texas42-network": _network_rows,
}


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
