"""Rows of the table of tuned settings."""

from __future__ import annotations

from statistics import mean, stdev

from .row import Report, Rows


def tuned_rows(report: Report) -> Rows:
    """Score, lead over the baseline, and time, per algorithm and game."""
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
