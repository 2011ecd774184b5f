"""`StateReader`: tokens of states of Texas 42 with open hands as numbers: who holds what, which tile follows and beats which.

Attention over tokens has to find out by itself which tile beats which; here tables of the rules say so. With pip trumps the pips are
renamed so that the trump is the highest and the others keep their order: seven declarations are one game but for the tiles that count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from ludory.agents.texas42.solver.solver import strength_of
from ludory.envs.texas42.tiles import CALLED, COUNT, DOUBLES, FOLLOW, HIGH, LED, LOW, NELLO_HIGH, RANK, SUITS, TILES

SEATS, HAND, TRICK = 4, 7, 3
FEW = 4
"""Most tiles of a hand of which all pairs are told: in states with more of them no two tiles are told apart often enough to learn from."""
SLOTS = SEATS * FEW
_PLANES = (SEATS + TRICK) * TILES + NELLO_HIGH + 3  # who holds what, what lies, the declaration and its kind
_FACTS = 4 * TILES + 2 * SEATS * SUITS + TRICK + 1  # of tiles, suits and the trick
_PAIRS = 2 * SLOTS * SLOTS + 5 * SLOTS
NUM_FEATURES = _PLANES + _FACTS + _PAIRS
"""Size of what a network is told of a state."""


class RuleTables(nn.Module):
    """The rules, by declaration 0 to 9; int64 where no type is given. They follow the network to its device and are not saved with it."""

    renamed: Tensor
    """[10, 28]: tile with its pips renamed."""
    strength: Tensor
    """[10, 28]: place of a tile among all, weak to strong."""
    led: Tensor
    """[10, 28]: the suit that a tile leads, suits renamed as pips are."""
    power: Tensor
    """[10, 8, 28]: strength of a tile when a suit is led; 0 cannot win."""
    in_suit: Tensor
    """[10, 8, 28]: whether it belongs to the suit."""
    pairs: Tensor
    """[10, 28, 28, 2] float32: whether a tile follows the lead of another, and whether it beats it."""
    points: Tensor
    """[28]: 0, 5 or 10."""

    def __init__(self) -> None:
        super().__init__()
        decls, tiles, suits = range(NELLO_HIGH), range(TILES), range(SUITS)
        # a suit of pips above the trump moves down, the trump to the top; the called suit stays
        renaming = [[*(6 if p == d else p - (d < p) for p in range(7))] if d < DOUBLES else [*range(7)] for d in decls]
        ids = {pips: tile for tile, pips in enumerate(zip(HIGH, LOW, strict=True))}
        renamed = [[ids[max(m[HIGH[t]], m[LOW[t]]), min(m[HIGH[t]], m[LOW[t]])] for t in tiles] for m in renaming]
        old = [[[*m, CALLED].index(suit) for suit in suits] for m in renaming]
        led = np.array([[[*m, CALLED][LED[d, t]] for t in tiles] for d, m in zip(decls, renaming, strict=True)])
        power = np.array([[[RANK[d, old[d][suit], t] for t in tiles] for suit in suits] for d in decls])
        in_suit = np.array([[[FOLLOW[d, old[d][suit]] >> t & 1 for t in tiles] for suit in suits] for d in decls])
        by_lead, own = np.array(decls)[:, None], np.arange(TILES)
        beats = power[by_lead, led] > power[by_lead, led, own][:, :, None]
        pairs = np.stack([in_suit[by_lead, led], beats], -1).astype(np.float32)
        strength = [strength_of(d).place for d in decls]
        tables = {
            "renamed": renamed,
            "strength": strength,
            "led": led,
            "power": power,
            "in_suit": in_suit,
            "points": COUNT,
        }
        for name, table in tables.items():
            self.register_buffer(name, torch.from_numpy(np.array(table, np.int64)), persistent=False)
        self.register_buffer("pairs", torch.from_numpy(pairs), persistent=False)


class OpenStates(NamedTuple):
    """n states with open hands, seats counted from the mover."""

    decl: Tensor
    """(n,) int64."""
    tile: Tensor
    """(n, 28) int64: the dealt tiles, seven of each seat."""
    held: Tensor
    """(n, 28) bool: which of them are not played."""
    trick: Tensor
    """(n, 3) int64: tiles that lie, in order; 0 where none does."""
    lying: Tensor
    """(n, 3) bool: where one does."""
    owner: Tensor
    """(n, 3) int64: its seat - 1, since the mover has none there."""


class Afterstates(NamedTuple):
    """What n states are after a tile each."""

    states: OpenStates
    gain: Tensor
    """(n,) int64: points that the former mover's team wins by it, negative where the other team does."""
    side: Tensor
    """(n,) int64: 1 if the next mover is of the same team as the former one, else -1."""


def open_states(tokens: Tensor, mask: Tensor) -> OpenStates:
    """The states of n rows of tokens.

    Args:
        tokens: (n, 32, 12) integers, of version 2.
        mask: (n, 32) bool, which tokens count.
    """
    ids = tokens.long()
    hands, trick = ids[:, 1 : 1 + SEATS * HAND], ids[:, -TRICK:]
    return OpenStates(
        ids[:, 0, 10],
        _tile_of(hands),
        hands[..., 8] == 1,
        _tile_of(trick),
        mask[:, -TRICK:],
        (trick[..., 5] - 1).clamp(min=0),
    )


def _tile_of(tokens: Tensor) -> Tensor:
    return tokens[..., 0] * (tokens[..., 0] + 1) // 2 + tokens[..., 1]


class StateReader(nn.Module):
    """What a network is told of states; without weights."""

    def __init__(self) -> None:
        super().__init__()
        self.rules = RuleTables()

    def legal(self, states: OpenStates) -> Tensor:
        """(n, 7) bool: which of the mover's tiles may be played."""
        rules, own = self.rules, states.held[:, :HAND]
        suit = (states.decl * SUITS + rules.led[states.decl].gather(1, states.trick[:, :1]).squeeze(1)) * TILES
        fitting = rules.in_suit.flatten()[suit[:, None] + states.tile[:, :HAND]].bool() & states.lying[:, :1] & own
        return own & (fitting | ~fitting.any(1, keepdim=True))

    def points_left(self, states: OpenStates) -> Tensor:
        """(n,) int64: points that both teams together still win, those of the present trick among them."""
        counts = (self.rules.points[states.tile] * states.held).sum(1)
        tricks = (states.held.sum(1) + states.lying.sum(1)) // SEATS
        return tricks + counts + (self.rules.points[states.trick] * states.lying).sum(1)

    def after(self, states: OpenStates, place: Tensor) -> Afterstates:
        """After the mover's tile at `place` (n,) of its hand, which is legal."""
        rules, decl, at = self.rules, states.decl, place[:, None]
        number, own = states.lying.sum(1), states.tile.gather(1, at)
        held = states.held & (torch.arange(SEATS * HAND, device=place.device) != at)
        # all four tiles, the new one in its place; the mover's is that of seat 0
        here = torch.arange(TRICK + 1, device=place.device) == number[:, None]
        trick = torch.cat([states.trick, states.trick[:, :1]], 1).where(~here, own)
        seats = torch.cat([states.owner + 1, torch.zeros_like(states.owner[:, :1])], 1).where(~here, 0)
        suit = (decl * SUITS + rules.led[decl, trick[:, 0]]) * TILES
        winner = seats.gather(1, rules.power.flatten()[suit[:, None] + trick].argmax(1, keepdim=True)).squeeze(1)
        ends = number == TRICK
        points = 1 + rules.points[trick].sum(1)
        gain = torch.where(ends, torch.where(winner % 2 == 0, points, -points), 0)
        # everything is counted from the next mover
        shift = torch.where(ends, winner, 1)
        seat = (torch.arange(SEATS, device=place.device) + shift[:, None]) % SEATS
        turned = (HAND * seat[:, :, None] + torch.arange(HAND, device=place.device)).flatten(1)
        lying = (torch.cat([states.lying, torch.zeros_like(states.lying[:, :1])], 1) | here)[:, :TRICK] & ~ends[:, None]
        following = OpenStates(
            decl,
            states.tile.gather(1, turned),
            held.gather(1, turned),
            trick[:, :TRICK] * lying,
            lying,
            ((seats[:, :TRICK] - shift[:, None]) % SEATS - 1).clamp(min=0) * lying,
        )
        return Afterstates(following, gain, 1 - 2 * (shift % 2))

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
        suit = (decl[:, None] * SUITS + rules.led[decl].gather(1, lead)) * TILES
        power = rules.power.flatten()[suit + tile]
        lying_power = rules.power.flatten()[suit + trick_tile].masked_fill(~lying, -1)
        best = lying_power.max(1, keepdim=True)
        fitting = rules.in_suit.flatten()[suit + tile].bool() & begun
        wins = (power > best.values) & begun
        legal = torch.cat([self.legal(states), torch.zeros_like(held[:, HAND:])], 1)
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
        slot_facts = [counts == 5, counts == 10, fitting, wins]
        parts = [
            *(planes, on_table, called),
            *(plane(legal), plane(wins & legal), plane(highest), plane(counts * held / 10)),
            *(many, tops, winner, trick_points),
            *(pairs.flatten(1), present),
            *(what.gather(1, slots) & present for what in slot_facts),
        ]
        return torch.cat([part.float() for part in parts], 1)
