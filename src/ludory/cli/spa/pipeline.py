"""`ludory spa run`, `baseline` and `dry-run`: all stages together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ludory.agents.language.extras import Backend
from ludory.cli.common import Count, Folder, Maybe, Placed, parse


@dataclass(frozen=True, kw_only=True)
class _Run(Placed):
    """Make all stages of a configuration in the folder OUT: data, sft, ppo, and eval.json. Complete stages are skipped.

    Example: ludory spa run --config spa/_2_sokoban --model models/Qwen2.5-1.5B-Instruct --out runs/sokoban
    """

    config: str
    """Name of a configuration (`ludory spa config`), or a YAML file."""
    out: Folder
    """Folder for all stages."""
    model: Maybe[str] = None
    """Folder of a language model, or "small", instead of the configuration's."""
    device: str = "auto"
    """cpu, cuda or auto, of all stages whose configuration names none."""
    backend: Maybe[Backend] = None
    """What samples replies in all stages, instead of the configuration's: auto, hf, static or vllm."""
    devices: Maybe[Count] = None
    """Processes that learn together in fine-tuning and PPO, each on a device of its own, instead of the configuration's."""


def run(argv: list[str]) -> int:
    """All stages; returns the exit code."""
    return _staged(argv, "run")


def baseline(argv: list[str]) -> int:
    """PPO alone; returns the exit code."""
    return _staged(argv, "baseline")


def _staged(argv: list[str], verb: str) -> int:
    chosen = parse(_Run, argv, f"spa {verb}")
    from ludory.algorithms.world_model import pipeline
    from ludory.algorithms.world_model.config import read_config

    from .stages import show_evaluation

    config = read_config(chosen.config)
    if chosen.model is not None:
        config = replace(config, model=chosen.model)
    if chosen.backend is not None:
        config = config.sampled_by(chosen.backend)
    if chosen.devices is not None:
        config = config.learnt_on(chosen.devices)
    with chosen.placement.open() as workers:
        found = getattr(pipeline, verb)(config, chosen.out, chosen.device, workers)
    show_evaluation(f"{config.text.env}, {chosen.config}", found)
    return 0


@dataclass(frozen=True, kw_only=True)
class _DryRun:
    """Print the memory that reinforcement learning with a configuration needs on a model of a shape, and make one step on random weights.

    Example: ludory spa dry-run --config spa/_2_sokoban --shape 0.5b
    """

    config: str
    """Name of a configuration (`ludory spa config`), or a YAML file."""
    shape: Literal["0.5b", "1.5b", "3b", "7b"] = "0.5b"
    """Of Qwen2.5, by number of weights; where memory is short, the step has fewer layers."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where the step is made."""
    memory: Maybe[float] = None
    """GiB that the step may take; none: four fifths of what is free."""
    devices: Maybe[Count] = None
    """Also estimate the memory on each of so many devices, with all weights on each (ddp) and with a part of them (fsdp)."""


def try_out(argv: list[str]) -> int:
    """A dry run; returns the exit code."""
    chosen = parse(_DryRun, argv, "spa dry-run")
    from ludory.algorithms.world_model.config import read_config
    from ludory.algorithms.world_model.dry_run import dry_run

    allowed = None if chosen.memory is None else chosen.memory * 2**30
    config = read_config(chosen.config)
    if chosen.devices is not None:
        config = config.learnt_on(chosen.devices)
    for line in dry_run(config, chosen.shape, chosen.device, allowed).lines():
        print(line)
    return 0
