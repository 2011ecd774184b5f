"""Rows of the tables of speed: beside other libraries, and of a second core."""

from __future__ import annotations

from statistics import median

from .row import Report, Rows


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
