"""`ludory check rooms`: how sets of rooms overlap."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from ludory.arguments import Arg
from ludory.cli.common import Count, parse
from ludory.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from ludory.envs.game import Game


@dataclass(frozen=True, kw_only=True)
class _CheckOptions:
    """Count the distinct rooms of two sets and those that both contain, with the fewest actions that solve them.

    A set is a bank, a level file, a folder of level files, or a game with options, from which rooms are drawn.

    Example: ludory check rooms "Sokoban-v0(split='train')" "Sokoban-v0(split='valid')" --rooms 4000
    """

    sets: Annotated[tuple[str, ...], Arg(positional=True, metavar="SET SET")]
    """Two files or games."""
    rooms: Count = 1000
    """Rooms to draw from each game."""
    seed: Count = 0
    """Seed of the first room of a game."""
    max_states: Count = 200_000
    """States after which the search for the fewest actions of a room gives up; 0: no lengths."""


class RoomSet(NamedTuple):
    """A set of rooms: its name, the hash of each, and the fewest actions that solve it."""

    name: str
    hashes: NDArray[np.uint64]
    lengths: NDArray[np.int32] | None


def run(argv: list[str]) -> int:
    """Print how two sets of rooms overlap; returns the exit code."""
    chosen = parse(_CheckOptions, argv, "check rooms")
    import numpy as np

    if len(chosen.sets) != 2:
        raise OptionError(f"check rooms: got {len(chosen.sets)} sets, must be two: ludory check rooms A B")
    first, second = (_read(name, chosen.rooms, chosen.seed, chosen.max_states) for name in chosen.sets)
    for rooms in (first, second):
        print(f"{rooms.name}: {described(rooms)}")
    common = np.intersect1d(first.hashes, second.hashes)
    shares = [f"{np.isin(one.hashes, common).mean():.1%} of {one.name}" for one in (first, second)]
    print(f"in both: {len(common)} distinct rooms, {shares[0]}, {shares[1]}")
    return 0


def _read(name: str, count: int, seed: int, max_states: int) -> RoomSet:
    from ludory.envs import make_game
    from ludory.plugins import parse_spec

    if Path(name).exists():
        from ludory.envs.sokoban.bank import given_rooms, read_bank, room_hashes

        if Path(name).suffix == ".npz":
            return RoomSet(name, *read_bank(name)[1:])
        rooms = given_rooms(name)
        return RoomSet(name, room_hashes(rooms), _lengths(rooms, max_states))
    if Path(name).suffix in (".npz", ".npy", ".txt"):
        raise OptionError(f"{name}: no such file; `ludory sokoban bank --out {name}` writes one")
    spec = parse_spec(name)
    game = make_game(spec.name, *spec.args, **spec.kwargs)
    drawn = drawn_rooms(game, name, count, seed, None)
    assert game.analysis.rooms is not None  # else there would be none to draw
    return RoomSet(
        name,
        game.analysis.rooms.hashes(drawn),
        _lengths(drawn["room"], max_states) if game.facts.name == "Sokoban" else None,
    )


def drawn_rooms(game: Game, name: str, count: int, seed: int, split: str | None) -> Mapping[str, NDArray[Any]]:
    """Rooms of a game that was typed as `name`, from the seed on.

    Raises:
        OptionError: it has no rooms.
    """
    import numpy as np

    if game.analysis.rooms is None:
        raise OptionError(
            f"{name}: neither a file nor a game with rooms; such games are Sokoban-v0, FrozenLake6-v0 ..."
        )
    return game.analysis.rooms.draw(seed + np.arange(count), split)


def _lengths(rooms: Any, max_states: int) -> Any:
    from ludory.agents.puzzles.sokoban_search import shortest_moves

    return shortest_moves(rooms, max_states) if max_states else None


def described(rooms: RoomSet) -> str:
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
