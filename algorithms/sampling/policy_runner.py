"""`PolicyRunner`: a network that plays a batch of games, with a memory for every seat."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ludory.agents.networks.fast.choice import ROWS, fastest
from ludory.agents.networks.fast.compiled_mlp import CompiledForward, can_compile
from ludory.agents.networks.policy import Policy, PolicyOutput, from_seat
from ludory.algorithms.running.threads import forward
from ludory.envs.engine.kernel_engine import few_steps_asked


class PolicyRunner:
    """Runs a policy without gradients and keeps its memories.

    Args:
        games, seats: numbers of games and seats.
        precision: "float32" or "bf16", of the network's arithmetic.
    """

    def __init__(self, games: int, seats: int, precision: str = "float32") -> None:
        self.games, self.seats, self.precision = games, seats, precision
        self.memory: Tensor | None = None  # (games, seats, size), of recurrent policies
        self._by_pytorch: set[tuple[torch.Size, ...]] = set()  # shapes of networks that PyTorch runs faster
        self.previous: Tensor | None = None  # (games, seats), last moves, for policies that take them

    def compute_in(self, precision: str) -> None:
        """Compute in another precision from the next `prepare` on."""
        if precision != self.precision:
            self.precision, self._by_pytorch = precision, set()

    def prepare(self, policy: Policy, like: Tensor) -> None:
        """Use the current weights of `policy`; `like` holds observations like those to come."""
        initial = policy.initial_memory(self.games * self.seats)
        if initial is None:
            self.memory = None
        elif self.memory is None or self.memory.shape[-1] != initial.shape[-1]:
            self.memory = initial.view(self.games, self.seats, -1)
        else:
            self.memory = self.memory.to(initial.device)
        self._initial = None if initial is None else initial[0].clone()
        self.expect(policy)
        self._run: Any = partial(forward, policy, precision=self.precision)
        layers = tuple(parameter.shape for parameter in policy.parameters())
        # weights are packed for the compiled pass before every rollout, but not where it was slower
        if can_compile(policy) and not few_steps_asked() and layers not in self._by_pytorch:
            compiled = CompiledForward(policy, like)
            if self._is_faster(compiled, like[:ROWS]):
                self._run = partial(_of_observation, compiled)
            else:
                self._by_pytorch.add(layers)

    def _is_faster(self, compiled: CompiledForward, rows: Tensor) -> bool:
        """Whether the compiled forward pass takes less time than PyTorch's."""
        by_pytorch: Any = self._run
        # to the next power of two: nobody measures every number of games
        size = 1 << (len(rows) - 1).bit_length()
        ways = {"compiled": lambda: compiled(rows), "PyTorch": lambda: by_pytorch(rows)}
        return fastest(f"forward, {compiled.mlp.subject}, {size} rows, {self.precision}", ways) == "compiled"

    def expect(self, policy: Policy) -> None:
        """Record moves from now on if `policy` takes them as input; call it before games start, since `prepare` would miss their first moves."""
        self._none = sum(policy.head_sizes)
        if not policy.uses_previous:
            self.previous = None
        elif self.previous is None:
            where = next(policy.parameters()).device
            self.previous = torch.full((self.games, self.seats), self._none, device=where)

    def step(self, observation: Tensor, games: Tensor, seats: Tensor) -> PolicyOutput:
        """Outputs of the network for lanes (game, seat); updates their memories."""
        output: PolicyOutput = self.peek(observation, games, seats)
        if self.memory is not None and output.memory is not None:
            self.memory[games, seats] = output.memory.to(self.memory.dtype)
        return output

    def peek(self, observation: Tensor, games: Tensor, seats: Tensor, memory: Tensor | None = None) -> PolicyOutput:
        """As `step`, without updating memories; with those of an earlier moment if `memory` (lanes, size) is given."""
        if memory is None and self.memory is not None:
            memory = self.memory[games, seats]
        output: PolicyOutput = self._run(observation, memory, seats, self.told(games, seats))
        return output

    def told(self, games: Tensor, seats: Tensor) -> Tensor | None:
        """(lanes, P) last moves, the deciding seat's first; None for policies that do not take them."""
        return None if self.previous is None else from_seat(self.previous[games], seats)

    def observe_action(self, rows: ArrayLike, seats: ArrayLike, actions: ArrayLike) -> None:
        """Called before seats play `actions` in the games `rows`."""
        if self.previous is not None:
            where = (torch.as_tensor(part, device=self.previous.device) for part in (rows, seats))
            self.previous[tuple(where)] = torch.as_tensor(actions, device=self.previous.device).long()

    def reset_where(self, over: Tensor) -> None:
        """As `reset`, of the games where `over` (games,) is True, in place and without a look at which they are; without last moves."""
        if self.memory is not None and self._initial is not None:
            self.memory.copy_(torch.where(over[:, None, None], self._initial, self.memory))

    def reset(self, rows: ArrayLike) -> None:
        """Reset the memories of the games `rows`."""
        if self.memory is not None and self._initial is not None:
            self.memory[torch.as_tensor(rows, device=self.memory.device)] = self._initial
        if self.previous is not None:
            self.previous[torch.as_tensor(rows, device=self.previous.device)] = self._none


def _of_observation(
    compiled: CompiledForward, observation: Tensor, memory: Any, seats: Any, previous: Any
) -> PolicyOutput:
    return compiled(observation)
