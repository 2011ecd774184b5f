"""What a tracker knows, as immutable values by name: `Tracker.snapshot()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..vocab import Kind, names_of
from . import layout as at

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
            _name("moves", values[at.MENU + k]) or "",
            values[at.MENU + at.MENU_PP + k],
            values[at.MENU + at.MENU_PP_MAX + k],
            bool(values[at.MENU + at.MENU_DISABLED + k]),
        )
        for k in range(4)
        if values[at.MENU + k] != 1
    )
    return BattleState(
        tracker.gen,
        tracker.perspective,
        values[at.TURN],
        _side(tracker, 0),
        _side(tracker, 1),
        at.WEATHERS[values[at.WEATHER]],
        values[at.WEATHER_TURNS],
        at.TERRAINS[values[at.TERRAIN]],
        values[at.TERRAIN_TURNS],
        tuple(name for k, name in enumerate(at.ROOMS) if values[at.ROOM + k]),
        bool(values[at.PREVIEW]),
        bool(values[at.FORCED]),
        bool(values[at.TRAPPED]),
        bool(values[at.MAYBE_TRAPPED]),
        menu,
        tuple(name for k, name in enumerate(at.GIMMICKS) if values[at.OFFERED + k]),
        tracker.winner,
        tuple(values),
    )


def _name(kind: Kind, number: int) -> str | None:
    return None if number == 0 else names_of(kind)[number]


def _side(tracker: Tracker, side: int) -> SideState:
    values = tracker.values
    active = values[at.ACTIVE_ROW + side]
    conditions, volatile = at.SIDE + side * at.SIDE_SIZE, at.VOLATILE + side * at.VOLATILE_SIZE
    return SideState(
        tracker.players[side],
        tuple(_pokemon(tracker, row) for row in range(6 * side, 6 * side + 6)),
        None if active < 0 else active - 6 * side,
        values[at.TEAM_SIZE + side],
        {name: values[conditions + k] for k, name in enumerate(at.SIDE_CONDITIONS) if values[conditions + k]},
        {name: values[volatile + k] for k, name in enumerate(at.VOLATILES) if values[volatile + k]},
        tuple(sorted(tracker.others[side])),
        tuple(name for k, name in enumerate(at.GIMMICKS) if values[at.SPENT + 4 * side + k]),
    )


def _pokemon(tracker: Tracker, row: int) -> PokemonState:
    values = tracker.values[row * at.ROW : row * at.ROW + at.ROW]
    return PokemonState(
        tracker.nicknames[row],
        bool(values[at.EXISTS]),
        bool(values[at.SEEN]),
        bool(values[at.ACTIVE]),
        bool(values[at.FAINTED]),
        values[at.HP],
        values[at.HP_MAX],
        bool(values[at.HP_EXACT]),
        values[at.LEVEL],
        ("", "M", "F")[values[at.GENDER]],
        _name("species", values[at.SPECIES]),
        tuple(names_of("types")[number] for number in (values[at.TYPE_1], values[at.TYPE_2]) if number > 1),
        _name("abilities", values[at.ABILITY]),
        _name("items", values[at.ITEM]),
        bool(values[at.ITEM_LOST]),
        _name("types", values[at.TERA]),
        bool(values[at.TERASTALLIZED]),
        bool(values[at.GIMMICK]),
        bool(values[at.TRANSFORMED]),
        _name("statuses", values[at.STATUS]),
        values[at.STATUS_TURNS],
        values[at.FIELD_TURNS],
        _name("moves", values[at.LAST_MOVE]),
        tuple(values[at.STATS : at.STATS + 6]),
        tuple(values[at.STAGES : at.STAGES + 7]),
        _moves(values[at.MOVES : at.MOVES + 12].tolist(), values[at.NUM_MOVES]),
        _moves(values[at.TEMPORARY : at.TEMPORARY + 12].tolist(), values[at.NUM_TEMPORARY]),
    )


def _moves(block: list[int], count: int) -> tuple[KnownMove, ...]:
    return tuple(KnownMove(names_of("moves")[block[k]], block[at.PP + k], block[at.PP_MAX + k]) for k in range(count))
