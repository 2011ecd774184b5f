"""Which games train and which test: decided by each game's own id or seed, never by its place or its neighbours."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ludory.errors import DataError, OptionError

from .columns import UNKNOWN_SEED
from .header import TrajectoryHeader

Split = Literal["train", "val", "test", "all"]
SPLITS: tuple[Literal["train", "val", "test"], ...] = ("train", "val", "test")
ALL_SPLITS = (*SPLITS, "all")


def in_split(
    split: Split,
    header: TrajectoryHeader,
    games: NDArray[np.int64],
    seeds: NDArray[np.int64],
    ratio: tuple[float, float, float],
    split_seed: int,
) -> NDArray[np.bool_]:
    """Which games belong to `split`.

    A game's place in [0, 1) is SHA-256 of "split_seed|game id", or `seed % 1000 / 1000` where the header says so; the first
    `ratio[0]` of that range trains, the next `ratio[1]` validates, the next `ratio[2]` tests.

    Raises:
        OptionError: no such split, or ratios that are no parts of 1.
        DataError: the split goes by seeds, and a game has none.
    """
    check_split(split, ratio)
    if split == "all":
        return np.ones(len(games), bool)
    if header.split_by == "game":
        places = np.array([_place(f"{split_seed}|{game}") for game in games.tolist()])
    elif (seeds == UNKNOWN_SEED).any():
        game = games[seeds == UNKNOWN_SEED][0]
        raise DataError(f"game {game}, field 'seed': got null, must be a number: these games are split by seed % 1000")
    else:
        places = seeds % 1000 / 1000
    return _in_part(split, np.asarray(places), ratio)


def in_split_by_number(
    split: Literal["train", "val", "test"], games: int, ratio: tuple[float, float, float], split_seed: int
) -> NDArray[np.bool_]:
    """Which of the games 0 to `games` - 1 of a recording belong to `split`, where games are split by their numbers."""
    check_split(split, ratio)
    return _in_part(split, np.array([_place(f"{split_seed}|{game}") for game in range(games)]), ratio)


def _in_part(split: str, places: NDArray[Any], ratio: tuple[float, float, float]) -> NDArray[np.bool_]:
    edges = np.round(np.cumsum([0.0, *ratio]), 12)  # 0.9 + 0.05 is a little more than 0.95
    number = SPLITS.index(split)
    chosen: NDArray[np.bool_] = (places >= edges[number]) & (places < edges[number + 1])
    return chosen


def check_split(split: str, ratio: tuple[float, float, float]) -> None:
    """Refuse an unknown split or ratios that are no parts of 1.

    Raises:
        OptionError: naming it.
    """
    if split not in ALL_SPLITS:
        raise OptionError(f"split={split!r}: must be one of {', '.join(ALL_SPLITS)}")
    if len(ratio) != 3 or min(ratio) < 0 or sum(ratio) > 1 + 1e-9:
        raise OptionError(
            f"split_ratio={ratio}: must be three parts (train, val, test) of at least 0, in all at most 1"
        )


def _place(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64
