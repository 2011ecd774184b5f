"""The best tile on average over worlds, for many decisions at once: their worlds form one batch of the solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.solver.solver import Positions, Solver, positions
from ludory.envs import State
from ludory.envs.texas42.tiles import NELLO_HIGH, SEVENS, mask_of
from ludory.envs.texas42.worlds import Knowledge, Worlds, knowledge

MORE, TIMES = 4, 2
"""Where all tiles are tied, `MORE` times as many fresh worlds are drawn, up to `TIMES` times."""

Objective = Literal["make", "mean"]
"""Maximise P(make) first, then mean points; or mean points only."""


class Question(NamedTuple):
    """A seat that has to play a tile: what it knows, and the key of its draws of worlds."""

    known: Knowledge
    seat: int
    decl: int
    leader: int
    trick: tuple[int, ...]
    """Tiles in the trick, in order."""
    bid: int
    """30..41 points, or 42 m for m marks."""
    bidder: int
    banked: int
    """Points of the bidder's side so far; under nello and sevens, tricks that broke the contract."""
    legal: int
    """Mask of the tiles that may be played."""
    key: int

    @property
    def side(self) -> int:
        """1 if the mover is of Team 0, else -1."""
        return 1 if self.seat % 2 == 0 else -1

    @property
    def declares(self) -> bool:
        """Whether the mover's side has the contract."""
        return (self.seat - self.bidder) % 2 == 0

    @property
    def for_points(self) -> bool:
        """Whether tiles have values in points; under nello and sevens they have none."""
        return self.decl < NELLO_HIGH

    def worlds(self, others: NDArray[np.int32]) -> Positions:
        """Positions of worlds (n, 3), hands of the other seats in turn order."""
        held = np.empty((len(others), 4), np.int32)
        held[:, self.seat] = self.known.hand
        for k in range(3):
            held[:, (self.seat + 1 + k) % 4] = others[:, k]
        return positions(held, self.decl, self.leader, self.trick, self.bidder)


def question_of(state: State, i: int, legal: NDArray[np.bool_], key: int) -> Question:
    """The question of the seat to move in game `i`, which is being played, of a state on the CPU; legal: bool [28]."""
    seat, decl, bidder = int(state.to_move[i]), int(state.decl[i]), int(state.bidder[i])
    team = bidder % 2
    banked = state.points[i, team]
    if decl >= NELLO_HIGH:
        banked = state.tricks[i, 1 - team if decl == SEVENS else team]
    trick = tuple(map(int, state.trick[i, : int(state.trick_len[i])]))
    public = seat, decl, int(state.leader[i]), trick, int(state.bid[i]), bidder, int(banked)
    return Question(knowledge(state, i, seat), *public, mask_of(np.flatnonzero(legal)), key)


@dataclass(frozen=True, slots=True)
class Averager:
    """Chooses tiles by their average over worlds."""

    solver: Solver
    worlds: int = 10
    objective: Objective = "make"
    enumerate_below: int = 0
    """Enumerate all worlds if there are at most this many."""

    def tiles(self, questions: Sequence[Question]) -> list[int]:
        """The best tile of each question; ties go to the lowest. Points, which count second, are those in the worlds drawn first."""
        best, drawn = [question.legal for question in questions], [_NONE] * len(questions)
        # two legal tiles or more
        waiting, count = [k for k, legal in enumerate(best) if legal & (legal - 1)], self.worlds
        for attempt in range(TIMES + 1):
            counts = {}
            for k in waiting:
                drawn[k], counts[k] = self._draw(questions[k], count, attempt)
            if attempt == 0:
                first = list(drawn)
            waiting = [k for k in waiting if self._by_contract(questions[k])]
            for k, tiles in zip(waiting, self._makers([questions[k] for k in waiting], drawn, waiting), strict=True):
                best[k] = tiles
            # still all tied, and not all worlds were drawn
            waiting = [k for k in waiting if best[k] == questions[k].legal and len(drawn[k].held) < counts[k]]
            count *= MORE
        return best_by_points(self.solver, questions, first, best)

    def _by_contract(self, question: Question) -> bool:
        """Whether P(make) counts first; under nello and sevens nothing else counts."""
        return self.objective == "make" or not question.for_points

    def _draw(self, question: Question, count: int, attempt: int) -> tuple[Positions, int]:
        """Worlds of a question, and their total number."""
        worlds = Worlds(question.known)
        others = worlds.choose(count, question.key + (attempt << 32), self.enumerate_below)
        return question.worlds(others), worlds.count

    def _makers(self, asked: Sequence[Question], drawn: Sequence[Positions], rows: Sequence[int]) -> list[int]:
        """For each question, mask of the tiles with the highest probability of its side's contract result."""
        if not rows:
            return []
        parts = [drawn[k] for k in rows]
        sizes = [len(part.held) for part in parts]
        bids = np.repeat([question.bid for question in asked], sizes)
        banked = np.repeat([question.banked for question in asked], sizes)
        made = summed(self.solver.make_after(joined(parts), bids, banked), sizes)
        # the other side wants the contract to fail
        return [
            tiles_with_most(row if question.declares else size - row, question.legal)
            for question, row, size in zip(asked, made, sizes, strict=True)
        ]


_NONE = Positions(*(np.zeros((0, width), np.int64) for width in (4, 1, 3, 1, 1)))  # type: ignore[arg-type]


def joined(parts: Sequence[Positions]) -> Positions:
    """All parts as one batch."""
    return (
        parts[0] if len(parts) == 1 else Positions(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    )


def summed(rows: NDArray[Any], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Sums over the rows (n, 28) of each part; sizes: rows per part, at least one."""
    starts = np.cumsum([0, *sizes[:-1]])
    return np.asarray(np.add.reduceat(rows.astype(np.int64), starts, axis=0))


def tiles_with_most(score: NDArray[Any], legal: int) -> int:
    """Mask of the tiles in `legal` with the highest score (28,)."""
    tiles = [tile for tile in range(28) if legal >> tile & 1]
    most = max(score[tile] for tile in tiles)
    return mask_of(tile for tile in tiles if score[tile] == most)


def best_by_points(
    solver: Solver, questions: Sequence[Question], held: Sequence[Positions], among: Sequence[int]
) -> list[int]:
    """For each question, the tile in its mask with the highest mean points over its worlds; ties go to the lowest."""
    # the lowest tile of each mask
    best = [(mask & -mask).bit_length() - 1 for mask in among]
    rows = [k for k, mask in enumerate(among) if mask & (mask - 1) and questions[k].for_points]
    if not rows:
        return best
    sizes = [len(held[k].held) for k in rows]
    only = np.repeat([among[k] for k in rows], sizes)
    sums = summed(solver.q_values(joined([held[k] for k in rows]), only)[1], sizes)
    for k, row in zip(rows, sums, strict=True):
        tiles = tiles_with_most(questions[k].side * row, among[k])
        best[k] = (tiles & -tiles).bit_length() - 1
    return best
