"""P(make): the probability that a hand makes a bid under a declaration, over uniform deals of the other tiles.

With all hands open (`double_dummy`) contracts look much easier than they are, since the bidder then knows the other tiles.
`rollout` plays the contracts with seats that see only their own tiles. `convergence` tells how much fewer hands would tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ludory.agents import wilson
from ludory.agents.texas42.play.choice import Averager
from ludory.agents.texas42.play.rollout import deals_around, play_out
from ludory.agents.texas42.solver.solver import Solver, positions
from ludory.envs import check_choice, hash_rows
from ludory.envs.texas42.tiles import STRAIGHT
from ludory.errors import OptionError

Sampled = Literal["double_dummy", "rollout"]
BIDS = tuple(range(30, 43))
"""Points that can be bid; marks need all 42."""


class Chances(NamedTuple):
    """P(make) of one hand, by declaration (k of them) and bid (30..42)."""

    mode: str
    player: str
    """The player of the samples, or the method."""
    hand: int
    decls: tuple[int, ...]
    p: NDArray[np.float64]
    """(k, 13)"""
    low: NDArray[np.float64]
    """(k, 13) of the 95 % interval by Wilson's formula."""
    high: NDArray[np.float64]
    """(k, 13)"""
    points: NDArray[np.int8]
    """(k, n) final points of the bidder's side in each sample."""

    @property
    def samples(self) -> int:
        """Number of hands behind each probability."""
        return int(self.points.shape[1])

    def best(self, bid: int) -> int:
        """Declaration with the highest P(make) of a bid, 30..41 or 42 m; ties go to the one with the higher sum over bids."""
        column = min(bid, 42) - 30
        order = [(self.p[k, column], self.p[k].sum()) for k in range(len(self.decls))]
        return self.decls[max(range(len(order)), key=order.__getitem__)]

    def chance(self, decl: int, bid: int) -> float:
        """P(make) of a bid, 30..41 or 42 m for m marks."""
        return float(self.p[self.decls.index(decl), min(bid, 42) - 30])

    def swing(self, decl: int, bid: int) -> float:
        """Expected marks of the bid: (2 p - 1) times its stake."""
        return (2 * self.chance(decl, bid) - 1) * stake(bid)


def stake(bid: int) -> int:
    """Marks won or lost by a bid, 30..41 or 42 m."""
    return max(1, bid // 42)


def of_points(
    mode: str,
    player: str,
    hand: int,
    decls: Sequence[int],
    points: NDArray[np.int8],
    all_42: NDArray[np.int8] | None = None,
) -> Chances:
    """P(make) from final points (k, n); all_42: points of other samples (k, m), used for the bid of 42."""
    made = np.stack([(points >= bid).sum(axis=1) for bid in BIDS], axis=1)
    count = np.full(made.shape, points.shape[1])
    # who plays for all tricks plays otherwise
    if all_42 is not None:
        made[:, -1], count[:, -1] = (all_42 >= 42).sum(axis=1), all_42.shape[1]
    low, high = wilson(made, count)
    return Chances(mode, player, hand, tuple(decls), made / count, low, high, points)


def double_dummy(
    hand: int, samples: int, key: int, decls: Sequence[int] = STRAIGHT, solver: Solver | None = None
) -> Chances:
    """P(make) with all hands open: the exact value of a deal decides all bids at once."""
    solver = solver or Solver()
    # the value is own points less theirs, and both make 42
    points = [
        (42 + solver.value(positions(deals_around(hand, samples, _key(key, decl)), decl, 0)).astype(np.int64)) // 2
        for decl in decls
    ]
    return of_points("double_dummy", "exact, all hands open", hand, decls, np.array(points, np.int8))


def rollout(
    hand: int,
    samples: int,
    key: int,
    decls: Sequence[int] = STRAIGHT,
    worlds: int = 10,
    for_42: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Chances:
    """P(make) with hidden hands: each seat chooses by `worlds` worlds that agree with its knowledge.

    One set of hands, played for points, is used for bids up to 41. With `for_42`, as many hands are played for all tricks.
    """
    solver = Solver()
    for_points, for_all = (Averager(solver, worlds, objective) for objective in ("mean", "make"))
    points, all_42 = [], []
    for decl in decls:
        deals = deals_around(hand, samples, _key(key, decl))
        points.append(play_out(for_points, deals, decl, 30, key=_key(key, decl) + 1).points)
        if for_42:
            all_42.append(play_out(for_all, deals, decl, 42, key=_key(key, decl) + 2).points)
        if progress:
            progress(1)
    player = f"texas42/pimc(worlds={worlds})"
    return of_points(
        "rollout", player, hand, decls, np.array(points, np.int8), np.array(all_42, np.int8) if for_42 else None
    )


def _key(key: int, decl: int) -> int:
    """Key of the draws of a declaration."""
    return int(hash_rows(key, decl))


def sampled(mode: str) -> Callable[..., Chances]:
    """The function of a mode.

    Raises:
        OptionError: invalid mode.
    """
    check_choice("mode", mode, get_args(Sampled))
    return double_dummy if mode == "double_dummy" else rollout


ROUNDING = 1e-9


class ConvergencePoint(NamedTuple):
    """Statistics of parts of `samples` hands, averaged over parts (and over hands of seat 0, if there are several)."""

    samples: int
    half_width: float
    """Half-width of the 95 % interval (Wilson) of the best declaration's P(make)."""
    covered: float
    """How often that interval contains P(make) of the whole sample, which includes the part."""
    error: float
    """Root mean square difference of the two probabilities, per hand."""
    best: float
    """How often the part's best declaration is also the best of the whole sample."""
    lost: float
    """P(make) lost by choosing the part's best declaration, measured by the whole sample."""


def convergence(points: Sequence[NDArray[np.int8]], bid: int, sizes: Sequence[int]) -> list[ConvergencePoint]:
    """One `ConvergencePoint` for each of `sizes`.

    Args:
        points: for each hand (declarations, n) final points of the bidder's side, n samples each.
        bid: 30..41.
        sizes: numbers of samples, ascending; those of n and more are left out, since there is nothing to compare them with.

    Raises:
        OptionError: an invalid bid, or no size below n.
    """
    if bid not in range(30, 42):
        raise OptionError(f"bid={bid}: must lie in 30..41; all 42 points are played for by hands of their own")
    most = min(one.shape[1] for one in points)
    wanted = [size for size in sizes if 0 < size < most]
    if not wanted:
        raise OptionError(
            f"sizes={list(sizes)}: one must lie in 1..{most - 1}, below the {most} samples that there are"
        )
    return [
        ConvergencePoint(size, *np.mean([_of_hand(one >= bid, size) for one in points], axis=0).tolist())
        for size in wanted
    ]


def _of_hand(made: NDArray[np.bool_], size: int) -> tuple[float, float, float, float, float]:
    """`ConvergencePoint` of one hand without its first entry, `error` of that hand."""
    parts = made.shape[1] // size
    whole = made.mean(axis=1)
    best = int(whole.argmax())
    counts = made[:, : parts * size].reshape(len(made), parts, size).sum(axis=2)  # (declarations, parts)
    share = counts / size
    low, high = wilson(counts[best], np.full(parts, size))
    chosen = share.argmax(axis=0)
    return (
        float((high - low).mean() / 2),
        float(((low - ROUNDING <= whole[best]) & (whole[best] <= high + ROUNDING)).mean()),
        float(np.sqrt(((share[best] - whole[best]) ** 2).mean())),
        float((whole[chosen] == whole[best]).mean()),
        float((whole[best] - whole[chosen]).mean()),
    )
