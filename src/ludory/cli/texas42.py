"""`ludory texas42`: jobs that only Texas 42 has, each in a file of its own that is read when the job is asked for."""

from __future__ import annotations

import difflib
from importlib import import_module

from ludory.errors import UnknownIdError

VERBS = {
    "generate": ("texas42_generate", "shards of the oracle: every state of a deal with its exact values"),
    "labels": ("texas42_labels", "states of played hands with their exact values, to learn from"),
    "check": ("texas42_check", "prove that shards and labels are whole, and what their names say"),
    "calibrate": ("texas42_calibrate", "play contracts and fit to them how likely a hand makes each bid"),
    "bid": ("texas42_bid", "how likely a hand makes each bid; a poster; lost hands trick by trick"),
    "solve": ("texas42_solve", "what each tile of a hand is worth with all hands open"),
}
"""Name of a job -> module of this folder, with `run(argv) -> int`, and one line for people."""


def run(argv: list[str]) -> int:
    """Do one of the jobs; gives the exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        print(help_text())
        return 0 if argv else 2
    verb = argv[0]
    if verb not in VERBS:
        near = difflib.get_close_matches(verb, VERBS, 1, 0)
        raise UnknownIdError(f"ludory texas42 {verb}: no such job; did you mean {near[0]!r}? Jobs: {', '.join(VERBS)}")
    return int(import_module(f"{__package__}.{VERBS[verb][0]}").run(argv[1:]))


def help_text() -> str:
    """Usage and one line for each job; imports none of them."""
    width = max(map(len, VERBS))
    lines = [f"  {verb:{width}}  {summary}" for verb, (_, summary) in VERBS.items()]
    return "\n".join(
        ["usage: ludory texas42 <job> ...", "", "Jobs that only Texas 42 has.", "", *lines, "", "Each with --help."]
    )
