"""Split of games into train, val and test by each game's own id or seed, independent of its place and of other games."""

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
"""Names of the parts of a data set."""
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

    A game's place in [0, 1) is SHA-256 of "split_seed|game id", or `seed % 1000 / 1000` if the header says so. The first `ratio[0]` of
    the range is for training, the next `ratio[1]` for validation, and the next `ratio[2]` for tests.

    Raises:
        OptionError: the split is unknown, or the ratios are not fractions of 1.
        DataError: the split depends on seeds, and a game has none.
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
    """Which of the games 0 to `games` - 1 of a recording belong to `split`, if games are split by their numbers."""
    check_split(split, ratio)
    return _in_part(split, np.array([_place(f"{split_seed}|{game}") for game in range(games)]), ratio)


def _in_part(split: str, places: NDArray[Any], ratio: tuple[float, float, float]) -> NDArray[np.bool_]:
    edges = np.round(np.cumsum([0.0, *ratio]), 12)  # 0.9 + 0.05 is a little more than 0.95
    number = SPLITS.index(split)
    chosen: NDArray[np.bool_] = (places >= edges[number]) & (places < edges[number + 1])
    return chosen


def check_split(split: str, ratio: tuple[float, float, float]) -> None:
    """Refuse an unknown split and ratios that are not fractions of 1.

    Raises:
        OptionError: the message names the wrong value.
    """
    if split not in ALL_SPLITS:
        raise OptionError(f"split={split!r}: must be one of {', '.join(ALL_SPLITS)}")
    if len(ratio) != 3 or min(ratio) < 0 or sum(ratio) > 1 + 1e-9:
        raise OptionError(
            f"split_ratio={ratio}: must be three parts (train, val, test) of at least 0, in all at most 1"
        )


def _place(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64
