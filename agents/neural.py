"""`NeuralAgent`: an agent that plays by a policy network."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ludory.agents.networks.fast.sampling import pick_heads
from ludory.agents.networks.policy import Policy, PolicyOutput, from_seat, numpy_to_bits
from ludory.envs import Array, Engine, Game, KernelEngine, Memory, make_game, on_host
from ludory.errors import LudoryError, OptionError

from .agent import Agent
from .draws import ONE_MORE, Draws, Keys, undrawn, uniforms


class NeuralAgent(Agent):
    """Plays the most probable legal action of a policy, or samples from it.

    Args:
        policy: the network.
        name: shown in tables and replays.
        deterministic: play the most probable action, the lowest id on ties; else sample.
        seed: of the draws.
        sees: the game with the observation of the policy, where the games that are played show another one; see `seen_game`.
    """

    def __init__(
        self, policy: Policy, name: str, deterministic: bool = True, seed: int = 0, sees: Game | None = None
    ) -> None:
        self.policy, self.name, self.deterministic, self.sees = policy.eval(), name, deterministic, sees
        self._device = next(policy.parameters()).device
        self._draws = Draws(seed)

    def seed(self, seed: int) -> None:
        """Restart the draws from `seed`."""
        self._draws.seed(seed)

    def initial_memory(self, rows: int) -> Memory:
        """The policy's memory, None without recurrence; with the last move of every seat, int64 (rows, P), if the policy uses it.

        An agent that samples adds int64 (rows, 2): a game's key, and the number of draws in it.
        """
        return self._memory(rows, None if self.deterministic else self._draws.fresh(rows))

    def start_games(self, seat: int, keys: Keys) -> Memory:
        """Memory of new games; their draws depend on `keys`."""
        return self._memory(len(keys), None if self.deterministic else self._draws.keys(seat, keys))

    def _memory(self, rows: int, keys: Keys | None) -> Memory:
        memory: Memory = self.policy.initial_memory(rows)
        if self.policy.uses_previous:
            memory = memory, np.full((rows, self.policy.players), sum(self.policy.head_sizes))
        return memory if keys is None else (memory, undrawn(keys))

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions of `seat` in the games `rows`, by the observation that the policy was trained with."""
        return super().choose(self._view(engine), seat, rows, memory)

    def action_probabilities(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """As `choose`, but returns the probability of every action, (m, A)."""
        return super().action_probabilities(self._view(engine), seat, rows, memory)

    def _view(self, engine: Engine) -> Engine:
        if self.sees is None or engine.game is self.sees:
            return engine
        if not isinstance(engine, KernelEngine):
            raise OptionError(
                f"{self.name} reads the observation {self.sees.facts.observation.name!r}, which {engine.game.name} on "
                f"{engine.device!r} does not show; give the game observation={self.sees.options['observation']!r}"
            )
        return engine.seen_as(self.sees)

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Remember the last move of every seat, if the policy uses it."""
        if self.policy.uses_previous:
            _, moves = memory if self.deterministic else memory[0]
            moves[rows, on_host(engine.to_move)[rows]] = on_host(actions)

    def look_on(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> None:
        """With recurrence the memory advances while the seat waits, as it does in training."""
        if self.policy.recurrent:
            self.choose(engine, seat, rows, memory)

    def act(self, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """Actions (m,) for one head, (m, H) for several, and the new memory; for policies without `uses_seat`."""
        return self._act(None, observation, mask, memory)

    def act_at(self, seat: int, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """As `act`, for any policy."""
        seats = torch.full((len(observation),), seat, device=self._device) if self.policy.uses_seat else None
        return self._act(seats, observation, mask, memory)

    @torch.no_grad()
    def probabilities(self, seat: int, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """Probabilities of the actions (m, A) of an agent that samples, and the new memory."""
        seats = torch.full((len(observation),), seat, device=self._device) if self.policy.uses_seat else None
        known, drawn = memory
        after, output = self._asked(numpy_to_bits(observation, self.policy.observation).to(self._device), known, seats)
        legal = torch.from_numpy(np.asarray(mask, bool))
        logits = output.logits.cpu().double().masked_fill(~legal, -torch.inf)
        return logits.softmax(-1).numpy(), (after, drawn + ONE_MORE)

    @torch.no_grad()
    def _act(self, seats: torch.Tensor | None, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        seen = numpy_to_bits(observation, self.policy.observation).to(self._device)
        if not self.deterministic and memory is None:
            memory = self.initial_memory(len(mask))
        known, drawn = (memory, None) if self.deterministic else memory
        after, output = self._asked(seen, known, seats)
        if self.policy.box is not None:
            return self._act_in_box(output, after, drawn)
        legal, sizes = torch.from_numpy(np.asarray(mask, bool)), self.policy.head_sizes
        if drawn is None:
            actions: Any = self.policy.distribution(output.logits, legal.to(self._device)).mode()
            log_probs = torch.zeros(actions.shape)  # a deterministic choice has probability 1
        else:
            noise = torch.from_numpy(uniforms(drawn[:, 0], drawn[:, 1], len(sizes)).astype(np.float32))
            actions, log_probs = pick_heads(output.logits.cpu(), legal, sizes, noise)
            after = after, drawn + ONE_MORE
        self.log_probs, actions = log_probs.numpy(), actions.cpu().numpy()
        return (actions[:, 0] if actions.shape[1] == 1 else actions), after

    def _act_in_box(self, output: PolicyOutput, after: Memory, drawn: Memory) -> tuple[Array, Memory]:
        """Continuous actions (m, D) within their bounds, and the new memory."""
        distribution = self.policy.distribution(output.logits, output.logits)
        actions = distribution.mode()
        if drawn is not None:
            numbers = torch.from_numpy(uniforms(drawn[:, 0], drawn[:, 1], actions.shape[1])).clamp(1e-12, 1 - 1e-12)
            noise = torch.special.ndtri(numbers).float().to(actions.device)
            actions = actions + distribution.log_std.exp() * noise
            after = after, drawn + ONE_MORE
        self.log_probs = None if drawn is None else distribution.log_prob(actions).cpu().numpy()
        played: Array = self.policy.playable(actions).cpu().numpy()
        return played, after

    def _asked(self, seen: torch.Tensor, memory: Memory, seats: torch.Tensor | None) -> tuple[Memory, PolicyOutput]:
        """The memory after a decision, and the policy's output."""
        output: PolicyOutput
        if not self.policy.uses_previous or seats is None:
            output = self.policy(seen, memory, seats)
            return output.memory, output
        hidden, moves = memory
        output = self.policy(seen, hidden, seats, from_seat(torch.as_tensor(moves, device=self._device), seats))
        return (output.memory, moves), output


def seen_game(game: Game, learnt: Game) -> Game | None:
    """`game` with the observation of `learnt`, the game that a policy was trained on.

    A policy that was trained with `observation="tactical"` so plays in games that show their seats something else. None where this
    is not possible: other rules, actions or seats, or an observation that shows what a seat may not know.
    """
    ours, its = game.facts, learnt.facts
    if (ours.observation, ours.heads, ours.box) == (its.observation, its.heads, its.box):
        return game
    if game.id is None or "observation" not in learnt.options or game.rules.kernels is None:
        return None
    try:
        seen = make_game(game.id, **{**game.options, "observation": learnt.options["observation"]})
    except LudoryError:  # a game without this option
        return None
    found = seen.facts
    fits = (found.observation, found.heads, found.box) == (its.observation, its.heads, its.box)
    same_rules = (found.name, found.players) == (its.name, ours.players)
    state = game.rules.fields
    has_all = all(state.get(name) == field for name, field in seen.rules.fields.items())  # it may remember more
    return seen if fits and same_rules and has_all and not found.privileged_observation else None
