"""`Board`: what a picture of a battle shows, in words and fractions, read from `entity` rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ludory.envs import State

from ..dex import dex
from ..observation import (
    ENTITY_SIZE,
    FIELD_AT,
    IDS,
    MOVE_IDS_AT,
    MOVE_NUMBERS,
    MOVES_AT,
    POKEMON,
    POKEMON_AT,
    POKEMON_NUMBERS,
    VOLATILE_AT,
    VOLATILE_NUMBERS,
    write_entity,
)
from ..tracker import Tracker
from ..vocab import names_of, written_names
from .wording import words_of_lines

Array = np.ndarray[Any, np.dtype[Any]]

WEATHERS = ("", "rain", "sun", "sandstorm", "hail", "snow", "heavy rain", "harsh sun", "strong winds")
TERRAINS = ("", "electric terrain", "grassy terrain", "misty terrain", "psychic terrain")
ROOMS = ("trick room", "gravity", "magic room", "wonder room")
CONDITIONS = (
    "stealth rock", "spikes", "toxic spikes", "sticky web", "reflect", "light screen", "aurora veil", "tailwind", "safeguard", "mist",
    "wish", "attack to come", "healing wish", "other condition",
)  # fmt: skip
VOLATILES = (
    "confused", "seeded", "substitute", "taunted", "encored", "a move disabled", "tormented", "attracted", "drowsy", "perishes in",
    "cursed", "ingrained", "aqua ring", "focused", "floats", "guards", "caught", "must recharge", "locked in", "charging", "choice-locked",
    "flash fire", "cannot heal", "other type", "salted", "other effect",
)  # fmt: skip
STAGES = ("Atk", "Def", "SpA", "SpD", "Spe", "Acc", "Eva")
STATUSES = ("", "", "BRN", "FRZ", "PAR", "PSN", "SLP", "TOX")
GIMMICKS = ("mega", "Z-move", "dynamax", "tera")


class ShownMove(NamedTuple):
    """A move in a picture."""

    name: str
    type: str
    pp: float
    """Share of uses left."""
    power: int
    legal: bool
    """True for a foe's moves."""
    effect: str
    """ "", "no effect", "weak" or "strong"."""


class ShownPokemon(NamedTuple):
    """A Pokémon in a picture."""

    name: str
    """ "?" if unknown, "" for an empty place."""
    level: int
    gender: str
    types: tuple[str, ...]
    tera: str
    """Type of a terastallized Pokémon, otherwise ""."""
    ability: str
    item: str
    status: str
    hp: float
    exact: bool
    active: bool
    fainted: bool
    stages: tuple[str, ...]
    notes: tuple[str, ...]
    last_move: str


class ShownSide(NamedTuple):
    """One side of a picture."""

    title: str
    pokemon: tuple[ShownPokemon, ...]
    conditions: tuple[str, ...]
    moves: tuple[ShownMove, ...]

    @property
    def active(self) -> ShownPokemon | None:
        """The Pokémon on the field."""
        return next((pokemon for pokemon in self.pokemon if pokemon.active), None)


class Board(NamedTuple):
    """A battle in a picture. `near` is drawn below: the viewer's side."""

    turn: int
    gen: int
    field: tuple[str, ...]
    """Weather, terrain, rooms."""
    note: str
    """What the seat has to do."""
    near: ShownSide
    far: ShownSide
    lines: tuple[str, ...]
    """What happened last, in words."""


def board_of_battle(state: State, i: int, seat: int | None) -> Board:
    """Board of battle `i` of an engine."""
    engine = state.engine
    return board_of_rows(engine.entity[i], seat, words_of_lines(engine.lines(i, seat or 0)))


def last_move(state: State, i: int) -> str:
    """What the last choices led to, in words."""
    return "; ".join(words_of_lines(state.engine.lines(i, 0)))


def board_of_rows(rows: Array, seat: int | None, lines: Sequence[str] = ()) -> Board:
    """Board of one battle.

    Args:
        rows: (2, 932) what p1 and p2 see.
        seat: whose view is drawn; None shows each side as its own player knows it.
        lines: what happened last, in words.
    """
    if rows.shape != (2, ENTITY_SIZE):
        raise ValueError(f"pictures of battles are drawn from two rows of {ENTITY_SIZE} numbers, got {rows.shape}")
    viewer = seat or 0
    row = rows[viewer]
    near = _side(row, 0, f"p{viewer + 1}")
    far = _side(rows[1 - viewer], 0, f"p{2 - viewer}") if seat is None else _side(row, 1, f"p{2 - viewer}")
    field = row[FIELD_AT:]
    notes = ("choose the lead", "choose who comes in", "wait", "choose again")
    shown = [note for k, note in enumerate(notes) if field[50 + k] and seat is not None]
    words = [WEATHERS[int(field[:9].argmax())], TERRAINS[int(field[10:15].argmax())]]
    words += [name for k, name in enumerate(ROOMS) if field[16 + k]]
    return Board(
        round(float(field[48]) * 100),
        round(float(field[49]) * 9),
        tuple(word for word in words if word),
        ", ".join(shown),
        near,
        far,
        tuple(lines),
    )


def board_of_tracker(tracker: Tracker, mask: Sequence[bool] | Array | None = None) -> Board:
    """Board of what a tracker knows, with the lines of this turn; `mask` marks legal moves."""
    row = np.zeros(ENTITY_SIZE, np.float32)
    write_entity(tracker, np.ones(10, bool) if mask is None else mask, row)
    board = board_of_rows(np.stack([row, row]), 0, words_of_lines(tracker.recent))
    own, foe = tracker.players
    if tracker.perspective == 1:
        board = board._replace(near=board.near._replace(title="p2"), far=board.far._replace(title="p1"))
    return board._replace(
        near=board.near._replace(title=own or board.near.title), far=board.far._replace(title=foe or board.far.title)
    )


def _side(row: Array, side: int, title: str) -> ShownSide:
    ids = row[:MOVE_IDS_AT].reshape(POKEMON, IDS).astype(int)[6 * side : 6 * side + 6]
    numbers = row[POKEMON_AT:VOLATILE_AT].reshape(POKEMON, POKEMON_NUMBERS)[6 * side : 6 * side + 6]
    volatile = row[VOLATILE_AT + side * VOLATILE_NUMBERS :][:VOLATILE_NUMBERS]
    conditions = row[FIELD_AT + 20 + 14 * side :][:14]
    layers = {1: 3, 2: 2}
    shown = [
        name + (f" x{round(float(conditions[k]) * layers[k])}" if k in layers else "")
        for k, name in enumerate(CONDITIONS)
        if conditions[k]
    ]
    if side == 1:
        shown += [f"{name} used" for k, name in enumerate(GIMMICKS) if row[FIELD_AT + 58 + k]]
    pokemon = tuple(_pokemon(ids[k], numbers[k], volatile) for k in range(6))
    moves = tuple(_move(row, 4 * side + k) for k in range(4) if row[MOVE_IDS_AT + 4 * side + k] > 1)
    return ShownSide(title, pokemon, tuple(shown), moves)


def _pokemon(ids: Array, numbers: Array, volatile: Array) -> ShownPokemon:
    types = tuple(names_of("types")[number] for number in ids[3:5] if number > 1)
    active, terastallized = bool(numbers[2]), bool(numbers[30])
    stages = [round(float(stage) * 6) for stage in numbers[19:26]] if active else []
    notes = [name for flag, name in ((31, "changed form"), (32, "transformed"), (28, "trapped")) if numbers[flag]]
    if active:
        notes += [
            f"{name} {round(float(volatile[k]) * 3)}" if k == 9 else name
            for k, name in enumerate(VOLATILES)
            if volatile[k]
        ]
    return ShownPokemon(
        name=written_names("species")[ids[0]] or ("?" if numbers[0] else ""),
        level=round(float(numbers[6]) * 100),
        gender="♂" if numbers[35] else "♀" if numbers[36] else "",
        types=types,
        tera=names_of("types")[ids[5]] if terastallized else "",
        ability=written_names("abilities")[ids[1]],
        item="no item" if ids[2] == 1 and numbers[33] else written_names("items")[ids[2]],
        status=STATUSES[ids[6]],
        hp=float(numbers[4]),
        exact=bool(numbers[5]),
        active=active,
        fainted=bool(numbers[3]),
        stages=tuple(f"{STAGES[k]} {stage:+d}" for k, stage in enumerate(stages) if stage),
        notes=tuple(notes),
        last_move=written_names("moves")[ids[7]] if active else "",
    )


def _move(row: Array, k: int) -> ShownMove:
    number, facts = int(row[MOVE_IDS_AT + k]), row[MOVES_AT + k * MOVE_NUMBERS :][:MOVE_NUMBERS]
    kind = dex(round(float(row[FIELD_AT + 49]) * 9)).move_type[number]
    times = float(facts[11]) * 4
    effect = "" if facts[9] or times == 1 else "no effect" if times == 0 else "weak" if times < 1 else "strong"
    return ShownMove(
        written_names("moves")[number],
        names_of("types")[kind] or "normal",
        float(facts[5]),
        round(float(facts[3]) * 150),
        bool(facts[1]) or k >= 4,
        effect,
    )
