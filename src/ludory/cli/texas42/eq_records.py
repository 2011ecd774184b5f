"""`ludory texas42 eq-analyse | eq-convert`: what records of E[Q] show, and records as dictionaries of torch.save and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ludory.cli.common import Count, File, FileArgument, Flag, Maybe, Paths, check_ending, parse, write_text
from ludory.errors import OptionError

ENDINGS = (".safetensors", ".pt")
COLUMNS = {
    "choices": "choices",
    "spread": "spread",
    "spread_p10": "p10",
    "spread_p90": "p90",
    "lead": "lead",
    "sem": "sem",
    "unsure": "unsure",
    "n_samples": "worlds",
    "ess_share": "ess",
    "whole": "all",
    "error": "error",
    "error_mae": "mae",
    "within_1_deviation": "within",
}
"""Figures of the table -> their headings."""
EXPLAINED = """choices: decisions with two legal tiles or more, of which the next ten columns are; spread, p10, p90: best minus worst mean, in points;
lead: best minus second; sem: largest standard error; unsure: share in which the lead is below 2 standard errors; worlds: solved; ess: effective
worlds, share of these; all: share in which every world was solved; error, mae: mean of the tile played minus what the hand then brought;
within: share in which that is at most one deviation; other N, lost: how often N other worlds make another tile the best, and what it loses"""


@dataclass(frozen=True, kw_only=True)
class _Analyse:
    """Show how far tiles lie apart in recorded hands, and how sure that is.

    Example: ludory texas42 eq-analyse data/texas42-eq
    """

    paths: Paths
    """Records (.safetensors, .pt), or folders."""
    samples: tuple[Count, ...] = ()
    """Draw so many other worlds, and compare the best tile."""
    seed: Count = 0
    """Seed of these worlds."""
    json: Flag = False
    """Print one JSON object, for programs."""
    svg: Maybe[File] = None
    """Draw spread, lead and standard error by trick."""


def analyse(argv: list[str]) -> int:
    """Print figures of recorded hands; returns the exit code."""
    chosen = parse(_Analyse, argv, "texas42 eq-analyse")
    if min(chosen.samples, default=1) < 1:
        raise OptionError("--samples: must be at least 1")
    check_ending("--svg", chosen.svg, ".svg")

    from ludory.algorithms.texas42.data.eq_analysis import analyse as analysed
    from ludory.algorithms.texas42.data.eq_analysis import read_records

    found = analysed(read_records(chosen.paths), chosen.samples, chosen.seed)
    print(json.dumps(found, indent=2) if chosen.json else _table(found, chosen.samples))
    if chosen.svg:
        from ludory.charts import line_chart

        lines = {
            name: [(int(k), one[name]) for k, one in found["by_trick"].items() if one[name] is not None]
            for name in ("spread", "lead", "sem")
        }
        write_text(chosen.svg, line_chart("E[Q] by trick", "trick", "points", lines))
    return 0


def _table(found: dict[str, Any], samples: tuple[int, ...]) -> str:
    """A row for each trick and one for all."""
    names = COLUMNS | {
        key: head for n in samples for key, head in ((f"changed_{n}", f"other {n}"), (f"lost_{n}", "lost"))
    }
    rows = [("trick", *names.values())]
    for title, one in {**found["by_trick"], "all": found["overall"]}.items():
        rows.append((title, *(_cell(one[name]) for name in names)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    modes = ", ".join(
        f"{name} {100 * one['share']:.1f} %" for name, one in found["exploration"].items() if one["share"]
    )
    return "\n".join([f"{found['hands']} hands, {found['decisions']} decisions: {modes}", *lines, EXPLAINED])


def _cell(number: float | None) -> str:
    return "" if number is None else str(number) if isinstance(number, int) else f"{number:.3f}"


@dataclass(frozen=True, kw_only=True)
class _Convert:
    """Convert a record of E[Q] to a dictionary of torch.save (.pt), or back. Nothing in the file is executed.

    Example: ludory texas42 eq-convert hand.safetensors hand.pt
    """

    file: FileArgument
    """A .safetensors record, or a .pt dictionary."""
    out: FileArgument
    """File to write, with the other ending."""


def convert(argv: list[str]) -> int:
    """Convert one file; returns the exit code."""
    chosen = parse(_Convert, argv, "texas42 eq-convert")
    if (chosen.file.suffix, chosen.out.suffix) not in (ENDINGS, ENDINGS[::-1]):
        raise OptionError(f"{chosen.file} to {chosen.out}: one must end in .safetensors, the other in .pt")
    if chosen.out.exists():
        raise OptionError(f"{chosen.out} exists; name another file")

    from ludory.data.formats.texas42.eq_records import read_eq, write_eq
    from ludory.data.formats.texas42.eq_torch import read_pt, write_pt

    if chosen.file.suffix == ".pt":
        write_eq(chosen.out, read_pt(chosen.file))
    else:
        write_pt(chosen.out, read_eq(chosen.file))
    print(f"The record is in {chosen.out}")
    return 0
