"""`ludory texas42 solve`: what each lead is worth with all hands open, in one deal or with a hand against several."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from ludory.cli.common import Flag, Maybe, parse

from .words import Decl, Hand, Seeds


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Exact values with all hands open: Team 0's points minus Team 1's.

    Example: ludory texas42 solve --seeds 0 --decl sixes
    """

    seeds: Seeds = range(1)
    """Seeds of the deals."""
    decl: Maybe[Decl] = None
    """Declaration, 0..9 or a name such as sixes (default: seed % 10)."""
    leader: Literal[0, 1, 2, 3] = 0
    """Seat that leads."""
    hand: Maybe[Hand] = None
    """Hand of seat 0, "6-6,6-5,..."; seeds then deal the other three hands."""
    json: Flag = False
    """Print one JSON list, for programs."""


def run(argv: list[str]) -> int:
    """Print the values; returns the exit code."""
    chosen = parse(_Options, argv, "texas42 solve")

    from ludory.agents.texas42.solver.solver import Solver, positions
    from ludory.data.formats.texas42.names import check_seed, marginalised_deal
    from ludory.envs.texas42.start import seed_deal
    from ludory.envs.texas42.tiles import DECLARATIONS, TILE_NAMES, mask_of

    found: list[dict[str, Any]] = []
    for seed in chosen.seeds:
        check_seed(seed)
        decl = seed % 10 if chosen.decl is None else chosen.decl
        hands = seed_deal(seed) if chosen.hand is None else marginalised_deal(chosen.hand, seed)
        value, q = Solver(threads=1).q_values(positions([mask_of(one) for one in hands], decl, chosen.leader))
        tiles = hands[chosen.leader]
        found.append(
            {
                "seed": seed,
                "declaration": DECLARATIONS[decl],
                "leader": chosen.leader,
                "hands": [" ".join(TILE_NAMES[tile] for tile in one) for one in hands],
                "value": int(value[0]),
                "q": {TILE_NAMES[tile]: int(q[0, tile]) for tile in tiles},
            }
        )
    print(json.dumps(found, indent=2) if chosen.json else "\n\n".join(map(_text, found)))
    return 0


def _text(one: dict[str, Any]) -> str:
    head = f"seed {one['seed']}, {one['declaration']}, seat {one['leader']} leads: value {one['value']:+d}"
    hands = [f"  seat {seat}: {tiles}" for seat, tiles in enumerate(one["hands"])]
    sign = 1 if one["leader"] % 2 == 0 else -1
    best = max(sign * q for q in one["q"].values())
    ranked = sorted(one["q"].items(), key=lambda pair: -sign * pair[1])
    return "\n".join(
        [head, *hands, "  tile    q  behind best", *(f"  {tile:4} {q:+4d}  {best - sign * q}" for tile, q in ranked)]
    )
