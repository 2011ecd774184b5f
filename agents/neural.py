"""`NeuralAgent`: a policy network at the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ludory.envs.engine import Array, Engine, on_host
from ludory.envs.player import Memory

from .agent import Agent
from .networks.policy import Policy, PolicyOutput, from_seat, numpy_to_bits


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
        """The policy's memory; None without recurrence. With the last move of every seat, int64 (rows, P), if it wants to be told."""
        memory = self.policy.initial_memory(rows)
        if not self.policy.uses_previous:
            return memory
        return memory, np.full((rows, self.policy.players), sum(self.policy.head_sizes))

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Keep count of the last moves, if the policy wants to be told them."""
        if self.policy.uses_previous:
            memory[1][rows, on_host(engine.to_move)[rows]] = on_host(actions)

    def act(self, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """Actions (m,) for one head, (m, H) for several, and the new memory; for policies that need no seat."""
        return self._act(None, observation, mask, memory)

    def act_at(self, seat: int, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """As `act`, for every policy."""
        seats = torch.full((len(observation),), seat, device=self._device) if self.policy.uses_seat else None
        return self._act(seats, observation, mask, memory)

    @torch.no_grad()
    def _act(self, seats: torch.Tensor | None, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        seen = numpy_to_bits(observation, self.policy.observation).to(self._device)
        after, output = self._asked(seen, memory, seats)
        legal = torch.from_numpy(np.asarray(mask, bool)).to(self._device)
        distribution = self.policy.distribution(output.logits, legal)
        actions: Any = distribution.mode() if self.deterministic else distribution.sample(self._generator)
        # What is chosen for certain has probability 1, whatever the network gave it.
        drawn = torch.zeros(actions.shape) if self.deterministic else distribution.log_prob(actions)
        self.log_probs = drawn.cpu().numpy()
        actions = actions.cpu().numpy()
        return (actions[:, 0] if actions.shape[1] == 1 else actions), after

    def _asked(self, seen: torch.Tensor, memory: Memory, seats: torch.Tensor | None) -> tuple[Memory, PolicyOutput]:
        """The memory after a decision, and what the policy says."""
        output: PolicyOutput
        if not self.policy.uses_previous or seats is None:
            output = self.policy(seen, memory, seats)
            return output.memory, output
        hidden, moves = memory
        output = self.policy(seen, hidden, seats, from_seat(torch.as_tensor(moves, device=self._device), seats))
        return (output.memory, moves), output
