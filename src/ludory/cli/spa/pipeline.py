"""`ludory spa run`, `baseline` and `tiny`: all stages together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ludory.cli.common.options import Folder, Maybe
from ludory.cli.common.parser import parse


@dataclass(frozen=True, kw_only=True)
class _Run:
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
    """cpu, cuda or auto."""


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
    found = getattr(pipeline, verb)(config, chosen.out, chosen.device)
    show_evaluation(f"{config.text.env}, {chosen.config}", found)
    return 0


def tiny(argv: list[str]) -> int:
    """The small experiment, which is a benchmark; returns the exit code."""
    from ludory.benchmarks.text_games.spa_tiny import run as run_benchmark

    return run_benchmark(argv)
