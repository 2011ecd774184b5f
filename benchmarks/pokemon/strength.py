"""Battles between the scripted opponents of Pokémon: the share that each wins, every pair of teams played from both sides.

A player against itself is not played from both sides: its share is that of the first seat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ludory.agents.evaluation.evaluate import evaluate
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural

PAIRS = (
    ("random", "random"),
    ("simple-heuristics", "random"),
    ("simple-heuristics", "max-base-power"),
    ("simple-heuristics", "greedy-damage"),
    ("max-base-power", "random"),
)


@dataclass(frozen=True, slots=True)
class PokemonStrengthOptions:
    """Options of `ludory bench pokemon-strength`."""

    games: tuple[str, ...] = ("PokemonGen1RandomBattle-v0", "PokemonGen9RandomBattle-v0")
    """Ids of the battles."""
    battles: Count = 1000
    """Of each pair, half of them from each side."""
    seed: Natural = 1
    """Of teams, chance and draws."""
    out: Path | None = None
    """JSON file of the result."""


@benchmark("pokemon-strength")
def run(options: PokemonStrengthOptions) -> Result:
    """Play every pair in every game."""
    rows = [_played(game, *pair, options) for game in options.games for pair in PAIRS]
    report = {**asdict(options), "out": options.out and str(options.out), "pairs": rows}
    return Result(options.out, report | {"convention": "share of battles won by the first; a tie counts half"}, _shown)


def _played(game: str, one: str, other: str, options: PokemonStrengthOptions) -> dict[str, Any]:
    agents = [f"pokemon/{one}", f"pokemon/{other}"]
    swapped = (
        one != other
    )  # a player wins exactly half of the battles against itself if they are played from both sides
    games = -(-options.battles // 2) if swapped else options.battles
    played = evaluate(agents, game, games=games, seed=options.seed, rotate=swapped)
    return {
        "game": game,
        "pair": [one, other],
        "battles": 2 * played.games if swapped else played.games,
        "wins": float(np.asarray(played.mean)[0] + 1) / 2,
        "stderr": float(np.asarray(played.stderr)[0]) / 2,
    }


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    """A line for each pair."""
    for row in report["pairs"]:
        one, other = row["pair"]
        share = f"{100 * row['wins']:5.1f} +- {100 * row['stderr']:.1f} %"
        yield f"{row['game']:32} {one:18} against {other:16} {share} of {row['battles']:,}"
