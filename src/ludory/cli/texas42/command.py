"""`ludory texas42`: jobs that only Texas 42 has, each in a file of its own that is read when the job is asked for."""

from __future__ import annotations

import difflib
from importlib import import_module

from ludory.errors import UnknownIdError

VERBS = {
    "generate": ("generate", "shards of the oracle: every state of a deal with its exact values"),
    "labels": ("labels", "states of played hands with their exact values, to learn from"),
    "tokenise": ("networks:tokenise", "tokens of labels and shards as NumPy files"),
    "train": ("networks:train", "train a network on exact values"),
    "evaluate": ("networks:evaluate", "regret of a network, decision by decision"),
    "export": ("networks:export", "write a network as an ONNX file, or as a .pt of the first pipeline"),
    "promote": ("networks:promote", "score a network and keep it in the catalogue"),
    "models": ("networks:models", "the networks of the catalogue"),
    "flywheel": (
        "networks:flywheel",
        "label new seeds, fine-tune, score, keep what is better, again and again",
    ),
    "check": ("check", "prove that shards and labels are whole, and what their names say"),
    "calibrate": ("calibrate", "play contracts and fit to them how likely a hand makes each bid"),
    "eq": ("eq", "play hands by E[Q] and record every decision"),
    "eq-analyse": ("eq:analyse", "how far tiles lie apart in recorded hands, and how sure that is"),
    "view": ("view", "step through a recorded hand: here, as a page, as an animation"),
    "eq-convert": ("eq_convert", "recorded hands to torch dictionaries (.pt), and back"),
    "bids": ("bids", "how likely dealt hands make each bid, one file a deal"),
    "bids-converge": ("bids:converge", "how good P(make) is after fewer samples"),
    "bid": ("bid", "how likely a hand makes each bid; a poster; lost hands trick by trick"),
    "quick": ("quick", "fit a fast policy to what PIMC plays"),
    "solve": ("solve", "what each tile of a hand is worth with all hands open"),
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
