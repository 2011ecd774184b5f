"""A played hand as text, trick by trick, with the points that Team 0 could still get with all hands open."""

from __future__ import annotations

from collections.abc import Sequence

from ludory.agents.texas42.solver.solver import Solver, positions
from ludory.envs.texas42.sight import past_tricks
from ludory.envs.texas42.tiles import TILE_NAMES, tiles_of


def tile_names(hand: int) -> str:
    """The tiles of a mask: "1-0 6-4"."""
    return " ".join(TILE_NAMES[tile] for tile in tiles_of(hand))


def hand_lines(dealt: Sequence[int], decl: int, tiles: Sequence[int], seats: Sequence[int]) -> list[str]:
    """The deal, then each trick: who played what, who won it, the score, and the final points that Team 0 could still get.

    The last number is exact with all hands open; where it falls, Team 0 lost something in the trick.
    """
    held = [int(mask) for mask in dealt]
    lines = [f"  seat {seat}: {tile_names(mask)}" for seat, mask in enumerate(held)]
    solver, score = Solver(threads=1), [0, 0]
    lines.append(f"  with all hands open Team 0 gets {_final(solver, held, decl, seats[0], score)}")
    lines.append("  after each trick: to whom, its points, the score, and what Team 0 could still get")
    for number, trick in enumerate(past_tricks(decl, tiles, seats), 1):
        for seat, tile in trick.plays:
            held[seat] &= ~(1 << tile)
        score[trick.winner % 2] += trick.points
        words = "  ".join(f"{seat}: {TILE_NAMES[tile]}" for seat, tile in trick.plays)
        final = _final(solver, held, decl, trick.winner, score)
        lines.append(
            f"  trick {number}  {words}  to seat {trick.winner}, {trick.points:2d}  {score[0]:2d}-{score[1]:<2d}  {final:2d}"
        )
    return lines


def _final(solver: Solver, held: Sequence[int], decl: int, leader: int, score: Sequence[int]) -> int:
    """Team 0's final points under exact play with all hands open."""
    if not any(held):
        return score[0]
    value = int(solver.value(positions(held, decl, leader))[0])
    return score[0] + (42 - sum(score) + value) // 2
