"""`DominoMlp`: hidden layers over what a state of Texas 42 with open hands follows from: who holds what, which tile follows and beats which.

Attention over tokens has to find out by itself which tile beats which; here tables of the rules say so. With pip trumps the pips are
renamed so that the trump is the highest and the others keep their order: seven declarations are one game but for the tiles that count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from ludory.agents.texas42.play.tokens import VERSIONS
from ludory.agents.texas42.solver.solver import strength_of
from ludory.envs import GameFacts
from ludory.envs.texas42.tiles import CALLED, COUNT, DOUBLES, FOLLOW, HIGH, LED, LOW, NELLO_HIGH, RANK, SUITS, TILES
from ludory.errors import OptionError

from .open_hands import OpenHandNetwork, OpenValues

SEATS, HAND, TRICK = 4, 7, 3
FEW = 4
"""Most tiles of a hand of which all pairs are told: in states with more of them no two tiles are told apart often enough to learn from."""
SLOTS = SEATS * FEW


class _Tables(NamedTuple):
    """The rules, by declaration 0 to 9."""

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


def _tables() -> _Tables:
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
    parts = renamed, strength, led, power, in_suit, pairs, COUNT
    return _Tables(
        *(
            torch.from_numpy(array if array.dtype == np.float32 else array.astype(np.int64))
            for array in map(np.array, parts)
        )
    )


class DominoMlp(OpenHandNetwork):
    """Hidden layers; each of the mover's tiles is answered as the tile that it is, and as the place that it has in the hand.

    Args:
        facts: of Texas 42.
        hidden: width of each hidden layer.
    """

    id: ClassVar[str] = "domino_mlp"
    tokens_version = VERSIONS[-1]
    renamed: Tensor
    strength: Tensor
    led: Tensor
    power: Tensor
    in_suit: Tensor
    pairs: Tensor
    points: Tensor

    def __init__(self, facts: GameFacts, hidden: Sequence[int] = (512, 512, 512)) -> None:
        super().__init__(facts)
        if not hidden or min(hidden) < 1:
            raise OptionError(f"hidden={tuple(hidden)}: must be the widths of hidden layers, such as (512, 512)")
        for name, table in _tables()._asdict().items():
            self.register_buffer(name, table, persistent=False)
        width, layers = _NUM_FEATURES, list[nn.Module]()
        for wide in hidden:
            layers += [nn.Linear(width, wide), nn.ReLU()]
            width = wide
        self.torso = nn.Sequential(*layers)
        self.by_tile, self.by_place, self.value_head = (
            nn.Linear(width, TILES),
            nn.Linear(width, FEW),
            nn.Linear(width, 1),
        )

    def forward(self, tokens: Tensor, mask: Tensor, player: Tensor | None = None) -> OpenValues:  # type: ignore[override]
        """As `OpenHandNetwork.forward`."""
        self.check_version(tokens, player)
        seen = self.read(tokens, mask)
        x = self.torso(seen.features.to(self.value_head.weight.dtype))
        own = seen.places[:, 0]
        by_place = self.by_place(x) * seen.there[:, 0].to(x.dtype)
        q = self.by_tile(x).gather(1, seen.renamed[:, :HAND])
        # heads are near 1 in size, points are not
        return OpenValues(42 * q.scatter_add(1, own, by_place.to(q.dtype)), self.value_head(x).squeeze(-1))

    def read(self, tokens: Tensor, mask: Tensor) -> _Seen:
        """What the network is told of n states."""
        ids, n = tokens.long(), tokens.shape[0]
        decl, hands = ids[:, 0, 10], ids[:, 1 : 1 + SEATS * HAND]
        tile = hands[..., 0] * (hands[..., 0] + 1) // 2 + hands[..., 1]  # (n, 28)
        held = hands[..., 8] == 1
        renamed = self.renamed[decl].gather(1, tile)
        lying, trick = mask[:, -TRICK:], ids[:, -TRICK:]
        trick_tile = trick[..., 0] * (trick[..., 0] + 1) // 2 + trick[..., 1]  # (n, 3); 0 where none lies
        owner = (trick[..., 5] - 1).clamp(min=0)
        lead, begun = trick_tile[:, :1], lying[:, :1]

        # who holds what, and what lies, as planes of 28 tiles
        planes = torch.zeros(n, SEATS * TILES, device=ids.device)
        seats = TILES * (torch.arange(SEATS * HAND, device=ids.device) // HAND)
        planes = planes.scatter(1, seats + renamed, held.float())
        on_table = torch.zeros(n, TRICK * TILES, device=ids.device)
        on_table = on_table.scatter_add(1, TILES * owner + self.renamed[decl].gather(1, trick_tile), lying.float())
        rules = torch.cat([one_hot(decl, NELLO_HIGH), one_hot((decl - DOUBLES + 1).clamp(min=0).clamp(max=2), 3)], 1)

        # the trick as it lies
        suit = (decl[:, None] * SUITS + self.led[decl].gather(1, lead)) * TILES
        power = self.power.flatten()[suit + tile]
        lying_power = self.power.flatten()[suit + trick_tile].masked_fill(~lying, -1)
        best = lying_power.max(1, keepdim=True)
        fitting = self.in_suit.flatten()[suit + tile].bool() & begun
        wins = (power > best.values) & begun
        own = held & (torch.arange(SEATS * HAND, device=ids.device) < HAND)
        must = (own & fitting).any(1, keepdim=True)
        legal = own & (fitting | ~must)
        winner = one_hot(owner.gather(1, best.indices).squeeze(1), TRICK) * begun
        trick_points = (self.points[trick_tile] * lying).sum(1, keepdim=True) / 10

        def plane(what: Tensor) -> Tensor:
            """(n, 28) by renamed tile."""
            return torch.zeros(n, TILES, device=ids.device).scatter_add(1, renamed, what.float())

        # suits: how many tiles each seat has of them, and who has the highest
        suits = (decl[:, None, None] * SUITS + torch.arange(SUITS, device=ids.device)[:, None]) * TILES + tile[:, None]
        members = self.in_suit.flatten()[suits].bool() & held[:, None]  # (n, 8, 28)
        many = members.view(n, SUITS, SEATS, HAND).sum(3).transpose(1, 2).flatten(1) / 4
        top = self.power.flatten()[suits].masked_fill(~members, -1).argmax(2)  # (n, 8)
        tops = (one_hot(top // HAND, SEATS) * members.any(2, keepdim=True)).transpose(1, 2).flatten(1)
        places = torch.arange(SEATS * HAND, device=ids.device)
        highest = held & (top.gather(1, self.led[decl].gather(1, tile)) == places)

        # the tiles of small hands, strongest first, in pairs
        by_strength = self.strength[decl].gather(1, tile).masked_fill(~held, -1).view(n, SEATS, HAND)
        ordered = by_strength.topk(FEW, dim=2)
        few = (held.view(n, SEATS, HAND).sum(2) <= FEW).all(1)[:, None, None]
        there = (ordered.values >= 0) & few  # (n, 4, FEW)
        slots = (ordered.indices + HAND * torch.arange(SEATS, device=ids.device)[:, None]).flatten(1)  # (n, 16)
        slot_tile = tile.gather(1, slots)
        lead_tile = (decl[:, None, None] * TILES + slot_tile[:, :, None]) * TILES
        pairs = self.pairs.flatten(0, 2)[lead_tile + slot_tile[:, None]]  # (n, 16, 16, 2)
        present = there.flatten(1)
        both = present[:, :, None] & present[:, None, :] & ~torch.eye(SLOTS, dtype=torch.bool, device=ids.device)
        pairs = (pairs * both[..., None]).permute(0, 3, 1, 2)
        counts = self.points[tile]
        slot_facts = [counts == 5, counts == 10, fitting, wins]
        parts = [
            *(planes, on_table, rules),
            *(plane(legal), plane(own & wins & legal), plane(highest), plane(counts * held / 10)),
            *(many, tops, winner, trick_points),
            *(pairs.flatten(1), present),
            *(what.gather(1, slots) & present for what in slot_facts),
        ]
        return _Seen(torch.cat([part.float() for part in parts], 1), renamed, ordered.indices, there)


class _Seen(NamedTuple):
    """Of n states."""

    features: Tensor
    """(n, F)"""
    renamed: Tensor
    """(n, 28): the renamed tile at each place of the tokens."""
    places: Tensor
    """(n, 4, FEW): of each seat the places of its strongest tiles in the hand."""
    there: Tensor
    """(n, 4, FEW): whether it has so many, and no hand has more than `FEW`."""


_NUM_FEATURES = (
    (SEATS + TRICK) * TILES + NELLO_HIGH + 3  # planes and rules
    + 4 * TILES + 2 * SEATS * SUITS + TRICK + 1  # facts of tiles, suits and the trick
    + 2 * SLOTS * SLOTS + 5 * SLOTS  # pairs
)  # fmt: skip
