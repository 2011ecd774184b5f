"""The report of a sweep: one page that loads nothing, with the best settings, scores over trials, and all trials."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from ludory.charts.axes import linear_axis
from ludory.charts.bars import Bar, Panel, bar_chart
from ludory.charts.curves import Plot, Point, Series, curve_plot, interval_plot
from ludory.charts.drawing import page_style, quoted

from .space import shown, typed
from .study import Sweep, TrialResult

CURVES = 5
"""Trials whose scores over timesteps are drawn."""
STYLE = """
main, header { max-width: 66rem; margin: 0 auto .8rem } main > .card { padding: .2rem 1.1rem .9rem; margin: 1rem 0; overflow-x: auto }
h2 { padding: .7rem 0 .2rem } svg { display: block; max-width: 100%; height: auto; border-radius: .5rem } p { margin: .3rem 0 }
pre { white-space: pre-wrap; overflow-wrap: anywhere }
@media (max-width: 60rem) { main > .card > svg { max-width: none } }
"""


def command(sweep: Sweep, best: TrialResult, out: Path | None = None) -> str:
    """The `ludory train` command that trains with the settings of a trial."""
    setting, tuned = sweep.setting, sweep.tuned(best)
    words = ["ludory", "train", setting.algorithm.partition("-v")[0], "--env", setting.env]
    words += [word for name, value in setting.options.items() for word in ("--option", f"{name}={value}")]
    words += [] if setting.policy == "auto" else ["--policy", setting.policy]
    words += [
        "--untuned",
        *typed(tuned.settings),
        "--timesteps",
        str(setting.timesteps),
        "--seed",
        str(setting.seed + 1),
    ]
    return shlex.join([*words, *(["--out", str(out)] if out else [])])


def sweep_page(sweep: Sweep) -> str:
    """The HTML document of a sweep with at least one finished trial."""
    title = f"Sweep of {sweep.setting.algorithm} on {sweep.setting.env}"
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<meta name='color-scheme' content='light dark'><title>{quoted(title)}</title><style>{page_style()}{STYLE}</style></head><body>\n"
        + "\n".join(_body(sweep, title))
        + "\n</main></body></html>\n"
    )


def _body(sweep: Sweep, title: str) -> Iterator[str]:
    results, best, setting = sweep.results(), sweep.best(), sweep.setting
    counts = {state: sum(one.state == state for one in results) for state in ("complete", "pruned", "failed")}
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    yield (
        f"<header><h1>{quoted(title)}</h1><p>{len(results)} trials of {setting.timesteps:,} timesteps: {told}; a score is the mean return "
        f"of {setting.games} games{_opponent(sweep)}</p></header><main>"
    )
    if best is not None:
        yield (
            f"<section class='card'><h2>Best settings</h2><p>Trial {best.number}: {best.score:.3f} after {best.cpu_seconds:.0f} CPU-seconds. "
            "The best of many scores is too high by chance; train again with other seeds before you believe it.</p>"
            f"<pre>{quoted(command(sweep, best))}</pre></section>"
        )
    scored = [one for one in results if one.scores]
    if scored:
        yield _section("Scores", _scores(scored))
        yield _section("The best trials", _curves(scored))
    if importances := sweep.importances():
        bars = [Bar(name, share, own=True) for name, share in importances.items()]
        caption = "share of the differences between scores (PED-ANOVA); rough for few trials"
        yield _section("What matters", bar_chart([Panel("importance", bars)], caption))
    yield f"<section class='card'><h2>All trials</h2>{_table(results)}</section>"


def _opponent(sweep: Sweep) -> str:
    facts = sweep.game.facts
    alone = facts.reward == "shared" or facts.players == 1
    return "" if alone else f" against {sweep.setting.baseline}"


def _section(title: str, svg: str) -> str:
    return f"<section class='card'><h2>{title}</h2>{svg}</section>"


def _scores(results: Sequence[TrialResult]) -> str:
    """Last scores of the trials, and the best of the complete ones so far."""
    every = [one.score for one in results]
    best, running = float("-inf"), []
    for one in results:
        if one.state == "complete":
            best = max(best, one.score)
        if best > float("-inf"):
            running.append(Point(one.number, best, best, best))
    across = linear_axis("trial", 0, max(1, *(one.number for one in results)), 8, widen=False)
    upwards = linear_axis("score", min(every), max(every))
    series = [Series("trial", [Point(one.number, one.score, one.score, one.score) for one in results])]
    series += [Series("best so far", running)] if running else []
    return interval_plot(
        "Score of each trial", [Plot(across, upwards, series)], ["a pruned trial has the score at which it ended"]
    )


def _curves(results: Sequence[TrialResult]) -> str:
    """Scores over timesteps of the best trials."""
    best = sorted(results, key=lambda one: -one.score)[:CURVES]
    curves = [Series(f"trial {one.number}", [Point(x, y, y, y) for x, y in one.scores]) for one in best]
    return curve_plot("Scores during the training", curves, "score", [])


def _table(results: Sequence[TrialResult]) -> str:
    """All trials, the best first."""
    names = list(dict.fromkeys(name for one in results for name in one.settings))
    head = "".join(
        f"<th scope='col'>{quoted(name)}</th>" for name in ("trial", "score", "state", "CPU-seconds", *names)
    )
    rows = []
    for one in sorted(results, key=lambda one: (one.state != "complete", -one.score if one.scores else float("inf"))):
        cells = [
            str(one.number),
            f"{one.score:.3f}" if one.scores else "",
            one.note or one.state,
            f"{one.cpu_seconds:.0f}",
        ]
        cells += [shown(one.settings[name]) if name in one.settings else "" for name in names]
        rows.append("<tr>" + "".join(f"<td>{quoted(cell)}</td>" for cell in cells) + "</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
