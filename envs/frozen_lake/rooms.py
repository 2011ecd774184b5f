"""Maps of FrozenLake: reset options, maps by seed and split, and their hashes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory import envs
from ludory.errors import OptionError

from .rules import GOAL, HOLE, ICE, START

if TYPE_CHECKING:
    from ludory.envs import Game

LETTERS = "FSHG"
"""Ice, start, hole and goal, in the order of their codes."""
KEYS = ("room", "map", "player")
TRIES = 10_000
"""Maps that are drawn for one seed before a split counts as empty."""

Maps = NDArray[np.int8]


def read_map(rows: str | Iterable[object]) -> Maps:
    """int8 [N, N]: codes of a map written as rows of S, F, H and G, such as ["SFH", "FFF", "HFG"].

    Raises:
        OptionError: another letter, rows of another length, or not exactly one S and one G.
    """
    lines = rows.split() if isinstance(rows, str) else [str(row) for row in rows]
    for number, line in enumerate(lines):
        wrong = [letter for letter in line if letter not in LETTERS]
        if wrong or len(line) != len(lines):
            what = f"letter {wrong[0]!r}" if wrong else f"{len(line)} cells"
            raise OptionError(f"map, row {number}: {what}; must be {len(lines)} letters of S, F, H and G")
    codes = np.array([[LETTERS.index(letter) for letter in line] for line in lines], np.int8)
    room: Maps = checked_maps("map", codes[None], len(lines))[0]
    return room


def checked_maps(name: str, given: ArrayLike, size: int) -> Maps:
    """int8 [n, N, N]: `given`, one map or many, as codes.

    Raises:
        OptionError: another shape, an unknown code, or a map without exactly one start and one goal.
    """
    maps = envs.integer_array(name, given)
    maps = maps[None] if maps.ndim == 2 else maps
    if maps.shape[1:] != (size, size):
        raise OptionError(f"{name}: shape {maps.shape}, must be ({size}, {size}) or (games, {size}, {size})")
    if maps.size and not ICE <= maps.min() <= maps.max() <= GOAL:
        raise OptionError(f"{name}: codes are {ICE} ice, {START} start, {HOLE} hole, {GOAL} goal; got {maps.max()}")
    for code, word in ((START, "start"), (GOAL, "goal")):
        counts = (maps == code).sum(axis=(1, 2))
        for game in np.flatnonzero(counts != 1):
            raise OptionError(f"{name}: game {game} has {counts[game]} cells with code {code}, must be one {word}")
    return maps.astype(np.int8)


def start_fields(size: int, given: Mapping[str, Any], count: int) -> dict[str, NDArray[Any]]:
    """Field values for the next reset of `count` games.

    room: codes [N, N] for all games or [count, N, N]: 0 ice, 1 start, 2 hole, 3 goal. map: rows of S, F, H and G, one map for all
    games, or `count` of them. player: cell index of the player, one or [count]; needs one of the others.

    Raises:
        OptionError: unknown key, a map that is none, a player in a hole, on the goal or outside.
    """
    envs.refuse_unknown("FrozenLake", "reset option", given, KEYS)
    if ("room" in given) == ("map" in given):
        raise OptionError("give FrozenLake's map as either room (codes) or map (rows of S, F, H and G)")
    if "room" in given:
        maps = checked_maps("room", given["room"], size)
    else:
        rows = given["map"]
        many = not isinstance(rows, str) and len(rows) > 0 and not isinstance(rows[0], str)
        maps = checked_maps("map", np.stack([read_map(one) for one in (rows if many else [rows])]), size)
    if len(maps) not in (1, count):
        raise OptionError(f"{len(maps)} maps for {count} games: give one, or one per game")
    cells = np.broadcast_to(maps, (count, size, size))
    fields: dict[str, NDArray[Any]] = {"cells": cells, "given": np.ones(count, np.int8)}
    if given.get("player") is not None:
        fields["given_player"] = _players(cells, given["player"], count)
    return fields


def _players(cells: Maps, given: ArrayLike, count: int) -> NDArray[np.int16]:
    players, flat = envs.integer_array("player", given), cells.reshape(count, -1)
    if players.shape not in ((), (count,)) or (players < 0).any() or (players >= flat.shape[1]).any():
        raise OptionError(f"player={given!r}: must be a cell 0..{flat.shape[1] - 1}, one or {count} of them")
    players = np.broadcast_to(players, (count,))
    for game in np.flatnonzero(flat[np.arange(count), players] >= HOLE):
        raise OptionError(f"player={players[game]}: game {game} has a hole or the goal there, and would be over")
    return players.astype(np.int16)


def map_hash(room: ArrayLike) -> int:
    """`ludory.envs.rooms.room_hash` of a map [N, N]."""
    return envs.room_hash([np.asarray(room, np.uint8)])


@dataclass(frozen=True)
class LakeRooms:
    """Maps of N x N cells by seed and split; see `ludory.envs.Rooms`."""

    size: int
    ice: float

    def draw(self, seeds: NDArray[np.int64], split: str | None = None) -> dict[str, NDArray[Any]]:
        """{"room": int8 [n, N, N]}. A seed stands for a sequence of maps; its first one in `split` is taken.

        Raises:
            OptionError: unknown split, or a seed without a map of the split.
        """
        envs.check_split(split)
        rooms = np.empty((len(seeds), self.size, self.size), np.int8)
        open_rows = np.arange(len(seeds))
        for maps in self._sequences(np.asarray(seeds, np.int64)):
            rooms[open_rows] = maps[open_rows]
            if split is not None:
                outside = envs.split_of(self.hashes({"room": rooms[open_rows]})) != envs.SPLITS.index(split)
                open_rows = open_rows[outside]
            if split is None or not len(open_rows):
                return {"room": rooms}
        raise OptionError(f"no map of the split {split!r} in {TRIES} tries: size={self.size} has too few maps")

    def _sequences(self, seeds: NDArray[np.int64]) -> Iterator[Maps]:
        """The first map of every seed, the second, ..."""
        from ludory.envs import KernelEngine

        engine = KernelEngine(_source(self.size, self.ice), max(len(seeds), 1), seed=0, threads=1)
        engine.state.random[: len(seeds), envs.STREAM] = envs.hash_rows(seeds, 0)
        engine.state.random[:, envs.EPISODE] = 0
        for _ in range(TRIES):
            engine.reset()
            yield engine.state.cells[: len(seeds)].copy()

    def hashes(self, options: Mapping[str, NDArray[Any]]) -> NDArray[np.uint64]:
        """(n,) `map_hash` of each map of `options["room"]`."""
        return np.array([map_hash(room) for room in options["room"]], np.uint64)


@cache
def _source(size: int, ice: float) -> Game:
    """A game that draws the maps."""
    from ludory.envs.frozen_lake import make_game

    return make_game(size=size, p=ice, success_rate=1.0)


@cache
def bank(size: int, ice: float, rooms: int, split: str) -> Maps:
    """int8 [rooms, N, N]: the maps of seeds 0, 1, ... in `split`."""
    maps: Maps = LakeRooms(size, ice).draw(np.arange(rooms), split)["room"]
    return maps
