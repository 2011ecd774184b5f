"""Measure how many turns of text games one core serves to a model that answers at once.

A turn is a prompt written, a reply parsed, its actions played and recorded. The replies are canned ones with two random moves, and a tenth
of them is broken. Rates are per second of processor time, medians of several measurements; no model runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ludory.algorithms.running.threads import one_thread
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Seconds
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.benchmarks.harness.timing import processor_rates
from ludory.envs.text.text_env import TextEnv

TASKS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "Sokoban, grid": ("Sokoban-v0", {}),
    "Sokoban, sentence": ("Sokoban-v0", {"style": "sentence"}),
    "Sokoban, world model": ("Sokoban-v0", {"prompt_mode": "world_model"}),
    "Sokoban, compact": ("Sokoban-v0", {"preset": "compact", "prompt_mode": "world_model"}),
    "FrozenLake, grid": ("FrozenLakeFirm-v0", {}),
    "Sudoku 4x4, grid": ("Sudoku4-v0", {}),
}
BAR = 20_000
"""Turns per second that we claim for an idle core, for the first task."""
CANNED, BROKEN = 997, 0.1
"""Different replies, and the share without an answer."""


@dataclass(frozen=True, slots=True)
class TextEnvOptions:
    """Options of `ludory bench text-env`."""

    seconds: Seconds = 3.0
    """Of a measurement."""
    repeats: Count = 3
    """Measurements; the median counts."""
    episodes: Count = 512
    """Episodes at a time, in groups of 8."""
    out: Path = Path("runs/text-env")
    """Folder of the result."""


@benchmark("text-env")
def run(options: TextEnvOptions) -> Result:
    """Measure every task on one thread."""
    with one_thread():
        found = {
            name: processor_rates(_episodes(id, given, options.episodes), options.seconds, options.repeats)
            for name, (id, given) in TASKS.items()
        }
    bars = {name: BAR if place == 0 else None for place, name in enumerate(TASKS)}
    rates = {name: {"median": median(rounds), "rounds": rounds, "bar": bars[name]} for name, rounds in found.items()}
    report = {"turns_per_cpu_second": rates, "episodes": options.episodes}
    return Result(options.out / "text-env.json", report, _shown)


def _episodes(id: str, given: Mapping[str, Any], episodes: int) -> Callable[[], int]:
    """Plays all episodes once and returns the number of turns."""
    env = TextEnv(id, 8 * max(1, episodes // 8), group_size=8, seed=1, **given)
    replies = canned(env, CANNED)
    place = 0

    def play() -> int:
        nonlocal place
        turns, served = env.reset(), 0
        while turns:
            served += len(turns)
            asked = [replies[(place + k) % CANNED] for k in range(len(turns))]
            place += len(turns)
            turns = env.step(asked)
        return served

    return play


def canned(env: TextEnv, count: int) -> list[str]:
    """Replies with two random actions each, in the form that `env` asks for."""
    draw = np.random.default_rng(1)
    (head,) = env.game.facts.heads
    between = env.preset.separator if env.preset.separator.strip() else " "
    belief = "<observation>_ P _</observation>I push.<prediction>_ _ P</prediction>"
    thought = belief if env.prompt_mode == "world_model" else "The box is next to me, so I push it."
    replies = []
    for _ in range(count):
        names = [env.game.look.action_name(0, int(action)) for action in draw.integers(head.size, size=2)]
        answer = f"<answer>{f' {between} '.join(names)}</answer>" if draw.random() >= BROKEN else names[0]
        replies.append(f"<think>{thought}</think>{answer}")
    return replies


def _shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    rows = [
        (name, f"{found['median']:,.0f}", f"{found['bar']:,}" if found["bar"] else "")
        for name, found in report["turns_per_cpu_second"].items()
    ]
    yield table(f"TextEnv, {report['episodes']} episodes at a time", ("task", "turns per CPU second", "bar"), rows)
