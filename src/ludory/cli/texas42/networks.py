"""`ludory texas42 evaluate | evaluate-eq | export | promote | models | tokenise`: networks that learn from the oracle."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from ludory.arguments import Arg, as_typed
from ludory.cli.common import (
    Count,
    File,
    FileArgument,
    Flag,
    Folder,
    Maybe,
    check_ending,
    check_new,
    file_with_suffix,
    parse,
    show_table,
)
from ludory.errors import OptionError

CATALOGUE, LABELS = Path("models/texas42"), Path("data/texas42-labels")
"""Folders, unless others are named."""
NEW_DEALS = 300
"""Deals that a network is scored on, unless told otherwise."""
PER_DECISION = 2000
"""States of a shard for each number of tiles played, unless told otherwise."""


@dataclass(frozen=True, kw_only=True)
class _Sampled:
    per_decision: Maybe[Count] = None
    """States of a shard for each number of tiles played (default: 2000)."""


@dataclass(frozen=True, kw_only=True)
class _Scored(_Sampled):
    checkpoint: FileArgument
    """Checkpoint of `ludory train texas42_oracle`."""
    data: Annotated[Folder | None, Arg(aliases=("--input",))] = None
    """Labels or shards (default: those of data/texas42-labels; new deals, if the network learnt from new deals)."""
    deals: Maybe[Count] = None
    """New deals, of which all states count (default: 300)."""


@dataclass(frozen=True, kw_only=True)
class _Evaluate(_Scored):
    """Show the regret of a network beside random and greedy play.

    Example: ludory texas42 evaluate runs/net.ludory
    """

    split: Literal["val", "test"] = "val"
    """States to score on; test is for one last look."""
    json: Flag = False
    """Print one JSON object, for programs."""


@dataclass(frozen=True, kw_only=True)
class _EvaluateEq:
    """Show the regret in E[Q] of a network that sees what a seat sees.

    Example: ludory texas42 evaluate-eq runs/student.ludory
    """

    checkpoint: FileArgument
    """Checkpoint of `ludory train texas42_student`."""
    data: Folder = Path("data/texas42-eq")
    """Records of `ludory texas42 eq`."""
    split: Literal["val", "test"] = "val"
    """Records to score on; test is for one last look."""
    json: Flag = False
    """Print one JSON object, for programs."""


@dataclass(frozen=True, kw_only=True)
class _Export:
    """Write a network as ONNX, compared with PyTorch first; or as a checkpoint of the first pipeline, if --out ends in .pt or .ckpt.

    The latter is torch.save of a state dict with the names of that pipeline.

    Example: ludory texas42 export runs/net.ludory --out net.onnx
    """

    checkpoint: FileArgument
    """Checkpoint of `ludory train texas42_oracle`."""
    out: Maybe[File] = None
    """File to write (default: the checkpoint with the ending .onnx)."""


@dataclass(frozen=True, kw_only=True)
class _Promote(_Scored):
    """Score a network on val and keep it in a catalogue.

    Example: ludory texas42 promote runs/net.ludory
    """

    catalogue: Folder = CATALOGUE
    """Folder of the catalogue."""


@dataclass(frozen=True, kw_only=True)
class _Models:
    """Show the networks of a catalogue; files are compared with their hashes.

    Example: ludory texas42 models
    """

    catalogue: Folder = CATALOGUE
    """Folder of the catalogue."""
    json: Flag = False
    """Print one JSON list, for programs."""


@dataclass(frozen=True, kw_only=True)
class _Tokenise(_Sampled):
    """Write tokens int8 [N, 32, 12] of labels and shards as NumPy files.

    Example: ludory texas42 tokenise --data data/shards-standard --out data/tokenized
    """

    data: Annotated[Folder, Arg(aliases=("--input",))] = LABELS
    """Labels or shards."""
    out: Annotated[Folder, Arg(aliases=("--output",))]
    """Folder to write to."""
    tokens: Literal[1, 2] = 2
    """Version; 2: seats counted from the mover, as networks read them; 1: absolute seats, as the older pipeline and domino(tokens=1) do."""
    splits: tuple[Literal["train", "val", "test"], ...] = ("train", "val")
    """Splits to write."""
    sampler_seed: int = 0
    """Seed of the draw of states."""
    keep_forced: Flag = False
    """Write states of shards without a choice, too, as the older pipeline does."""
    dry_run: Flag = False
    """Count files, and write nothing."""


def evaluate_eq(argv: list[str]) -> int:
    """Score a network on E[Q] records that it has not learnt from."""
    chosen = parse(_EvaluateEq, argv, "texas42 evaluate-eq")

    from ludory.algorithms.texas42.student.student import Texas42Student, read_split, score_student, student_table

    policy = Texas42Student.load(chosen.checkpoint).policy
    found = score_student(policy, read_split(chosen.data, chosen.split))
    if chosen.json:
        print(json.dumps(found, indent=2))
    else:
        show_table(student_table(f"{chosen.checkpoint} on {chosen.data}, {chosen.split}", found))
    return 0


def evaluate(argv: list[str]) -> int:
    """Score a network on states that it has not learnt from."""
    chosen = parse(_Evaluate, argv, "texas42 evaluate")

    from ludory.algorithms.texas42.oracle.tally import as_json, tally_tables

    _, counted, states = _scored(chosen, chosen.split)
    if chosen.json:
        print(json.dumps(as_json(counted), indent=2))
    else:
        show_table(tally_tables(f"{chosen.checkpoint} on {states}: every decision counts the same", counted))
    return 0


def export(argv: list[str]) -> int:
    """Write a network as an ONNX file, or as a checkpoint of the first pipeline."""
    chosen = parse(_Export, argv, "texas42 export")
    out = chosen.out or file_with_suffix("CHECKPOINT", chosen.checkpoint, ".onnx")
    check_ending("--out", out, ".onnx", ".pt", ".ckpt")

    from ludory.algorithms.texas42.oracle.oracle import open_network

    if out.suffix != ".onnx":
        from ludory.algorithms.texas42.oracle.lightning_file import export_lightning

        check_new(out)
        print(f"{out}: {export_lightning(open_network(chosen.checkpoint), out)} tensors of a DominoLightningModule")
        return 0
    from ludory.algorithms.texas42.oracle.onnx_file import export_onnx

    found = export_onnx(open_network(chosen.checkpoint), out)
    print(f"{out}: as PyTorch on {found.states:,} states, greatest difference {found.greatest:.1e}, the same tiles")
    return 0


def promote(argv: list[str]) -> int:
    """Score a network and keep it in the catalogue."""
    chosen = parse(_Promote, argv, "texas42 promote")

    from ludory.algorithms.texas42.oracle.catalogue import promote as keep
    from ludory.algorithms.texas42.oracle.tally import as_json

    model, counted, states = _scored(chosen, "val")
    card = keep(model, chosen.catalogue, as_json(counted), f"{int(counted.sums[0].sum())} states of {states}")
    print(
        f"{chosen.catalogue / card.file}: type next\n\n  ludory eval {as_typed(chosen.catalogue / card.file)} texas42/pimc --game Texas42Play-v0"
    )
    return 0


def models(argv: list[str]) -> int:
    """Show a catalogue, with what is wrong; 1 if something is."""
    chosen = parse(_Models, argv, "texas42 models")

    from ludory.algorithms.texas42.oracle.catalogue import list_cards, problem_of

    cards = list_cards(chosen.catalogue)
    problems = [problem_of(card, chosen.catalogue) for card in cards]
    if chosen.json:
        rows = [card._asdict() | {"problem": problem} for card, problem in zip(cards, problems, strict=True)]
        print(json.dumps(rows, indent=2))
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
    chosen = parse(_Tokenise, argv, "texas42 tokenise")

    from ludory.algorithms.texas42.oracle.data import read_split, write_tokens

    if chosen.dry_run:
        for split in chosen.splits:
            print(f"{split}: {len(list((chosen.data / split).glob('*.parquet'))):,} files")
        return 0
    options = _per_decision(chosen), chosen.sampler_seed, chosen.keep_forced
    every = {split: read_split(chosen.data, split, *options) for split in chosen.splits}
    for split, data in every.items():
        forced = f"; {data.left_out:,} without a choice left out, --keep-forced keeps them" if data.left_out else ""
        number = write_tokens(data, chosen.out, split, chosen.tokens)
        print(f"{split}: {number:,} states in {chosen.out / split}, tokens of version {chosen.tokens}{forced}")
    return 0


def _per_decision(chosen: _Sampled) -> int:
    from ludory.agents import check_count

    number = PER_DECISION if chosen.per_decision is None else chosen.per_decision
    check_count("--per-decision", number)
    return number


def _scored(chosen: _Scored, split: Literal["val", "test"]) -> tuple[Any, Any, str]:
    """The model, its tally, and of what."""
    from ludory.agents import check_count
    from ludory.algorithms.texas42.oracle.data import read_split
    from ludory.algorithms.texas42.oracle.fresh import unseen_states
    from ludory.algorithms.texas42.oracle.oracle import open_network
    from ludory.algorithms.texas42.oracle.tally import score_network

    model = open_network(chosen.checkpoint)
    data = LABELS if chosen.data is None and model.config.dataset is not None else chosen.data
    if data is not None:
        if chosen.deals is not None:
            raise OptionError(f"--deals is of new deals, and the states are those of {data}: leave one out")
        states = read_split(data, split, _per_decision(chosen), 0)
        return model, score_network(model.policy, states), f"{data.name}, {split}"
    if chosen.per_decision is not None:
        raise OptionError(
            "--per-decision: is of shards; of new deals all states count: leave it out, or name a folder with --data"
        )
    if split == "test":
        raise OptionError("--split test: is of labels or shards; new deals have no splits: name a folder with --data")
    deals = NEW_DEALS if chosen.deals is None else chosen.deals
    check_count("--deals", deals)
    return model, score_network(model.policy, unseen_states(deals, model.config.seed)), f"{deals:,} new deals"
