"""Battles between the scripted opponents of Pokémon: the share that each wins, every pair of teams played from both sides.

A player against itself is not played from both sides: its share is that of the first seat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.make import make_agent
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.cluster.placement import PlacedOn
from ludory.cluster.workers import Workers
from ludory.envs.make import make_engine, make_game
from ludory.errors import OptionError

PAIRS = (
    "random:random",
    "simple-heuristics:random",
    "simple-heuristics:max-base-power",
    "simple-heuristics:greedy-damage",
    "max-base-power:random",
)

ORIGINALS = ("pokemon/poke-env(SimpleHeuristicsPlayer)", "pokemon/poke-env(MaxBasePowerPlayer)")
AT_ONCE = 25
"""Battles at once on a server."""
IN_A_PART = 25
"""Pairs of teams that a process plays at once."""


@dataclass(frozen=True, slots=True)
class PokemonStrengthOptions:
    """Options of `ludory bench pokemon-strength`."""

    games: tuple[str, ...] = ("PokemonGen1RandomBattle-v0", "PokemonGen9RandomBattle-v0")
    """Ids of the battles."""
    pairs: tuple[str, ...] = PAIRS
    """Players of each pair, such as search:simple-heuristics, without pokemon/."""
    battles: Count = 1000
    """Of each pair, half of them from each side."""
    jobs: Natural = 0
    """Processes that play them; 0: this one, with workers of its own."""
    originals: Natural = 0
    """Battles of poke-env's own SimpleHeuristicsPlayer against its MaxBasePowerPlayer, on a Showdown server, beside those of our players."""
    seed: Natural = 1
    """Of teams, chance and draws; a server cannot be seeded."""
    out: Path | None = None
    """JSON file of the result."""


@benchmark("pokemon-strength")
def run(options: PokemonStrengthOptions) -> Result:
    """Play every pair in every game."""
    pairs = [tuple(pair.split(":")) for pair in options.pairs]
    if wrong := [pair for pair, players in zip(options.pairs, pairs, strict=True) if len(players) != 2]:
        raise OptionError(f"--pairs {wrong[0]}: must be two players with a colon between, such as {PAIRS[1]}")
    with PlacedOn(jobs=options.jobs).open() as workers:
        rows = [_played(game, one, other, options, workers) for game in options.games for one, other in pairs]
    if options.originals:
        rows += [_originals(game, options.originals) for game in options.games]
    report = {name: value for name, value in asdict(options).items() if name not in ("out", "jobs")} | {"pairs": rows}
    return Result(options.out, report | {"convention": "share of battles won by the first; a tie counts half"}, _shown)


def _played(
    game: str, one: str, other: str, options: PokemonStrengthOptions, workers: Workers | None
) -> dict[str, Any]:
    agents = [f"pokemon/{one}", f"pokemon/{other}"]
    swapped = (
        one != other
    )  # a player wins exactly half of the battles against itself if they are played from both sides
    games = -(-options.battles // 2) if swapped else options.battles
    # a search copies battles of its own process
    here = {"workers": 0} if workers is not None or "search" in one + other else {}
    parts = games if workers is None else IN_A_PART
    made = make_game(game, **here)
    played = evaluate(agents, made, games, options.seed, batch=parts, rotate=swapped, workers=workers)
    return {
        "game": game,
        "pair": [one, other],
        "battles": 2 * played.games if swapped else played.games,
        "wins": float(np.asarray(played.mean)[0] + 1) / 2,
        "stderr": float(np.asarray(played.stderr)[0]) / 2,
    }


def _originals(game: str, battles: int) -> dict[str, Any]:
    """The same pair as poke-env has it, half of the battles from each side."""
    wins = np.zeros(0)
    while len(wins) < battles:
        for first in (0, 1):
            wins = np.append(wins, _on_server(game, first))
    share = float(wins.mean())
    return {
        "game": game,
        "pair": list(ORIGINALS),
        "battles": len(wins),
        "wins": share,
        "stderr": float(wins.std(ddof=1) / np.sqrt(len(wins))),
    }


def _on_server(game: str, first: int) -> NDArray[np.float64]:
    """Results of the first of `ORIGINALS` in seat `first`, in as many battles as run at once: 1 for a win, 0.5 for a tie."""
    engine: Any = make_engine(game, AT_ONCE, backend="server")
    try:
        players = [make_agent(name, engine.game) for name in ORIGINALS]
        seated = players if first == 0 else players[::-1]
        engine.reset()
        total = np.zeros((AT_ONCE, 2))
        while not engine.over.all():
            actions, running = np.zeros((AT_ONCE, 2, 1), np.int64), ~engine.over
            for seat, player in enumerate(seated):
                rows = np.flatnonzero(engine.deciding[:, seat])
                if len(rows):
                    actions[rows, seat, 0] = np.asarray(player.choose(engine, seat, rows, None)).reshape(-1)
            engine.step(actions)
            total += np.asarray(engine.rewards) * running[:, None]
    finally:
        engine.close()
    return np.asarray((total[:, first] + 1) / 2)


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    """A line for each pair."""
    for row in report["pairs"]:
        one, other = row["pair"]
        share = f"{100 * row['wins']:5.1f} +- {100 * row['stderr']:.1f} %"
        yield f"{row['game']:32} {one.removeprefix('pokemon/'):18} against {other.removeprefix('pokemon/'):16} {share} of {row['battles']:,}"
