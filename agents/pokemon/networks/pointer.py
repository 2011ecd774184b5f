"""Policies that score moves and switches from codes of the very moves and Pokémon: `PointerPolicy`, and two that encode entities."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from ludory.agents import AttentionLayer, GruStep, Policy, PolicyOutput
from ludory.envs import GameFacts
from ludory.errors import OptionError

from .rows import (
    ACTIVE,
    CODE,
    ENTITY_SIZE,
    EXISTS,
    MENU,
    MOVES,
    SLOTS,
    TEAM,
    WIDTHS,
    BattleRow,
    IdEmbeddings,
    cut,
    need_observation,
)

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


MOVE_CODE = WIDTHS["moves"] + 22


class EntityPolicy(PointerPolicy):
    """Codes of Pokémon and moves; the position is made of both actives, the mean and maximum of each bench and menu, and the field.

    Args:
        facts: of a battle of Pokémon with `observation="entity"`.
        width: of a Pokémon's code.
        move_width: of a move's code.
        trunk_width: of the position's code.
        memory: None or "gru".
    """

    id: ClassVar[str] = "pokemon/entity"

    def __init__(
        self,
        facts: GameFacts,
        width: int = 128,
        move_width: int = 64,
        trunk_width: int = 256,
        memory: str | None = None,
    ) -> None:
        if min(width, move_width, trunk_width) < 1:
            raise OptionError(f"width={width}, move_width={move_width}, trunk_width={trunk_width}: must be at least 1")
        super().__init__(facts, trunk_width, move_width, width, 128, memory)
        self.pokemon = nn.Sequential(
            nn.Linear(CODE, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.LayerNorm(width)
        )
        self.moves = nn.Sequential(nn.Linear(MOVE_CODE, move_width), nn.ReLU())
        self.field = nn.Sequential(nn.Linear(2 * 26 + 72, 64), nn.ReLU())
        self.trunk = nn.Sequential(
            nn.Linear(6 * width + 4 * move_width + 64, trunk_width),
            nn.ReLU(),
            nn.Linear(trunk_width, trunk_width),
            nn.ReLU(),
        )
        self.initialise()

    def encode(self, row: BattleRow) -> Encoded:
        """Codes of m rows."""
        codes = self.pokemon(self.ids.pokemon(row)).unflatten(1, (2, SLOTS))  # (m, 2, 6, width)
        moves = self.moves(self.ids.moves(row)).unflatten(1, (2, MENU))  # (m, 2, 4, move width)
        parts = [
            _actives_and_benches(codes, row.pokemon).flatten(1),
            moves.mean(2).flatten(1),
            moves.amax(2).flatten(1),
            self.field(torch.cat([row.volatile, row.field], -1)),
        ]
        return Encoded(self.trunk(torch.cat(parts, -1)), moves[:, 0], codes[:, 0])


def _actives_and_benches(codes: Tensor, pokemon: Tensor) -> Tensor:
    """(m, 2, 3 * width): of both sides the active's code and the mean and maximum of the others; 0 where there is none."""
    active = pokemon[..., ACTIVE].unflatten(1, (2, SLOTS))
    bench = pokemon[..., EXISTS].unflatten(1, (2, SLOTS)) * (1 - active)
    weights = torch.stack([active, bench / bench.sum(-1, keepdim=True).clamp(min=1)], 2)  # (m, 2, 2, 6)
    active_and_mean = (weights @ codes).flatten(2)
    absent = (bench == 0).unsqueeze(-1)
    most = codes.masked_fill(absent, -1e4).amax(2).masked_fill(absent.all(2), 0)
    return torch.cat([active_and_mean, most], -1)


class EntityTransformerPolicy(PointerPolicy):
    """Pre-norm attention over 12 Pokémon, 8 moves and the field; tokens have a role (side, active or not) and no position.

    Args:
        facts: of a battle of Pokémon with `observation="entity"`.
        width: of a token; a multiple of `num_heads`.
        num_layers: attention layers.
        num_heads: of each layer.
        trunk_width: of the position's code.
        memory: None or "gru".
    """

    id: ClassVar[str] = "pokemon/entity-transformer"

    def __init__(
        self,
        facts: GameFacts,
        width: int = 128,
        num_layers: int = 3,
        num_heads: int = 4,
        trunk_width: int = 256,
        memory: str | None = None,
    ) -> None:
        if min(width, num_layers, num_heads, trunk_width) < 1 or width % num_heads:
            raise OptionError(
                f"width={width}, num_layers={num_layers}, num_heads={num_heads}, trunk_width={trunk_width}: must be at least 1, width a multiple "
                "of num_heads"
            )
        super().__init__(facts, trunk_width, width, width, 128, memory)
        self.pokemon, self.moves = nn.Linear(CODE, width), nn.Linear(WIDTHS["moves"] + 22, width)
        self.field = nn.Linear(2 * 26 + 72, width)
        self.roles = nn.Parameter(torch.randn(2, 2, width) * 0.1)  # side, active
        self.sides = nn.Parameter(torch.randn(2, width) * 0.1)  # of moves
        self.torso = nn.ModuleList(AttentionLayer(width, num_heads, 2 * width, 0.0) for _ in range(num_layers))
        self.norm, self.trunk = nn.LayerNorm(width), nn.Sequential(nn.Linear(width, trunk_width), nn.ReLU())
        self.initialise()

    def encode(self, row: BattleRow) -> Encoded:
        """Codes of m rows."""
        active = row.pokemon[..., ACTIVE].unflatten(1, (2, SLOTS)).unsqueeze(-1)  # (m, 2, 6, 1)
        roles = self.roles[:, :1] + active * (self.roles[:, 1:] - self.roles[:, :1])
        pokemon = self.pokemon(self.ids.pokemon(row)) + roles.flatten(1, 2)
        moves = self.moves(self.ids.moves(row)) + self.sides.repeat_interleave(MENU, 0)
        field = self.field(torch.cat([row.volatile, row.field], -1)).unsqueeze(1)
        hidden = torch.cat([pokemon, moves, field], 1)  # (m, 21, width)
        for layer in self.torso:
            hidden = layer(hidden)
        hidden = self.norm(hidden)
        return Encoded(self.trunk(hidden[:, TEAM + MOVES]), hidden[:, TEAM : TEAM + MENU], hidden[:, :SLOTS])
