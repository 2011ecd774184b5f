"""Plays games with a policy and records every decision. Observations go from the engine to the network as bits, on its device."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludory.agents.networks.compiled_mlp import CompiledForward, can_compile
from ludory.agents.networks.policy import Policy, PolicyOutput
from ludory.envs.engine import on_host
from ludory.envs.views.side import Side

from .rollout import Rollout
from .threads import forward


class EpisodeStats(NamedTuple):
    """Games that ended during a rollout."""

    returns: np.ndarray[Any, Any]  # (games,) return of the learner's seat
    lengths: np.ndarray[Any, Any]  # (games,) decisions of the learner


class Sampler:
    """Runs a batch of games from the side of one policy: one seat, or every seat of a game with a shared reward."""

    def __init__(self, side: Side) -> None:
        self.side, self.engine = side, side.engine
        self.bits = side.facts.observation.bits
        self._returns = np.zeros(self.engine.num_games)
        self._lengths = np.zeros(self.engine.num_games, np.int64)
        self.started = False

    def start(self) -> None:
        """Start all games."""
        self._begin(np.arange(self.engine.num_games))
        self.started = True

    def state(self) -> dict[str, Tensor]:
        """Running sums of unfinished games; with the engine's state, all that a resumed run needs."""
        return {"returns": torch.from_numpy(self._returns), "lengths": torch.from_numpy(self._lengths)}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take up what `state` gave."""
        self._returns, self._lengths = state["returns"].numpy().copy(), state["lengths"].numpy().copy()
        self.started = True

    def observe(self, rows: Any | None = None) -> Tensor:
        """The learner's view: bits (n, bytes) or floats (n, size)."""
        seen = torch.as_tensor(self.engine.observe(self.side.own, rows, packed=self.bits)).flatten(1)
        return seen if self.bits else seen.float()

    @torch.no_grad()
    def collect(
        self, policy: Policy, steps: int, generator: torch.Generator, on_step: Callable[[], bool] | None = None
    ) -> tuple[Rollout | None, EpisodeStats]:
        """Play `steps` decisions in every game.

        `on_step` is called after each; when it gives False, sampling stops and there is no rollout.
        """
        if not self.started:
            self.start()
        rows: list[tuple[Tensor, ...]] = []
        ended: list[tuple[Any, Any]] = []
        observation = self.observe()
        run = CompiledForward(policy, observation) if can_compile(policy) else partial(forward, policy)
        for _ in range(steps):
            mask = torch.as_tensor(self.side.legal())
            output = run(observation)
            distribution = policy.distribution(output.logits, mask)
            actions = distribution.sample(generator)
            log_probs = distribution.log_prob(actions)
            reward, terminated, truncated = self._step(actions)
            done = np.flatnonzero(terminated | truncated)
            cut_value = self._value_of(run, np.flatnonzero(truncated & ~terminated), output.values)
            ended.append(self._close(done, reward))
            flags = (torch.as_tensor(reward), torch.as_tensor(terminated), torch.as_tensor(truncated & ~terminated))
            rows.append((observation, _pack(mask), actions, log_probs, output.values, cut_value, *flags))
            observation = self.observe()
            if on_step is not None and not on_step():
                return None, _stats(ended)
        last = run(observation).values
        return self._assemble(rows, last), _stats(ended)

    def _assemble(self, rows: list[tuple[Tensor, ...]], last: Tensor) -> Rollout:
        observations, masks, actions, log_probs, values, cuts, rewards, terminated, truncated = (
            torch.stack(column) for column in zip(*rows, strict=True)
        )
        following = torch.cat([values[1:], last.unsqueeze(0)])
        next_values = torch.where(truncated, cuts, following)
        return Rollout(observations, masks, actions, log_probs, values, next_values, rewards, terminated, truncated)

    def _step(self, actions: Tensor) -> tuple[Any, Any, Any]:
        """Play; gives the learner's reward (n,) float32, terminated and truncated (n,) as NumPy arrays."""
        played = actions[:, 0] if actions.shape[1] == 1 else actions
        rewards = on_host(self.side.play(played if played.is_cuda else played.numpy()))
        return rewards[:, self.side.reward_seat].copy(), on_host(self.engine.terminated), on_host(self.engine.truncated)

    def _value_of(self, run: Callable[[Tensor], PolicyOutput], rows: Any, like: Tensor) -> Tensor:
        """Values of the final observations of truncated games, 0 elsewhere."""
        values = torch.zeros_like(like)
        if len(rows):
            values[rows] = run(self.observe(rows)).values
        return values

    def _close(self, done: Any, reward: Any) -> tuple[Any, Any]:
        """Start the next game where one ended; gives returns and lengths of those that did."""
        self._returns += reward
        self._lengths += 1
        ended = self._returns[done], self._lengths[done]
        if len(done):
            self._begin(done)
        return ended

    def _begin(self, rows: Any) -> None:
        self._returns[rows], self._lengths[rows] = 0, 0
        self.side.start(rows)


def _stats(ended: list[tuple[Any, Any]]) -> EpisodeStats:
    return EpisodeStats(np.concatenate([r for r, _ in ended]), np.concatenate([n for _, n in ended]))


def _pack(mask: Tensor) -> Tensor:
    """Bits (n, ceil(A / 8)) of a bool mask (n, A), big-endian as `numpy.packbits` has them."""
    if mask.device.type == "cpu":
        return torch.from_numpy(np.packbits(mask.numpy(), axis=1))
    padded = torch.nn.functional.pad(mask, (0, -mask.shape[1] % 8)).unflatten(1, (-1, 8))
    weights = torch.tensor([128, 64, 32, 16, 8, 4, 2, 1], device=mask.device)
    packed: Tensor = (padded * weights).sum(-1).to(torch.uint8)
    return packed
