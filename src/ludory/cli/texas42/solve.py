"""`ludory texas42 solve`: what each lead is worth with all hands open, in one deal or with a hand against several."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .words import declaration, hand, seeds


def run(argv: list[str]) -> int:
    """Print the values; returns the exit code."""
    chosen = _parser().parse_args(argv)

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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory texas42 solve", description="Exact values with all hands open: Team 0's points minus Team 1's."
    )
    parser.add_argument("--seeds", type=seeds, default=range(1), metavar="N[-M]", help="of the deals (default 0)")
    parser.add_argument(
        "--decl", type=declaration, help="declaration, 0..9 or a name such as sixes (default: seed %% 10)"
    )
    parser.add_argument("--leader", type=int, choices=range(4), default=0, help="seat that leads (default 0)")
    parser.add_argument("--hand", type=hand, help='of seat 0, "6-6,6-5,..."; seeds then deal the other three hands')
    parser.add_argument("--json", action="store_true", help="one JSON list, for programs")
    return parser


def _text(one: dict[str, Any]) -> str:
    head = f"seed {one['seed']}, {one['declaration']}, seat {one['leader']} leads: value {one['value']:+d}"
    hands = [f"  seat {seat}: {tiles}" for seat, tiles in enumerate(one["hands"])]
    sign = 1 if one["leader"] % 2 == 0 else -1
    best = max(sign * q for q in one["q"].values())
    ranked = sorted(one["q"].items(), key=lambda pair: -sign * pair[1])
    return "\n".join(
        [head, *hands, "  tile    q  behind best", *(f"  {tile:4} {q:+4d}  {best - sign * q}" for tile, q in ranked)]
    )
