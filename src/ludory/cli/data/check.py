"""`ludory check data`: what the files of older bots contain, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from ludory.cli.common.options import Flag
from ludory.cli.common.parser import parse, typed
from ludory.cli.pokemon.files import check_trajectories, is_trajectory_file
from ludory.errors import OptionError
from ludory.visible import visible

if TYPE_CHECKING:
    from ludory.data.formats.last_man_standing import SequenceSet

MOST_LISTED = 20


def bins_of(text: str) -> int | tuple[int, int]:
    """11 for "11", (5, 9) for "5,9".

    Raises:
        OptionError: neither.
    """
    numbers = [int(part) for part in text.split(",") if part.strip().isdecimal()]
    if len(numbers) != text.count(",") + 1 or len(numbers) > 2 or min(numbers) < 2:
        raise OptionError(f"--bins {text}: must be a number of bins such as 11, or two (move, aim) such as 5,9")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


@dataclass(frozen=True, kw_only=True)
class SequenceOptions:
    """How recorder files and feedback streams are read; `ludory convert` has the same options."""

    bins: Annotated[int | tuple[int, int] | None, typed(bins_of, "N"), arg(help_behavior_hint="")] = None
    """Bins of move and aim: 11, or 5,9 (default: what the files say, else 11)."""
    clamp: Flag = False
    """Clamp actions out of range, for old data."""
    skip_bad: Flag = False
    """Leave out whole games with a problem and list them, instead of stopping at the first."""
    split_on_done: Flag = False
    """A `done` inside a file begins a new game."""

    def load(self, paths: Sequence[str], allow_mixed: bool = False) -> SequenceSet:
        """Read all files."""
        from ludory.data.formats.last_man_standing import Reading, load_sequences

        return load_sequences(
            paths,
            Reading(bins=self.bins, strict=not self.clamp),
            skip_bad=self.skip_bad,
            split_on_done=self.split_on_done,
            allow_mixed=allow_mixed,
        )


@dataclass(frozen=True, kw_only=True)
class _Options(SequenceOptions):
    """Sum up recorder files (*.jsonl.gz), feedback streams (feedback_stream.jsonl) and manifests (manifest.jsonl).

    Trajectory files of Pokémon battles are summed up as by `ludory pokemon stats`; labels from which nothing can be learned are a fault.

    Example: ludory check data duels/recorder --json
    """

    paths: Annotated[tuple[str, ...], Positional, arg(metavar="PATH...", help_behavior_hint="")]
    """Files, folders (with everything below them) or patterns."""
    allow_mixed: Flag = False
    """Read recorder files and feedback streams together."""
    json: Flag = False
    """Print one JSON object, for programs."""


def run(argv: list[str]) -> int:
    """Read all files and print a summary; exit code 1 if something was left out."""
    chosen = parse(_Options, argv, "check data")
    if all(map(is_trajectory_file, chosen.paths)):
        return check_trajectories(chosen.paths, chosen.json)

    from ludory.data.formats.last_man_standing.summary import summary_of

    data = chosen.load(chosen.paths, chosen.allow_mixed)
    summary = summary_of(data)
    if chosen.json:
        print(json.dumps(summary, indent=2))
    else:
        print("\n".join(map(visible, [*_lines(summary), *(f"left out: {flaw}" for flaw in data.flaws)])))
    return 1 if data.flaws else 0


def _lines(summary: dict[str, Any]) -> list[str]:
    length = summary["length"]
    lines = [
        f"{summary['episodes']:,} episodes, {summary['steps']:,} steps of {summary['features']}, {_counts(summary['sources'])}",
        f"length: {length['min']} to {length['max']}, mean {length['mean']:.1f}",
        f"reward sum: {summary['reward_sum']:g}",
        f"ends: {_counts(summary['ends'])}",
        *(f"outcomes, {name}: {_counts(found)}" for name, found in summary["outcomes"].items() if found),
        f"log-probabilities: known in {summary['log_probs']:,} episodes"
        + ("" if summary["log_probs"] == summary["episodes"] else "; the others are usable for bc and KL only"),
        *(f"{head}: {_counts(found)}" for head, found in summary["actions"].items()),
    ]
    for name, words in (
        ("frozen", "every line shows one place of a body that moves"),
        ("short", "streams of fewer than 2 steps, left out"),
        ("unlinked_streams", "streams that no manifest tells of"),
        ("unlinked_runs", "records of manifests without a stream"),
    ):
        if summary[name]:
            lines += [f"{words}: {len(summary[name]):,}", *(f"  {one}" for one in summary[name][:MOST_LISTED])]
    if summary["ignored_lines"]:
        lines.append(f"lines of streams that are neither control nor step: {summary['ignored_lines']:,}")
    return lines


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in found.items())
