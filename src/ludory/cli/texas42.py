"""`ludory texas42`: jobs that only Texas 42 has, each in a file of its own that is read when the job is asked for."""

from __future__ import annotations

import difflib
from importlib import import_module

from ludory.errors import UnknownIdError

VERBS = {
    "generate": ("texas42_generate", "shards of the oracle: every state of a deal with its exact values"),
    "labels": ("texas42_labels", "states of played hands with their exact values, to learn from"),
    "tokenise": ("texas42_networks:tokenise", "tokens of labels and shards as NumPy files"),
    "train": ("texas42_networks:train", "train a network on exact values"),
    "evaluate": ("texas42_networks:evaluate", "regret of a network, decision by decision"),
    "export": ("texas42_networks:export", "write a network as an ONNX file, or as a .pt of the first pipeline"),
    "promote": ("texas42_networks:promote", "score a network and keep it in the catalogue"),
    "models": ("texas42_networks:models", "the networks of the catalogue"),
    "flywheel": (
        "texas42_networks:flywheel",
        "label new seeds, fine-tune, score, keep what is better, again and again",
    ),
    "check": ("texas42_check", "prove that shards and labels are whole, and what their names say"),
    "calibrate": ("texas42_calibrate", "play contracts and fit to them how likely a hand makes each bid"),
    "eq": ("texas42_eq", "play hands by E[Q] and record every decision"),
    "eq-analyse": ("texas42_eq:analyse", "how far tiles lie apart in recorded hands, and how sure that is"),
    "view": ("texas42_view", "step through a recorded hand: here, as a page, as an animation"),
    "eq-convert": ("texas42_eq_convert", "recorded hands to torch dictionaries (.pt), and back"),
    "bids": ("texas42_bids", "how likely dealt hands make each bid, one file a deal"),
    "bids-converge": ("texas42_bids:converge", "how good P(make) is after fewer samples"),
    "bid": ("texas42_bid", "how likely a hand makes each bid; a poster; lost hands trick by trick"),
    "quick": ("texas42_quick", "fit a fast policy to what PIMC plays"),
    "solve": ("texas42_solve", "what each tile of a hand is worth with all hands open"),
}
"""Name of a job -> module of this folder, with `run(argv) -> int` or the function named, and one line for people."""


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        print(help_text())
        return 0 if argv else 2
    verb = argv[0]
    if verb not in VERBS:
        near = difflib.get_close_matches(verb, VERBS, 1, 0)
        raise UnknownIdError(f"ludory texas42 {verb}: no such job; did you mean {near[0]!r}? Jobs: {', '.join(VERBS)}")
    module, _, function = VERBS[verb][0].partition(":")
    return int(getattr(import_module(f"{__package__}.{module}"), function or "run")(argv[1:]))


def help_text() -> str:
    """Usage and one line for each job; imports none of them."""
    width = max(map(len, VERBS))
    lines = [f"  {verb:{width}}  {summary}" for verb, (_, summary) in VERBS.items()]
    return "\n".join(
        ["usage: ludory texas42 <job> ...", "", "Jobs that only Texas 42 has.", "", *lines, "", "Each with --help."]
    )
