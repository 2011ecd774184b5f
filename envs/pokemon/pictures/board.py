"""`Board`: what a picture of a battle shows, in words and fractions, read from `entity` rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ludory.envs import State

from .. import columns as at
from ..dex import dex
from ..observation import write_entity
from ..tracker import Tracker
from ..tracker.layout import LAYERS, PERISH, SIDE_CONDITIONS
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
    if rows.shape != (2, at.ENTITY_SIZE):
        raise ValueError(f"pictures of battles are drawn from two rows of {at.ENTITY_SIZE} numbers, got {rows.shape}")
    viewer = seat or 0
    row = rows[viewer]
    near = _side(row, 0, f"p{viewer + 1}")
    far = _side(rows[1 - viewer], 0, f"p{2 - viewer}") if seat is None else _side(row, 1, f"p{2 - viewer}")
    notes = ("choose the lead", "choose who comes in", "wait", "choose again")
    shown = [note for k, note in enumerate(notes) if row[at.PREVIEW_AT + k] and seat is not None]
    words = [
        WEATHERS[int(row[at.WEATHER_AT : at.WEATHER_TURNS_AT].argmax())],
        TERRAINS[int(row[at.TERRAIN_AT : at.TERRAIN_TURNS_AT].argmax())],
    ]
    words += [name for k, name in enumerate(ROOMS) if row[at.ROOMS_AT + k]]
    return Board(
        round(float(row[at.TURN_AT]) * 100),
        round(float(row[at.GENERATION_AT]) * 9),
        tuple(word for word in words if word),
        ", ".join(shown),
        near,
        far,
        tuple(lines),
    )


def board_of_tracker(tracker: Tracker, mask: Sequence[bool] | Array | None = None) -> Board:
    """Board of what a tracker knows, with the lines of this turn; `mask` marks legal moves."""
    row = np.zeros(at.ENTITY_SIZE, np.float32)
    write_entity(tracker, np.ones(10, bool) if mask is None else mask, row)
    board = board_of_rows(np.stack([row, row]), 0, words_of_lines(tracker.recent))
    own, foe = tracker.players
    if tracker.perspective == 1:
        board = board._replace(near=board.near._replace(title="p2"), far=board.far._replace(title="p1"))
    return board._replace(
        near=board.near._replace(title=own or board.near.title), far=board.far._replace(title=foe or board.far.title)
    )


def _side(row: Array, side: int, title: str) -> ShownSide:
    ids = row[: at.MOVE_IDS_AT].reshape(at.POKEMON, at.IDS).astype(int)[6 * side : 6 * side + 6]
    numbers = row[at.POKEMON_AT : at.VOLATILE_AT].reshape(at.POKEMON, at.POKEMON_NUMBERS)[6 * side : 6 * side + 6]
    volatile = row[at.VOLATILE_AT + side * at.VOLATILE_NUMBERS :][: at.VOLATILE_NUMBERS]
    conditions = row[at.SIDES_AT + at.SIDE_NUMBERS * side :][: at.SIDE_NUMBERS]
    layers = {SIDE_CONDITIONS.index(name): most for name, most in LAYERS.items()}
    shown = [
        name + (f" x{round(float(conditions[k]) * layers[k])}" if k in layers else "")
        for k, name in enumerate(CONDITIONS)
        if conditions[k]
    ]
    if side == 1:
        shown += [f"{name} used" for k, name in enumerate(GIMMICKS) if row[at.SPENT_AT + k]]
    pokemon = tuple(_pokemon(ids[k], numbers[k], volatile) for k in range(6))
    moves = tuple(_move(row, 4 * side + k) for k in range(4) if row[at.MOVE_IDS_AT + 4 * side + k] > 1)
    return ShownSide(title, pokemon, tuple(shown), moves)


def _pokemon(ids: Array, numbers: Array, volatile: Array) -> ShownPokemon:
    types = tuple(names_of("types")[number] for number in ids[at.TYPE_1_ID : at.TYPE_2_ID + 1] if number > 1)
    active, terastallized = bool(numbers[at.POKEMON_ACTIVE]), bool(numbers[at.POKEMON_TERASTALLIZED])
    stages = [round(float(stage) * 6) for stage in numbers[at.POKEMON_STAGES :][:7]] if active else []
    flags = (
        (at.POKEMON_GIMMICK, "changed form"),
        (at.POKEMON_TRANSFORMED, "transformed"),
        (at.POKEMON_TRAPPED, "trapped"),
    )
    notes = [name for flag, name in flags if numbers[flag]]
    if active:
        notes += [
            f"{name} {round(float(volatile[k]) * 3)}" if k == PERISH else name
            for k, name in enumerate(VOLATILES)
            if volatile[k]
        ]
    return ShownPokemon(
        name=written_names("species")[ids[at.SPECIES_ID]] or ("?" if numbers[at.POKEMON_EXISTS] else ""),
        level=round(float(numbers[at.POKEMON_LEVEL]) * 100),
        gender="♂" if numbers[at.POKEMON_MALE] else "♀" if numbers[at.POKEMON_FEMALE] else "",
        types=types,
        tera=names_of("types")[ids[at.TERA_ID]] if terastallized else "",
        ability=written_names("abilities")[ids[at.ABILITY_ID]],
        item="no item"
        if ids[at.ITEM_ID] == 1 and numbers[at.POKEMON_ITEM_LOST]
        else written_names("items")[ids[at.ITEM_ID]],
        status=STATUSES[ids[at.STATUS_ID]],
        hp=float(numbers[at.POKEMON_HP]),
        exact=bool(numbers[at.POKEMON_HP_EXACT]),
        active=active,
        fainted=bool(numbers[at.POKEMON_FAINTED]),
        stages=tuple(f"{STAGES[k]} {stage:+d}" for k, stage in enumerate(stages) if stage),
        notes=tuple(notes),
        last_move=written_names("moves")[ids[at.LAST_MOVE_ID]] if active else "",
    )


def _move(row: Array, k: int) -> ShownMove:
    number, facts = int(row[at.MOVE_IDS_AT + k]), row[at.MOVES_AT + k * at.MOVE_NUMBERS :][: at.MOVE_NUMBERS]
    kind = dex(round(float(row[at.GENERATION_AT]) * 9)).move_type[number]
    times = float(facts[at.MOVE_EFFECTIVENESS]) * 4
    effect = (
        "" if facts[at.MOVE_STATUS] or times == 1 else "no effect" if times == 0 else "weak" if times < 1 else "strong"
    )
    return ShownMove(
        written_names("moves")[number],
        names_of("types")[kind] or "normal",
        float(facts[at.MOVE_PP]),
        round(float(facts[at.MOVE_POWER]) * 150),
        bool(facts[at.MOVE_LEGAL]) or k >= 4,
        effect,
    )
