"""`ludory pokemon stats` and `split`: what is in trajectory files, and a validation file beside the training file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ludory.cli.common.options import FileArgument, Flag, Paths
from ludory.cli.common.parser import parse
from ludory.visible import visible

if TYPE_CHECKING:
    from ludory.data.pokemon.statistics import Statistics


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
    from ludory.data.pokemon.statistics import statistics_of

    skipped: list[str] | None = [] if chosen.skip_bad else None
    found = statistics_of(chosen.paths, skipped)
    if chosen.json:
        print(json.dumps(found.as_json() | {"skipped": skipped or []}, indent=2))
    else:
        print("\n".join(map(visible, [*statistics_lines(found), *(f"left out: {one}" for one in skipped or ())])))
    return 0


def is_trajectory_file(path: str | Path) -> bool:
    """Whether the first line of a file is a trajectory of a battle, or looks like a damaged one."""
    from ludory.reading import unpacked

    if not Path(path).is_file():
        return False
    with unpacked(path).handle as handle:
        head = handle.read(400)
    return b'"replay_id"' in head


def check_trajectories(paths: Sequence[str | Path], as_json: bool) -> int:
    """Print the statistics of trajectory files, and what is wrong; exit code 1 if lines are bad or nothing can be learned from the labels."""
    from ludory.data.pokemon.statistics import statistics_of

    skipped: list[str] = []
    found = statistics_of(paths, skipped)
    if as_json:
        print(json.dumps(found.as_json() | {"problems": found.problems(), "skipped": skipped}, indent=2))
    else:
        lines = [*statistics_lines(found), *(f"left out: {one}" for one in skipped)]
        print("\n".join(map(visible, [*lines, *(f"fault: {one}" for one in found.problems())])))
    return 1 if skipped or found.problems() else 0


def statistics_lines(found: Statistics) -> list[str]:
    """The statistics in words."""
    said = found.as_json()
    lines = [
        f"{found.trajectories:,} trajectories of {len(found.battles):,} battles, {found.steps:,} decisions",
        *(
            f"{name.replace('_', ' ')}: {_counts(said[name])}"
            for name in ("formats", "slot_orders", "kinds", "label_sources", "rewards")
        ),
        f"labels (without previews): {found.labels:,}, missing {said['missing']:.1%} of all decisions",
        *found.action_lines(),
    ]
    if found.gimmicks:
        lines.append(f"gimmicks: {_counts(said['gimmicks'])}")
    if found.labels:
        base = said["baselines"]
        lines.append(
            f"baselines: class prior {base['class_prior']:.3f}, uniform legal {base['uniform_legal']:.3f}, "
            f"majority {base['majority_share']:.3f} (action {base['majority_action']})"
            + (f", max power {base['max_power_on_moves']:.3f} of moves" if found.moves else "")
        )
        lines.append(
            f"mean legal {base['mean_legal']:.2f}, share of moves {base['share_of_moves']:.3f}, forced {base['forced']:.3f}"
        )
    return lines + [f"warning: {one}" for one in said["warnings"]]


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in found.items())


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
