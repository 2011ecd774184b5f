"""The flat observation row of a Pokémon battle, cut into its parts, and embeddings of the ids in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ludory.envs import GameFacts
from ludory.envs.pokemon.columns import ENTITY_PARTS, MOVE_NUMBERS
from ludory.envs.pokemon.vocab import VOCAB_SHA256, Kind, vocabulary
from ludory.errors import CheckpointError, OptionError

TEAM, POKEMON, MENU, MOVES, SLOTS = 12, 40, 4, 8, 6
"""Pokémon in a row and numbers of each; moves of the menu; menu and the foe's known moves; slots of a team."""
IDS = 12
"""Ids of a Pokémon: species, ability, item, three types, status, last move, four moves."""
ACTIVE, EXISTS = 2, 0
"""Columns of a Pokémon's numbers."""
KINDS: tuple[Kind, ...] = ("species", "abilities", "items", "types", "types", "types", "statuses", "moves")
"""Vocabulary of each of a Pokémon's first ids; the rest are moves."""
WIDTHS: Mapping[Kind, int] = {"species": 64, "moves": 32, "items": 16, "abilities": 16, "types": 8, "statuses": 4}
"""Width of the embedding of each vocabulary."""
DROPPED = 0.02
"""Share of known ids that read as unknown while a supervised learner trains, so that the row of unknown ids is trained."""
PARTS = tuple(ENTITY_PARTS.values())
"""Lengths of the parts of a row."""
ENTITY_SIZE, FLAT_SIZE, SEED41_SIZE = sum(PARTS), sum(PARTS[2:]) + TEAM * (20 + 8), 41
"""Numbers of each observation."""
CODE = sum(WIDTHS[kind] for kind in KINDS) + WIDTHS["moves"] + POKEMON
"""Numbers of a Pokémon with its ids embedded: the first eight ids, the mean of its moves, its own numbers."""


class BattleRow(NamedTuple):
    """Parts of m rows of `entity`."""

    ids: Tensor  # (m, 12, 12) int32
    move_ids: Tensor  # (m, 8) int32
    pokemon: Tensor  # (m, 12, 40)
    volatile: Tensor  # (m, 52)
    moves: Tensor  # (m, 8, 22)
    field: Tensor  # (m, 72)


def cut(observation: Tensor) -> BattleRow:
    """The parts of rows (m, 932)."""
    ids, move_ids, pokemon, volatile, moves, field = observation.split(PARTS, -1)
    return BattleRow(
        ids.unflatten(-1, (TEAM, IDS)).int(),
        move_ids.int(),
        pokemon.unflatten(-1, (TEAM, POKEMON)),
        volatile,
        moves.unflatten(-1, (MOVES, MOVE_NUMBERS)),
        field,
    )


class IdEmbeddings(nn.Module):
    """Embeddings of species, moves, items, abilities, types and statuses; 0 is unknown, 1 is known to be absent.

    The hash of the vocabularies is part of the weights: a checkpoint of other vocabularies is refused.
    """

    sha256: Tensor

    def __init__(self) -> None:
        super().__init__()
        sizes = {kind: max(vocabulary(kind).values()) + 1 for kind in WIDTHS}
        self.tables = nn.ParameterList(torch.randn(sizes[kind], width) * 0.1 for kind, width in WIDTHS.items())
        self.register_buffer("sha256", torch.frombuffer(bytearray.fromhex(VOCAB_SHA256), dtype=torch.uint8).clone())

    def pokemon(self, row: BattleRow) -> Tensor:
        """(m, 12, CODE): each Pokémon's embedded ids beside its own numbers."""
        ids = self._dropped(row.ids)
        tables = dict(zip(WIDTHS, self.tables, strict=True))
        parts = [nn.functional.embedding(ids[..., place], tables[kind]) for place, kind in enumerate(KINDS)]
        moves = nn.functional.embedding_bag(ids[..., len(KINDS) :].flatten(0, 1), tables["moves"], mode="mean")
        return torch.cat([*parts, moves.unflatten(0, ids.shape[:2]), row.pokemon], -1)

    def moves(self, row: BattleRow) -> Tensor:
        """(m, 8, 32 + 22): embedding and numbers of the menu's moves and of the foe's known moves."""
        return torch.cat([nn.functional.embedding(self._dropped(row.move_ids), self.tables[1]), row.moves], -1)

    def _dropped(self, ids: Tensor) -> Tensor:
        if not self.training:
            return ids
        return ids.masked_fill((torch.rand(ids.shape, device=ids.device) < DROPPED) & (ids > 1), 0)

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *rest: object) -> None:
        found = state_dict.get(prefix + "sha256")
        if found is not None and bytes(found.tolist()).hex() != VOCAB_SHA256:
            raise CheckpointError(
                f"the network's vocabularies have SHA-256 {bytes(found.tolist()).hex()[:12]}, those of this version "
                f"{VOCAB_SHA256[:12]}: its ids mean other Pokémon; train it again, or take the version that wrote it"
            )
        super()._load_from_state_dict(state_dict, prefix, *rest)


def flat_of_row(row: BattleRow) -> Tensor:
    """(m, 1116): `flat` of the specification, from rows of `entity`: numbers, types as multi-hot 20, status as one-hot 8."""
    size = len(row.ids)
    types = row.field.new_zeros(size, TEAM, 21)
    ids = row.ids[..., 3:5].long()  # 0 unknown, 1 absent, 2 to 20 the types
    types.scatter_(-1, ids, 1.0)
    types = torch.cat([types[..., :1], types[..., 2:]], -1)
    status = nn.functional.one_hot(row.ids[..., 6].long(), 8).to(types.dtype)
    numbers = torch.cat([row.pokemon.flatten(1), row.volatile, row.moves.flatten(1), row.field], -1)
    return torch.cat([numbers, torch.cat([types, status], -1).flatten(1)], -1)


def need_observation(facts: GameFacts, network: str, *sizes: int) -> None:
    """Refuse a game whose observation a network cannot read.

    Raises:
        OptionError: names the observation and the one to ask for.
    """
    names = {ENTITY_SIZE: "entity", FLAT_SIZE: "flat", SEED41_SIZE: "seed41"}
    spec = facts.observation
    if spec.dtype != "float32" or spec.size not in sizes:
        wanted = " or ".join(f'observation="{names[size]}"' for size in sizes)
        raise OptionError(
            f"policy {network!r} reads battles of Pokémon with {wanted}, got {spec.name!r} of {spec.size} numbers of {facts.name}"
        )
