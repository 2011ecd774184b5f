"""`ludory check data`: what recordings and the files of older bots contain, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from ludory.cli.common.options import Flag
from ludory.cli.common.parser import parse, typed
from ludory.cli.pokemon.files import check_trajectories, is_trajectory_file
from ludory.errors import OptionError
from ludory.visible import visible

if TYPE_CHECKING:
    from ludory.data.dataset import TrajectoryDataset
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

    def load(self, paths: Sequence[str], allow_mixed: bool = False, kinds: Sequence[str] = ()) -> SequenceSet:
        """Read all files, as `load_sequences`."""
        from ludory.data.formats.last_man_standing import Reading, load_sequences

        return load_sequences(
            paths,
            Reading(bins=self.bins, strict=not self.clamp),
            skip_bad=self.skip_bad,
            split_on_done=self.split_on_done,
            allow_mixed=allow_mixed,
            kinds=kinds,
        )


@dataclass(frozen=True, kw_only=True)
class _Options(SequenceOptions):
    """Sum up folders of `ludory record`, recorder files (*.jsonl.gz), feedback streams (feedback_stream.jsonl) and manifests (manifest.jsonl).

    Of a recording every row is checked: legal actions, finite numbers, whole games. Trajectory files of Pokémon battles are summed up as by `ludory pokemon stats`; labels from which nothing can be learned are a fault.

    Example: ludory check data games
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
    if any(map(_is_recording, chosen.paths)):
        return _check_recordings(chosen)

    from ludory.data.formats.last_man_standing.summary import summary_of

    data = chosen.load(chosen.paths, chosen.allow_mixed)
    summary = summary_of(data)
    if chosen.json:
        print(json.dumps(summary, indent=2))
    else:
        print("\n".join(map(visible, [*_lines(summary), *(f"left out: {flaw}" for flaw in data.flaws)])))
    return 1 if data.flaws else 0


def _is_recording(path: str) -> bool:
    from ludory.data.shards import MANIFEST

    return (Path(path) / MANIFEST).is_file()


def _check_recordings(chosen: _Options) -> int:
    """Check folders of `ludory record` or `ludory convert`; exit code 1 if games were left out."""
    from ludory.data.dataset import TrajectoryDataset

    if other := next((path for path in chosen.paths if not _is_recording(path)), None):
        raise OptionError(f"{other}: is not a folder of `ludory record`, as others are; check it alone")
    found = {path: TrajectoryDataset(path, skip_bad=chosen.skip_bad) for path in chosen.paths}
    summaries = {path: _recording_summary(dataset) for path, dataset in found.items()}
    if chosen.json:
        print(json.dumps(summaries, indent=2))
    else:
        for path, one in summaries.items():
            print(
                visible(f"{path}: {one['games']:,} games of {one['game']}, {one['decisions']:,} decisions, all sound")
            )
            played = ", ".join(
                f"{agent} {mean:.3f}"
                for agent, mean in zip(one["agents"], one["returns_from_first_decision"], strict=True)
            )
            print(visible(f"  mean return by seat, from its first decision on: {played}"))
            for problem in one["left_out"][:MOST_LISTED]:
                print(visible(f"  left out: {problem}"))
    return 1 if any(one["left_out"] for one in summaries.values()) else 0


def _recording_summary(dataset: TrajectoryDataset) -> dict[str, Any]:
    header = dataset.header
    rewards = [0.0] * header.players
    for batch in dataset.batches(65_536):
        for seat in range(header.players):
            rewards[seat] += float(batch.rewards[batch.seats == seat].sum())
    return {
        "game": header.game,
        "options": dict(header.options),
        "seed": header.seed,
        "agents": list(header.agents) or [f"seat {seat}" for seat in range(header.players)],
        "games": dataset.num_games,
        "decisions": len(dataset),
        "returns_from_first_decision": [total / dataset.num_games for total in rewards],
        "left_out": [str(problem) for problem in dataset.skipped],
    }


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
