"""Which way PPO computes an update, and how fast each way is: compiled twin, PyTorch in float32, PyTorch in bfloat16."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch

import ludory
from ludory.algorithms.ppo.compiled import CompiledUpdate
from ludory.algorithms.ppo.compiled_loss import compiled_loss
from ludory.algorithms.ppo.ppo import PPO
from ludory.algorithms.ppo.torch_update import TorchUpdate
from ludory.algorithms.running.optimiser_state import make_adam
from ludory.algorithms.running.threads import precisions
from ludory.algorithms.sampling.rollout import by_seat
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.benchmarks.harness.timing import processor_rates
from ludory.errors import OptionError

GAME, OBSERVATION = "Hanabi2P-v0", "tactical"
NETWORKS = {
    "mlp 64-64, two towers, tanh": "mlp(hidden=(64, 64), activation=tanh, separate_value=True)",
    "mlp 64-64": "mlp(hidden=(64, 64))",
    "mlp 128-128": "mlp(hidden=(128, 128))",
    "mlp 256-256": "mlp(hidden=(256, 256))",
    "mlp 512-512": "mlp(hidden=(512, 512))",
    "gru 128": "gru(memory_size=128)",
}
BATCHES = (64, 1024, 8192)
LONG = 10_000_000
"""Decisions of a run; in short ones nothing is compiled."""
NEAR = 0.95
"""Least share of the fastest way's rate that we claim for the one that PPO chooses."""
Way = Callable[[], int]


def measured(networks: Sequence[str], batches: Sequence[int], seconds: float, repeats: int) -> list[dict[str, Any]]:
    """For each network and batch the rate of every way, in decisions per processor second of one gradient and step, and PPO's choice.

    Raises:
        OptionError: a name that is not in `NETWORKS`.
    """
    if unknown := [name for name in networks if name not in NETWORKS]:
        raise OptionError(f"networks: no {unknown[0]!r}; there are {', '.join(map(repr, NETWORKS))}")
    found = []
    for network in networks:
        game = ludory.make_game(GAME, observation=OBSERVATION)
        model = PPO(NETWORKS[network], game, num_envs=256, n_steps=32, seed=1)
        model._total_timesteps = LONG
        rollout, _ = model.sampler.collect(model.policy, 32, model.generator)
        assert rollout is not None  # nobody stops it
        targets = rollout.gae(gamma=0.99, lam=0.95)
        played: tuple[Any, Any] = rollout, targets
        if model.policy.recurrent:
            played = by_seat(rollout, game.facts.players, *targets)
        for batch in batches:
            rates: dict[str, list[float]] = {}
            ways = _ways(model, batch, *played)
            for _ in range(repeats):  # in turns: a machine that slows down slows all of them
                for name, way in ways.items():
                    rates.setdefault(name, []).extend(processor_rates(way, seconds, 1))
            # the middle one of an odd number
            best = {name: sorted(own)[len(own) // 2] for name, own in rates.items()}
            chosen = _chosen(model, batch, rollout, targets)  # as they were sampled
            share = best[chosen] / max(best.values())
            found.append({"network": network, "batch": batch, "rates": best, "chosen": chosen, "share": share})
    return found


def _with(model: PPO, batch: int, **options: Any) -> Any:
    return dataclasses.replace(model.config, batch_size=batch, **options)


def _ways(model: PPO, batch: int, rollout: Any, targets: Any) -> dict[str, Way]:
    """Bfloat16 only where there are units for it: elsewhere processors imitate it."""
    by_pytorch = partial(TorchUpdate, loss=compiled_loss)  # as PPO makes it
    ways = {
        f"PyTorch, {precision}": _way(by_pytorch, model, _with(model, batch, precision=precision), rollout, targets)
        for precision in precisions(torch.device("cpu"))
    }
    if not model.policy.recurrent:
        ways["twin"] = _way(CompiledUpdate, model, _with(model, batch, precision="float32"), rollout, targets)
    return ways


def _way(kind: Any, model: PPO, config: Any, rollout: Any, targets: Any) -> Way:
    """A gradient and a step on the next minibatch; returns its decisions."""
    update = kind(model.policy, make_adam(list(model.policy.parameters()), 1e-4), config, rollout, *targets)
    orders = _orders(update.count, update.batch)
    length = rollout.rewards.shape[0] if model.policy.recurrent else 1

    def step() -> int:
        order = next(orders)
        update.gradient(order)
        update.step()
        return len(order) * length

    return step


def _orders(count: int, batch: int) -> Iterator[torch.Tensor]:
    while True:
        yield from torch.randperm(count).split(batch)


def _chosen(model: PPO, batch: int, rollout: Any, targets: Any) -> str:
    """The name of the way that PPO takes by itself."""
    model.config, model._ways = _with(model, batch, precision="auto"), {}
    update = model._update(rollout, *targets)
    return "twin" if isinstance(update, CompiledUpdate) else f"PyTorch, {update.config.precision}"


def shown(choices: Sequence[Mapping[str, Any]]) -> Iterator[Shown]:
    """The table of what `measured` returns."""
    names = sorted({name for row in choices for name in row["rates"]})
    rows = [
        [
            row["network"],
            f"{row['batch']:,}",
            *(_rate(row["rates"].get(name)) for name in names),
            row["chosen"],
            f"{row['share']:.2f}",
            "holds" if row["share"] >= NEAR else "fails",
        ]
        for row in choices
    ]
    title = f"PPO on {GAME}, observation {OBSERVATION}: decisions per processor second of a gradient and a step"
    yield table(title, ("", "batch", *names, "chosen", f">= {NEAR} of the fastest", ""), rows)


def _rate(rate: float | None) -> str:
    return "" if rate is None else f"{rate:,.0f}"
