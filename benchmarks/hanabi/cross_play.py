"""Let Hanabi agents play with each other, every pair on the same decks: a team player is worth more than its score with copies of itself.

An agent that learnt with copies of itself has made its partners' conventions its own. What it is worth beside others is in its row and
its column, outside the diagonal. Agents whose names differ only in a number at the end, such as the seeds of one training, are a
method: its means are those of its agents with themselves, and of the pairs of different ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from ludory.agents.evaluation.cross_play import PairMeans, cross_play
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.charts.bars import Cell, heat_map
from ludory.envs.make import make_game
from ludory.errors import OptionError


@dataclass(frozen=True, slots=True)
class HanabiCrossPlayOptions:
    """Options of `ludory bench hanabi-cross-play`."""

    game: str = "Hanabi2P-v0"
    """Id of a Hanabi."""
    agents: tuple[str, ...] = ("hanabi/iggi", "hanabi/piers", "hanabi/smartbot", "hanabi/ppo")
    """Agents or checkpoints, each as SPEC or as NAME=SPEC."""
    observation: str = "card_knowledge"
    """Of the game; networks look by the one that they were trained with, for which "conventions" must be given if one of them needs it."""
    games: Count = 2000
    """Of each ordered pair: the first sits in seat 0."""
    decks: Natural = 6_000_047
    """Seed of the decks, on which nothing was trained and no setting was chosen."""
    out: Path = Path("runs/hanabi-cross-play.json")
    """JSON file of the result; the chart lies beside it."""


@benchmark("hanabi-cross-play")
def run(options: HanabiCrossPlayOptions) -> Result:
    """Play all ordered pairs.

    Raises:
        OptionError: fewer than two agents, or two of the same name; `out` is a folder.
    """
    if options.out.is_dir():
        raise OptionError(
            f"--out {options.out}: is a folder; name a file in it, such as {options.out / 'cross-play.json'}"
        )
    named = dict(_named(one) for one in options.agents)
    if len(named) < max(2, len(options.agents)):
        raise OptionError(
            f"--agents {' '.join(options.agents)}: give two or more of different names, or tell them apart with NAME=SPEC"
        )
    names = list(named)
    played = cross_play(
        list(named.values()), options.game, games=options.games, seed=options.decks, observation=options.observation
    )
    found = played.estimates()
    scores = {
        row: {
            column: {"mean": float(cell.mean), "stderr": float(cell.stderr)}
            for column, cell in zip(names, line, strict=True)
        }
        for row, line in zip(names, found, strict=True)
    }
    report = {
        "game": options.game,
        "games": options.games,
        "decks_seed": options.decks,
        "convention": "a bomb scores 0; greedy moves; the row's agent sits in seat 0",
        "agents": names,
        "scores": scores,
        "methods": {
            method: {
                name: {"mean": one.mean, "stderr": one.stderr if of > 1 else None, "of": of}
                for name, one, of in zip(
                    PairMeans._fields, means, (len(rows), len(rows) * (len(rows) - 1) // 2), strict=True
                )
            }
            for method, rows in _methods(names).items()
            if (means := replace(played, agents=tuple(names), returns=played.returns[np.ix_(rows, rows)]).pair_means())
        },
    }
    return Result(options.out, report, _shown, chart)


def _named(text: str) -> tuple[str, str]:
    """Name and spec; by default a checkpoint is called by its file, another agent by its spec."""
    head, sign, spec = text.partition("=")
    if sign and "(" not in head:
        return head, spec
    return (Path(text).stem if Path(text).exists() else text), text


def _methods(names: Sequence[str]) -> dict[str, list[int]]:
    """Places of the agents of each method that has several: those whose names differ only in a number at the end."""
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        found.setdefault(name.rstrip("0123456789").rstrip(" -_"), []).append(place)
    return {method: places for method, places in found.items() if len(places) > 1}


def with_others(scores: Mapping[str, Mapping[str, Mapping[str, float]]], name: str) -> float:
    """Mean score of an agent beside each of the others, in both seats."""
    return mean(mean((scores[name][other]["mean"], scores[other][name]["mean"])) for other in scores if other != name)


def _shown(report: Mapping[str, Any]) -> Iterator[Any]:
    names, scores = report["agents"], report["scores"]
    yield f"{report['game']}: {report['games']:,} games of each pair, decks {report['decks_seed']}"
    for name in names:
        line = "  ".join(f"{scores[name][other]['mean']:5.2f}" for other in names)
        yield f"{name:24} {line}   with others {with_others(scores, name):5.2f}"
    for method, means in report.get("methods", {}).items():
        told = [f"{one['mean']:.2f}" + (f" ± {one['stderr']:.2f}" if one["stderr"] else "") for one in means.values()]
        yield f"{method}: with itself {told[0]} (agents), seeds with each other {told[1]} (pairs)"


def chart(report: Mapping[str, Any]) -> str:
    """The scores of all pairs."""
    scores = report["scores"]

    best = make_game(report["game"]).facts.max_return

    def cell(home: str, away: str) -> Cell:
        one = scores[home][away]
        tip = f"{home} in seat 0, {away} in seat 1: {one['mean']:.2f} +- {one['stderr']:.2f}"
        return Cell(one["mean"] / best, tip, words=f"{one['mean']:.1f}")

    return heat_map(f"{report['game']}: score of each pair", report["agents"], cell)
