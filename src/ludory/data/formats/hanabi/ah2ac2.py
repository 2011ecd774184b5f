"""The files of the AH2AC2 challenge (arXiv 2506.21490): games of people on hanab.live as arrays in a safetensors file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ludory.data.formats.json_fields import FieldError

from .moves import RANKS, TableSize
from .site_game import SiteGame, check_copies

NAMES = ("num_players", "game_ids", "scores", "num_actions", "decks", "actions")
COLORS = 5


def read_arrays(file: Path) -> dict[str, NDArray[np.int64]]:
    """The arrays of a file.

    Raises:
        FieldError: one is missing, or of another shape.
        OSError, ValueError: the file cannot be read.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays = load_file(file)
    except SafetensorError as error:
        raise ValueError(f"no safetensors file ({error})") from error
    for name in NAMES:
        if name not in arrays or arrays[name].dtype.kind not in "iu":
            got = f"{arrays[name].dtype}" if name in arrays else "no such array"
            raise FieldError(name, got, "an array of integers")
    found = {name: arrays[name].astype(np.int64) for name in NAMES}
    players = int(found["num_players"]) if found["num_players"].size == 1 else 0
    if not 2 <= players <= 5:
        raise FieldError("num_players", str(found["num_players"].tolist())[:80], "one number, 2 to 5")
    games, longest = len(np.atleast_1d(found["game_ids"])), found["actions"].shape[1:2]
    # the longest game of a file decides how many columns it has
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("game_ids", "scores", "num_actions"), (games,))
    shapes |= {"decks": (games, COLORS * sum((3, 2, 2, 2, 1)), 2), "actions": (games, *longest, players)}
    for name, shape in shapes.items():
        if found[name].shape != shape:
            raise FieldError(name, f"shape {found[name].shape}", f"{shape}")
    return found


def games_of(file: Path, arrays: dict[str, NDArray[np.int64]]) -> Iterator[SiteGame | tuple[str, FieldError]]:
    """The games; place and error of those with a wrong field."""
    sizes = TableSize(int(arrays["num_players"]), COLORS)
    for row, id in enumerate(arrays["game_ids"].tolist()):
        place = f"{file}, game {id}"
        try:
            yield _game(place, id, row, arrays, sizes)
        except FieldError as error:
            yield place, error


def _game(place: str, id: int, row: int, arrays: dict[str, NDArray[np.int64]], sizes: TableSize) -> SiteGame:
    cards, moves, length = arrays["decks"][row], arrays["actions"][row], int(arrays["num_actions"][row])
    wrong = (cards < 0) | (cards >= (COLORS, RANKS))
    if wrong.any():
        place_of = int(wrong.any(1).argmax())
        raise FieldError(f"decks[{row}, {place_of}]", f"{cards[place_of].tolist()}", "a colour 0..4 and a rank 0..4")
    deck = (cards @ (RANKS, 1)).tolist()
    check_copies(deck, sizes)
    if not 0 <= length <= len(moves):
        raise FieldError("num_actions", f"{length}", f"0..{len(moves)}")
    # the others' entries are "wait", which is the id behind the last action
    steps, seats = np.arange(length), np.arange(length) % sizes.players
    wait = 2 * sizes.hand + (sizes.players - 1) * (COLORS + RANKS)
    chosen, others = moves[steps, seats], moves[:length].copy()
    others[steps, seats] = wait
    if (others != wait).any():
        step, seat = (int(k) for k in np.argwhere(others != wait)[0])
        raise FieldError(
            "actions",
            f"{others[step, seat]} of player {seat} at move {step + 1}",
            f"{wait}, since it is the turn of another",
        )
    return SiteGame(
        place, sizes, tuple(deck), chosen.tolist(), id if id >= 0 else None, score=int(arrays["scores"][row])
    )
