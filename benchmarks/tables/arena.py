"""Rows of the arena's tables: leagues, and clones of the styles."""

from __future__ import annotations

from ludory.benchmarks.arena.league import exploitability, percent

from .row import Report, Rows


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
