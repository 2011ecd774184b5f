"""`cross_play`: every agent plays with every other, on the same games."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.agent import Agent
from ludory.agents.make import make_agent
from ludory.envs.game import Game
from ludory.envs.make import make_game

from .evaluate import check_count, evaluate
from .evaluation_result import Estimate, estimate


class Lead(NamedTuple):
    """Self-play return of one agent minus that of another, paired game by game."""

    agent: str
    other: str
    by: Estimate


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

    def __repr__(self) -> str:
        return f"<CrossPlay of {', '.join(self.agents)} in {self.game}: {self.games:,} games of each pair>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in ("", *self.agents))
        rows = "".join(
            f"<tr><th>{escape(name)}</th>{''.join(f'<td>{one.mean:.3f} ± {one.stderr:.3f}</td>' for one in row)}</tr>"
            for name, row in zip(self.agents, self.estimates(), strict=True)
        )
        note = f"{self.game}, {self.games:,} games of each pair: mean return of the row's agent ± standard error"
        return f"<p>{escape(note)}</p><table><tr>{head}</tr>{rows}</table>"

    @property
    def games(self) -> int:
        """Number of games of each pair."""
        return int(self.returns.shape[2])

    def estimates(self) -> list[list[Estimate]]:
        """Mean, standard error and interval of each pair."""
        return [[estimate(cell) for cell in row] for row in self.returns]

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
    present = [make_agent(spec, made) for spec in agents]
    turns = 1 if players == 2 else players
    edges = [games * turn // turns for turn in range(turns + 1)]
    returns = np.empty((len(present), len(present), games), np.float32)
    for row, column in np.ndindex(len(present), len(present)):
        for seat in range(turns):
            start, stop = edges[seat], edges[seat + 1]
            if start == stop:
                continue
            seated = [present[row if s == seat else column] for s in range(players)]
            part = evaluate(
                seated, made, stop - start, seed, first_game=start, device=device, batch=batch, progress=progress
            )
            returns[row, column, start:stop] = part.returns[:, seat]
    return CrossPlay(names, made.id or made.facts.name, seed, made.facts.reward == "shared", returns)
