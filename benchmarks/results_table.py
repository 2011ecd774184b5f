"""The tables of docs/results.md and README.md, made from the JSON files in benchmarks/results/. `python -m ludory.benchmarks.results_table` writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from statistics import mean, median, stdev
from typing import NamedTuple

from ludory.atomic import atomic_file
from ludory.benchmarks.arena.league import exploitability, percent
from ludory.benchmarks.tables import Report, Rows, RowsOf
from ludory.benchmarks.tables.hanabi import bc_rows, cross_play_rows, distill_rows, ppo_rows, search_rows, stream_rows
from ludory.benchmarks.tables.pokemon import POKEMON
from ludory.benchmarks.tables.texas42 import TEXAS42
from ludory.benchmarks.tables.text_games import TEXT_GAMES
from ludory.benchmarks.web_server import web_figures

START, END = "<!-- results:", "<!-- end of results -->"


def results_table(folder: Path) -> str:
    """Markdown tables of all results in `folder`; tables that nothing belongs to are left out."""
    parts = []
    for table in TABLES:
        rows = []
        for file in (file for pattern in table.files for file in sorted(folder.glob(pattern))):
            report = json.loads(file.read_text(encoding="utf-8"))
            machine, date = report["machine"]["name"], report["date"]
            where = f"{machine}, {date}" if table.header.endswith("date") else machine
            rows += [(*cells, where) for cells in table.rows(report)]
        if rows:
            lines = [table.header, " | ".join(["---"] * len(rows[0])), *map(" | ".join, rows)]
            again = ", ".join(f"`ludory bench {name}`" for name in table.rows_of)
            heading = f"## {table.title}\n\nMeasured by {again}.\n\n"
            parts.append(heading + "\n".join(f"| {line} |" for line in lines))
    return "\n\n".join(parts)


def throughput_rows(report: Report) -> Rows:
    """Ours, a peer's, and the ratio."""
    rows = {row["key"]: row for row in report["contestants"]}
    for one in report["ratios"]:
        ours, theirs = rows[one["one"]], rows[one["other"]]
        if one["ratio"] is not None:
            speeds = (f"{row['name']}: {row['full']['median']:,.0f}/s" for row in (ours, theirs))
            yield ours["section"], *speeds, f"{one['ratio']:.1f}x"


def cores_rows(report: Report) -> Rows:
    """One thread, two, the ratio and the goal."""
    for part in ("engine", "training"):
        for name, found in report[part].items():
            one, many = (f"{median(rounds):,.0f}/s" for rounds in found["rounds"].values())
            goal = report["bars"].get(name)
            yield f"{part}, {name}", one, many, f"{found['ratio']:.2f}", str(goal or "")
    yield "engine, two processes of one thread together", "", "", f"{report['processes']:.2f}", ""


def start_up_rows(report: Report) -> Rows:
    """First steps where nothing is compiled, and how fast engines are, beside another Ludory's."""
    for what, found in report["this"].items():
        name, _, kind = what.partition(", few games, ")
        if kind == "cold":
            compiled = f"{name}, compiled, cold"
            before = report.get("beside", {}).get(compiled)
            bar = f"{report['bars'][name]:g} s" if name in report["bars"] else ""
            figures = found, report["this"][compiled], before
            yield f"`{name}`", *(f"{one['median']:.2f} s" if one else "" for one in figures), bar
    for engine, found in report.get("engines", {}).items():
        one, other = (", ".join(f"{found[who][call]:,.0f}" for call in found["ratio"]) for who in ("this", "beside"))
        yield f"`{engine}`: {', '.join(found['ratio'])}, ns a game", "", one, other, ""


def gpu_rows(report: Report) -> Rows:
    """What was compared with the CPU, then rates; a peer stands below what it is compared with."""
    parts = report["parts"]
    compared = [row for name in ("parity", "maths", "transfers") for row in parts.get(name, [])]
    wrong = sum(bool(row.get("differences") or "error" in row) for row in compared)
    games = parts["parity"]
    yield f"{len(games)} games, {games[0]['games']:,} of each id, beside the CPU", "bit for bit", ""
    yield f"{len(compared)} comparisons in all", f"{wrong} differ", ""
    for row in parts["rates"]:
        if "with_observations" in row:
            alone = f"{row['rules'] / 1e6:.0f} M/s rules alone" if "rules" in row else ""
            yield f"random moves, {row['key']}", f"{row['with_observations'] / 1e6:.1f} M/s with observations", alone
    for row in parts["training"]:
        yield f"training at `{row['game']}`, {row['key']}", f"{row['timesteps_per_second'] / 1e6:.2f} M decisions/s", ""


def tuned_rows(report: Report) -> Rows:
    """Score, lead over the baseline, and time, per algorithm and game."""
    for row in report["rows"]:
        scores, seeds = row["scores"], row["seeds"]
        error = row["score_stderrs"][0] if len(scores) == 1 else stdev(scores) / len(scores) ** 0.5
        changes = "".join(f", {row[name]}" for name in ("policy", "precision") if name in row)
        yield (
            f"`{row['algorithm']}`{changes}, seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}",
            f"`{row['game']}`",
            f"{mean(scores):.2f} ± {error:.2f} ({row['games']} games each)",
            f"{row['lead']:+.2f} ± {row['lead_stderr']:.2f} to `{row['baseline']}`",
            f"{row['cpu_minutes']:.{1 if row['cpu_minutes'] >= 1 else 2}f} of {row['stated_minutes']:g}",
        )


def arena_rows(report: Report) -> Rows:
    """Decisions per second of one core's work, and agent steps per second of leagues."""
    for name, found in report["decisions_per_second"].items():
        yield (
            f"{name}, one core",
            f"{found['median']:,.0f}/s",
            f"{report['bars'][name]:,}" if name in report["bars"] else "",
        )
    league = report["league"]
    for width, one in league["by_width"].items():
        goal = f"{league['bar']:,}" if width == min(league["by_width"], key=int) else ""
        what = f"a league learns by `ppo`, {width}-{width} units, {one['jobs']} processes"
        yield what, f"{one['per_second']:,.0f} agent steps/s", goal


def league_rows(report: Report) -> Rows:
    """Points of a league's finals against styles, itself and exploiters."""
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


def clones_rows(report: Report) -> Rows:
    """Points of clones against their styles."""
    scores = ", ".join(
        f"{style} {100 * one['score']:.1f} [{100 * one['low']:.1f}, {100 * one['high']:.1f}]"
        for style, one in report["clones"].items()
    )
    duels = next(iter(report["clones"].values()))["duels"]
    yield f"`bc` on {report['games']:,} games of the style, seed {report['seed']}, {duels:,} duels", scores


class ResultsTable(NamedTuple):
    """A table of docs/results.md: its heading, names of its columns, the last of which names the machine, the files that it shows, and the benchmarks behind it."""

    title: str
    header: str
    files: Sequence[str]
    rows_of: RowsOf

    def rows(self, report: Report) -> Rows:
        """The rows of one report."""
        return self.rows_of[report["benchmark"]](report)


TABLES = (
    ResultsTable(
        "Speed beside other libraries",
        "what | Ludory | peer | ratio | machine",
        ("throughput.json",),
        {"throughput": throughput_rows},
    ),
    ResultsTable(
        "A second core",
        "two cores | 1 thread | 2 threads | ratio | goal | machine, date",
        ("cores.json",),
        {"cores": cores_rows},
    ),
    ResultsTable(
        "On a GPU",
        "on one GPU | measured | beside it | machine, date",
        ("gpu-*.json",),
        {"gpu": gpu_rows},
    ),
    ResultsTable(
        "Trained agents at Hanabi",
        "agent | game | score | bomb | perfect | beside a bot on the same decks | trained | machine, date",
        ("hanabi-bc-Hanabi*.json", "hanabi-stream-*.json", "hanabi-ppo-Hanabi*.json"),
        {"hanabi-bc": bc_rows, "hanabi-stream": stream_rows, "hanabi-ppo": ppo_rows},
    ),
    ResultsTable(
        "Cross-play at Hanabi",
        "cross-play at Hanabi | with copies of itself | with the others, mean | worst of them | games | machine, date",
        ("hanabi-cross-play*.json",),
        {"hanabi-cross-play": cross_play_rows},
    ),
    ResultsTable(
        "Tuned settings",
        "tuned settings | game | mean return ± standard error | beside the baseline | CPU-minutes of one training, and stated | machine, date",
        ("tuned*.json", "precision*.json"),
        {"tuned": tuned_rows},
    ),
    ResultsTable(
        "Speed of the arena",
        "duels of the arena | measured | goal | machine, date",
        ("arena.json",),
        {"arena": arena_rows},
    ),
    ResultsTable(
        "Leagues of the arena",
        "duels of the arena: the final main, points in percent, means over seeds with 95 % intervals | trained against | "
        "smallest of all styles | the two held-out styles | smallest of its own frozen players | exploiters - 50 | "
        "Nash mass of the finals | trained | machine, date",
        ("arena-league-*.json",),
        {"arena-league": league_rows},
    ),
    ResultsTable(
        "Clones of the arena's styles",
        "clones of the arena's styles, each against its own style | points in percent | machine, date",
        ("arena-clones.json",),
        {"arena-clones": clones_rows},
    ),
    ResultsTable(
        "Search at Hanabi",
        "search at Hanabi, one seat or both | rollouts | gain in points on the same decks, 95 % | CPU-s a game | machine, date",
        ("hanabi-search-*.json",),
        {"hanabi-search": search_rows},
    ),
    ResultsTable(
        "Networks that learn from a search",
        "network at Hanabi, no search | trained | score ± standard error | differences on the same decks ± standard error | "
        "decks | machine, date",
        ("hanabi-distill-*.json",),
        {"hanabi-distill": distill_rows},
    ),
    ResultsTable(
        "Pokémon",
        "Pokémon | measured | goal | machine, date",
        ("pokemon.json", "pokemon-[sbp]*.json"),
        POKEMON,
    ),
    ResultsTable(
        "Text games and language models",
        "text games and language models | measured | goal | machine, date",
        ("sokoban.json", "text-env.json", "sokoban-ppo.json", "spa-tiny*.json", "text-trl.json"),
        TEXT_GAMES,
    ),
    ResultsTable(
        "Texas 42",
        "Texas 42 | measured | goal | machine, date",
        ("texas42-*.json",),
        TEXAS42,
    ),
    ResultsTable(
        "First steps",
        "CPU seconds to the first step, nothing compiled before; presets of Hanabi after each other | two games | eight, compiled | an earlier version | bar | machine, date",
        ("start-up.json",),
        {"start-up": start_up_rows},
    ),
    ResultsTable(
        "The browser's server",
        "`ludory serve` | median | 95 % | goal | machine, date",
        ("web.json",),
        {"web": web_figures},
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
        report = json.loads((folder / name).read_text(encoding="utf-8"))
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
