"""`ludory check data`: what is in the files of older bots, and what is wrong with them."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ludory.errors import OptionError
from ludory.visible import visible

MOST_LISTED = 20


def run(argv: list[str]) -> int:
    """Read all files and print a summary; exit code 1 if something was left out."""
    parser = argparse.ArgumentParser(
        "ludory check data",
        description="Sum up recorder files (*.jsonl.gz), feedback streams (feedback_stream.jsonl) and manifests (manifest.jsonl).",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders (with all below them) or patterns")
    parser.add_argument(
        "--bins", metavar="N", help="bins of move and aim: 11, or 5,9 (default: what the files say, else 11)"
    )
    parser.add_argument("--clamp", action="store_true", help="clamp actions out of range, for old data")
    parser.add_argument(
        "--skip-bad", action="store_true", help="leave out what is wrong and list it, instead of stopping at the first"
    )
    parser.add_argument("--split-on-done", action="store_true", help="a `done` inside a file begins a new episode")
    parser.add_argument("--allow-mixed", action="store_true", help="take recorder files and feedback streams together")
    parser.add_argument("--json", action="store_true", help="one JSON object, for programs")
    chosen = parser.parse_args(argv)

    from ludory.data.formats.last_man_standing import Reading, load_sequences
    from ludory.data.formats.last_man_standing.summary import summary_of

    data = load_sequences(
        chosen.paths,
        Reading(bins=chosen.bins and bins_of(chosen.bins), strict=not chosen.clamp),
        skip_bad=chosen.skip_bad,
        split_on_done=chosen.split_on_done,
        allow_mixed=chosen.allow_mixed,
    )
    summary = summary_of(data)
    if chosen.json:
        print(json.dumps(summary, indent=2))
    else:
        print("\n".join(map(visible, [*_lines(summary), *(f"left out: {flaw}" for flaw in data.flaws)])))
    return 1 if data.flaws else 0


def bins_of(text: str) -> int | tuple[int, int]:
    """11 for "11", (5, 9) for "5,9".

    Raises:
        OptionError: neither.
    """
    numbers = [int(part) for part in text.split(",") if part.strip().isdecimal()]
    if len(numbers) != text.count(",") + 1 or len(numbers) > 2 or min(numbers) < 2:
        raise OptionError(f"--bins {text}: must be a number of bins such as 11, or two (move, aim) such as 5,9")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


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
