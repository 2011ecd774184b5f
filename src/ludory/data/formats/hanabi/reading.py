"""Games of hanab.live, read from files as trajectories; what is wrong is listed with file, game and move."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ludory.data import Columns, Problems, StoredGames, header_of, json_records
from ludory.data.formats.json_fields import FieldError
from ludory.envs import Game, make_game
from ludory.errors import DataError, LogFormatError, OptionError
from ludory.reading import shown, unpacked

from .ah2ac2 import games_of, read_arrays
from .moves import TableSize, sizes_of
from .playing import EXTRAS, NAMES, PlayedGame, WrongGame, play
from .site_game import OtherRulesError, SiteGame, read_game

HEAD = 1 << 16
"""Bytes at the beginning of a file by which it is recognised."""
ARRAYS = ".safetensors"
ACTION = re.compile(r"actions\[(\d+)\]")
SKIP = "leave such games out with --skip-bad (skip_bad=True)"


def files_in(path: Path, patterns: Sequence[str]) -> list[Path]:
    """The files of a folder, and of the folders in it, that are called like one of `patterns`, by name; a file itself."""
    if not path.is_dir():
        return [path]
    return sorted({file for pattern in patterns for file in path.rglob(pattern) if file.is_file()})


def is_of_site(file: Path) -> bool:
    """Whether a file begins like games of the site.

    Raises:
        OSError: it cannot be read.
    """
    with unpacked(file).handle as handle:
        head = handle.read(HEAD)
    # the fields come in any order, but cards are within the first of them that is long
    names = ("game_ids", "decks", "actions") if file.suffix == ARRAYS else ("deck", "rank", "suit")
    # "suit or "suitIndex"
    return all(f'"{name}'.encode() in head for name in names)


class _Found:
    """Games that were read, and what is wrong with others."""

    def __init__(self) -> None:
        self.games: list[SiteGame] = []
        self.problems = Problems()
        self.other_rules: Counter[str] = Counter()
        """Games of other rules, by what makes them so; each also is a problem."""
        self.refused: list[str] = []

    def add(self, place: str, error: FieldError) -> None:
        """Note what is wrong with a game."""
        action = ACTION.match(error.field)
        place += f", move {int(action[1]) + 1}" if action else ""
        self.problems.add(place, error.field, error.got, error.wanted, place)
        if isinstance(error, OtherRulesError):
            self.other_rules[f"{error.field} {error.got}"] += 1
            # told as a number of games where bad ones are left out: there may be thousands
            self.refused.append(self.problems.texts.pop())


def read_games(
    files: Sequence[Path],
    game: Game | None,
    *,
    skip_bad: bool = False,
    only_finished: bool = False,
    keep_names: bool = False,
) -> StoredGames:
    """Read games of one number of players and suits.

    Rows have the extra columns `earned`, `start`, `site_game`, `end`, `ended_by` and `score` (see `playing`), and with `keep_names` also `names`.

    Args:
        files: JSON of the site (one object, a list, or one on each line; plain or gzip), and arrays of AH2AC2.
        game: Hanabi of the same size, for another observation; None: the id that fits, with the default observation.
        skip_bad: leave out games that are damaged or of other rules.
        only_finished: leave out games that did not end by the rules.
        keep_names: keep the names of players.

    Raises:
        LogFormatError: lists up to 20 games that are damaged or of other rules.
        DataError: no game is left.
        OptionError: games of several sizes, or the game is not Hanabi as the site plays it.
    """
    found = _Found()
    for file in files:
        _read_file(file, found)
    sizes = _common_sizes(found, game)
    made = game or _made(sizes)
    kept: list[PlayedGame] = []
    unfinished, short = 0, sum(not one.moves for one in found.games)
    for one in play([one for one in found.games if one.moves], made):
        if isinstance(one, WrongGame):
            found.add(one.place, one.error)
        elif only_finished and not one.finished:
            unfinished += 1
        else:
            kept.append(one)
    left_out = _left_out(found, skip_bad)
    if not kept:
        found.problems.texts += found.refused
        found.problems.raise_if_any()
        raise DataError(f"{_named(files)}: no game with a move that is to be kept; read other files")
    header = header_of(made, extra_columns=(*EXTRAS, NAMES) if keep_names else EXTRAS)
    return StoredGames(header, list(_parts(kept)), left_out, _notes(kept, short, unfinished))


def _read_file(file: Path, found: _Found) -> None:
    if file.suffix == ARRAYS:
        _read_arrays(file, found)
        return
    for record in json_records(file, found.problems):
        id = record.content.get("id")
        place = record.place if id is None else f"{record.place}, game {shown(id)}"
        try:
            found.games.append(read_game(record.content, place))
        except FieldError as error:
            found.add(place, error)


def _read_arrays(file: Path, found: _Found) -> None:
    try:
        arrays = read_arrays(file)
    except FieldError as error:
        found.add(str(file), error)
    except (OSError, ValueError) as error:
        found.problems.add(str(file), "file", str(error), "a file of AH2AC2")
    else:
        for one in games_of(file, arrays):
            if isinstance(one, SiteGame):
                found.games.append(one)
            else:
                found.add(*one)


def _common_sizes(found: _Found, game: Game | None) -> TableSize:
    """The sizes that all games have; with a game named, those of other sizes become problems."""
    # a header describes all games of a dataset, so they must be of one size
    counted = Counter(one.sizes for one in found.games)
    if game is not None:
        sizes = sizes_of(game)
        for one in found.games:
            if one.sizes != sizes:
                found.add(
                    one.place,
                    OtherRulesError("players", f"{one.sizes}", f"{sizes}, as {game.id or game.facts.name} has"),
                )
        found.games = [one for one in found.games if one.sizes == sizes]
        return sizes
    if len(counted) > 1:
        kinds = "; ".join(f"{number:,} of {sizes}" for sizes, number in counted.most_common())
        id, options = counted.most_common(1)[0][0].game
        named = " ".join([f"--game {id}", *(f"--option {name}={value}" for name, value in options.items())])
        raise OptionError(
            f"the files hold games of several sizes ({kinds}); a dataset has one: name it, such as {named} --skip-bad"
        )
    return next(iter(counted), TableSize(2, 5))


def _made(sizes: TableSize) -> Game:
    id, options = sizes.game
    return make_game(id, **options)


def _left_out(found: _Found, skip_bad: bool) -> list[str]:
    """What was left out; games of other rules are counted, those that are damaged are listed.

    Raises:
        LogFormatError: something is wrong, and bad games are not to be left out.
    """
    if not skip_bad and (found.problems.texts or found.refused):
        found.problems.texts += found.refused
        try:
            found.problems.raise_if_any()
        except LogFormatError as error:
            # a log of problems does not know which command reads it
            raise LogFormatError(f"{error}; {SKIP}") from None
    counted = [
        f"{number:,} games with {what}, whose rules are others" for what, number in found.other_rules.most_common()
    ]
    return [*found.problems.texts, *counted]


def _parts(kept: Sequence[PlayedGame]) -> Iterator[Columns]:
    for number, one in enumerate(kept):
        yield one.columns._replace(games=np.full(len(one.columns.games), number))


def _notes(kept: Sequence[PlayedGame], short: int, unfinished: int) -> list[str]:
    ends = Counter(one.end for one in kept)
    told = ", ".join(f"{end} {number:,}" for end, number in ends.most_common())
    notes = [f"mean score {np.mean([one.score for one in kept]):.3f}; ends: {told}"]
    again = len(kept) - len({(one.game.deck, *one.columns.actions[:, 0].tolist()) for one in kept})
    notes += [f"{again:,} games are there more than once"] if again else []
    notes += [f"left out {short:,} games without a move"] if short else []
    return notes + ([f"left out {unfinished:,} games that did not end by the rules"] if unfinished else [])


def _named(files: Sequence[Path]) -> str:
    return ", ".join(map(str, files[:3])) + (", ..." if len(files) > 3 else "") if files else "no file"
