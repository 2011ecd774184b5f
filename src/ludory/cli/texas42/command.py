"""`ludory texas42`: jobs that only Texas 42 has; the file of a job is imported when the job is asked for."""

from __future__ import annotations

from ludory.cli.common import run_job

JOBS = {
    "generate": ("texas42.fill:generate", "shards of the oracle: every state of a deal with its exact values"),
    "labels": ("texas42.fill:labels", "states of played hands with their exact values, to learn from"),
    "tokenise": ("texas42.networks:tokenise", "tokens of labels and shards as NumPy files"),
    "evaluate": ("texas42.networks:evaluate", "regret of a network, decision by decision"),
    "evaluate-eq": ("texas42.networks:evaluate_eq", "regret of such a network, decision by decision"),
    "export": ("texas42.networks:export", "write a network as an ONNX file, or as a .pt of the first pipeline"),
    "promote": ("texas42.networks:promote", "score a network and keep it in the catalogue"),
    "models": ("texas42.networks:models", "the networks of the catalogue"),
    "flywheel": (
        "texas42.flywheel:run",
        "label new seeds, fine-tune, score, keep what is better, again and again",
    ),
    "check": ("texas42.check:run", "check that shards and labels are whole, and what their names say"),
    "calibrate": ("texas42.fits:calibrate", "play contracts and fit to them how likely a hand makes each bid"),
    "eq": ("texas42.eq:run", "play hands by E[Q] and record every decision"),
    "eq-analyse": ("texas42.eq_records:analyse", "how far tiles lie apart in recorded hands, and how sure that is"),
    "view": ("texas42.view:run", "step through a recorded hand: here, as a page, as an animation"),
    "eq-convert": ("texas42.eq_records:convert", "recorded hands to torch dictionaries (.pt), and back"),
    "bids": ("texas42.fill:bids", "how likely dealt hands make each bid, one file a deal"),
    "bids-converge": ("texas42.converge:converge", "how good P(make) is after fewer samples"),
    "bid": ("texas42.bid:run", "how likely a hand makes each bid; a poster; lost hands trick by trick"),
    "quick": ("texas42.fits:quick", "fit a fast policy to what PIMC plays"),
    "solve": ("texas42.solve:run", "what each tile of a hand is worth with all hands open"),
}


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    return run_job("texas42", "Jobs that only Texas 42 has.", JOBS, argv)
