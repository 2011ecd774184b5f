"""`cross_play`: every agent plays with every other, on the same games."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.agent import Agent
from ludory.cluster.workers import Workers
from ludory.envs import Game, make_game
from ludory.envs.engine.checks import checked_seed
from ludory.envs.pictures import html_table

from .blocks import MOST_ELSEWHERE, Block, Roster, cut, play_blocks
from .evaluate import check_count
from .evaluation_result import Estimate, estimate


class Lead(NamedTuple):
    """Self-play return of one agent minus that of another, paired game by game."""

    agent: str
    other: str
    by: Estimate


class PairMeans(NamedTuple):
    """Means over agents and over pairs, each with its standard error over them, as if they were independent; NaN of a single one."""

    alone: Estimate
    """Of the agents, each with copies of itself."""
    together: Estimate
    """Of the pairs of different agents, both orders of a pair together."""


@dataclass(frozen=True, slots=True)
class CrossPlay:
    """Returns of every pair of agents on the same games."""

    agents: tuple[str, ...]
    game: str
    seed: int
    shared: bool
    """True if all seats receive the same return."""
    returns: NDArray[np.float32]
    """(n, n, games): return of the row's agent, the column's agent in all other seats."""
    counts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """As `EvaluationResult.counts`."""

    def __repr__(self) -> str:
        return f"<CrossPlay of {', '.join(self.agents)} in {self.game}: {self.games:,} games of each pair>"

    def _repr_html_(self) -> str:
        cells = [[f"{one.mean:.3f} ± {one.stderr:.3f}" for one in row] for row in self.estimates()]
        rows = [("", *self.agents), *((name, *row) for name, row in zip(self.agents, cells, strict=True))]
        note = f"{self.game}, {self.games:,} games of each pair: mean return of the row's agent ± standard error"
        return html_table(rows, note)

    @property
    def games(self) -> int:
        """Number of games of each pair."""
        return int(self.returns.shape[2])

    def estimates(self) -> list[list[Estimate]]:
        """Mean, standard error and interval of each pair."""
        return [[estimate(cell) for cell in row] for row in self.returns]

    def pair_means(self) -> PairMeans | None:
        """How agents do with themselves and with each other; None where rewards are not shared, or of one agent.

        The score with others says what conventions are worth beside strangers (Hu et al. 2020, arXiv 2003.02979).
        """
        if not self.shared or len(self.agents) < 2:
            return None
        means = self.returns.mean(axis=2, dtype=np.float64)
        pairs = [(means[a, b] + means[b, a]) / 2 for a, b in combinations(range(len(means)), 2)]
        return PairMeans(estimate(means.diagonal()), estimate(np.array(pairs)))

    def leads(self) -> list[Lead]:
        """Paired self-play differences of every two agents; empty where rewards are not shared, since self-play says nothing there."""
        if not self.shared:
            return []
        return [
            Lead(self.agents[a], self.agents[b], estimate(self.returns[a, a].astype(np.float64) - self.returns[b, b]))
            for a, b in combinations(range(len(self.agents)), 2)
        ]


def cross_play(
    agents: Sequence[str | Agent],
    game: str | Game,
    games: int = 1000,
    seed: int = 0,
    *,
    device: str = "cpu",
    batch: int = 4096,
    progress: Callable[[int], None] | None = None,
    workers: Workers | None = None,
    **options: Any,
) -> CrossPlay:
    """Let every ordered pair of agents play the same games.

    With two seats the row's agent sits in seat 0. With more it sits in seat 0 for the first part of the games, then in
    seat 1, and so on; the column's agent takes all other seats.

    Arguments and errors as `evaluate`.
    """
    made, names = (
        make_game(game, **options),
        tuple(spec if isinstance(spec, str) else getattr(spec, "name", type(spec).__name__) for spec in agents),
    )
    players = made.facts.players
    check_count("games", games)
    check_count("batch", batch)
    checked_seed(seed)
    roster = Roster(agents, made)
    # with two seats the ordered pair says who sits where
    turns = 1 if players == 2 else players
    edges = [games * turn // turns for turn in range(turns + 1)]
    batch = min(batch, MOST_ELSEWHERE) if made.rules.engine else batch
    plan: list[tuple[int, int, int, Block]] = []
    for row, column in np.ndindex(len(agents), len(agents)):
        for seat in range(turns):
            seats = tuple(row if s == seat else column for s in range(players))
            whole = Block(seats, edges[seat], edges[seat + 1] - edges[seat])
            plan += [(row, column, seat, block) for block in cut(whole, batch)]
    returns = np.empty((len(agents), len(agents), games), np.float32)
    played = play_blocks(roster, [block for *_, block in plan], seed, device, workers=workers)
    for (row, column, seat, block), (found, _) in zip(plan, played, strict=True):
        returns[row, column, block.first : block.first + block.games] = found[:, seat]
        if progress:
            progress(block.games)
    counts = roster.counts() if workers is None else {}
    return CrossPlay(names, made.id or made.facts.name, seed, made.facts.reward == "shared", returns, counts)
