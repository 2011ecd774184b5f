"""`ludory texas42 train | evaluate | export | promote | models | tokenise | flywheel`: networks that learn from the oracle."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ludory.cli.common.options import file_with_suffix
from ludory.errors import OptionError, UnknownIdError

CATALOGUE = "models/texas42"
DATA = "data/texas42-labels"


def train(argv: list[str]) -> int:
    """As `ludory train texas42_oracle`, with its game filled in."""
    from ludory.cli.train import run as run_train

    named = ["--policy", "domino"] if not any(one.startswith("--policy") for one in argv) else []
    return run_train(["texas42_oracle", "--env", "Texas42Play-v0", *named, *argv])


def evaluate(argv: list[str]) -> int:
    """Score a network on states that it has not learnt from."""
    parser = argparse.ArgumentParser(
        "ludory texas42 evaluate", description="Regret of a network beside random and greedy play."
    )
    _add_data(parser)
    parser.add_argument(
        "--split", choices=("val", "test"), default="val", help="test is for one last look (default val)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, for programs")
    chosen = parser.parse_args(argv)

    from rich.console import Console

    from ludory.algorithms.texas42.oracle.report import tally_tables
    from ludory.algorithms.texas42.oracle.tally import as_json

    _, counted = _scored(chosen, chosen.split)
    if chosen.json:
        print(json.dumps(as_json(counted), indent=2))
    else:
        title = f"{chosen.checkpoint} on {chosen.data}, {chosen.split}: every decision counts the same"
        Console(markup=False, highlight=False).print(tally_tables(title, counted))
    return 0


def export(argv: list[str]) -> int:
    """Write a network as an ONNX file, or as a checkpoint of the first pipeline."""
    parser = argparse.ArgumentParser(
        "ludory texas42 export",
        description="Write a network as ONNX, compared with PyTorch first; or, if --out ends in .pt or .ckpt, as a checkpoint of the first "
        "pipeline (torch.save of a state dict with its names).",
    )
    parser.add_argument("checkpoint", type=Path, help="of `ludory texas42 train`")
    parser.add_argument("--out", type=Path, help="file to write (default: the checkpoint with the ending .onnx)")
    chosen = parser.parse_args(argv)
    out = chosen.out or file_with_suffix("CHECKPOINT", chosen.checkpoint, ".onnx")
    if out.suffix not in (".onnx", ".pt", ".ckpt"):
        raise OptionError(f"--out {out}: the name must end in .onnx, .pt or .ckpt")

    from ludory.algorithms.texas42.oracle.oracle import open_network

    if out.suffix != ".onnx":
        from ludory.algorithms.texas42.oracle.lightning_file import export_lightning

        if out.exists():
            raise OptionError(f"{out} exists; name another file with --out")
        print(f"{out}: {export_lightning(open_network(chosen.checkpoint), out)} tensors of a DominoLightningModule")
        return 0
    from ludory.algorithms.texas42.oracle.onnx_file import export_onnx

    found = export_onnx(open_network(chosen.checkpoint), out)
    print(f"{out}: as PyTorch on {found.states:,} states, greatest difference {found.greatest:.1e}, the same tiles")
    return 0


def promote(argv: list[str]) -> int:
    """Score a network and keep it in the catalogue."""
    parser = argparse.ArgumentParser(
        "ludory texas42 promote", description="Score a network on val and keep it in a catalogue."
    )
    _add_data(parser)
    parser.add_argument("--catalogue", type=Path, default=Path(CATALOGUE), metavar="DIR", help=f"default {CATALOGUE}")
    chosen = parser.parse_args(argv)

    from ludory.algorithms.texas42.oracle.catalogue import promote as keep
    from ludory.algorithms.texas42.oracle.tally import as_json

    model, counted = _scored(chosen, "val")
    states = int(counted.sums[0].sum())
    card = keep(model, chosen.catalogue, as_json(counted), f"{states} validation states of {chosen.data.name}")
    print(
        f"{chosen.catalogue / card.file}: type next\n\n  ludory eval {chosen.catalogue / card.file} texas42/pimc --game Texas42Play-v0"
    )
    return 0


def models(argv: list[str]) -> int:
    """Show a catalogue, with what is wrong; 1 if something is."""
    parser = argparse.ArgumentParser(
        "ludory texas42 models", description="The networks of a catalogue; files are compared with their hashes."
    )
    parser.add_argument("--catalogue", type=Path, default=Path(CATALOGUE), metavar="DIR", help=f"default {CATALOGUE}")
    parser.add_argument("--json", action="store_true", help="one JSON list, for programs")
    chosen = parser.parse_args(argv)

    from ludory.algorithms.texas42.oracle.catalogue import list_cards, problem_of

    cards = list_cards(chosen.catalogue)
    problems = [problem_of(card, chosen.catalogue) for card in cards]
    if chosen.json:
        print(
            json.dumps(
                [card._asdict() | {"problem": problem} for card, problem in zip(cards, problems, strict=True)], indent=2
            )
        )
        return int(any(problems))
    for card, problem in zip(cards, problems, strict=True):
        overall = card.scores["network"]["overall"]
        wrong = f"  {problem.upper()}" if problem else ""
        print(
            f"{card.file}  {card.parameters:,} numbers, q_gap {overall['q_gap']:.3f}, zero regret {overall['zero_regret']:.3f}{wrong}"
        )
    print(
        f"{len(cards)} networks in {chosen.catalogue}"
        + ("" if cards else "; `ludory texas42 promote CHECKPOINT` adds one")
    )
    return int(any(problems))


def tokenise(argv: list[str]) -> int:
    """Write tokens of labels and shards as NumPy files."""
    parser = argparse.ArgumentParser(
        "ludory texas42 tokenise", description="Tokens int8 [N, 32, 12] of labels and shards as NumPy files."
    )
    parser.add_argument(
        "--data", type=Path, default=Path(DATA), metavar="DIR", help=f"labels or shards (default {DATA})"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to")
    parser.add_argument(
        "--tokens",
        type=int,
        choices=(1, 2),
        default=1,
        help="version; 2: seats from the mover; 1: absolute ones, as the older pipeline reads them (default 1)",
    )
    parser.add_argument(
        "--splits", nargs="+", choices=("train", "val", "test"), default=("train", "val"), help="default train val"
    )
    parser.add_argument(
        "--per-decision", type=int, default=2000, metavar="N", help="states of a shard for each number of tiles played"
    )
    parser.add_argument("--sampler-seed", type=int, default=0, help="of the draw of these (default 0)")
    parser.add_argument("--dry-run", action="store_true", help="count files; write nothing")
    chosen = parser.parse_args(argv)

    from ludory.algorithms.texas42.oracle.data import read_split
    from ludory.algorithms.texas42.oracle.token_files import write_tokens

    if chosen.dry_run:
        for split in chosen.splits:
            print(f"{split}: {len(list((chosen.data / split).glob('*.parquet'))):,} files")
        return 0
    every = {split: read_split(chosen.data, split, chosen.per_decision, chosen.sampler_seed) for split in chosen.splits}
    for split, data in every.items():
        print(f"{split}: {write_tokens(data, chosen.out, split, chosen.tokens):,} states in {chosen.out / split}")
    return 0


FLYWHEEL = {
    "run": "begin: label new seeds, fine-tune, score on golden seeds, keep what is better, and begin again",
    "resume": "go on with a flywheel that was stopped or killed",
    "status": "how far a flywheel is, and what came of its turns",
}


def flywheel(argv: list[str]) -> int:
    """Run the oracle's flywheel, or show it."""
    if not argv or argv[0] in ("-h", "--help"):
        usage = f"usage: ludory texas42 flywheel {{{','.join(FLYWHEEL)}}} ...; each with --help\n\n"
        print(usage + "\n".join(f"  {verb:8} {summary}" for verb, summary in FLYWHEEL.items()))
        return 0 if argv else 2
    verb, rest = argv[0], argv[1:]
    if verb not in FLYWHEEL:
        raise UnknownIdError(f"ludory texas42 flywheel {verb}: must be one of {', '.join(FLYWHEEL)}")
    parser = argparse.ArgumentParser(f"ludory texas42 flywheel {verb}", description=FLYWHEEL[verb])
    return {"run": _run_flywheel, "resume": _resume_flywheel, "status": _show_flywheel}[verb](parser, rest)


def _run_flywheel(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    from ludory.cli.flywheel import add_ways, turn

    parser.add_argument("--start", required=True, metavar="FILE", help="checkpoint of `ludory texas42 train`")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder of the flywheel")
    parser.add_argument("--deals", type=int, default=500, help="new seeds a turn, a multiple of 50 (default 500)")
    parser.add_argument("--start-seed", type=int, default=0, metavar="N", help="the first of them (default 0)")
    parser.add_argument("--golden", type=int, default=1000, help="seeds of val to score on (default 1000)")
    parser.add_argument("--paths", type=int, default=2, help="hands of each deal (default 2)")
    parser.add_argument("--num-epochs", type=int, default=2, help="of a turn, over all labels so far (default 2)")
    parser.add_argument("--learning-rate", type=float, default=3e-5, help="default 3e-5")
    parser.add_argument("--batch-size", type=int, default=512, help="default 512")
    parser.add_argument("--confidence", type=float, default=0.975, help="of being better, one-sided (default 0.975)")
    parser.add_argument("--turns", type=int, default=10, help="in all (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="of labels and of learning (default 0)")
    add_ways(parser)
    chosen = vars(parser.parse_args(argv))
    out, once, dry_run = chosen.pop("out"), chosen.pop("once"), chosen.pop("dry_run")

    from ludory.algorithms.texas42.oracle import flywheel as oracle

    config = oracle.OracleFlywheelConfig(**chosen)
    if dry_run:
        print(oracle.OracleFlywheelState(config, oracle.FIRST).plan(out))
        return 0
    return turn(oracle.start_oracle_flywheel(config, out), once)


def _resume_flywheel(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    from ludory.cli.flywheel import add_ways, turn

    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--turns", type=int, help="in all, instead of those asked for when it began")
    add_ways(parser)
    chosen = parser.parse_args(argv)

    from ludory.algorithms.texas42.oracle import flywheel as oracle

    if chosen.dry_run:
        print(oracle.OracleFlywheelState.read(chosen.folder).plan(chosen.folder))
        return 0
    return turn(oracle.OracleFlywheel.resume(chosen.folder, chosen.turns), chosen.once)


def _show_flywheel(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--json", action="store_true", help="the state, for programs")
    chosen = parser.parse_args(argv)

    from ludory.algorithms.texas42.oracle import flywheel as oracle

    state = oracle.OracleFlywheelState.read(chosen.folder)
    if chosen.json:
        print((chosen.folder / state.file).read_text(encoding="utf-8"), end="")
        return 0
    for one in state.history:
        print(one.summary())
    print(state.plan(chosen.folder))
    return 0


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, help="of `ludory texas42 train`")
    parser.add_argument(
        "--data", type=Path, default=Path(DATA), metavar="DIR", help=f"labels or shards (default {DATA})"
    )
    parser.add_argument(
        "--per-decision", type=int, default=2000, metavar="N", help="states of a shard for each number of tiles played"
    )


def _scored(chosen: argparse.Namespace, split: Any) -> tuple[Any, Any]:
    """The model and its tally."""
    from ludory.algorithms.texas42.oracle.data import read_split
    from ludory.algorithms.texas42.oracle.oracle import open_network
    from ludory.algorithms.texas42.oracle.tally import score_network

    model = open_network(chosen.checkpoint)
    return model, score_network(model.policy, read_split(chosen.data, split, chosen.per_decision, 0))
