"""`CapturedSampler`: a whole rollout in fixed tensors, one launch of the game a step, so that it is one CUDA graph on a GPU."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ludory.agents.networks.policy import Policy
from ludory.envs.engine.autoreset import Autoreset
from ludory.envs.engine.captured import Captured

from .lanes import SelfPlayLanes, SideLanes
from .sampler import Played, Sampler

LOG = logging.getLogger("ludory.sampling")
MOST_MEMORY = 4 << 30
"""Bytes of the memories of a network at every step of a rollout, beyond which the steps are played one by one."""


class CapturedSampler(Sampler):
    """A `Sampler` that plays a rollout without waiting for the device, where the run allows it; else as `Sampler`, and a line of the log says why.

    The rollouts are those of `Sampler`, bit for bit on the CPU. `on_step` is called after all steps; if it returns False, there is no
    rollout. One policy holds every seat of a game in which seats take turns; there is no teacher, shaping, privileged value, or callback
    that reads steps.
    """

    _buffers: _Buffers | None = None
    _told = ""

    def play(
        self,
        policy: Policy,
        steps: int,
        generator: torch.Generator,
        on_step: Callable[[], bool] | None = None,
        teacher: Policy | None = None,
    ) -> Played:
        """See `Sampler.play`."""
        if reason := self._reason_for_steps(policy, steps, teacher):
            if reason != self._told:
                LOG.info("rollouts are played step by step: %s", reason)
                self._told = reason
            return super().play(policy, steps, generator, on_step, teacher)
        self.lanes.listen(None)
        self.lanes.generator = generator
        self.begin(policy)
        self.lanes.begin()
        self.player.prepare(policy, self.typical(self.lanes.observe()))
        memory = None if self.player.memory is None else self.lanes.memory(self.player.memory)
        buffers = self._buffers
        if buffers is None or not buffers.fit(policy, steps, generator):
            buffers = self._buffers = _Buffers(self, policy, steps, generator)
        buffers.turns.look()
        buffers.run()
        buffers.turns.check()
        played = buffers.played(memory)
        for _, returns, lengths in played.ended:
            self.episodes.add(returns, lengths)
        self._decisions = len(self.lanes.games)
        if on_step is not None and not all(on_step() for _ in range(steps)):
            return Played({}, torch.empty(0), None, played.ended)
        return played

    def _reason_for_steps(self, policy: Policy, steps: int, teacher: Policy | None) -> str:
        """Why a rollout cannot be played as a whole; empty if it can."""
        lanes, game = self.lanes, self.lanes.game
        every_seat = isinstance(lanes, SelfPlayLanes) or (
            isinstance(lanes, SideLanes) and lanes.policy_seats.own is None
        )
        initial = policy.initial_memory(1)
        kept = 0 if initial is None else 4 * initial.numel() * steps * len(self._fresh) * lanes.facts.players
        reasons = {
            "one policy must hold every seat, and seats take turns": not every_seat or lanes.facts.simultaneous,
            "continuous actions": lanes.facts.box is not None,
            "a teacher, a privileged value or shaping": teacher is not None
            or self.critic is not None
            or self._shaping is not None,
            "a callback reads steps": self.watched,
            "the network is told of all moves": policy.uses_previous,
            "seats leave or wait, or heads without effect are left out": game.seats_leave
            or game.seats_wait
            or game.tells_used,
            "the game runs outside of the engine of its device": game.rules.kernels is None,
            "the memories of a rollout take more than 4 GiB": kept > MOST_MEMORY,
        }
        return next((reason for reason, holds in reasons.items() if holds), "")


class _Buffers:
    """The tensors of a rollout of T steps and N games, and the work that fills them."""

    def __init__(self, sampler: CapturedSampler, policy: Policy, steps: int, generator: torch.Generator) -> None:
        self._sampler, self._policy, self._generator = sampler, policy, generator
        self.turns = Autoreset(sampler.engine, steps)
        games = sampler.lanes.games
        count, heads = len(games), len(sampler.lanes.facts.heads)

        def made(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(steps, *shape, dtype=dtype, device=games.device)

        self._log_probs, self._values, self._last = made(count, heads), made(count), made(count)[0].clone()
        self._starts, self._over = made(count, dtype=torch.bool), made(count, dtype=torch.bool)
        self._returns, self._lengths = made(count, dtype=torch.float64), made(count, dtype=torch.int64)
        self._no = torch.zeros(count, dtype=torch.bool, device=games.device)
        memory = sampler.player.memory
        self._memories = None if memory is None else made(*memory.shape, dtype=memory.dtype)
        # running sums in place, also where the sampler keeps them as NumPy arrays
        self._sums = torch.as_tensor(sampler._returns), torch.as_tensor(sampler._lengths)
        self._key = self._kept(policy, steps, generator)
        # PyTorch's own generator is registered by itself
        self.run = Captured(self._all, games.device, [generator] if games.is_cuda else [], "sampling")

    def fit(self, policy: Policy, steps: int, generator: torch.Generator) -> bool:
        """Whether they are for this rollout: a graph goes on with the addresses that it was captured with."""
        return self._key == self._kept(policy, steps, generator)

    def _kept(self, policy: Policy, steps: int, generator: torch.Generator) -> tuple[Any, ...]:
        sampler = self._sampler
        memory = sampler.player.memory
        state = torch.as_tensor(sampler.engine.state.random).data_ptr()
        sums = (torch.as_tensor(part).data_ptr() for part in (sampler._returns, sampler._lengths, sampler._fresh))
        weights = (parameter.data_ptr() for parameter in policy.parameters())
        where = (state, *sums, *weights, 0 if memory is None else memory.data_ptr())
        return id(policy), steps, id(generator), sampler.engine.num_games, *where

    def _all(self) -> None:
        for step in range(self.turns.steps):
            self._step(step)
        turns, sampler = self.turns, self._sampler
        observation = turns.observations(turns.steps)
        self._last.copy_(sampler.player.peek(observation, sampler.lanes.games, turns.seats[-1]).values)

    @torch.no_grad()
    def _step(self, step: int) -> None:
        """As a turn of the loop in `Sampler.play`, without a look at what happened."""
        sampler, turns = self._sampler, self.turns
        games, seats = sampler.lanes.games, turns.seats[step]
        self._starts[step].copy_(sampler._fresh[games, seats])
        sampler._fresh.index_put_((games, seats), self._no)
        output = sampler.player.step(turns.observations(step), games, seats)
        actions, log_probs = sampler.draw(self._policy, output.logits, turns.masks, self._generator)
        turns.actions[step].copy_(actions.view_as(turns.actions[step]))
        self._log_probs[step].copy_(log_probs)
        self._values[step].copy_(output.values)
        turns.step(step)
        over = self._over[step].copy_(turns.ends[step, :2].any(0))
        returns, lengths = self._sums
        returns += sampler.lanes.results(turns.rewards[step])
        lengths += 1
        self._returns[step].copy_(returns)
        self._lengths[step].copy_(lengths)
        returns.masked_fill_(over, 0)
        lengths.masked_fill_(over, 0)
        sampler._fresh |= over.unsqueeze(1)
        if self._memories is not None and sampler.player.memory is not None:
            self._memories[step].copy_(sampler.player.memory)
        sampler.player.reset_where(over)

    @torch.no_grad()
    def played(self, memory: Tensor | None) -> Played:
        """Copies of what the last run played; waits for it."""
        turns, lanes, steps = self.turns, self._sampler.lanes, self.turns.steps
        terminated = turns.ends[:, 0] != 0
        truncated = (turns.ends[:, 1] != 0) & ~terminated
        rewards = turns.rewards if lanes.own_rewards else lanes.rewards(turns.rewards.flatten(0, 1)).view(steps, -1)
        columns: dict[str, Tensor | None] = dict.fromkeys(
            ("valid", "teacher_logits", "used", "critic", "previous", "decided")
        )
        columns |= {
            "observations": turns.observations(slice(steps)).clone(memory_format=torch.contiguous_format),
            "masks": turns.legal[:steps].clone(),
            "actions": turns.actions.view(*self._log_probs.shape).clone(),
            "log_probs": self._log_probs.clone(),
            "values": self._values.clone(),
            "cut_values": self._cut_values(truncated),
            "rewards": rewards.clone(),
            "terminated": terminated,
            "truncated": truncated,
            "seats": turns.seats[:steps].clone(),
            "starts": self._starts.clone(),
        }
        # the games that ended: a number in fifty of what was played, and all that goes to the host
        where = self._over.nonzero(as_tuple=True)
        step_of, *ended = (part.cpu().numpy() for part in (*where, self._returns[where], self._lengths[where]))
        cuts = np.searchsorted(step_of, np.arange(steps + 1))
        by_step = [tuple(part[start:stop] for part in ended) for start, stop in pairwise(cuts)]
        return Played(columns, self._last.clone(), memory, by_step)  # type: ignore[arg-type]

    def _cut_values(self, truncated: Tensor) -> Tensor:
        """As `Sampler._cut_values`, of all steps: [T, N], or [T, N, P] where rewards are own."""
        players, own = self._sampler.lanes.facts.players, self._sampler.lanes.own_rewards
        values = self._values.new_zeros(*truncated.shape, players) if own else torch.zeros_like(self._values)
        steps, games = truncated.nonzero(as_tuple=True)
        if not len(steps):
            return values
        mover = self.turns.ends[steps, 2, games].long()
        for seat in range(players) if own else [0]:
            seats = torch.full_like(games, seat) if own else mover
            memory = None if self._memories is None else self._memories[steps, games, seats]
            seen = self.turns.finals(steps, games, seats)
            found = self._sampler.player.peek(seen, games, seats, memory).values
            values[(steps, games, seats) if own else (steps, games)] = found
        return values
