"""Scores of players that need no training: what a learner has to beat. The manual shows them on the page of each game."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ludory.agents.evaluation.evaluate import evaluate
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.envs.make import make_game

LINE_UPS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "Hanabi2P-v0": tuple(
        (bot, "") for bot in ("hanabi/iggi", "hanabi/piers", "hanabi/smartbot", "hanabi/cheatbot", "random")
    ),
    "HanabiSmall2P-v0": (("hanabi/iggi", ""), ("random", "")),
    "Arena2P-v0": tuple(
        (f"arena/{one}", "random") for one in ("rusher", "sniper", "turtle", "looter", "miner", "zone")
    ),
    "Texas42-v0": (("texas42/quick", "random"),),
    "Sokoban-v0": (("sokoban/solver", ""), ("random", "")),
    "FrozenLakeRagen2-v0": (("frozen_lake/optimum", ""), ("random", "")),
    "Sudoku4-v0": (("sudoku/solver", ""), ("random", "")),
}
"""Game to (agent, agent in the other seats; "": itself)."""


@dataclass(frozen=True, slots=True)
class BaselinesOptions:
    """Options of `ludory bench baselines`."""

    games: Count = 1000
    """Games of each line-up; where seats compete, every deal is played from every seat."""
    seed: Natural = 4000037
    """Of the deals."""
    out: Path | None = None
    """JSON file of the result."""


@benchmark("baselines")
def run(options: BaselinesOptions) -> Result:
    """Play every line-up."""
    rows = list(_rows(options))
    return Result(options.out, {"games": options.games, "seed": options.seed, "rows": rows}, _shown)


def _rows(options: BaselinesOptions) -> Iterator[dict[str, Any]]:
    for game, line_ups in LINE_UPS.items():
        for agent, others in line_ups:
            yield {"game": game, "agent": agent, "others": others, **_score(game, agent, others, options)}


def _score(game: str, agent: str, others: str, options: BaselinesOptions) -> dict[str, Any]:
    """Mean return of `agent` over the deals, and its standard error."""
    if not others:
        returns = evaluate(agent, game, games=options.games, seed=options.seed).returns[:, 0]
    else:
        facts = make_game(game).facts
        teams = facts.teams or range(facts.players)
        seats = [agent if team == teams[0] else others for team in teams]
        returns = evaluate(seats, game, games=options.games, seed=options.seed, rotate=True).returns[:, 0]
    error = float(np.std(returns, ddof=1) / len(returns) ** 0.5) if len(returns) > 1 else 0.0
    return {"mean": float(np.mean(returns)), "stderr": error, "games": len(returns)}


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    """A line for each line-up."""
    for row in report["rows"]:
        against = f" against {row['others']}" if row["others"] else ""
        yield f"{row['game']:22} {row['agent'] + against:34} {row['mean']:8.3f} +- {row['stderr']:.3f}"
