"""Recorded games of Hanabi as hanab.live shows them: one JSON object on a line for each game."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ludory.atomic import atomic_file
from ludory.data import START, UNKNOWN_SEED, Columns, TrajectoryDataset, from_table, game_starts, taken
from ludory.data.formats.json_fields import FieldError, count, inner, items, mapping, text
from ludory.envs import Game, make_engine, make_game
from ludory.errors import DataError
from ludory.reading import JsonError, parse_json

from .moves import RANKS, Hands, SiteMove, TableSize, sizes_of
from .playing import END, ENDED_BY, NAMES, SITE_ID, WrongGame, play
from .site_game import CUT, END_BY_VOTE, ENDS, NOBODY, SiteGame, check_copies
from .site_game import END as END_ACTION

FILE = "hanab_live.jsonl"


def write_games(dataset: TrajectoryDataset, folder: Path) -> int:
    """Write the games of a dataset to `FILE` in a folder, atomically; returns their number. Each is played again and compared first.

    Raises:
        OptionError: the game is not Hanabi as the site plays it.
        DataError: the folder has such a file, or a game has no deck, or does not go as recorded.
    """
    file, header = folder / FILE, dataset.header
    game = make_game(header.game, **header.options)
    sizes, written = sizes_of(game), 0
    if file.exists():
        raise DataError(f"{file} exists; name another folder")
    with atomic_file(file, "w") as handle:
        for one, columns in _games(dataset, game, sizes):
            _compare(one, columns, game)
            handle.write(json.dumps(as_json(one), separators=(",", ":")) + "\n")
            written += 1
    return written


def as_json(game: SiteGame) -> dict[str, Any]:
    """The JSON object of a game, whose moves are those of the site. Unknown names are "player 0", "player 1" and so on."""
    options: dict[str, Any] = {"variant": game.sizes.variant}
    # since April 2020 player 0 begins, and games do not say so
    if game.first:
        options["startingPlayer"] = game.first
    actions = [move._asdict() for move in game.moves if isinstance(move, SiteMove)]
    reasons = {name: number for number, name in ENDS.items()}
    if game.end != CUT:
        type = END_BY_VOTE if game.end == "vote" and game.ended_by == NOBODY else END_ACTION
        actions.append({"type": type, "target": game.ended_by, "value": reasons[game.end]})
    return {
        **({} if game.id is None else {"id": game.id}),
        "players": list(game.names) or [f"player {seat}" for seat in range(game.sizes.players)],
        "deck": [{"suitIndex": card // RANKS, "rank": card % RANKS + 1} for card in game.deck],
        "actions": actions,
        "options": options,
        "notes": [[] for _ in range(game.sizes.players)],
    }


def _games(dataset: TrajectoryDataset, game: Game, sizes: TableSize) -> Iterator[tuple[SiteGame, Columns]]:
    """The games and their rows."""
    told = {column.name for column in dataset.header.extra_columns}
    for table in dataset.tables():
        columns = from_table(table, dataset.header)
        texts = {
            one.name: table[one.name].to_pylist() for one in (START, SITE_ID, END, ENDED_BY, NAMES) if one.name in told
        }
        starts = game_starts(columns.games)
        for first, stop in zip(starts, [*starts[1:], len(columns.games)], strict=True):
            rows, facts = taken(columns, slice(first, stop)), {name: one[first] for name, one in texts.items()}
            place = f"{dataset.path}, game {rows.games[0]}"
            yield _site_game(rows, facts, place, game, sizes), rows


def _site_game(rows: Columns, facts: Mapping[str, Any], place: str, game: Game, sizes: TableSize) -> SiteGame:
    hands, moves = Hands(sizes), list[SiteMove | int]()
    try:
        deck = _deck(rows, facts, place, game, sizes)
        names = [text(name, NAMES.name) for name in items(parse_json(facts.get(NAMES.name) or "[]"), NAMES.name)]
        # orders follow from what was drawn
        left = len(deck) - hands.dealt
        for action, seat in zip(rows.actions[:, 0].tolist(), rows.seats.tolist(), strict=True):
            moves.append(hands.move(action, seat))
            drew = action < 2 * sizes.hand and left > 0
            hands.play(action, seat, drew)
            left -= drew
    except FieldError as error:
        raise _wrong(place, error) from error
    except JsonError as error:
        raise DataError(f"{place}: {error}; convert its file again") from error
    id, end = facts.get(SITE_ID.name), str(facts.get(END.name))
    return SiteGame(
        place,
        sizes,
        tuple(deck),
        moves,
        None if id is None or id < 0 else id,
        tuple(names),
        int(rows.seats[0]),
        end if end in ENDS.values() else CUT,
        ended_by=int(facts.get(ENDED_BY.name, NOBODY)),
    )


def _deck(rows: Columns, facts: Mapping[str, Any], place: str, game: Game, sizes: TableSize) -> list[int]:
    if rows.seeds[0] != UNKNOWN_SEED:
        # a recorded game is the one of this number among those of its seed
        engine = make_engine(game, seed=int(rows.seeds[0]), first_game=int(rows.games[0]))
        engine.reset()
        dealt: list[int] = engine.state.deck[0].tolist()
        return dealt
    if START.name not in facts:
        raise DataError(f"{place}: its deck is not known; only games of `ludory record` and of hanab.live have one")
    cards = items(inner(mapping(parse_json(facts[START.name] or ""), START.name), "deck"), f"{START.name}.deck")
    deck = [count(card, f"{START.name}.deck", RANKS * sizes.colors - 1) for card in cards]
    check_copies(deck, sizes)
    return deck


def _wrong(place: str, error: FieldError) -> DataError:
    return DataError(
        f"{place}, field {error.field!r}: got {error.got}, must be {error.wanted}; record or convert it again"
    )


def _compare(one: SiteGame, rows: Columns, game: Game) -> None:
    """Refuse a game that does not go as recorded."""
    (found,) = play([one], game)
    if isinstance(found, WrongGame):
        raise _wrong(found.place, found.error)
    again = found.columns
    for name in ("seats", "observations", "masks", "actions", "rewards", "terminated"):
        if not np.array_equal(getattr(again, name), getattr(rows, name)):
            raise DataError(f"{one.place}, field {name!r}: other values when the game is played again; record it again")
