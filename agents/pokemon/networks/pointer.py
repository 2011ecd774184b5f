"""`PointerPolicy`: scores of moves and switches from codes of the very moves and Pokémon, and a value."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ludory.agents import GruStep, Policy, PolicyOutput
from ludory.envs import GameFacts
from ludory.errors import OptionError

from .rows import ENTITY_SIZE, MENU, SLOTS, BattleRow, IdEmbeddings, cut, need_observation

PLAIN = MENU + SLOTS
"""Actions without a gimmick."""


class Encoded(NamedTuple):
    """What the scorers read."""

    trunk: Tensor  # (m, trunk_width) the whole position
    moves: Tensor  # (m, 4, move width) of the menu
    pokemon: Tensor  # (m, 6, width) own team by slot


class PointerPolicy(Policy):
    """One scorer for all moves and one for all switches, each reading the position beside the code of what it scores.

    Logits therefore permute with the slots of the own team, and with the moves of the menu. A move with a gimmick is scored as the move, with a
    vector learnt for the gimmick. The value is a tanh: battles end with 1, 0 or -1. Subclasses write `encode`.

    A new network does not drop ids; learners that call `train()`, such as behaviour cloning, turn it on.

    Args:
        facts: of a game with `observation="entity"`.
        trunk_width: of the position's code.
        move_width, pokemon_width: of the codes of moves and Pokémon.
        score: width of the scorers' hidden layer.
        memory: None, or "gru": a memory of the battle.

    Raises:
        OptionError: another observation, or an unknown memory.
    """

    def __init__(
        self, facts: GameFacts, trunk_width: int, move_width: int, pokemon_width: int, score: int, memory: str | None
    ) -> None:
        super().__init__(facts)
        need_observation(facts, self.id, ENTITY_SIZE)
        if memory not in (None, "gru"):
            raise OptionError(f'memory={memory!r}: must be None or "gru"')
        self.ids = IdEmbeddings()
        self.gru = GruStep(trunk_width, trunk_width) if memory else None
        self.trunk_width = trunk_width
        self.position = nn.Linear(trunk_width, 2 * score)
        self.move, self.switch = nn.Linear(move_width, score, bias=False), nn.Linear(pokemon_width, score, bias=False)
        self.gimmicks = nn.Parameter(torch.randn((facts.num_outputs - PLAIN) // MENU, score) * 0.1)
        self.move_score, self.switch_score = nn.Linear(score, 1), nn.Linear(score, 1)
        self.value = nn.Linear(trunk_width, 1)

    def initialise(self) -> None:
        """Orthogonal weights with gain sqrt(2), 0.01 for scores and 1 for the value; zero biases. Attention keeps its own."""
        for name, layer in self.named_modules():
            if isinstance(layer, nn.Linear) and "attention" not in name:
                gain = {"move_score": 0.01, "switch_score": 0.01, "value": 1.0}.get(name, 2**0.5)
                nn.init.orthogonal_(layer.weight, gain)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
        self.eval()

    def encode(self, row: BattleRow) -> Encoded:
        """Codes of m rows."""
        raise NotImplementedError

    def initial_memory(self, rows: int) -> Tensor | None:
        """Zeros (rows, trunk_width) with a memory, else None."""
        return None if self.gru is None else torch.zeros(rows, self.trunk_width, device=self.value.weight.device)

    def forward(self, observation: Tensor, memory: Tensor | None = None, seat: Tensor | None = None) -> PolicyOutput:
        """See `Policy.forward`."""
        encoded = self.encode(cut(observation))
        if self.gru is None:
            return self._outputs(encoded, encoded.trunk, None)
        before = self.initial_memory(len(observation)) if memory is None else memory
        after = self.gru(self.gru.inputs(encoded.trunk), before)
        return self._outputs(encoded, after, after)

    def unroll(
        self, observations: Tensor, memory: Tensor | None, starts: Tensor, seats: Tensor | None = None
    ) -> PolicyOutput:
        """See `Policy.unroll`."""
        if self.gru is None:
            return super().unroll(observations, memory, starts, seats)
        encoded = self.encode(cut(observations.flatten(0, 1)))
        before = self.value.weight.new_zeros(starts.shape[1], self.trunk_width) if memory is None else memory
        hidden = self.gru.scan(encoded.trunk.unflatten(0, starts.shape), before, starts)
        flat = self._outputs(encoded, hidden.flatten(0, 1), None)
        return PolicyOutput(flat.logits.unflatten(0, starts.shape), flat.values.unflatten(0, starts.shape), hidden[-1])

    def _outputs(self, encoded: Encoded, position: Tensor, memory: Tensor | None) -> PolicyOutput:
        for_moves, for_switches = self.position(position).unsqueeze(1).chunk(2, -1)
        moves = for_moves + self.move(encoded.moves)  # (m, 4, score)
        switches = self.switch_score((for_switches + self.switch(encoded.pokemon)).relu()).squeeze(-1)
        parts = [self.move_score(moves.relu()).squeeze(-1), switches]
        if len(self.gimmicks):
            with_gimmick = (moves.unsqueeze(1) + self.gimmicks[:, None]).relu()  # (m, groups, 4, score)
            parts.append(self.move_score(with_gimmick).flatten(1))
        value = self.value(position).squeeze(-1).tanh()
        return PolicyOutput(torch.cat(parts, -1), value, memory)
