"""Measure how fast small language models reply on one core, by backend.

Models have random weights and no stop text, so replies end at the limit or at an end token. Rates are per second of processor time, medians
of several measurements, and count sampled tokens; reading the prompts is part of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal, get_args

from ludory.agents.language.generators import Sampling, make_generator
from ludory.agents.language.small_model import make_small_model
from ludory.algorithms.running.threads import one_thread
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Seconds
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.benchmarks.harness.timing import processor_rates
from ludory.envs.text.text_env import TextEnv

Backend = Literal["hf", "static"]
TASKS: Mapping[str, tuple[str, str, int, Mapping[str, Any]]] = {
    "compact, prompts of 48 words": ("words", "Sokoban-v0", 1, {"preset": "compact"}),
    "compact, in groups of 8": ("words", "Sokoban-v0", 8, {"preset": "compact"}),
    "ordinary prompts in characters": ("characters", "Sudoku4-v0", 1, {}),
}
"""Vocabulary, game, episodes that share a room, options of `TextEnv`."""


@dataclass(frozen=True, slots=True)
class RepliesOptions:
    """Options of `ludory bench replies`."""

    seconds: Seconds = 3.0
    """Of a measurement."""
    repeats: Count = 3
    """Measurements; the median counts."""
    episodes: Count = 128
    """Replies at a time."""
    tokens: Count = 31
    """Most tokens of a reply."""
    out: Path = Path("runs/replies")
    """Folder of the result."""


@benchmark("replies")
def run(options: RepliesOptions) -> Result:
    """Measure every task with both backends on one thread."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    with one_thread():
        for name in TASKS:
            found[name] = {}
            for backend in get_args(Backend):
                rounds = processor_rates(_replies(name, backend, options), options.seconds, options.repeats)
                found[name][backend] = {"median": median(rounds), "rounds": rounds}
    report = {"tokens_per_cpu_second": found, "episodes": options.episodes, "tokens": options.tokens}
    return Result(options.out / "replies.json", report, _shown)


def _replies(name: str, backend: Backend, options: RepliesOptions) -> Callable[[], int]:
    """Samples one reply for the first turn of every episode and returns the number of tokens."""
    vocabulary, id, group, given = TASKS[name]
    model = make_small_model(vocabulary)
    env = TextEnv(id, group * max(1, options.episodes // group), group_size=group, seed=1, **given)
    prompts = [model.template.begin(turn.messages) for turn in env.reset()]
    generator, sampling, rounds = make_generator(model, backend), Sampling(max_new_tokens=options.tokens, stop=()), 0

    def sample() -> int:
        nonlocal rounds
        rounds += 1
        seeds = list(range(rounds * len(prompts), (rounds + 1) * len(prompts)))
        return sum(len(reply.ids) for reply in generator.generate(prompts, sampling, seeds))

    return sample


def _shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    rows = [
        (name, *(f"{found[backend]['median']:,.0f}" for backend in get_args(Backend)))
        for name, found in report["tokens_per_cpu_second"].items()
    ]
    title = f"Tokens per CPU second, {report['episodes']} replies of at most {report['tokens']} tokens at a time"
    yield table(title, ("task", *get_args(Backend)), rows)
