"""Go on 9 x 9 points, with area scoring. Point = size * row + column, from the top left; the last action is the pass. Seat 0 has black."""

from __future__ import annotations

from functools import partial

import numpy as np

from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.options import check_range
from ludory.envs.parts import Analysis, Kernels, Look, Rules, Symmetry
from ludory.errors import OptionError

from .go_board import GoBoard
from .go_rules import LARGEST, PLANES, consistent, fields, legal, longest_game, observe, reset, step

SMALLEST, MOST = 2, LARGEST * LARGEST


def draw_symmetry(size: int, generator: np.random.Generator) -> Symmetry:
    """One of the eight rotations and reflections of the board; the pass stays what it is."""
    board = np.rot90(np.arange(size * size).reshape(size, size), int(generator.integers(4)))
    points = (board.T if generator.integers(2) else board).ravel()
    planes = np.arange(len(PLANES))[:, None] * size * size + points
    return Symmetry(planes.ravel(), np.append(np.argsort(points), size * size))


def make_game(size: int = 9, komi: float = 7) -> Game:
    """Make Go.

    Args:
        size: rows and columns of the board, 2 to 9.
        komi: points that seat 1 gets for moving second, a multiple of 0.5. With a whole number a game may be a draw.

    Raises:
        OptionError: a value is not allowed.
    """
    check_range("size", size, SMALLEST, LARGEST)
    points = size * size
    number = isinstance(komi, int | float) and not isinstance(komi, bool)
    if not number or not -MOST <= komi <= MOST or 2 * komi != round(2 * komi):
        raise OptionError(f"komi={komi!r}: must be a multiple of 0.5 from -{MOST} to {MOST}, such as 7 or 6.5")
    facts = GameFacts(
        name=f"Go {size}x{size}",
        players=2,
        turns="sequential",
        reward="zero_sum",
        hidden_information=False,
        chance=False,
        heads=(Head("point", points + 1),),
        observation=ObservationSpec(
            "planes", (len(PLANES), size, size), "uint8", flat_segments(dict.fromkeys(PLANES, points))
        ),
        longest_game=longest_game(size),
        min_return=-1,
        max_return=1,
    )
    board = GoBoard(size, komi)
    return Game(
        facts,
        Rules(fields=fields(size, komi), kernels=Kernels(reset, step, legal, observe), consistent=consistent),
        look=Look(
            action_name=board.action_name,
            info=board.info,
            text=board.draw_text,
            svg=board.draw_svg,
            last_move=board.last_move,
        ),
        language=board.codec(),
        analysis=Analysis(symmetry=partial(draw_symmetry, size)),
    )
