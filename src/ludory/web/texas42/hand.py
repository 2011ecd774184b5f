"""What a hand of Texas 42 can bid: at once from a fitted model, then from contracts that are played while someone looks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents import wilson
from ludory.agents.texas42.bidding.fitted_make_probability import calibrated
from ludory.agents.texas42.bidding.make_probability import BIDS, Chances, rollout
from ludory.envs import hash_rows
from ludory.envs.texas42.tiles import DECLARATIONS, STRAIGHT, TILE_NAMES, mask_of, parse_tile, tiles_of
from ludory.errors import OptionError

HAND = 7
ENOUGH = 50
"""Played hands of a declaration, from which on its row shows them instead of the fitted model."""
MOST = 400
"""Hands that are played of each declaration."""
PIECE = 5
"""Hands of a piece of work, about a third of a second."""
FAVOURITES = 3
"""Declarations that are played first: those with the highest fitted probabilities."""
SHADES = 20
"""Steps of the colours of a cell."""


class HandsPlayed(NamedTuple):
    """Contracts played so far, by declaration; each tuple has one entry for every declaration of `STRAIGHT`."""

    hands: tuple[int, ...]
    made: tuple[tuple[int, ...], ...]
    """Hands that made each bid 30..42."""

    def plus(self, decl: int, hands: int, made: Sequence[int]) -> HandsPlayed:
        """With more hands of a declaration."""
        row = STRAIGHT.index(decl)
        counts, sums = list(self.hands), list(self.made)
        counts[row] += hands
        sums[row] = tuple(a + b for a, b in zip(sums[row], made, strict=True))
        return HandsPlayed(tuple(counts), tuple(sums))


NOTHING_PLAYED = HandsPlayed((0,) * len(STRAIGHT), ((0,) * len(BIDS),) * len(STRAIGHT))


def parse_tiles(names: Iterable[str]) -> tuple[int, ...]:
    """Up to seven different tiles by their names, ascending.

    Raises:
        OptionError: a name is no tile, or there are more than seven.
    """
    tiles = tuple(sorted({parse_tile(name) for name in names if name.strip()}))
    if len(tiles) > HAND:
        raise OptionError(f"{len(tiles)} dominoes: a hand has {HAND}; take {len(tiles) - HAND} away")
    return tiles


def random_hand(seed: int) -> tuple[int, ...]:
    """Seven tiles of a shuffled deal."""
    return tuple(sorted(np.random.default_rng(seed).permutation(len(TILE_NAMES))[:HAND].tolist()))


def next_contract(hand: int, played: HandsPlayed) -> tuple[int, int] | None:
    """(declaration, number of the piece) to play next: favourites up to `ENOUGH` hands, then the others, then all; None at the end."""
    fitted = calibrated(hand)
    order = sorted(range(len(STRAIGHT)), key=lambda row: -float(fitted.p[row].sum()))
    for rows, most in ((order[:FAVOURITES], ENOUGH), (order, ENOUGH), (order, MOST)):
        open_rows = [row for row in rows if played.hands[row] < most]
        if open_rows:
            row = min(open_rows, key=lambda row: played.hands[row])
            return STRAIGHT[row], played.hands[row] // PIECE
    return None


def play_contract(hand: int, decl: int, piece: int, seed: int = 0) -> tuple[int, int, tuple[int, ...]]:
    """Play a few hands of a contract: the declaration, the number of hands, and how many made each bid."""
    found = rollout(hand, PIECE, int(hash_rows(seed, piece)), (decl,))
    return decl, PIECE, tuple(round(share * PIECE) for share in found.p[0].tolist())


def chances_of(hand: int, played: HandsPlayed = NOTHING_PLAYED) -> Chances:
    """P(make) for all declarations: from played hands where there are enough, else from the fitted model, which has no intervals."""
    fitted = calibrated(hand)
    p, low, high = (np.array(fitted.p) for _ in range(3))
    for row, count in enumerate(played.hands):
        if count >= ENOUGH:
            made = np.array(played.made[row])
            p[row] = made / count
            low[row], high[row] = wilson(made, np.full(len(BIDS), count))
    mode = (
        "rollout"
        if min(played.hands) >= ENOUGH
        else "calibrated and rollout"
        if max(played.hands) >= ENOUGH
        else "calibrated"
    )
    least = min((count for count in played.hands if count >= ENOUGH), default=0)
    points: NDArray[np.int8] = np.zeros((len(STRAIGHT), least), np.int8)  # only their number counts here
    return Chances(mode, fitted.player, hand, fitted.decls, p, low, high, points)


def chances_json(one: Chances) -> dict[str, Any]:
    """P(make) as JSON values: what `ludory texas42 bid --json` prints for each method."""
    return {
        "hand": [TILE_NAMES[tile] for tile in tiles_of(one.hand)],
        "mode": one.mode,
        "player": one.player,
        "samples": one.samples,
        "declarations": {
            DECLARATIONS[decl]: {
                str(bid): {
                    "p": float(one.p[row, k]),
                    "low": float(one.low[row, k]),
                    "high": float(one.high[row, k]),
                    "swing": one.swing(decl, bid),
                }
                for k, bid in enumerate(BIDS)
            }
            for row, decl in enumerate(one.decls)
        },
        "best": {str(bid): DECLARATIONS[one.best(bid)] for bid in BIDS},
    }


def hand_page(tiles: Sequence[int], played: HandsPlayed = NOTHING_PLAYED) -> dict[str, Any]:
    """The data of the page: the hand, and with seven tiles P(make) and the hands played of each declaration."""
    page: dict[str, Any] = {
        "tiles": [TILE_NAMES[tile] for tile in tiles],
        "missing": HAND - len(tiles),
        "chances": None,
    }
    if len(tiles) < HAND:
        return page
    chances = chances_of(mask_of(tiles), played)
    counts = dict(zip((DECLARATIONS[decl] for decl in STRAIGHT), played.hands, strict=True))
    return page | {"chances": chances_json(chances), "played": counts, "enough": ENOUGH, "most": MOST}


def advice(chances: dict[str, Any]) -> str:
    """The highest bid that wins marks on average, in words."""
    worth = [bid for bid, decl in chances["best"].items() if chances["declarations"][decl][bid]["swing"] > 0]
    if not worth:
        decl = chances["best"]["30"]
        p = chances["declarations"][decl]["30"]["p"]
        return f"Pass: the best contract, 30 with {decl}, is made {100 * p:.0f} % of the time."
    bid = worth[-1]
    decl = chances["best"][bid]
    found = chances["declarations"][decl][bid]
    return f"Bid up to {bid} with {decl}: made {100 * found['p']:.0f} % of the time, {found['swing']:+.2f} marks on average."


def shade_of(p: float) -> int:
    """Which of the colours of a cell, 0 to `SHADES`."""
    return round(SHADES * min(max(p, 0.0), 1.0))
