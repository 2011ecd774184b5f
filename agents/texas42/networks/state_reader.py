"""`StateReader`: states of Texas 42 with open hands as numbers for a network: who holds what, which tile follows and beats which.

Attention over tokens has to find out by itself which tile beats which; here tables of the rules say so.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from ludory.envs.texas42.tiles import DOUBLES, NELLO_HIGH, SUITS, TILES

from .open_states import HAND, SEATS, TRICK, OpenStates, RuleTables

FEW = 4
"""Most tiles of a hand of which all pairs are told: in states with more of them no two tiles are told apart often enough to learn from."""
SLOTS = SEATS * FEW
_PLANES = (SEATS + TRICK) * TILES + NELLO_HIGH + 3  # who holds what, what lies, the declaration and its kind
_FACTS = 4 * TILES + 2 * SEATS * SUITS + TRICK + 1  # of tiles, suits and the trick
_PAIRS = 2 * SLOTS * SLOTS + 5 * SLOTS
NUM_FEATURES = _PLANES + _FACTS + _PAIRS
"""Size of what a network is told of a state."""


class StateReader(nn.Module):
    """What a network is told of states; without weights."""

    def __init__(self) -> None:
        super().__init__()
        self.rules = RuleTables()

    def forward(self, states: OpenStates) -> Tensor:
        """(n, NUM_FEATURES) float32."""
        rules = self.rules
        decl, tile, held, trick_tile, lying, owner = states
        n, device = decl.shape[0], decl.device
        renamed = rules.renamed[decl].gather(1, tile)
        lead, begun = trick_tile[:, :1], lying[:, :1]

        # who holds what, and what lies, as planes of 28 tiles
        planes = torch.zeros(n, SEATS * TILES, device=device)
        seats = TILES * (torch.arange(SEATS * HAND, device=device) // HAND)
        planes = planes.scatter(1, seats + renamed, held.float())
        on_table = torch.zeros(n, TRICK * TILES, device=device)
        on_table = on_table.scatter_add(1, TILES * owner + rules.renamed[decl].gather(1, trick_tile), lying.float())
        called = torch.cat([one_hot(decl, NELLO_HIGH), one_hot((decl - DOUBLES + 1).clamp(min=0).clamp(max=2), 3)], 1)

        # the trick as it lies
        best = rules.power_of(decl, lead, trick_tile).masked_fill(~lying, -1).max(1, keepdim=True)
        following = rules.following(states)
        wins = (rules.power_of(decl, lead, tile) > best.values) & begun
        legal = torch.cat([rules.legal(states), torch.zeros_like(held[:, HAND:])], 1)
        winner = one_hot(owner.gather(1, best.indices).squeeze(1), TRICK) * begun
        trick_points = (rules.points[trick_tile] * lying).sum(1, keepdim=True) / 10

        def plane(what: Tensor) -> Tensor:
            """(n, 28) by renamed tile."""
            return torch.zeros(n, TILES, device=device).scatter_add(1, renamed, what.float())

        # suits: how many tiles each seat has of them, and who has the highest
        suits = (decl[:, None, None] * SUITS + torch.arange(SUITS, device=device)[:, None]) * TILES + tile[:, None]
        members = rules.in_suit.flatten()[suits].bool() & held[:, None]  # (n, 8, 28)
        many = members.view(n, SUITS, SEATS, HAND).sum(3).transpose(1, 2).flatten(1) / 4
        top = rules.power.flatten()[suits].masked_fill(~members, -1).argmax(2)  # (n, 8)
        tops = (one_hot(top // HAND, SEATS) * members.any(2, keepdim=True)).transpose(1, 2).flatten(1)
        places = torch.arange(SEATS * HAND, device=device)
        highest = held & (top.gather(1, rules.led[decl].gather(1, tile)) == places)

        # the tiles of small hands, strongest first, in pairs
        by_strength = rules.strength[decl].gather(1, tile).masked_fill(~held, -1).view(n, SEATS, HAND)
        ordered = by_strength.topk(FEW, dim=2)
        few = (held.view(n, SEATS, HAND).sum(2) <= FEW).all(1)[:, None, None]
        there = (ordered.values >= 0) & few  # (n, 4, FEW)
        slots = (ordered.indices + HAND * torch.arange(SEATS, device=device)[:, None]).flatten(1)  # (n, 16)
        slot_tile = tile.gather(1, slots)
        lead_tile = (decl[:, None, None] * TILES + slot_tile[:, :, None]) * TILES
        pairs = rules.pairs.flatten(0, 2)[lead_tile + slot_tile[:, None]]  # (n, 16, 16, 2)
        present = there.flatten(1)
        both = present[:, :, None] & present[:, None, :] & ~torch.eye(SLOTS, dtype=torch.bool, device=device)
        pairs = (pairs * both[..., None]).permute(0, 3, 1, 2)
        counts = rules.points[tile]
        slot_facts = [counts == 5, counts == 10, following, wins]
        parts = [
            *(planes, on_table, called),
            *(plane(legal), plane(wins & legal), plane(highest), plane(counts * held / 10)),
            *(many, tops, winner, trick_points),
            *(pairs.flatten(1), present),
            *(what.gather(1, slots) & present for what in slot_facts),
        ]
        return torch.cat([part.float() for part in parts], 1)
