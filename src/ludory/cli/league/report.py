"""`ludory league report`: what is true about a league, as files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ludory.arguments import Arg
from ludory.cli.common import File, Flag, Folder, Maybe, parse
from ludory.errors import OptionError
from ludory.visible import visible


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Write ratings, equilibria and curves of a league, from the games that it played; nothing is played here.

    Instead of DIR, three options name the files of a league of the program that Ludory began with.

    Example: ludory league report runs/league
    """

    folder: Annotated[Maybe[Folder], Arg(positional=True, metavar="DIR")] = None
    """Folder of `ludory train league --out`."""
    out: Maybe[Folder] = None
    """Folder of the report (default: DIR/report)."""
    league_state: Maybe[File] = None
    """An older league's league_state.json."""
    matches: Maybe[File] = None
    """Its matches.jsonl."""
    output: Maybe[File] = None
    """JSON file to write."""
    json: Flag = False
    """Print report.json instead of writing the files, for programs."""


def report(argv: list[str]) -> int:
    """Write the report of a league, or of the two files of a league of old."""
    chosen = parse(_Options, argv, "league report")
    state, matches, output = chosen.league_state, chosen.matches, chosen.output
    if chosen.folder is not None and not (state or matches or output):
        return _report(chosen.folder, None if chosen.json else chosen.out or chosen.folder / "report")
    if chosen.folder is None and state and matches and output:
        return _seed_report(state, matches, output)
    raise OptionError("name the folder of a league, or all three of --league-state, --matches and --output")


def _report(folder: Path, out: Path | None) -> int:
    import ludory
    from ludory.algorithms.league.report.build import ReportOrigin, make_report, standing
    from ludory.algorithms.league.report.files import report_json, write_report
    from ludory.algorithms.league.report.input import read_league
    from ludory.benchmarks.harness.machine import origin

    found = origin()
    made = make_report(
        read_league(folder), ReportOrigin(ludory.__version__, found["commit"], found["date"], found["machine"]["name"])
    )
    if out is None:
        print(json.dumps(report_json(made), allow_nan=False))
        return 0
    files = write_report(made, out)
    for warning in made.warnings:
        print(f"warning: {visible(warning)}")
    print(visible(standing(made)))
    print(f"report: {files[-1]}")
    return 0


def _seed_report(league_state: Path, matches: Path, output: Path) -> int:
    from ludory.algorithms.league.report.seed_report import write_seed_report

    found = write_seed_report(league_state, matches, output)
    print(f"{found['num_players']} players, {found['num_matches']} matches")
    for warning in found["warnings"]:
        print(f"warning: {visible(warning)}")
    for id, elo in list(found["elo"].items())[:10]:
        print(f"  {visible(id)}: Elo {elo:.1f}")
    for main, rate in found["exploitability_proxy_min_winrate_vs_past"].items():
        print(f"  {visible(main)}: smallest win rate against the past {'-' if rate is None else f'{rate:.3f}'}")
    print(f"report: {output}")
    return 0
