"""`ludory spa`: fine-tuning of language models on the states of games, and PPO after it."""

from __future__ import annotations

from ludory.cli.common import run_job

JOBS = {
    "generate": ("spa.stages:generate", "stage 1: a model plays and writes down states; the true states replace them"),
    "filter": ("spa.stages:filter_rows", "keep the rows of a file whose replies have the strict form"),
    "sft": ("spa.stages:sft", "stage 2: fine-tune a model on corrected replies"),
    "ppo": ("spa.stages:ppo", "stage 3: PPO or GRPO over tokens"),
    "eval": ("spa.stages:evaluate", "Pass@1 and Pass@k of models, with random play and the optimum on the same rooms"),
    "run": ("spa.pipeline:run", "all stages of a configuration, resumed where they were interrupted"),
    "baseline": ("spa.pipeline:baseline", "PPO alone, from the untrained model"),
    "dry-run": ("spa.pipeline:try_out", "memory of a configuration on large models, and one step on random weights"),
    "config": ("spa.config:run", "show configurations beside the originals' keys, and read the originals' files"),
}


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    return run_job("spa", "World-model fine-tuning of language models that play games in text.", JOBS, argv)
