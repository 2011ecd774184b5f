"""Random rows of `entity` and the facts of a battle, for tests of networks."""

from __future__ import annotations

import torch
from torch import Tensor

from ludory.agents.pokemon.networks.rows import ENTITY_SIZE
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.pokemon import NETWORKS
from ludory.envs.pokemon.vocab import vocabulary

KINDS = ("species", "abilities", "items", "types", "types", "types", "statuses", *["moves"] * 5)


def battle_facts(actions: int = 14, size: int = ENTITY_SIZE, name: str = "entity") -> GameFacts:
    """Facts of a battle in which a seat sees `size` numbers."""
    parts = {"ids": 144, "move_ids": 8, "pokemon": 480, "volatile": 52, "moves": 176, "field": 72}
    segments = flat_segments(parts if size == ENTITY_SIZE else {name: size})
    observation = ObservationSpec(name, (size,), "float32", segments, -1, 2000)
    heads = (Head("action", actions),)
    return GameFacts(
        "pokemon",
        2,
        "simultaneous",
        "zero_sum",
        True,
        True,
        heads,
        observation,
        1000,
        -1,
        1,
        network=NETWORKS.get(name),
    )


def random_rows(count: int, seed: int = 0) -> Tensor:
    """(count, 932): random ids of every vocabulary and random numbers; slot 0 of both sides is active."""
    draw = torch.Generator().manual_seed(seed)
    rows = torch.rand(count, ENTITY_SIZE, generator=draw)
    ids = rows[:, :144].view(count, 12, 12)
    for place, kind in enumerate(KINDS):
        ids[..., place] = (ids[..., place] * (max(vocabulary(kind).values()) + 1)).floor()
    rows[:, 144:152] = (rows[:, 144:152] * (max(vocabulary("moves").values()) + 1)).floor()
    pokemon = rows[:, 152:632].view(count, 12, 40)
    pokemon[..., 0], pokemon[..., 2] = 1, 0
    pokemon[:, [0, 6], 2] = 1
    return rows
