"""Reset options of Hanabi: a deck, the first cards of a deck, the seat that starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs import integer_array, refuse_unknown
from ludory.errors import OptionError

from .variants import HanabiOptions

KEYS = ("deck", "deck_prefix", "start_player")


def start_fields(options: HanabiOptions, given: Mapping[str, Any], count: int) -> dict[str, NDArray[Any]]:
    """Field values for the next reset of `count` games.

    deck: D card ids in dealing order, [D] for all games or [count, D]. deck_prefix: fewer ids; the rest is drawn at random.
    start_player: a seat, or [count] seats.

    Raises:
        OptionError: unknown key, wrong length, id out of range, too many copies of a card, seat out of range.
    """
    refuse_unknown("Hanabi", "reset option", given, KEYS)
    if "deck" in given and "deck_prefix" in given:
        raise OptionError("give either deck or deck_prefix, not both")
    fields: dict[str, NDArray[Any]] = {}
    for key in ("deck", "deck_prefix"):
        if given.get(key) is not None:
            fields |= _deck_fields(options, key, given[key], count)
    if given.get("start_player") is not None:
        fields["given_start"] = _start_seats(options, given["start_player"], count)
    return fields


def _deck_fields(options: HanabiOptions, key: str, cards: Any, count: int) -> dict[str, NDArray[Any]]:
    decks, size = integer_array(key, cards), options.deck_size
    if decks.ndim not in (1, 2) or (decks.ndim == 2 and len(decks) != count):
        raise OptionError(f"{key}: shape {decks.shape}, must be (length,) or ({count}, length)")
    length = decks.shape[-1]
    if key == "deck" and length != size:
        raise OptionError(f"deck: {length} cards, must be {size}; give fewer as deck_prefix")
    if length > size:
        raise OptionError(f"deck_prefix: {length} cards, must be at most {size}")
    _check_cards(options, key, np.atleast_2d(decks))
    full = np.zeros((count, size), np.int8)
    full[:, :length] = decks
    return {"deck": full, "given": np.full(count, length, np.int8)}


def _check_cards(options: HanabiOptions, key: str, decks: NDArray[Any]) -> None:
    cards = options.colors * options.ranks
    outside = np.argwhere((decks < 0) | (decks >= cards))
    if len(outside):
        game, position = (int(k) for k in outside[0])
        raise OptionError(
            f"{key}: card {decks[game, position]} at position {position} of game {game}, ids are 0..{cards - 1}"
        )
    copies = np.tile(options.copies, options.colors)
    times = np.zeros((len(decks), cards), np.int64)
    np.add.at(times, (np.arange(len(decks))[:, None], decks), 1)
    wrong = np.argwhere(times != copies if decks.shape[1] == options.deck_size else times > copies)
    if len(wrong):
        game, card = (int(k) for k in wrong[0])
        raise OptionError(
            f"{key}: card {card} is given {times[game, card]} times in game {game}, the deck has {copies[card]}"
        )


def _start_seats(options: HanabiOptions, seats: Any, count: int) -> NDArray[np.int8]:
    array = integer_array("start_player", seats)
    if array.shape not in ((), (count,)) or (array < 0).any() or (array >= options.players).any():
        raise OptionError(f"start_player={seats!r}: must be a seat 0..{options.players - 1}, one or {count} of them")
    return np.broadcast_to(array, (count,)).astype(np.int8)
