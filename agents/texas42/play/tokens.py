"""States with all hands open as tokens for a network: int8 (n, 32, 12), and which of them count.

Position 0 is the context; 1 + 7 p + i is tile i of a seat's dealt hand, played or not; 29 + j is the j-th tile of the present trick.
In version 1, the format that oracle pipelines have, p is the seat; in version 2 it is counted from the mover, so that the mover's tiles
always stand at 1..7 and no seat is treated differently from another.

| # | feature | values | # | feature | values |
| --- | --- | --- | --- | --- | --- |
| 0, 1 | high and low pip | 7 | 7 | of the mover's partner | 2 |
| 2 | double | 2 | 8 | still held (0 in the trick) | 2 |
| 3 | counts 0, 5 or 10 | 3 | 9 | type: 0 context, 1 + p seat, 5 + j place in the trick | 8 |
| 4 | rank among the called tiles, 0 highest; 7 not called | 8 | 10 | declaration | 10 |
| 5 | seat counted from the mover | 4 | 11 | leader counted from the mover | 4 |
| 6 | of the mover | 2 | | | |

The context has the last three only; tiles of the trick that do not lie there are all 0 and do not count.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.solver.states import movers
from ludory.envs.texas42.tiles import CALLED, COUNT, HIGH, LOW, NELLO_HIGH, RANK, TILES, is_called
from ludory.errors import OptionError

TOKENS, FEATURES = 32, 12
SIZES = (7, 7, 2, 3, 8, 4, 2, 2, 2, 8, 10, 4)
"""How many values each feature has."""
OF_MOVER = 6
"""Feature that is 1 for tiles of the mover."""
VERSIONS = (1, 2)
Version = Literal[1, 2]
NOT_CALLED = 7


def _rank_among_called(decl: int, tile: int) -> int:
    if not is_called(decl, tile):
        return NOT_CALLED
    return sum(
        1 for other in range(TILES) if is_called(decl, other) and RANK[decl, CALLED, other] > RANK[decl, CALLED, tile]
    )


_OF_TILE = np.array(
    [
        [[HIGH[t], LOW[t], HIGH[t] == LOW[t], COUNT[t] // 5, _rank_among_called(decl, t)] for t in range(TILES)]
        for decl in range(NELLO_HIGH)
    ],
    np.int8,
)
"""[declaration, tile]: the first five features."""


class Tokens(NamedTuple):
    """n states as a network reads them."""

    tokens: NDArray[np.int8]
    """(n, 32, 12)"""
    mask: NDArray[np.bool_]
    """(n, 32): which of them count."""
    player: NDArray[np.int64]
    """(n,): the mover; in version 1 its tiles stand at 1 + 7 player."""


def tokenise(deal: NDArray[Any], decl: NDArray[Any], states: NDArray[np.int64], version: int = 2) -> Tokens:
    """Tokens of states.

    Args:
        deal: (n, 28) tile ids, seat after seat, each hand ascending.
        decl: (n,) declarations, 0..9.
        states: (n,) of 41 bits.
        version: 1 or 2.

    Raises:
        OptionError: a declaration or version that has no tokens.
    """
    if version not in VERSIONS:
        raise OptionError(f"tokens version {version!r}: must be one of {', '.join(map(str, VERSIONS))}")
    if len(states) and not (np.min(decl) >= 0 and np.max(decl) < NELLO_HIGH):
        raise OptionError(f"decl: tokens are of declarations 0..9, got {np.min(decl)}..{np.max(decl)}")
    states, n = np.asarray(states, np.int64), len(states)
    hands, rows, mover = np.asarray(deal, np.int64).reshape(n, 4, 7), np.arange(n), movers(states)
    held = states[:, None, None] >> (7 * np.arange(4)[:, None] + np.arange(7)) & 1
    first = mover[:, None] if version == 2 else np.zeros((n, 1), np.int64)
    seats = (first + np.arange(4)) & 3  # (n, 4): whose tiles stand at 1 + 7 p
    relative = (seats - mover[:, None]) & 3
    tokens = np.zeros((n, TOKENS, FEATURES), np.int8)
    of_hands = tokens[:, 1:29].reshape(n, 4, 7, FEATURES)
    of_hands[..., :5] = _OF_TILE[np.asarray(decl)[:, None, None], hands[rows[:, None], seats]]
    _write_owner(of_hands, relative[..., None])
    of_hands[..., 8] = held[rows[:, None], seats]
    of_hands[..., 9] = 1 + np.arange(4)[:, None]
    tokens[:, 1:29] = of_hands.reshape(n, 28, FEATURES)
    mask = np.ones((n, TOKENS), bool)
    leader, length = states >> 28 & 3, states >> 30 & 3
    for place in range(3):
        owner, local = (leader + place) & 3, np.minimum(states >> 32 + 3 * place & 7, 6)
        lying = tokens[:, 29 + place]
        lying[:, :5] = _OF_TILE[decl, hands[rows, owner, local]]
        _write_owner(lying, (owner - mover) & 3)
        lying[:, 9] = 5 + place
        mask[:, 29 + place] = place < length
    tokens[..., 10] = np.asarray(decl)[:, None]
    tokens[..., 11] = ((leader - mover) & 3)[:, None]
    tokens[~mask] = 0
    return Tokens(tokens, mask, mover)


def _write_owner(tokens: NDArray[np.int8], relative: NDArray[np.int64]) -> None:
    """Features 5 to 7 from the owner, counted from the mover."""
    tokens[..., 5] = relative
    tokens[..., 6] = relative == 0
    tokens[..., 7] = relative == 2
