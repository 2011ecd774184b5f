"""`ludory texas42 labels`: fill a folder with states of played hands and their exact values."""

from __future__ import annotations

import argparse
from dataclasses import fields

from ludory.cli.common.options import count

from .filling import add_filling, fill_folder, show_missing, wanted_seeds

BYTES = 45e3


def run(argv: list[str]) -> int:
    """Fill gaps, or say which there are; returns the exit code."""
    chosen = _parser().parse_args(argv)

    from ludory.algorithms.texas42.data.labels import label_names, make_labels
    from ludory.data.formats.texas42.labels import CheckLabels, LabelSettings

    settings = LabelSettings(**{field.name: getattr(chosen, field.name) for field in fields(LabelSettings)})
    names, check = label_names(wanted_seeds(chosen), chosen.start_seed), CheckLabels(settings)
    if chosen.dry_run:
        return show_missing(chosen, names, check, BYTES * settings.paths / 2)
    return fill_folder(chosen, names, check, lambda file, name: make_labels(file, name, settings), "labels")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory texas42 labels",
        description="Write states of played hands with exact values, to train networks on: 50 deals a file, every decision with a choice.",
    )
    add_filling(parser, "data/texas42-labels")
    parser.add_argument(
        "--paths", type=count, default=2, help="hands of each deal, every other one by texas42/pimc (default 2)"
    )
    parser.add_argument("--worlds", type=count, default=3, help="of texas42/pimc (default 3)")
    parser.add_argument("--epsilon", type=float, default=0.1, help="how often it plays anything legal (default 0.1)")
    parser.add_argument("--sampler-seed", type=count, default=0, help="of leaders and moves (default 0)")
    return parser
