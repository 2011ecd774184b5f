"""Banks of rooms: those that resets draw from, their files, and `SokobanRooms`, the rooms by seed and split."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.atomic import atomic_file
from ludory.cache_folder import cache_directory
from ludory.envs import SPLITS, check_split, room_hash, split_of
from ludory.errors import DataError, OptionError
from ludory.reading import read_npz

from .generator import draw_rooms
from .level_files import read_levels
from .levels import alike, checked_rooms, fixed_of, pack_levels, packed_width
from .options import SokobanOptions
from .start import rooms_of
from .state import IS_DEAD, PLAYER, PLAYER_ON_TARGET, start_bits

FORMAT = 1
VERSION = 2
"""Version of the generator: it changes when a seed stands for another room."""
MOST_ATTEMPTS = 10_000
DRAWN = Path(__file__).with_name("drawn_banks.npz")
"""Banks of the registered games, as `write_drawn` writes them: to compile the generator and to draw them takes half a minute."""


def room_hashes(codes: NDArray[np.uint8], orbit: bool = False) -> NDArray[np.uint64]:
    """(n,): hashes of rooms (n, R, C) with codes 0..6, of what never changes and of the codes 0..5 at the start; see `room_hash`."""
    fixed, start = fixed_of(codes), np.where(codes == PLAYER_ON_TARGET, PLAYER, codes).astype(np.uint8)
    return np.array([room_hash(pair, orbit) for pair in zip(fixed, start, strict=True)], np.uint64)


def of_split(rooms: NDArray[np.uint8], split: str | None) -> NDArray[np.uint8]:
    """The rooms of a split."""
    return rooms if split is None else rooms[split_of(room_hashes(rooms)) == SPLITS.index(split)]


def draw_of_split(options: SokobanOptions, seeds: NDArray[np.int64], split: str | None) -> NDArray[np.uint8]:
    """(n, R, C): of each seed the first room that belongs to `split`."""
    rooms = draw_rooms(options, seeds)
    left = np.arange(len(seeds))
    for attempt in range(1, MOST_ATTEMPTS):
        if split is None:
            return rooms
        left = left[split_of(room_hashes(rooms[left])) != SPLITS.index(split)]
        if not len(left):
            return rooms
        rooms[left] = draw_rooms(options, seeds[left], attempt)
    raise OptionError(f"split={split!r}: no such room in {MOST_ATTEMPTS} attempts; choose another size or split")


@dataclass(frozen=True, slots=True)
class SokobanRooms:
    """The rooms of a game: drawn by seed, from the generator or from given levels; see `ludory.envs.Rooms`."""

    options: SokobanOptions
    levels: NDArray[np.uint8] | None = None
    """(n, R, C): given rooms, of which a seed takes number seed modulo n. None: the generator makes rooms."""

    def draw(self, seeds: NDArray[np.int64], split: str | None = None) -> dict[str, NDArray[np.uint8]]:
        """`room` (n, R, C) for each seed."""
        check_split(split)
        seeds, split = np.atleast_1d(np.asarray(seeds, np.int64)), split or self.options.split
        if self.levels is None:
            return {"room": draw_of_split(self.options, seeds, split)}
        levels = of_split(self.levels, split)
        if not len(levels):
            raise OptionError(f"split={split!r}: none of the {len(self.levels)} given rooms belongs to it")
        return {"room": levels[seeds % len(levels)]}

    def hashes(self, options: Mapping[str, NDArray[Any]]) -> NDArray[np.uint64]:
        """(n,): hashes of the rooms in reset options."""
        return room_hashes(rooms_of(options))


def bank_rows(rooms: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The shared field `bank` of rooms (n, R, C): `pack_levels`, with a bit per cell for IS_DEAD behind the bits of the walls."""
    packed = np.concatenate([pack_levels(part) for part in _parts(rooms)])
    dead = np.concatenate(
        [np.packbits((start_bits(part) & IS_DEAD).reshape(len(part), -1) != 0, axis=1) for part in _parts(rooms)]
    )
    return np.concatenate([packed[:, : dead.shape[1]], dead, packed[:, dead.shape[1] :]], axis=1)


def _parts(rooms: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """The rooms in parts that fit into the cache."""
    return np.array_split(rooms, max(1, len(rooms) // 4096))


def bank_width(options: SokobanOptions) -> int:
    """Bytes of a row of `bank`."""
    return packed_width(*options.shape, options.boxes) + -(-options.rows * options.columns // 8)


def bank_size(options: SokobanOptions) -> int:
    """Rooms of a bank that an engine fills by itself."""
    small = options.boxes == 1 and options.rows * options.columns <= 64
    return options.bank or (4096 if small else 256 if options.generator == "gym" else 1024)


class DrawnBank(Mapping[str, NDArray[np.uint8]]):
    """The shared field `bank` of a game that makes its rooms itself. They are made when an engine first asks for them, and kept in the cache folder."""

    def __init__(self, options: SokobanOptions) -> None:
        self._options = options
        self._packed: NDArray[np.uint8] | None = None

    def __iter__(self) -> Iterator[str]:
        return iter(("bank",))

    def __len__(self) -> int:
        return 1

    def __getitem__(self, name: str) -> NDArray[np.uint8]:
        if name != "bank":
            raise KeyError(name)
        if self._packed is None:
            self._packed = _cached(self._options)
        return self._packed


def bank_key(options: SokobanOptions) -> str:
    """Name of a drawn bank, which depends on everything that its rooms depend on."""
    made_by = [VERSION, *options.shape, options.boxes, options.generator, options.search_depth, options.swap_rule]
    key = json.dumps([*made_by, options.split, bank_size(options)])
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def draw_bank(options: SokobanOptions) -> NDArray[np.uint8]:
    """The shared field `bank`, drawn."""
    return bank_rows(draw_of_split(options, np.arange(bank_size(options)), options.split))


def write_drawn(path: str | Path, several: Sequence[SokobanOptions]) -> None:
    """Write the drawn banks of several games to one file, by `bank_key`."""
    banks: dict[str, Any] = {bank_key(options): draw_bank(options) for options in several}
    with atomic_file(path) as handle:
        np.savez_compressed(handle, **banks)


def drawn_bank(options: SokobanOptions) -> NDArray[np.uint8] | None:
    """The bank in `DRAWN`; None for a game whose bank is not there."""
    with np.load(DRAWN, allow_pickle=False) as file:
        found: NDArray[np.uint8] | None = file.get(bank_key(options))
        return found


def _cached(options: SokobanOptions) -> NDArray[np.uint8]:
    if (drawn := drawn_bank(options)) is not None:
        return drawn
    file, shape = (
        cache_directory("rooms") / f"sokoban_{bank_key(options)}.npz",  # its members have checksums
        (bank_size(options), bank_width(options)),
    )
    try:
        packed: NDArray[np.uint8] = read_npz(file)["rooms"]
        if packed.shape == shape and packed.dtype == np.uint8:
            return packed
    except (OSError, ValueError, KeyError):  # missing or damaged
        pass
    packed = draw_bank(options)
    with atomic_file(file) as handle:
        np.savez(handle, rooms=packed)
    return packed


class RoomFile(NamedTuple):
    """Rooms in a file."""

    codes: NDArray[np.uint8]
    """(n, R, C): codes 0..6."""
    hashes: NDArray[np.uint64]
    """(n,): hashes of the rooms."""
    lengths: NDArray[np.int32]
    """(n,): fewest actions that solve each room; -1: not known."""


def write_bank(path: str | Path, bank: RoomFile) -> None:
    """Write a bank, atomically, as a compressed .npz without pickles: `format`, `codes`, `hashes`, `lengths`."""
    with atomic_file(path) as handle:
        np.savez_compressed(handle, format=np.array(FORMAT), **bank._asdict())


def read_bank(path: str | Path) -> RoomFile:
    """Read what `write_bank` wrote.

    Raises:
        DataError: not such a file.
    """
    try:
        arrays = read_npz(path)
        if int(arrays["format"]) != FORMAT:
            raise DataError(f"{path}: format {int(arrays['format'])}, this version reads {FORMAT}")
        bank = RoomFile(arrays["codes"], arrays["hashes"], arrays["lengths"])
    except DataError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: not a bank of rooms ({error}); write one with `ludory sokoban bank`") from error
    rooms = checked_rooms(str(path), bank.codes)
    if not bank.hashes.shape == bank.lengths.shape == (len(rooms),):
        raise DataError(f"{path}: hashes and lengths must have one value for each of the {len(rooms)} rooms")
    return bank._replace(codes=rooms)


def given_rooms(rooms: ArrayLike | Path) -> NDArray[np.uint8]:
    """Rooms (n, R, C) from an array of codes, a bank (.npz), packed levels, a level file, or a folder of level files.

    Raises:
        OptionError, DataError: see `checked_rooms`, `read_bank`, `read_levels`, `alike`.
    """
    if not isinstance(rooms, (str, Path)):
        return checked_rooms("rooms", rooms)
    place = Path(rooms)
    if not place.exists():
        raise OptionError(f"rooms={str(rooms)!r}: there is no such file; write one with `ludory sokoban bank {rooms}`")
    return read_bank(place).codes if place.suffix == ".npz" else alike(read_levels(place))[0]
