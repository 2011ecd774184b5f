"""What samplers on other machines send and receive: bytes of a decision, of a weight update and of a share's state, and what saturates first.

A sampler plays one share of the games as it does on a cluster, and the learner learns from it, both in this process, one after the other.
The numbers of samplers at which the learner and the network saturate follow from the measured rates.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

from ludory.algorithms.make import make_algorithm
from ludory.benchmarks.harness.benchmark import Report, Result, benchmark
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.cluster.workers import Actor, InProcess, Pending
from ludory.limits import PositiveFloat, PositiveInt


@dataclass(frozen=True)
class TrafficOptions:
    """A training whose traffic is measured."""

    algorithm: str = "vtrace"
    """vtrace or ppo."""
    env: str = "Hanabi2P-v0"
    """Id of the game."""
    policy: str = "auto"
    """Network of the learner."""
    games: PositiveInt = 512
    """Games of a sampler."""
    iterations: PositiveInt = 4
    """Iterations that are measured, after one that is not."""
    gigabits: PositiveFloat = 10.0
    """Network of the learner's machine, Gbit/s."""
    out: Path | None = None
    """File of the result."""


class _Counted(InProcess):
    """Workers of this process, which measure what would be sent, and the time of the samplers."""

    def __init__(self) -> None:
        self.weights, self.returned, self.state, self.messages, self.seconds = 0, 0, 0, 0, 0.0

    def share(self, value: Any) -> Any:
        """As `Workers.share`."""
        self.weights = len(pickle.dumps(value, protocol=5))
        return value

    def actor(self, make: Any, *args: Any) -> Actor:
        """As `Workers.actor`."""
        return _CountedActor(self, super().actor(make, *args))


class _CountedActor:
    """An actor whose results are measured."""

    def __init__(self, workers: _Counted, actor: Actor) -> None:
        self._workers, self._actor = workers, actor

    def call(self, method: str, *args: Any) -> Pending:
        """As `Actor.call`."""
        started, workers = process_time(), self._workers
        pending = self._actor.call(method, *args)
        workers.seconds += process_time() - started
        found = pending.result()
        workers.returned += len(pickle.dumps(found, protocol=5))
        workers.state = len(pickle.dumps(found.games, protocol=5))
        workers.messages += 2
        return pending

    def close(self) -> None:
        """As `Actor.close`."""
        self._actor.close()


@benchmark("traffic")
def run(options: TrafficOptions) -> Result:
    """Train with one sampler, and measure what it would send."""
    workers = _Counted()
    model: Any = make_algorithm(options.algorithm, options.env, policy=options.policy, num_envs=options.games, seed=1)
    model.sample_at(workers, 1)
    decisions = 0

    def on_step() -> bool:
        nonlocal decisions
        decisions += model.step_timesteps
        return True

    model.iterate(on_step)  # compiles
    decisions, workers.returned, workers.messages, workers.seconds = 0, 0, 0, 0.0
    started = process_time()
    for _ in range(options.iterations):
        model.iterate(on_step)
    total = process_time() - started
    sampled, learnt = decisions / workers.seconds, decisions / max(1e-9, total - workers.seconds)
    per_decision = workers.returned / decisions
    down = workers.weights * options.iterations / decisions
    capacity = options.gigabits * 1e9 / 8
    report = {
        **{name: getattr(options, name) for name in ("algorithm", "env", "games", "gigabits")},
        "policy": model.policy.id,
        "bytes_per_decision": per_decision,
        "bytes_per_weight_update": workers.weights,
        "bytes_of_state": workers.state,
        "messages_per_decision": workers.messages / decisions,
        "sampled_per_cpu_second": sampled,
        "learnt_per_cpu_second": learnt,
        "samplers_per_learner_core": learnt / sampled,
        "samplers_per_network": capacity / (sampled * (per_decision + down)),
    }
    return Result(options.out, report, _shown)


def _shown(report: Report) -> Iterable[Shown]:
    rows = [
        ("bytes of a decision, sampler to learner", f"{report['bytes_per_decision']:,.0f}"),
        ("of these the state to go on from elsewhere, in all", f"{report['bytes_of_state']:,}"),
        ("bytes of a weight update, learner to each sampler", f"{report['bytes_per_weight_update']:,}"),
        ("messages for 1,000 decisions", f"{1000 * report['messages_per_decision']:.3f}"),
        ("decisions sampled in a CPU second", f"{report['sampled_per_cpu_second']:,.0f}"),
        ("decisions learnt from in a CPU second", f"{report['learnt_per_cpu_second']:,.0f}"),
        ("samplers (one core each) that keep one learner core busy", f"{report['samplers_per_learner_core']:.1f}"),
        (f"samplers that fill {report['gigabits']:g} Gbit/s", f"{report['samplers_per_network']:,.0f}"),
    ]
    title = f"{report['algorithm']}, {report['policy']}, {report['env']}, {report['games']:,} games a sampler"
    yield table(title, ("what", "measured"), rows)
