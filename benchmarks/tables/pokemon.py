"""Rows of the table of Pokémon battles: what was measured, the number, and the goal."""

from __future__ import annotations

from . import Report, Rows, RowsOf


def _speed_rows(report: Report) -> Rows:
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


def _strength_rows(report: Report) -> Rows:
    for row in report["pairs"]:
        one, other = (name.removeprefix("pokemon/") for name in row["pair"])
        yield (
            f"wins of `{one}` against `{other}`, `{row['game']}`, {row['battles']:,} battles",
            f"{100 * row['wins']:.1f} ± {100 * row['stderr']:.1f} %",
            "",
        )


def _clone_rows(report: Report) -> Rows:
    for clone in report["clones"]:
        held_out, play = clone["held_out"], clone["play"]
        yield (
            f"clone of `{play['against']}`, seed {clone['seed']}, `{report['game']}`, {play['battles']:,} battles",
            f"held-out accuracy {held_out['accuracy']:.3f} (largest power {held_out['max_power']:.3f}), "
            f"wins {100 * play['wins']:.1f} ± {100 * play['stderr']:.1f} %",
            ".85, 44 %",
        )


def _ppo_rows(report: Report) -> Rows:
    final = report["final"]
    how = f"against `{report['others']}`" if "others" in report else "by self-play"
    yield (
        f"`ppo` {how} from a clone, seed {report['seed']}, `{report['game']}`, {report['decisions_made'] / 1e6:.1f} M decisions, "
        f"{report['training_minutes']:.0f} minutes",
        f"wins {100 * final['wins']:.1f} ± {100 * final['stderr']:.1f} % of {final['battles']:,} against `{final['against']}`",
        "55 %",
    )


def _soak_rows(report: Report) -> Rows:
    first, last = report["resident_mib"][1], report["resident_mib"][-1]
    sizes = ", ".join(f"{name} {first[name]:,.0f} to {last[name]:,.0f} MiB" for name in last if name != "battles")
    left = f"{len(report['processes_left'])} processes and {len(report['files_left'])} files left"
    yield f"memory from {first['battles']:,} to {last['battles']:,} battles", f"{sizes}; {left}", "flat, nothing left"


POKEMON: RowsOf = {
    "pokemon": _speed_rows,
    "pokemon-strength": _strength_rows,
    "pokemon-bc": _clone_rows,
    "pokemon-ppo": _ppo_rows,
    "pokemon-soak": _soak_rows,
}
