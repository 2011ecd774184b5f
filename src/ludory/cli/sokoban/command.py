"""`ludory sokoban bank` and `ludory sokoban levels`: rooms in files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ludory.arguments import Positional
from ludory.cli.common import (
    Count,
    EnvId,
    File,
    Flag,
    GameOptions,
    Maybe,
    check_ending,
    check_new,
    parse,
    parse_options,
    run_job,
    say,
    write_text,
)
from ludory.visible import visible

from .rooms import RoomSet, described, drawn_rooms

if TYPE_CHECKING:
    from ludory.envs.sokoban.level_files import LevelFile

JOBS = {
    "bank": (
        "sokoban.command:bank",
        "draw rooms, or read level files, and keep them in one file with hashes and lengths",
    ),
    "levels": ("sokoban.command:levels", "check level files, and write them in another format"),
}
SHOWN = 10
"""Lines of a list that are printed."""


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    return run_job("sokoban", "Jobs that only Sokoban has.", JOBS, argv)


@dataclass(frozen=True, kw_only=True)
class _BankOptions(GameOptions):
    """Draw rooms into a file that `rooms=` of every Sokoban reads.

    The file (.npz) holds the rooms, their hashes and the fewest actions that solve each (-1 where the search gives up).

    Example: ludory sokoban bank --size 6 --boxes 1 --rooms 100000 --out rooms.npz
    """

    env: EnvId = "Sokoban-v0"
    """Id whose rooms are drawn; other options change it."""
    size: Maybe[int] = None
    """Rows and columns of the rooms; with --levels, smaller ones get walls below and to the right."""
    boxes: Maybe[int] = None
    """Boxes of each room; with --levels, as many as the first one has."""
    rooms: Count = 10_000
    """Number of rooms."""
    seed: int = 0
    """Seed of the first room; the others follow it."""
    split: Maybe[str] = None
    """Only rooms of this split: train, valid or test."""
    distinct: Flag = False
    """Leave out rooms that were drawn before; the file then has fewer."""
    levels: Maybe[File] = None
    """Read this level file, or folder of level files, in place of drawing: XSB, SOK with or without run lengths, Boxoban."""
    skip_bad: Flag = False
    """With --levels, leave out levels that are wrong or do not fit, and say which."""
    max_states: Count = 200_000
    """States after which the search for the fewest actions of a room gives up; 0: no lengths."""
    out: File = Path("sokoban_rooms.npz")
    """File to write."""


def bank(argv: list[str]) -> int:
    """Write a bank; returns the exit code."""
    chosen = parse(_BankOptions, argv, "sokoban bank")
    check_ending("--out", chosen.out, ".npz")
    check_new(chosen.out)

    import numpy as np

    from ludory.agents.puzzles.sokoban_search import UNSOLVED, shortest_moves
    from ludory.envs import make_game
    from ludory.envs.sokoban.bank import RoomFile, of_split, room_hashes, write_bank
    from ludory.envs.sokoban.levels import alike

    if chosen.levels is not None:
        rooms, found = alike(_levels_in(chosen.levels, chosen.skip_bad), chosen.size, chosen.boxes, chosen.skip_bad)
        _tell(found)
        rooms = of_split(rooms, chosen.split)
    else:
        own = {name: value for name in ("size", "boxes") if (value := getattr(chosen, name)) is not None}
        game = make_game(chosen.env, **own, **parse_options(chosen.option))
        rooms = drawn_rooms(game, chosen.env, chosen.rooms, chosen.seed, chosen.split)["room"]
    hashes = room_hashes(rooms)
    if chosen.distinct:
        first = np.sort(np.unique(hashes, return_index=True)[1])
        rooms, hashes = rooms[first], hashes[first]
    limit = chosen.max_states
    lengths = shortest_moves(rooms, limit) if limit else np.full(len(rooms), UNSOLVED, np.int32)
    write_bank(chosen.out, RoomFile(rooms, hashes, lengths))
    print(f"{chosen.out}: {described(RoomSet(str(chosen.out), hashes, lengths))}")
    return 0


def _levels_in(file: Path, skip_bad: bool) -> LevelFile:
    """Levels of a level file, a folder of them or a bank."""
    from ludory.envs.sokoban.bank import read_bank
    from ludory.envs.sokoban.level_files import Level, LevelFile, read_levels

    if file.suffix != ".npz":
        return read_levels(file, skip_bad)
    rooms = read_bank(file).codes
    return LevelFile([Level(room, "", str(file), number) for number, room in enumerate(rooms, 1)], [])


def _tell(found: LevelFile) -> None:
    """Print on stderr which levels were left out, and which are solved or cannot be solved."""
    from ludory.envs.sokoban.levels import remarks

    if found.wrong:
        count = len(found.wrong)
        _print_first(f"left out {count} of {count + len(found.levels)} levels", found.wrong)
    if said := remarks(found.levels):
        _print_first(f"taken, with a remark: {len(said)} of {len(found.levels)} levels", said)


def _print_first(head: str, lines: list[str]) -> None:
    more = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    say("\n  ".join([f"{head}:", *lines[:SHOWN], *more]))


@dataclass(frozen=True, kw_only=True)
class _LevelsOptions:
    """Check the levels of a level file, a folder of them or a bank of rooms, and write them in another format.

    Example: ludory sokoban levels collection.txt --format rle --out collection.sok
    """

    file: Positional[File]
    """Level file, folder of level files, or bank (.npz)."""
    format: Literal["xsb", "rle", "boxoban"] = "xsb"
    """xsb: rows of characters and titles. rle: a line with run lengths, and titles. boxoban: rows under numbers, without other titles."""
    skip_bad: Flag = False
    """Leave out levels that are wrong, and say which."""
    out: Maybe[File] = None
    """File to write (.txt, .xsb or .sok). None: print the levels."""


def levels(argv: list[str]) -> int:
    """Write levels; returns the exit code."""
    chosen = parse(_LevelsOptions, argv, "sokoban levels")
    from ludory.envs.sokoban.level_files import ENDINGS, levels_text

    check_ending("--out", chosen.out, *ENDINGS)
    if chosen.out is not None:
        check_new(chosen.out)
    found = _levels_in(chosen.file, chosen.skip_bad)
    _tell(found)
    text = levels_text(found.levels, chosen.format)
    if chosen.out is None:
        print(visible(text, keep="\n"), end="")
        return 0
    write_text(chosen.out, text)
    print(f"{chosen.out}: {len(found.levels)} levels")
    return 0
