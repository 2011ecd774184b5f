"""`ludory sokoban bank`, `ludory sokoban levels` and `ludory check rooms`: rooms in files, and how sets of rooms overlap."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from tyro.conf import Positional, arg

from ludory.visible import visible

from .common.files import check_ending, check_new, write_text
from .common.guard import say
from .common.options import Count, EnvId, File, Flag, GameOptions, Maybe, parse_options
from .common.parser import parse, run_job

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ludory.envs.sokoban.level_files import LevelFile

JOBS = {
    "bank": ("sokoban:bank", "draw rooms, or read level files, and keep them in one file with hashes and lengths"),
    "levels": ("sokoban:levels", "check level files, and write them in another format"),
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
    from ludory.envs.make import make_game
    from ludory.envs.sokoban.bank import RoomFile, of_split, room_hashes, write_bank
    from ludory.envs.sokoban.levels import alike

    if chosen.levels is not None:
        rooms, found = alike(_levels_in(chosen.levels, chosen.skip_bad), chosen.size, chosen.boxes, chosen.skip_bad)
        _tell(found)
        rooms = of_split(rooms, chosen.split)
    else:
        own = {name: value for name in ("size", "boxes") if (value := getattr(chosen, name)) is not None}
        game = make_game(chosen.env, **own, **parse_options(chosen.option))
        rooms = _drawn(game, chosen.rooms, chosen.seed, chosen.split)["room"]
    hashes = room_hashes(rooms)
    if chosen.distinct:
        first = np.sort(np.unique(hashes, return_index=True)[1])
        rooms, hashes = rooms[first], hashes[first]
    limit = chosen.max_states
    lengths = shortest_moves(rooms, limit) if limit else np.full(len(rooms), UNSOLVED, np.int32)
    write_bank(chosen.out, RoomFile(rooms, hashes, lengths))
    print(f"{chosen.out}: {_described(_Rooms(str(chosen.out), hashes, lengths))}")
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

    file: Annotated[File, Positional]
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


def _drawn(game: Any, count: int, seed: int, split: str | None) -> Any:
    import numpy as np

    return game.rooms.draw(seed + np.arange(count), split)


@dataclass(frozen=True, kw_only=True)
class _CheckOptions:
    """Count the distinct rooms of two sets and those that both contain, with the fewest actions that solve them.

    A set is a bank, a level file, a folder of level files, or a game with options, from which rooms are drawn.

    Example: ludory check rooms "Sokoban-v0(split='train')" "Sokoban-v0(split='valid')" --rooms 4000
    """

    sets: Annotated[tuple[str, ...], Positional, arg(metavar="SET SET", help_behavior_hint="")]
    """Two files or games."""
    rooms: Count = 1000
    """Rooms to draw from each game."""
    seed: Count = 0
    """Seed of the first room of a game."""
    max_states: Count = 200_000
    """States after which the search for the fewest actions of a room gives up; 0: no lengths."""


class _Rooms(NamedTuple):
    name: str
    hashes: NDArray[np.uint64]
    lengths: NDArray[np.int32] | None


def check_rooms(argv: list[str]) -> int:
    """Print how two sets of rooms overlap; returns the exit code."""
    chosen = parse(_CheckOptions, argv, "check rooms")
    import numpy as np

    from ludory.errors import OptionError

    if len(chosen.sets) != 2:
        raise OptionError(f"check rooms: got {len(chosen.sets)} sets, must be two: ludory check rooms A B")
    first, second = (_read(name, chosen.rooms, chosen.seed, chosen.max_states) for name in chosen.sets)
    for rooms in (first, second):
        print(f"{rooms.name}: {_described(rooms)}")
    common = np.intersect1d(first.hashes, second.hashes)
    shares = [f"{np.isin(one.hashes, common).mean():.1%} of {one.name}" for one in (first, second)]
    print(f"in both: {len(common)} distinct rooms, {shares[0]}, {shares[1]}")
    return 0


def _read(name: str, count: int, seed: int, max_states: int) -> _Rooms:
    from ludory.envs.make import make_game
    from ludory.errors import OptionError
    from ludory.plugins.spec import parse_spec

    if Path(name).exists():
        from ludory.envs.sokoban.bank import given_rooms, read_bank, room_hashes

        if Path(name).suffix == ".npz":
            return _Rooms(name, *read_bank(name)[1:])
        rooms = given_rooms(name)
        return _Rooms(name, room_hashes(rooms), _lengths(rooms, max_states))
    if Path(name).suffix in (".npz", ".npy", ".txt"):
        raise OptionError(f"{name}: no such file; `ludory sokoban bank --out {name}` writes one")
    spec = parse_spec(name)
    game = make_game(spec.name, *spec.args, **spec.kwargs)
    if game.rooms is None:
        raise OptionError(
            f"{name}: neither a file nor a game with rooms; such games are Sokoban-v0, FrozenLake6-v0 ..."
        )
    drawn = _drawn(game, count, seed, None)
    return _Rooms(
        name,
        game.rooms.hashes(drawn),
        _lengths(drawn["room"], max_states) if game.facts.name == "Sokoban" else None,
    )


def _lengths(rooms: Any, max_states: int) -> Any:
    from ludory.agents.puzzles.sokoban_search import shortest_moves

    return shortest_moves(rooms, max_states) if max_states else None


def _described(rooms: _Rooms) -> str:
    """Counts, and the shares of the fewest actions, in words."""
    import numpy as np

    text = f"{len(rooms.hashes)} rooms, {len(np.unique(rooms.hashes))} distinct"
    if rooms.lengths is None:
        return text
    solved = rooms.lengths[rooms.lengths >= 0]
    if len(solved):
        shares = [f"{k}: {(solved == k).mean():.1%}" for k in range(int(solved.min() > 0), 11)]
        text += f"; fewest actions {', '.join(shares)}, more: {(solved > 10).mean():.1%}, median {np.median(solved):g}"
    unknown = len(rooms.lengths) - len(solved)
    return text + (f"; {unknown} rooms without a length" if unknown else "")
