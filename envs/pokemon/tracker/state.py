"""What a tracker knows, as immutable values by name: `Tracker.snapshot()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..vocab import Kind, names_of
from .layout import (
    ABILITY,
    ACTIVE,
    ACTIVE_ROW,
    EXISTS,
    FAINTED,
    FIELD_TURNS,
    FORCED,
    GENDER,
    GIMMICK,
    GIMMICKS,
    HP,
    HP_EXACT,
    HP_MAX,
    ITEM,
    ITEM_LOST,
    LAST_MOVE,
    LEVEL,
    MAYBE_TRAPPED,
    MENU,
    MENU_DISABLED,
    MENU_PP,
    MENU_PP_MAX,
    MOVES,
    NUM_MOVES,
    NUM_TEMPORARY,
    OFFERED,
    PP,
    PP_MAX,
    PREVIEW,
    ROOM,
    ROOMS,
    ROW,
    SEEN,
    SIDE,
    SIDE_CONDITIONS,
    SIDE_SIZE,
    SPECIES,
    SPENT,
    STAGES,
    STATS,
    STATUS,
    STATUS_TURNS,
    TEAM_SIZE,
    TEMPORARY,
    TERA,
    TERASTALLIZED,
    TERRAIN,
    TERRAIN_TURNS,
    TERRAINS,
    TRANSFORMED,
    TRAPPED,
    TURN,
    TYPE_1,
    TYPE_2,
    VOLATILE,
    VOLATILE_SIZE,
    VOLATILES,
    WEATHER,
    WEATHER_TURNS,
    WEATHERS,
)  # fmt: skip

if TYPE_CHECKING:
    from .tracker import Tracker


class KnownMove(NamedTuple):
    """A move of a Pokémon or of the menu."""

    id: str
    """"" if the menu has a move that no vocabulary knows."""
    pp: int
    max_pp: int
    disabled: bool = False
    """Only in menus."""


class PokemonState(NamedTuple):
    """What is known of one Pokémon. Names are ids; None means unknown, "" known absent."""

    nickname: str | None
    exists: bool
    seen: bool
    """The other side has seen it."""
    active: bool
    fainted: bool
    hp: int
    max_hp: int
    """The scale of `hp`: its own largest hp, or 100 or 48 where a foe's hp is shown in parts."""
    hp_exact: bool
    level: int
    gender: str
    """ "", "M" or "F"."""
    species: str | None
    """What it looks like now, transformed or in another forme."""
    types: tuple[str, ...]
    ability: str | None
    item: str | None
    item_lost: bool
    tera_type: str | None
    terastallized: bool
    gimmick: bool
    """Mega-evolved, ultra-bursted or dynamaxed."""
    transformed: bool
    status: str | None
    status_turns: int
    """Turns on the field with the status; of a toxic Pokémon since it came in; of a sleeping one, turns that it slept."""
    field_turns: int
    last_move: str | None
    """Since it came in."""
    stats: tuple[int, ...]
    """Actual hp, atk, def, spa, spd, spe; zeros for a foe."""
    stages: tuple[int, ...]
    """atk, def, spa, spd, spe, accuracy, evasion, -6 to 6."""
    moves: tuple[KnownMove, ...]
    """Its own moves, as far as they are known."""
    temporary_moves: tuple[KnownMove, ...]
    """What it has instead until it leaves (Transform, Mimic); () if nothing."""


class SideState(NamedTuple):
    """One side of a battle."""

    player: str
    pokemon: tuple[PokemonState, ...]
    """Six: own by fixed slot, the foe's by preview or appearance."""
    active: int | None
    """Index of the active one."""
    team_size: int
    conditions: dict[str, int]
    """Side conditions with their layers, for example {"spikes": 2}; a fresh dict in each snapshot."""
    volatiles: dict[str, int]
    """Volatile conditions of the active Pokémon, with counts for "perish" and "protect"."""
    others: tuple[str, ...]
    """Names behind "other" in `volatiles`."""
    spent: tuple[str, ...]
    """Gimmicks it has used: "mega", "z", "dynamax", "tera"."""


class BattleState(NamedTuple):
    """What one seat, or a spectator, knows of a battle at one moment."""

    gen: int
    perspective: int | None
    turn: int
    own: SideState
    foe: SideState
    weather: str
    """Id, "none" without weather."""
    weather_turns: int
    terrain: str
    terrain_turns: int
    rooms: tuple[str, ...]
    """Of "trickroom", "gravity", "magicroom", "wonderroom"."""
    preview: bool
    forced_switch: bool
    trapped: bool
    maybe_trapped: bool
    menu: tuple[KnownMove, ...]
    """Moves of the last request."""
    offered: tuple[str, ...]
    """Gimmicks that the own side still has."""
    winner: str | None
    """Name of the winner, "" after a tie, None while the battle goes on."""
    numbers: tuple[int, ...]
    """The whole state as the tracker keeps it (`tracker/layout.py`), for exact comparisons."""


def battle_state(tracker: Tracker) -> BattleState:
    """Snapshot of a tracker."""
    values = tracker.values
    menu = tuple(
        KnownMove(
            _name("moves", values[MENU + k]) or "",
            values[MENU + MENU_PP + k],
            values[MENU + MENU_PP_MAX + k],
            bool(values[MENU + MENU_DISABLED + k]),
        )
        for k in range(4)
        if values[MENU + k] != 1
    )
    return BattleState(
        tracker.gen,
        tracker.perspective,
        values[TURN],
        _side(tracker, 0),
        _side(tracker, 1),
        WEATHERS[values[WEATHER]],
        values[WEATHER_TURNS],
        TERRAINS[values[TERRAIN]],
        values[TERRAIN_TURNS],
        tuple(name for k, name in enumerate(ROOMS) if values[ROOM + k]),
        bool(values[PREVIEW]),
        bool(values[FORCED]),
        bool(values[TRAPPED]),
        bool(values[MAYBE_TRAPPED]),
        menu,
        tuple(name for k, name in enumerate(GIMMICKS) if values[OFFERED + k]),
        tracker.winner,
        tuple(values),
    )


def _name(kind: Kind, number: int) -> str | None:
    return None if number == 0 else names_of(kind)[number]


def _side(tracker: Tracker, side: int) -> SideState:
    values = tracker.values
    active = values[ACTIVE_ROW + side]
    conditions, volatile = SIDE + side * SIDE_SIZE, VOLATILE + side * VOLATILE_SIZE
    return SideState(
        tracker.players[side],
        tuple(_pokemon(tracker, row) for row in range(6 * side, 6 * side + 6)),
        None if active < 0 else active - 6 * side,
        values[TEAM_SIZE + side],
        {name: values[conditions + k] for k, name in enumerate(SIDE_CONDITIONS) if values[conditions + k]},
        {name: values[volatile + k] for k, name in enumerate(VOLATILES) if values[volatile + k]},
        tuple(sorted(tracker.others[side])),
        tuple(name for k, name in enumerate(GIMMICKS) if values[SPENT + 4 * side + k]),
    )


def _pokemon(tracker: Tracker, row: int) -> PokemonState:
    values = tracker.values[row * ROW : row * ROW + ROW]
    return PokemonState(
        tracker.nicknames[row],
        bool(values[EXISTS]),
        bool(values[SEEN]),
        bool(values[ACTIVE]),
        bool(values[FAINTED]),
        values[HP],
        values[HP_MAX],
        bool(values[HP_EXACT]),
        values[LEVEL],
        ("", "M", "F")[values[GENDER]],
        _name("species", values[SPECIES]),
        tuple(names_of("types")[number] for number in (values[TYPE_1], values[TYPE_2]) if number > 1),
        _name("abilities", values[ABILITY]),
        _name("items", values[ITEM]),
        bool(values[ITEM_LOST]),
        _name("types", values[TERA]),
        bool(values[TERASTALLIZED]),
        bool(values[GIMMICK]),
        bool(values[TRANSFORMED]),
        _name("statuses", values[STATUS]),
        values[STATUS_TURNS],
        values[FIELD_TURNS],
        _name("moves", values[LAST_MOVE]),
        tuple(values[STATS : STATS + 6]),
        tuple(values[STAGES : STAGES + 7]),
        _moves(values[MOVES : MOVES + 12].tolist(), values[NUM_MOVES]),
        _moves(values[TEMPORARY : TEMPORARY + 12].tolist(), values[NUM_TEMPORARY]),
    )


def _moves(block: list[int], count: int) -> tuple[KnownMove, ...]:
    return tuple(KnownMove(names_of("moves")[block[k]], block[PP + k], block[PP_MAX + k]) for k in range(count))
