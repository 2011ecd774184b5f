"""The tables of docs/results.md and README.md, made from the JSON files in benchmarks/results/. `python -m ludory.benchmarks.results_table` writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any, NamedTuple

from ludory.atomic import atomic_file
from ludory.benchmarks.arena.league import exploitability, percent
from ludory.benchmarks.hanabi.cross_play import with_others
from ludory.benchmarks.texas42.speed import rows as speed_rows
from ludory.benchmarks.text_games.spa_tiny import SOKOBAN, game_of
from ludory.benchmarks.web_server import web_figures

START, END = "<!-- results:", "<!-- end of results -->"

SECOND_ROUND_GAMES = 2000
"""A second round of distillation from fewer searched games is not shown."""
Report = Mapping[str, Any]
Rows = Iterator[tuple[str, ...]]
"""Cells of the rows of a table, without the last one where it names machine and date."""


def results_table(folder: Path) -> str:
    """Markdown tables of all results in `folder`; tables that nothing belongs to are left out."""
    parts = []
    for table in TABLES:
        rows = []
        for file in (file for pattern in table.files for file in sorted(folder.glob(pattern))):
            report = json.loads(file.read_text())
            machine, date = report["machine"]["name"], report["date"]
            where = f"{machine}, {date}" if table.header.endswith("date") else machine
            rows += [(*cells, where) for cells in table.rows(report)]
        if rows:
            lines = [table.header, " | ".join(["---"] * len(rows[0])), *map(" | ".join, rows)]
            again = ", ".join(f"`ludory bench {name}`" for name in table.benchmarks)
            heading = f"## {table.title}\n\nMeasured by {again}.\n\n"
            parts.append(heading + "\n".join(f"| {line} |" for line in lines))
    return "\n\n".join(parts)


def _throughput_rows(report: Report) -> Rows:
    rows = {row["key"]: row for row in report["contestants"]}
    for one in report["ratios"]:
        ours, theirs = rows[one["one"]], rows[one["other"]]
        if one["ratio"] is not None:
            speeds = (f"{row['name']}: {row['full']['median']:,.0f}/s" for row in (ours, theirs))
            yield ours["section"], *speeds, f"{one['ratio']:.1f}x"


def _cores_rows(report: Report) -> Rows:
    for part in ("engine", "training"):
        for name, found in report[part].items():
            one, many = (f"{median(rounds):,.0f}/s" for rounds in found["rounds"].values())
            goal = report["bars"].get(name)
            yield f"{part}, {name}", one, many, f"{found['ratio']:.2f}", str(goal or "")
    yield "engine, two processes of one thread together", "", "", f"{report['processes']:.2f}", ""


def _learning_rows(report: Report) -> Rows:
    for clone in report.get("clones", ()):
        trained = (
            f"{clone['decisions'] / 1e6:.0f} M decisions of `{report['bot']}`, {clone['cpu_seconds'] / 60:.0f} CPU-min"
        )
        told = f"`{report['policy']}`, {report['observation']}, {trained}"
        yield _learnt(report, "bc --stream", clone["seed"], clone["evaluation"], told)
    if "clones" in report:
        return
    if report["benchmark"] == "hanabi-bc":
        name, accuracy = "bc", report["held_out"]["accuracy"]
        trained = f"{report['games']:,} games of `{report['bot']}`, held-out accuracy {accuracy:.1%}"
    else:
        minutes = sum(stage["minutes"] for stage in report["stages"])
        steps = sum(stage["timesteps"] for stage in report["stages"])
        seen = report.get("observation", "card_knowledge")
        start = f"from `{Path(report['init_from']).stem}`, " if report.get("init_from") else ""
        name, trained = f"ppo, {seen}", f"{start}{minutes:.0f} CPU-min, {steps / 1e6:.0f} M decisions"
    yield _learnt(report, name, report["seed"], report["evaluation"], trained)


def _learnt(report: Report, name: str, seed: int, evaluation: Report, trained: str) -> tuple[str, ...]:
    agent, ahead = evaluation["agent"], evaluation["ahead"]
    beside = next(key for key in evaluation if "/" in key)
    games = f"({evaluation['games']} games, decks {evaluation['decks_seed']})"
    return (
        f"`{name}`, seed {seed}, {report['benchmark']}",
        f"`{report['game']}`",
        f"{agent['mean']:.2f} ± {agent['stderr']:.2f} {games}",
        f"{agent['bomb']:.1%}",
        f"{agent['perfect']:.1%}",
        f"{ahead['mean']:+.2f} ± {ahead['stderr']:.2f} to `{beside}`",
        trained,
    )


def _cross_play_rows(report: Report) -> Rows:
    scores = report["scores"]
    for name in report["agents"]:
        others = [other for other in report["agents"] if other != name]
        worst = min(others, key=lambda other: scores[name][other]["mean"] + scores[other][name]["mean"])
        low = (scores[name][worst]["mean"] + scores[worst][name]["mean"]) / 2
        own = scores[name][name]
        yield (
            f"`{name}`",
            f"{own['mean']:.2f} ± {own['stderr']:.2f}",
            f"{with_others(scores, name):.2f}",
            f"{low:.2f} with `{worst}`",
            f"{report['games']:,} games of each pair, decks {report['decks_seed']}",
        )


def _tuned_rows(report: Report) -> Rows:
    for row in report["rows"]:
        scores, seeds = row["scores"], row["seeds"]
        error = row["score_stderrs"][0] if len(scores) == 1 else stdev(scores) / len(scores) ** 0.5
        yield (
            f"`{row['algorithm']}`, seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}",
            f"`{row['game']}`",
            f"{mean(scores):.2f} ± {error:.2f} ({row['games']} games each)",
            f"{row['lead']:+.2f} ± {row['lead_stderr']:.2f} to `{row['baseline']}`",
            f"{row['cpu_minutes']:.{1 if row['cpu_minutes'] >= 1 else 2}f} of {row['stated_minutes']:g}",
        )


def _league_rows(report: Report) -> Rows:
    exploiters, mass = report["runs"][0]["exploiters"], report["cross"]["mass_of"]
    for name, found in report["contenders"].items():
        main_steps = sum(found["main_steps"]) / len(found["main_steps"]) / 1e6
        yield (
            f"{name}, seeds {', '.join(map(str, found['seeds']))}",
            found["against"],
            percent(found["smallest_style"]),
            percent(found["held_out"]),
            percent(found["smallest_past"]),
            exploitability(found["exploiter"]),
            "-" if mass is None else format(mass[name], ".2f"),
            f"{report['steps'] / 1e6:g} M agent steps, {main_steps:.1f} M of them the main's; {report['duels']:,} duels a style, "
            f"{report['past_duels']} a frozen player; {len(exploiters)} exploiter a seed of {report['exploiter_steps'] / 1e6:g} M steps",
        )


def _clones_rows(report: Report) -> Rows:
    scores = ", ".join(
        f"{style} {100 * one['score']:.1f} [{100 * one['low']:.1f}, {100 * one['high']:.1f}]"
        for style, one in report["clones"].items()
    )
    duels = next(iter(report["clones"].values()))["duels"]
    yield f"`bc` on {report['games']:,} games of the style, seed {report['seed']}, {duels:,} duels", scores


SEARCHERS = {"single": "one seat", "joint": "both seats", "independent": "both seats, each as if the other did not,"}
"""Who searches, by the contender of `ludory bench hanabi-search`."""


def _search_rows(report: Report) -> Rows:
    for one in report["contenders"]:
        if gain := one["gain"]:
            who = SEARCHERS[one["contender"]]
            yield (
                f"{who} over `{report['blueprint']}`, {one['decks']} decks of seed {report['decks_seed']}",
                f"{one['budget']:,}",
                f"{gain['mean']:+.2f} [{gain['low']:+.2f}, {gain['high']:+.2f}]",
                f"{one['cpu_seconds']:.1f}",
            )


def _distill_rows(report: Report) -> Rows:
    evaluation, second = report["evaluation"], report["second"]
    learnt = {
        report["bot"]: "a rule bot",
        "clone": f"from {report['clone']['games']:,} games of the bot",
        "sequences": f"from {report['search']['games']:,} games of the bot's search, {report['search']['rollouts']} rollouts, from the clone",
        "seed": "the same games as single decisions without memory or Q",
        "second round": f"from {second['games']:,} games of the search over `sequences`",
    }
    for name, one in report["scores"].items():
        if name == "second round" and second["games"] < SECOND_ROUND_GAMES:
            continue
        ahead = [
            f"{found['ahead']:+.2f} ± {found['stderr']:.2f} to {found['beside']}"
            for found in report["differences"]
            if found["agent"] == name
        ]
        decks = f"{evaluation['games']:,} decks of seed {evaluation['decks_seed']}"
        score = f"{one['mean']:.2f} ± {one['stderr']:.2f}"
        yield f"{name}, seed {report['seed']}", learnt[name], score, "; ".join(ahead), decks


def _strength_rows(report: Report) -> Rows:
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


def _bidding_rows(report: Report) -> Rows:
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


def _network_rows(report: Report) -> Rows:
    for player, found in report["validation"].items():
        first, every = found["by_decision"]["0"], found["overall"]
        yield (
            f"points lost a decision, {player if player != 'network' else 'network of ' + report['recipe']}",
            f"{every['q_gap']:.2f}, none in {100 * every['zero_regret']:.1f} %; first lead {first['q_gap']:.2f}, {100 * first['zero_regret']:.1f} %",
            "",
        )


def _texas42_rows(report: Report) -> Rows:
    """What was measured, the number, and the goal."""
    kinds: dict[str, Callable[[Report], Rows]] = {
        "texas42-speed": speed_rows,
        "texas42-strength": _strength_rows,
        "texas42-bidding": _bidding_rows,
        "texas42-network": _network_rows,
    }
    return kinds[report["benchmark"]](report)


def _pokemon_rows(report: Report) -> Rows:
    """What was measured, the number, and the goal."""
    kinds: dict[str, Callable[[Report], Rows]] = {
        "pokemon": _pokemon_speed_rows,
        "pokemon-strength": _pokemon_strength_rows,
        "pokemon-bc": _pokemon_clone_rows,
        "pokemon-ppo": _pokemon_ppo_rows,
        "pokemon-soak": _pokemon_soak_rows,
    }
    return kinds[report["benchmark"]](report)


def _pokemon_speed_rows(report: Report) -> Rows:
    names = {
        "bare": "the bare simulator in Node",
        "masks": "with masks",
        "entity": "with masks and observations of both seats",
        "v8 masks": 'with masks, `backend="v8"`',
        "v8 entity": 'with masks and observations of both seats, `backend="v8"`',
        "server": "poke-env with a local server",
    }
    for battles, found in report["turns_per_cpu_second"].items():
        for kind, rate in found.items():
            bar = report["bars"][battles].get(kind)
            yield f"turns per CPU second, {battles}, {names[kind]}", f"{rate['median']:,.0f}", f"{bar:,}" if bar else ""


def _pokemon_strength_rows(report: Report) -> Rows:
    for row in report["pairs"]:
        one, other = (name.removeprefix("pokemon/") for name in row["pair"])
        yield (
            f"wins of `{one}` against `{other}`, `{row['game']}`, {row['battles']:,} battles",
            f"{100 * row['wins']:.1f} ± {100 * row['stderr']:.1f} %",
            "",
        )


def _pokemon_clone_rows(report: Report) -> Rows:
    for clone in report["clones"]:
        held_out, play = clone["held_out"], clone["play"]
        yield (
            f"clone of `{play['against']}`, seed {clone['seed']}, `{report['game']}`, {play['battles']:,} battles",
            f"held-out accuracy {held_out['accuracy']:.3f} (largest power {held_out['max_power']:.3f}), "
            f"wins {100 * play['wins']:.1f} ± {100 * play['stderr']:.1f} %",
            ".85, 44 %",
        )


def _pokemon_ppo_rows(report: Report) -> Rows:
    final = report["final"]
    yield (
        f"`ppo` by self-play from a clone, seed {report['seed']}, `{report['game']}`, {report['decisions_made'] / 1e6:.1f} M decisions, "
        f"{report['training_minutes']:.0f} minutes",
        f"wins {100 * final['wins']:.1f} ± {100 * final['stderr']:.1f} % of {final['battles']:,} against `{final['against']}`",
        "55 %",
    )


def _pokemon_soak_rows(report: Report) -> Rows:
    first, last = report["resident_mib"][1], report["resident_mib"][-1]
    sizes = ", ".join(f"{name} {first[name]:,.0f} to {last[name]:,.0f} MiB" for name in last if name != "battles")
    left = f"{len(report['processes_left'])} processes and {len(report['files_left'])} files left"
    yield f"memory from {first['battles']:,} to {last['battles']:,} battles", f"{sizes}; {left}", "flat, nothing left"


def _text_games_rows(report: Report) -> Rows:
    """What was measured, the number, and the goal."""
    kinds: dict[str, Callable[[Report], Rows]] = {
        "sokoban": _sokoban_rows,
        "text-env": _text_env_rows,
        "spa-tiny": _spa_tiny_rows,
        "sokoban-ppo": _sokoban_ppo_rows,
    }
    return kinds[report["benchmark"]](report)


def _sokoban_rows(report: Report) -> Rows:
    units = {"rules": "steps", "with": "steps", "text": "texts", "rooms": "rooms"}
    for name, rate in report["per_cpu_second"].items():
        bar = f"{rate['bar']:,.0f}" if rate["bar"] else ""
        yield f"Sokoban, {units[name.split()[0]]} per CPU second, {name}", f"{rate['median']:,.0f}", bar
    for name, rate in report["peers"].items():
        yield f"Sokoban, steps per CPU second, {name}, same run", f"{rate['median']:,.0f}", ""


def _text_env_rows(report: Report) -> Rows:
    for name, rate in report["turns_per_cpu_second"].items():
        yield (
            f"`TextEnv`, turns per CPU second, {name}",
            f"{rate['median']:,.0f}",
            f"{rate['bar']:,}" if rate["bar"] else "",
        )


def _spa_tiny_rows(report: Report) -> Rows:
    where, one_seed = f"{game_of(report)}: Pass@1 on unseen rooms", len(report["seeds"]) == 1
    for name in ("random", "optimum"):
        yield f"{where}, {name}", _points(report["anchors"][name]["pass@1_unseen"]), ""
    for name, arm in report["arms"].items():
        points = sorted(arm, key=int)
        for point in points[-1:] if one_seed else points:
            yield (
                f"{where}, `{name}` after {point} iterations of PPO",
                _points(arm[point]["pass@1_unseen"]),
                "",
            )
    for point, one in report["difference"].items() if not one_seed else ():
        goal = "10 points, each seed above 0" if report["config"]["env"] == SOKOBAN and point == "40" else ""
        each = ", ".join(f"{100 * value:+.1f}" for value in one["each"])
        yield (
            f"{game_of(report)}: `spa` minus `direct` after {point} iterations",
            f"{_points(one['mean'])} (seeds: {each})",
            goal,
        )


def _sokoban_ppo_rows(report: Report) -> Rows:
    bar = report["bar"]
    for player, score in report["unseen"].items():
        goal = f"{100 * bar['success']:.0f} within {bar['cpu_minutes']:g} CPU-minutes" if player == "ppo" else ""
        trained = f" after {report['timesteps'] / 1e6:g} M moves, {report['cpu_minutes']:.1f} CPU-minutes"
        name = f"`ppo` from planes, seed {report['seed']}{trained}" if player == "ppo" else player
        yield f"{report['game']}: unseen rooms solved, %, {name}", _points(score["success"]), goal


def _points(pair: Sequence[float]) -> str:
    return f"{100 * pair[0]:.1f}" + (f" ± {100 * pair[1]:.1f}" if pair[1] else "")


class ResultsTable(NamedTuple):
    """A table of docs/results.md: its heading and the benchmarks behind it, names of its columns, the last of which names the machine, and the files that it shows."""

    title: str
    benchmarks: Sequence[str]
    header: str
    files: Sequence[str]
    rows: Callable[[Report], Rows]


TABLES = (
    ResultsTable(
        "Speed beside other libraries",
        ("throughput",),
        "what | Ludory | peer | ratio | machine",
        ("throughput.json",),
        _throughput_rows,
    ),
    ResultsTable(
        "A second core",
        ("cores",),
        "two cores | 1 thread | 2 threads | ratio | goal | machine, date",
        ("cores.json",),
        _cores_rows,
    ),
    ResultsTable(
        "Trained agents at Hanabi",
        ("hanabi-bc", "hanabi-stream", "hanabi-ppo"),
        "agent | game | score | bomb | perfect | beside a bot on the same decks | trained | machine, date",
        ("hanabi-bc-Hanabi*.json", "hanabi-stream-*.json", "hanabi-ppo-Hanabi*.json"),
        _learning_rows,
    ),
    ResultsTable(
        "Cross-play at Hanabi",
        ("hanabi-cross-play",),
        "cross-play at Hanabi | with copies of itself | with the others, mean | worst of them | games | machine, date",
        ("hanabi-cross-play*.json",),
        _cross_play_rows,
    ),
    ResultsTable(
        "Tuned settings",
        ("tuned",),
        "tuned settings | game | mean return ± standard error | beside the baseline | CPU-minutes of one training, and stated | machine, date",
        ("tuned*.json",),
        _tuned_rows,
    ),
    ResultsTable(
        "Leagues of the arena",
        ("arena-league",),
        "duels of the arena: the final main, points in percent, means over seeds with 95 % intervals | trained against | "
        "smallest of the six styles | the two held-out styles | smallest of its own frozen players | exploiters - 50 | "
        "Nash mass of the finals | trained | machine, date",
        ("arena-league-*.json",),
        _league_rows,
    ),
    ResultsTable(
        "Clones of the arena's styles",
        ("arena-clones",),
        "clones of the arena's styles, each against its own style | points in percent | machine, date",
        ("arena-clones.json",),
        _clones_rows,
    ),
    ResultsTable(
        "Search at Hanabi",
        ("hanabi-search",),
        "search at Hanabi, one seat or both | rollouts | gain in points on the same decks, 95 % | CPU-s a game | machine, date",
        ("hanabi-search-*.json",),
        _search_rows,
    ),
    ResultsTable(
        "Networks that learn from a search",
        ("hanabi-distill",),
        "network at Hanabi, no search | trained | score ± standard error | differences on the same decks ± standard error | "
        "decks | machine, date",
        ("hanabi-distill-*.json",),
        _distill_rows,
    ),
    ResultsTable(
        "Pokémon",
        ("pokemon", "pokemon-strength", "pokemon-bc", "pokemon-ppo", "pokemon-soak"),
        "Pokémon | measured | goal | machine, date",
        ("pokemon.json", "pokemon-[sbp]*.json"),
        _pokemon_rows,
    ),
    ResultsTable(
        "Text games and language models",
        ("sokoban", "text-env", "sokoban-ppo", "spa-tiny"),
        "text games and language models | measured | goal | machine, date",
        ("sokoban.json", "text-env.json", "sokoban-ppo.json", "spa-tiny*.json"),
        _text_games_rows,
    ),
    ResultsTable(
        "Texas 42",
        ("texas42-speed", "texas42-strength", "texas42-bidding", "texas42-network"),
        "Texas 42 | measured | goal | machine, date",
        ("texas42-*.json",),
        _texas42_rows,
    ),
    ResultsTable(
        "The browser's server",
        ("web",),
        "`ludory serve` | median | 95 % | goal | machine, date",
        ("web.json",),
        web_figures,
    ),
)


TEN_RESULTS = (
    ("throughput.json", (0, 2, 4, 6)),
    ("tuned-Hanabi2P-v0.json", (0,)),
    ("hanabi-ppo-Hanabi2P-v0-tactical-seed1.json", (0,)),
    ("hanabi-bc-Hanabi2P-v0-seed1.json", (0,)),
    ("hanabi-search-curve.json", (-1,)),
    ("sokoban.json", (0,)),
    ("texas42-speed.json", (0,)),
)
"""Files, and rows of their tables, that the README shows."""


def ten_results(folder: Path) -> str:
    """The README's Markdown table: of ten rows what was measured, the result, what stands beside it, and where it was measured."""
    rows = [["what", "result", "beside it", "machine"], ["---"] * 4]
    for name, chosen in TEN_RESULTS:
        report = json.loads((folder / name).read_text())
        table = next(one for one in TABLES if any(fnmatch(name, pattern) for pattern in one.files))
        found = list(table.rows(report))
        rows += [[*_in_short(report, found[number]), report["machine"]["name"]] for number in chosen]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _in_short(report: Report, row: Sequence[str]) -> tuple[str, str, str]:
    """A row of any table as three cells."""
    if "contestants" in report:
        section, ours, theirs, ratio = row
        return f"steps per second, {section}", ours, f"{theirs} ({ratio})"
    if "evaluation" in report:
        name, game, score, *_, ahead, trained = row
        return f"{name}, {game}, {trained}", score, f"{ahead} on the same decks"
    if "rows" in report:
        who, game, score, ahead, minutes = row
        return f"tuned settings, {who}, {game}, CPU-minutes {minutes}", score, ahead
    if "decks_seed" in report:
        who, rollouts, gain, seconds = row
        return f"search, {who}, {rollouts} rollouts", f"{gain} points", f"without search; {seconds} CPU-s a game"
    what, measured, goal = row
    if str(report["benchmark"]).startswith("texas42"):
        what = f"Texas 42, {what}"
    return what, measured, f"goal {goal}" if goal else ""


def with_results(page: str, table: str) -> str:
    """The page with its results replaced by `table`."""
    head, _, rest = page.partition(START)
    marker, _, _ = rest.partition("\n")
    _, _, tail = rest.partition(END)
    return f"{head}{START}{marker}\n\n{table}\n\n{END}{tail}"


def main() -> None:
    """Write the tables into docs/results.md and README.md below the current folder."""
    folder = Path("benchmarks/results")
    for file, tables in ((Path("docs/results.md"), results_table(folder)), (Path("README.md"), ten_results(folder))):
        text = with_results(file.read_text(encoding="utf-8"), tables)
        with atomic_file(file, "w") as handle:
            handle.write(text)


if __name__ == "__main__":
    main()
