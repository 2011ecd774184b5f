"""File names, the split that a seed belongs to, and the deal that it stands for."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from ludory.envs import hash_rows
from ludory.envs.texas42.start import seed_deal
from ludory.envs.texas42.tiles import STRAIGHT, TILES
from ludory.errors import DataError, OptionError

Split = Literal["train", "val", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
Asked = int | Literal["random"] | None
"""How the declaration of a seed's deal is chosen; see `decl_of`."""
LAST_SEED = 99_999_999
"""File names have eight digits for the seed."""

_NAME = re.compile(r"seed_(\d{8})(?:_opp(\d+))?_decl_(\d)\.parquet")


def split_of(seed: int) -> Split:
    """The split by seed % 1000: 0..899 train, 900..949 val, 950..999 test. All files made from a seed belong to its split."""
    bucket = seed % 1000
    return "train" if bucket < 900 else "val" if bucket < 950 else "test"


def decl_of(seed: int, asked: Asked) -> int:
    """The declaration of a seed's deal: `asked`; None: seed % 10; "random": one of the nine of straight 42, drawn from the seed alone."""
    if asked == "random":
        return STRAIGHT[int(hash_rows(seed, 42)) % len(STRAIGHT)]
    return seed % 10 if asked is None else asked


class ShardName(NamedTuple):
    """Deal and declaration of a shard."""

    seed: int
    decl: int
    opp_seed: int | None = None
    """Seed of the other three hands where only seat 0's hand comes from `seed`."""

    @property
    def file(self) -> str:
        """`seed_00000042_decl_2.parquet`, or `seed_00000042_opp1_decl_2.parquet`."""
        other = "" if self.opp_seed is None else f"_opp{self.opp_seed}"
        return f"seed_{self.seed:08d}{other}_decl_{self.decl}.parquet"

    @property
    def path(self) -> Path:
        """Place below the folder of the shards: its split and its file."""
        return Path(split_of(self.seed)) / self.file

    @property
    def deal(self) -> list[int]:
        """28 tile ids, seat after seat."""
        hands = seed_deal(self.seed) if self.opp_seed is None else marginalised_deal(self.seed, self.opp_seed)
        return [tile for hand in hands for tile in hand]


def parse_name(file: str | Path) -> ShardName:
    """Parse a file name.

    Raises:
        DataError: it is not the name of a shard.
    """
    found = _NAME.fullmatch(Path(file).name)
    if found is None:
        raise DataError(
            f"{file}: not called as shards are, seed_00000042_decl_2.parquet or seed_00000042_opp1_decl_2.parquet"
        )
    seed, other, decl = found.groups()
    return ShardName(int(seed), int(decl), None if other is None else int(other))


def marginalised_deal(base: int | Sequence[int], opp_seed: int) -> list[list[int]]:
    """Four sorted hands; seat 0's is given, the other 21 tiles are shuffled by `random.Random(opp_seed)` and dealt seven each.

    base: seat 0's tiles, or the seed of the deal in which it holds them.
    """
    hand = sorted(base) if isinstance(base, Sequence) else seed_deal(base)[0]
    others = [tile for tile in range(TILES) if tile not in hand]
    random.Random(opp_seed).shuffle(others)
    return [hand, *(sorted(others[k : k + 7]) for k in range(0, 21, 7))]


def check_seed(seed: int) -> None:
    """Refuse seeds that do not fit into file names.

    Raises:
        OptionError: the seed is negative or has more than eight digits.
    """
    if not 0 <= seed <= LAST_SEED:
        raise OptionError(f"seed {seed}: must lie in 0..{LAST_SEED}")
