"""`NeuralAgent`: a policy network at the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ludory.envs.engine import Array
from ludory.envs.player import Memory

from .agent import Agent
from .networks.policy import Policy, numpy_to_bits


class NeuralAgent(Agent):
    """Plays the most probable legal move of a policy, or draws from it.

    Args:
        policy: the network.
        name: what tables and replays call it.
        deterministic: most probable move, the lowest id on ties; else a draw.
        seed: of the draws.
    """

    def __init__(self, policy: Policy, name: str, deterministic: bool = True, seed: int = 0) -> None:
        self.policy, self.name, self.deterministic = policy.eval(), name, deterministic
        self._device = next(policy.parameters()).device
        self._generator = torch.Generator(self._device)
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start the draws anew."""
        self._generator.manual_seed(seed)

    def initial_memory(self, rows: int) -> Memory:
        """The policy's memory; None without recurrence."""
        return self.policy.initial_memory(rows)

    @torch.no_grad()
    def act(self, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """Actions (m,) for one head, (m, H) for several, and the new memory."""
        seen = numpy_to_bits(observation, self.policy.observation).to(self._device)
        output = self.policy(seen, memory)
        legal = torch.from_numpy(np.asarray(mask, bool)).to(self._device)
        distribution = self.policy.distribution(output.logits, legal)
        actions: Any = distribution.mode() if self.deterministic else distribution.sample(self._generator)
        actions = actions.cpu().numpy()
        return (actions[:, 0] if actions.shape[1] == 1 else actions), output.memory
