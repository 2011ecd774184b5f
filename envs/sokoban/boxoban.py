"""The sets of Boxoban levels (google-deepmind/boxoban-levels, Apache-2.0), read from the data folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.envs.options import check_choice
from ludory.errors import OptionError

from .levels import pack_levels, read_levels, unpack_levels

SETS = tuple(
    f"boxoban/{name}"
    for name in ("unfiltered/train", "unfiltered/valid", "unfiltered/test", "medium/train", "medium/valid", "hard")
)
SHAPE = (10, 10)
_SOURCE = "https://github.com/google-deepmind/boxoban-levels"


def data_directory() -> Path:
    """Folder of data sets: `LUDORY_DATA`, else `ludory` in the user's data folder."""
    named = os.environ.get("LUDORY_DATA")
    return Path(named) if named else Path(os.environ.get("XDG_DATA_HOME", "~/.local/share")).expanduser() / "ludory"


def boxoban_levels(name: str) -> NDArray[np.uint8]:
    """(n, 10, 10): codes of the set `name`, one of `SETS`. The packed levels are kept beside its files, 22 bytes a level.

    Raises:
        OptionError: no such set, or it is not in the data folder; the message is the command that fetches it.
        DataError: a level file is damaged.
    """
    check_choice("levels", name, SETS)
    folder = data_directory() / name
    packed = folder.with_name(f"{folder.name}.packed.npy")
    if packed.exists():
        return unpack_levels(np.load(packed, allow_pickle=False), SHAPE)
    if not any(folder.glob("*.txt")):
        root = data_directory() / "boxoban"
        raise OptionError(f"levels={name!r}: not in {folder}; type: git clone --depth 1 {_SOURCE} {root}")
    levels = read_levels(folder).codes
    with atomic_file(packed) as handle:
        np.save(handle, pack_levels(levels))
    return levels
