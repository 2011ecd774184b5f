"""`ludory pokemon stats` and `split`: what is in trajectory files, and a validation file beside the training file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from ludory.cli.common import FileArgument, Flag, Paths, parse
from ludory.visible import visible


@dataclass(frozen=True, kw_only=True)
class _StatsOptions:
    """Show what trajectory files contain, with baselines and warnings about their labels.

    Example: ludory pokemon stats battles.jsonl.gz
    """

    paths: Paths
    """Trajectory files."""
    skip_bad: Flag = False
    """Leave out bad lines and list them."""
    json: Flag = False
    """Print one JSON object, for programs."""


def stats(argv: list[str]) -> int:
    """Print the statistics; returns the exit code."""
    chosen = parse(_StatsOptions, argv, "pokemon stats")
    from ludory.data.pokemon.statistics import statistics_lines, statistics_of

    skipped: list[str] | None = [] if chosen.skip_bad else None
    found = statistics_of(chosen.paths, skipped)
    if chosen.json:
        print(json.dumps(found.as_json() | {"skipped": skipped or []}, indent=2))
    else:
        print("\n".join(map(visible, [*statistics_lines(found), *(f"left out: {one}" for one in skipped or ())])))
    return 0


@dataclass(frozen=True, kw_only=True)
class _SplitOptions:
    """Write IN.train.jsonl and IN.val.jsonl; all trajectories of a battle go to one of them.

    Example: ludory pokemon split battles.jsonl.gz --val-ratio 0.1 --seed 42
    """

    file: FileArgument
    """Trajectory file."""
    val_ratio: float = 0.1
    """Share of validation."""
    seed: int = 42
    """Of the split. A battle's side depends on its id and the seed alone."""
    by: Literal["battle", "day", "player"] = "battle"
    """What is kept together."""


def split(argv: list[str]) -> int:
    """Split, and say where the files are; returns the exit code."""
    chosen = parse(_SplitOptions, argv, "pokemon split")
    from ludory.data.pokemon.splitting import split_file

    found = split_file(chosen.file, chosen.val_ratio, chosen.seed, chosen.by)
    print(visible(f"{found.train}: {found.train_trajectories:,} trajectories of {found.train_battles:,} battles"))
    print(visible(f"{found.val}: {found.val_trajectories:,} trajectories of {found.val_battles:,} battles"))
    return 0
