"""`StaleSampler`: games are played with the weights of some iterations ago, as by actors that receive updates late."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Tensor

from ludory.agents.networks.layers.packed_linear import unpack
from ludory.agents.networks.policy import Policy
from ludory.algorithms.sampling.lanes import Lanes
from ludory.algorithms.sampling.rollout import Rollout
from ludory.algorithms.sampling.sampler import EpisodeStats, Sampler
from ludory.algorithms.vtrace.vtrace import outputs_in_time


class StaleSampler(Sampler):
    """Samples with the policy as it was `lag` iterations ago, or with the first one.

    Args:
        lanes: as `Sampler`.
        lag: iterations, 0: none.
        taken_for_fresh: report the log-probabilities and values of the current policy instead of those of the policy that played,
            so that a learner makes no correction.
    """

    def __init__(self, lanes: Lanes, lag: int, taken_for_fresh: bool = False) -> None:
        super().__init__(lanes)
        self.lag, self.taken_for_fresh = lag, taken_for_fresh
        self._past: deque[dict[str, Tensor]] = deque(maxlen=lag + 1)
        self._actor: Policy | None = None

    @torch.no_grad()
    def collect(
        self,
        policy: Policy,
        steps: int,
        generator: torch.Generator,
        on_step: Callable[[], bool] | None = None,
        teacher: Policy | None = None,
        version: int = 0,
    ) -> tuple[Rollout | None, EpisodeStats]:
        """As `Sampler.collect`, played with older weights of `policy`."""
        self._past.append({name: tensor.clone() for name, tensor in policy.state_dict().items()})
        if self._actor is None:
            self._actor = deepcopy(policy)
        self._actor.load_state_dict(self._past[0])
        rollout, stats = super().collect(self._actor, steps, generator, on_step, teacher, version)
        if rollout is not None and self.taken_for_fresh:
            rollout = as_if_fresh(rollout, policy, self.lanes.facts.players)
        return rollout, stats


def as_if_fresh(rollout: Rollout, policy: Policy, players: int) -> Rollout:
    """The same decisions with log-probabilities and values of `policy`, as if it had made them.

    Successors that are not in the rollout (after its last row, and where a game was cut) keep their values.
    """
    output = outputs_in_time(policy, rollout, players)
    mask = unpack(rollout.masks, output.logits.shape[-1]).bool()
    following = torch.cat([output.values[1:], rollout.next_values[-1:]])
    return rollout._replace(
        log_probs=policy.distribution(output.logits, mask).log_prob(rollout.actions),
        values=output.values,
        next_values=torch.where(rollout.truncated, rollout.next_values, following),
    )
