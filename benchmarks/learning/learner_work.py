"""What `ludory bench learner` measures: targets of a batch, by Ludory and other libraries, and whole steps of a learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ludory.agents.networks.policies.mlp import MlpPolicy
from ludory.algorithms.losses.returns import Steps
from ludory.algorithms.losses.targets import actor_critic_targets
from ludory.algorithms.vtrace.config import LossWeights
from ludory.algorithms.vtrace.loss import actor_critic_loss
from ludory.benchmarks.harness.worker_process import MissingContestant
from ludory.envs.facts import GameFacts, Head, ObservationSpec, Segment

GAMMA = 0.99
ROWS, COLUMNS = 128, 512
"""Of the targets."""
UNROLL, SEQUENCES = 64, 128
"""Steps and columns of a learner's batch."""
EPISODE = 60
"""Decisions of a game, on average."""
HEADS = {"move_x": 5, "move_y": 5, "aim_x": 9, "aim_y": 9, "fire": 2, "ability": 5, "interact": 2}
OBSERVATION = 19
"""Numbers that a seat sees."""
LEGAL, USED = 0.8, 0.6
"""Shares of the values that are legal, and of the heads that have an effect."""

VTrace = Callable[[], Tensor]
"""Works once on the batch of targets; returns the corrected values, [T, B]."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Steps without truncations or holes, which every library accepts."""

    steps: Steps
    log_pi: Tensor
    log_mu: Tensor
    bootstrap: Tensor


def batch(rows: int = ROWS, columns: int = COLUMNS) -> Batch:
    """The same float32 numbers each time."""
    draw = torch.Generator().manual_seed(0)
    rewards, values, log_pi, log_mu = torch.randn(4, rows, columns, generator=draw)
    bootstrap = torch.randn(columns, generator=draw)
    terminated = torch.rand(rows, columns, generator=draw) < 1 / EPISODE
    following = torch.cat([values[1:], bootstrap.unsqueeze(0)])
    steps = Steps(rewards, values, following, terminated, torch.zeros_like(terminated), torch.ones_like(terminated))
    return Batch(steps, log_pi, log_mu, bootstrap)


def ludory_targets(data: Batch, implementation: Literal["kernel", "scan"]) -> VTrace:
    """V-trace, its advantages, TD(lambda), UPGO and its advantages."""
    log_rhos = data.log_pi - data.log_mu

    def work() -> Tensor:
        found = actor_critic_targets(data.steps, log_rhos, gamma=GAMMA, lam=0.8, implementation=implementation)
        return found.vs  # type: ignore[no-any-return]

    return work


def rllib_vtrace(data: Batch) -> VTrace:
    """V-trace and its advantages.

    Raises:
        MissingContestant: RLlib is not installed.
    """
    vtrace = _imported("ray.rllib.algorithms.impala.torch.vtrace_torch_v2", "ray[rllib]").vtrace_torch
    inputs = {
        "target_action_log_probs": data.log_pi,
        "behaviour_action_log_probs": data.log_mu,
        "discounts": GAMMA * (~data.steps.terminated).float(),
        "rewards": data.steps.rewards,
        "values": data.steps.values,
        "bootstrap_values": data.bootstrap,
    }
    return lambda: vtrace(**inputs)[0]


def torchrl_vtrace(data: Batch) -> VTrace:
    """V-trace and its advantages.

    Raises:
        MissingContestant: TorchRL is not installed.
    """
    vtrace = _imported("torchrl.objectives.value.functional", "torchrl").vtrace_advantage_estimate
    steps = data.steps
    inputs = data.log_pi, data.log_mu, steps.values, steps.next_values, steps.rewards, steps.terminated
    # Time and columns are its last two axes, as they are ours.
    return lambda: vtrace(GAMMA, *inputs, terminated=steps.terminated)[1]


def _imported(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingContestant(f"not installed: pip install '{package}' ({error})") from error


def learner_step(hidden: int) -> Callable[[], int]:
    """One step of a learner, with two hidden layers; each call returns the number of frames it worked on.

    Forward passes of policy and teacher, the loss with V-trace, UPGO, TD(lambda), KL and entropy under a ratio per head, its
    gradient and the gradient's norm, Adam.
    """
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        policy, teacher = (MlpPolicy(_facts(), (hidden, hidden)) for _ in range(2))
        observations = torch.rand(UNROLL + 1, SEQUENCES, OBSERVATION) * 2 - 1
        starts = torch.rand(UNROLL + 1, SEQUENCES) < 1 / EPISODE
        rewards = torch.where(starts[1:], torch.randn(UNROLL, SEQUENCES).sign(), 0)
        mask = _legal()
        used = torch.rand(UNROLL, SEQUENCES, len(HEADS)) < USED
        behaviour = policy.distribution(torch.randn(UNROLL, SEQUENCES, sum(HEADS.values())) * 0.1, mask)
        actions = behaviour.sample()
    log_behaviour = behaviour.log_prob(actions)
    no, weights = torch.zeros_like(starts[1:]), LossWeights(gamma=GAMMA)
    optimizer = torch.optim.Adam(policy.parameters(), lr=2e-4, fused=True)

    def step() -> int:
        logits, values, _ = policy.unroll(observations, None, starts)  # the last row only bootstraps
        with torch.no_grad():
            taught = policy.distribution(teacher.unroll(observations[:-1], None, starts[:-1]).logits, mask)
        known = values.detach()
        steps = Steps(rewards, known[:-1], known[1:], starts[1:], no, ~no)
        heads = policy.distribution(logits[:-1], mask)
        loss = actor_critic_loss(heads, values[:-1], steps, actions, log_behaviour, used, taught, weights)
        optimizer.zero_grad()
        loss.total.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        return UNROLL * SEQUENCES

    return step


def _facts() -> GameFacts:
    """The sizes of an arena for two."""
    heads = tuple(Head(name, size) for name, size in HEADS.items())
    seen = ObservationSpec("ego19", (OBSERVATION,), "float32", (Segment("all", 0, OBSERVATION),), low=-1)
    return GameFacts("arena", 2, "simultaneous", "zero_sum", True, True, heads, seen, 450, -1.0, 1.0)


def _legal() -> Tensor:
    """Masks [T, B, A] with at least one legal value per head."""
    mask = torch.rand(UNROLL, SEQUENCES, sum(HEADS.values())) < LEGAL
    for head in mask.split(list(HEADS.values()), -1):
        head[..., 0] = True
    return mask
