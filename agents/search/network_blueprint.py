"""`NetworkBlueprint`: a trained policy as a blueprint; it plays its most probable action, in batches of worlds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.agents.networks.policy import from_seat, numpy_to_bits
from ludory.agents.neural import NeuralAgent
from ludory.envs import Engine, KernelEngine

from .belief import Draw
from .blueprint import Blueprint, Memories, engine_of

TIE = 1e-3
"""Logits closer than this count as a tie: sums differ slightly between batch sizes."""
ROWS_AT_ONCE = 4096


class MaskedLogits(NamedTuple):
    """Logits of m decisions, illegal ones -inf, (m, A); and the legal mask (m, A)."""

    logits: Tensor
    legal: Tensor


class NetworkBlueprint(Blueprint):
    """The most probable legal move of a policy, the lowest id on ties.

    Memory of a seat, float32: the policy's memory, which changes when the seat decides, whatever it then plays, followed by the
    last moves of all seats for policies with `uses_previous`.
    """

    agent: NeuralAgent
    memory_dtype = np.float32
    most_listed = 20_000
    range_limit = 2_000

    def _memory_size(self) -> int:
        policy = self.agent.policy
        memory = policy.initial_memory(1)
        self._hidden = 0 if memory is None else memory.shape[1]
        self._told = policy.players if policy.uses_previous else 0
        self._device = next(policy.parameters()).device
        return self._hidden + self._told

    def no_memory(self, count: int) -> Memories:
        """Zeros, and "no move yet" as the last moves."""
        memories = super().no_memory(count)
        memories[:, :, self._hidden :] = self.game.facts.num_actions
        return memories

    def move(self, record: NDArray[Any], seat: int, memory: Memories) -> int:
        """The most probable legal action."""
        return int(self._choose(engine_of(self.game, record), seat, np.zeros(1, np.int64), memory[None].copy())[0])

    def asked(self, worlds: NDArray[Any], seat: int, action: int, memories: Memories) -> NDArray[np.bool_]:
        """See `Blueprint.asked`: true where the logit of `action` is the largest, up to rounding."""
        same, engine = np.empty(len(worlds), np.bool_), engine_of(self.game, worlds)
        for rows in _chunks(np.arange(len(worlds))):
            said = self._ask(engine, seat, rows, memories)
            same[rows] = (said.legal[:, action] & (said.logits[:, action] >= said.logits.amax(1) - TIE)).cpu().numpy()
        return same

    def noticed(self, worlds: NDArray[Any], seat: int, action: int, memories: Memories) -> None:
        """Stores the move, if the policy uses last moves."""
        if self._told:
            memories[:, :, self._hidden + seat] = action

    def play(self, drawn: Draw, actions: NDArray[np.int64], seat: int) -> NDArray[np.float64]:
        """See `Blueprint.play`; all worlds and actions form one batch."""
        thinking, each = drawn.memories.copy(), len(actions)
        # deciding changes the memory even if the action is given; done once per world, before the worlds multiply
        self._choose(engine_of(self.game, drawn.worlds), seat, np.arange(len(drawn.worlds)), thinking)
        engine, memories = engine_of(self.game, drawn.worlds.repeat(each)), thinking.repeat(each, axis=0)
        moves, returns = np.tile(actions, len(drawn.worlds)), np.zeros(engine.num_games)
        movers = engine.to_move
        while (running := np.flatnonzero(movers >= 0)).size:
            if self._told:
                memories[running, :, self._hidden + movers[running]] = moves[running, None]
            engine.step(moves)
            returns += engine.rewards[:, seat]
            movers = engine.to_move
            # engines observe for one seat at a time
            for mover in np.unique(movers[movers >= 0]):
                rows = np.flatnonzero(movers == mover)
                moves[rows] = self._choose(engine, int(mover), rows, memories)
        return returns.reshape(-1, each)

    def _choose(
        self, engine: KernelEngine, seat: int, rows: NDArray[np.int64], memories: Memories
    ) -> NDArray[np.int64]:
        """Moves (m,) of `seat` in the games `rows`; updates its memory in them."""
        parts = [self._ask(engine, seat, part, memories).logits.argmax(1).cpu().numpy() for part in _chunks(rows)]
        chosen: NDArray[np.int64] = np.concatenate(parts)
        return chosen

    @torch.no_grad()
    def _ask(self, engine: Engine, seat: int, rows: NDArray[np.int64], memories: Memories) -> MaskedLogits:
        """The policy's logits for `seat` in the games `rows`; updates its memory there."""
        policy, own = self.agent.policy, torch.from_numpy(memories[rows, seat]).to(self._device)
        bits = policy.observation.bits
        seen = engine.observe(seat, rows, packed=bits)
        seen = (torch.from_numpy(seen) if bits else numpy_to_bits(seen, policy.observation)).to(self._device)
        seats = torch.full((len(rows),), seat, device=self._device)
        told = [from_seat(own[:, self._hidden :].long(), seats)] if self._told else []
        output = policy(
            seen, own[:, : self._hidden] if self._hidden else None, seats if policy.uses_seat else None, *told
        )
        if self._hidden:
            memories[rows, seat, : self._hidden] = output.memory.cpu().numpy()
        legal = torch.from_numpy(engine.legal()[rows]).to(self._device)
        return MaskedLogits(output.logits.float().masked_fill(~legal, -torch.inf), legal)


def _chunks(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [rows[start : start + ROWS_AT_ONCE] for start in range(0, len(rows), ROWS_AT_ONCE)]
