"""`OpenStates`: n states of Texas 42 with open hands as tensors; `RuleTables`: the rules that they follow, on any device.

With pip trumps the pips are renamed so that the trump is the highest and the others keep their order: seven declarations are one game but
for the tiles that count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ludory.agents.texas42.solver.solver import strength_of
from ludory.envs.texas42.tiles import CALLED, COUNT, DOUBLES, FOLLOW, HIGH, LED, LOW, NELLO_HIGH, RANK, SUITS, TILES

SEATS, HAND, TRICK = 4, 7, 3
"""Seats, tiles of a dealt hand, and the most tiles that lie before a move."""


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

    def legal(self, states: OpenStates) -> Tensor:
        """(n, 7) bool: which of the mover's tiles may be played."""
        own = states.held[:, :HAND]
        following = own & self.following(states)[:, :HAND]
        return own & (following | ~following.any(1, keepdim=True))

    def points_left(self, states: OpenStates) -> Tensor:
        """(n,) int64: points that both teams together still win, those of the present trick among them."""
        counts = (self.points[states.tile] * states.held).sum(1)
        tricks = (states.held.sum(1) + states.lying.sum(1)) // SEATS
        return tricks + counts + (self.points[states.trick] * states.lying).sum(1)

    def after(self, states: OpenStates, place: Tensor) -> Afterstates:
        """After the mover's tile at `place` (n,) of its hand, which is legal."""
        decl, at = states.decl, place[:, None]
        number, own = states.lying.sum(1), states.tile.gather(1, at)
        held = states.held & (torch.arange(SEATS * HAND, device=place.device) != at)
        # all four tiles, the new one in its place; the mover's is that of seat 0
        here = torch.arange(TRICK + 1, device=place.device) == number[:, None]
        trick = torch.cat([states.trick, states.trick[:, :1]], 1).where(~here, own)
        seats = torch.cat([states.owner + 1, torch.zeros_like(states.owner[:, :1])], 1).where(~here, 0)
        winner = seats.gather(1, self.power_of(decl, trick[:, :1], trick).argmax(1, keepdim=True)).squeeze(1)
        ends = number == TRICK
        points = 1 + self.points[trick].sum(1)
        gain = torch.where(ends, torch.where(winner % 2 == 0, points, -points), 0)
        # everything is counted from the next mover
        shift = torch.where(ends, winner, 1)
        seat = (torch.arange(SEATS, device=place.device) + shift[:, None]) % SEATS
        turned = (HAND * seat[:, :, None] + torch.arange(HAND, device=place.device)).flatten(1)
        lying = (torch.cat([states.lying, torch.zeros_like(states.lying[:, :1])], 1) | here)[:, :TRICK] & ~ends[:, None]
        turned_states = OpenStates(
            decl,
            states.tile.gather(1, turned),
            held.gather(1, turned),
            trick[:, :TRICK] * lying,
            lying,
            ((seats[:, :TRICK] - shift[:, None]) % SEATS - 1).clamp(min=0) * lying,
        )
        return Afterstates(turned_states, gain, 1 - 2 * (shift % 2))

    def power_of(self, decl: Tensor, lead: Tensor, tiles: Tensor) -> Tensor:
        """(n, k) int64: strength of `tiles` (n, k) where `lead` (n, 1) is led; 0 cannot win."""
        return self.power.flatten()[self._suit(decl, lead) + tiles]

    def following(self, states: OpenStates) -> Tensor:
        """(n, 28) bool: which of all dealt tiles belong to the suit that is led, none where none is."""
        suit = self._suit(states.decl, states.trick[:, :1])
        return self.in_suit.flatten()[suit + states.tile].bool() & states.lying[:, :1]

    def _suit(self, decl: Tensor, lead: Tensor) -> Tensor:
        """(n, 1): where the row of the led suit begins in the flat tables by declaration, suit and tile."""
        return (decl[:, None] * SUITS + self.led[decl].gather(1, lead)) * TILES
