"""What a seat sees, as numbers: `entity` (932), `flat` (1116, a function of entity) and `seed41` (41), all from a tracker.

Everything stands in one row of float32; ids of vocabularies are whole numbers in it. `/k` in the manual means divided by k and clipped to
[-1, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ludory.envs import ObservationSpec, batch_kernel, flat_segments

from .dex import SPECIAL, STATUS, TARGETS, dex
from .tracker import Tracker
from .tracker.layout import (
    ABILITY,
    ACTIVE,
    ACTIVE_ROW,
    DISABLED_MOVE,
    EXISTS,
    FAINTED,
    FIELD_TURNS,
    FORCED,
    GENDER,
    GENERATION,
    GIMMICK,
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
    ROW,
    SEAT,
    SEEN,
    SIDE,
    SIDE_SIZE,
    SPECIES,
    SPENT,
    STAGES,
    STATS,
    STATUS_TURNS,
    TEAM_SIZE,
    TEMPORARY,
    TERA,
    TERASTALLIZED,
    TERRAIN,
    TERRAIN_TURNS,
    TRANSFORMED,
    TRAPPED,
    TURN,
    TYPE_1,
    TYPE_2,
    VOLATILE,
    VOLATILE_SIZE,
    WAITING,
    WEATHER,
    WEATHER_TURNS,
)  # fmt: skip
from .tracker.layout import STATUS as STATUS_ID
from .vocab import vocabulary

Array = np.ndarray[Any, np.dtype[Any]]

ENCODER_VERSION = 1
"""Part of the key of cached observations; grows when a number changes its meaning."""
POKEMON = 12
IDS = 12
POKEMON_NUMBERS = 40
VOLATILE_NUMBERS = 26
MOVE_ROWS = 8
MOVE_NUMBERS = 22
FIELD_NUMBERS = 72
ENTITY_PARTS = {
    "ids": POKEMON * IDS,
    "move_ids": MOVE_ROWS,
    "pokemon": POKEMON * POKEMON_NUMBERS,
    "volatile": 2 * VOLATILE_NUMBERS,
    "moves": MOVE_ROWS * MOVE_NUMBERS,
    "field": FIELD_NUMBERS,
}
"""Segments of `entity` and their lengths."""
MOVE_IDS_AT = POKEMON * IDS
POKEMON_AT = MOVE_IDS_AT + MOVE_ROWS
VOLATILE_AT = POKEMON_AT + POKEMON * POKEMON_NUMBERS
MOVES_AT = VOLATILE_AT + 2 * VOLATILE_NUMBERS
FIELD_AT = MOVES_AT + MOVE_ROWS * MOVE_NUMBERS
ENTITY_SIZE = FIELD_AT + FIELD_NUMBERS
TYPES = 20
"""Places of a multi-hot of types: unknown, then all."""
STATUSES = 8
"""Places of a one-hot of statuses: unknown, healthy, then all."""
FLAT_SIZE = ENTITY_SIZE - POKEMON_AT + POKEMON * (TYPES + STATUSES)
SEED41_PARTS = {
    "turn": 1, "active_species_id": 1, "active_hp": 1, "active_status": 1, "team_hp": 6, "team_status": 6, "team_fainted": 6,
    "opp_active_species_id": 1, "opp_active_hp": 1, "opp_team_revealed": 6, "weather_id": 1, "terrain_id": 1, "stealth_rock": 1,
    "spikes": 1, "toxic_spikes": 1, "sticky_web": 1, "opp_stealth_rock": 1, "opp_spikes": 1, "opp_toxic_spikes": 1, "opp_sticky_web": 1,
    "team_id": 1,
}  # fmt: skip
"""Fields of `seed41` and their lengths."""
SEED41_SIZE = sum(SEED41_PARTS.values())

# Columns of the kernel's table of moves.
_TYPE, _CATEGORY, _POWER, _ACCURACY, _PRIORITY, _AIMED = range(6)
_FLAGS = 6
_FLAG_FIELDS = ("recoil", "heals", "raises_self", "lowers_target", "status", "hazard", "pivot", "protect")
"""Columns 14 to 21 of an observed move."""
_UNAIMED = {"self", "foeSide", "allySide", "all", "adjacentAlly", "adjacentAllyOrSelf", "allies", "allyTeam"}

# Places of ids that the kernel knows by name.
_LEVITATE, _MAGIC_GUARD, _BOOTS, _BALLOON, _BAND, _SPECS, _SCARF, _FLYING, _ROCK = range(9)


def entity_spec() -> ObservationSpec:
    """Shape and segments of `entity`. Ids reach 1,518; all other numbers lie in [-1, 1]."""
    return ObservationSpec("entity", (ENTITY_SIZE,), "float32", flat_segments(ENTITY_PARTS), -1.0, _largest_id())


def flat_spec() -> ObservationSpec:
    """Shape and segments of `flat`: `entity` without ids, then types and statuses of the twelve Pokémon as bits."""
    parts = {name: size for name, size in ENTITY_PARTS.items() if not name.endswith("ids")}
    segments = flat_segments(parts | {"types_and_statuses": POKEMON * (TYPES + STATUSES)})
    return ObservationSpec("flat", (FLAT_SIZE,), "float32", segments, -1.0, 1.0)


def seed41_spec() -> ObservationSpec:
    """Shape and fields of `seed41`, raw values: hp as fractions, ids, turns and layers as they are."""
    return ObservationSpec("seed41", (SEED41_SIZE,), "float32", flat_segments(SEED41_PARTS), 0.0, _largest_id())


def _largest_id() -> float:
    return float(len(vocabulary("species")) + 1)


@cache
def _tables(gen: int) -> tuple[Array, Array, Array, Array]:
    """What the kernel reads: base stats [S, 6], moves [M, 14], type chart [21, 21], ids by `_LEVITATE` and so on."""
    table = dex(gen)
    aimed = np.array([name not in _UNAIMED for name in TARGETS])[table.move_target]
    hazard = table.move_hazard_set | table.move_hazard_clear
    flags = [hazard if name == "hazard" else getattr(table, f"move_{name}") > 0 for name in _FLAG_FIELDS]
    columns = [
        table.move_type,
        table.move_category,
        table.move_power,
        table.move_accuracy,
        table.move_priority,
        aimed,
        *flags,
    ]
    moves = np.stack([np.asarray(column, np.float32) for column in columns], axis=1)
    abilities, items, types = vocabulary("abilities"), vocabulary("items"), vocabulary("types")
    special = [abilities["levitate"], abilities["magicguard"], items["heavydutyboots"], items["airballoon"]]
    special += [items["choiceband"], items["choicespecs"], items["choicescarf"], types["flying"], types["rock"]]
    stats = (table.species_stats / np.float32(255)).astype(np.float32)
    return stats, np.ascontiguousarray(moves), table.chart.copy(), np.array(special, np.int32)


def write_entity(
    tracker: Tracker, mask: Sequence[bool] | Array, out: Array, *, wait: bool = False, redecision: bool = False
) -> None:
    """Write `entity` as the tracker knows it.

    Args:
        tracker: that has read everything up to the decision.
        mask: (A,) legal actions.
        out: (932,) float32, written in place.
        wait: the seat has nothing to decide.
        redecision: the seat decides again, after its choice was refused.
    """
    legal = np.asarray(mask, dtype=np.bool_)
    stats, moves, chart, special = _tables(tracker.gen)
    alpha = tracker.slot_order == "alpha"
    _write_entity(tracker.state, legal, wait, redecision, alpha, out, stats, moves, chart, special)


@batch_kernel
def _write_entity(
    v: Array,
    mask: Array,
    wait: bool,
    redecision: bool,
    alpha: bool,
    out: Array,
    stats: Array,
    moves: Array,
    chart: Array,
    special: Array,
) -> None:
    out[:] = 0
    for row in range(POKEMON):
        if v[row * ROW + EXISTS]:
            _write_ids(v, row, alpha, out)
            _write_pokemon(v, row, out, stats, chart, special)
        else:
            # 1 is "none" in every vocabulary: there is no Pokémon
            out[row * IDS : row * IDS + IDS] = 1
    for side in range(2):
        _write_volatile(v, side, out, special)
    _write_moves(v, mask, alpha, out, moves, chart)
    _write_field(v, mask, wait, redecision, out)


@batch_kernel
def _clip(value: float) -> float:
    return min(1.0, max(-1.0, value))


@batch_kernel
def _write_known_moves(v: Array, start: int, alpha: bool, out: Array, at: int, rest: int) -> int:
    """Ids of the moves that a Pokémon has now, then `rest`; returns how many are known."""
    block, count = MOVES, v[start + NUM_MOVES]
    if v[start + NUM_TEMPORARY]:
        block, count = TEMPORARY, v[start + NUM_TEMPORARY]
    for k in range(4):
        # own moves that are not there are "none", those of the foe "unknown"
        out[at + k] = v[start + block + k] if k < count else rest
    if alpha:  # ids sort as numbers do
        # insertion sort of four
        for k in range(1, count):
            j = k
            while j > 0 and out[at + j - 1] > out[at + j]:
                kept = out[at + j]
                out[at + j] = out[at + j - 1]
                out[at + j - 1] = kept
                j -= 1
    return int(count)


@batch_kernel
def _write_ids(v: Array, row: int, alpha: bool, out: Array) -> None:
    start, at = row * ROW, row * IDS
    out[at] = v[start + SPECIES]
    out[at + 1] = v[start + ABILITY]
    out[at + 2] = v[start + ITEM]
    out[at + 3] = v[start + TYPE_1]
    out[at + 4] = v[start + TYPE_2]
    out[at + 5] = v[start + TERA]
    out[at + 6] = v[start + STATUS_ID]
    out[at + 7] = v[start + LAST_MOVE]
    own = row < 6 and v[start + NUM_MOVES] > 0 and v[start + STATS] > 0  # a request has named all of its moves
    _write_known_moves(v, start, alpha, out, at + 8, 1 if own else 0)


@batch_kernel
def _best(v: Array, attacker: int, defender: int, chart: Array) -> float:
    """Multiplier of the attacker's best own type on the defender."""
    best = 0.0
    one, two = v[defender + TYPE_1], v[defender + TYPE_2]
    for offset in (TYPE_1, TYPE_2):
        # 0 and 1 are "unknown" and "none"
        kind = v[attacker + offset]
        if kind > 1:
            best = max(best, chart[kind, one] * chart[kind, two])
    return best


@batch_kernel
def _hazards(v: Array, row: int, chart: Array, special: Array) -> float:
    """Share of hp that entry hazards would take."""
    start, side = row * ROW, SIDE + (row // 6) * SIDE_SIZE
    # Heavy-Duty Boots, Magic Guard
    if v[start + ITEM] == special[_BOOTS] or v[start + ABILITY] == special[_MAGIC_GUARD]:
        return 0.0
    one, two = v[start + TYPE_1], v[start + TYPE_2]
    share = 0.0
    if v[side]:
        # Stealth Rock takes an eighth, times how well rock fares
        share += chart[special[_ROCK], one] * chart[special[_ROCK], two] / 8
    flies = one == special[_FLYING] or two == special[_FLYING] or v[start + ABILITY] == special[_LEVITATE]
    flies = flies or v[start + ITEM] == special[_BALLOON]
    # gravity brings everybody down
    if v[side + 1] and (not flies or v[ROOM + 1]):
        # 1/8, 1/6 and 1/4 for one to three layers of Spikes
        share += 1 / (10 - 2 * v[side + 1])
    return min(1.0, share)


@batch_kernel
def _write_pokemon(v: Array, row: int, out: Array, stats: Array, chart: Array, special: Array) -> None:
    start, at = row * ROW, POKEMON_AT + row * POKEMON_NUMBERS
    out[at] = 1
    out[at + 1] = v[start + SEEN]
    out[at + 2] = v[start + ACTIVE]
    out[at + 3] = v[start + FAINTED]
    # in hp where it is known exactly, else in percent; as a share it is the same
    out[at + 4] = _clip(v[start + HP] / max(1, v[start + HP_MAX]))
    out[at + 5] = v[start + HP_EXACT]
    out[at + 6] = _clip(v[start + LEVEL] / 100)
    for k in range(6):
        out[at + 7 + k] = _clip(stats[v[start + SPECIES], k])
        out[at + 13 + k] = _clip(v[start + STATS + k] / 500)
    for k in range(7):
        out[at + 19 + k] = v[start + STAGES + k] / 6
    out[at + 26] = _clip(max(0, v[start + STATUS_TURNS]) / 8)
    out[at + 27] = _clip(v[start + FIELD_TURNS] / 8)
    if row < 6 and v[start + ACTIVE]:
        out[at + 28] = v[TRAPPED]
        # only the own active one: requests say nothing of the foe
        out[at + 29] = v[MAYBE_TRAPPED]
    out[at + 30] = v[start + TERASTALLIZED]
    out[at + 31] = v[start + GIMMICK]
    out[at + 32] = v[start + TRANSFORMED]
    out[at + 33] = v[start + ITEM_LOST]
    count = v[start + NUM_TEMPORARY]
    out[at + 34] = (count if count else v[start + NUM_MOVES]) / 4
    out[at + 35] = v[start + GENDER] == 1
    out[at + 36] = v[start + GENDER] == 2
    if v[start + SPECIES] == 0:
        return
    out[at + 37] = _hazards(v, row, chart, special)
    # unknown species have no types to compare with
    opposing = v[ACTIVE_ROW + (1 if row < 6 else 0)]
    if opposing >= 0:
        out[at + 38] = _best(v, start, opposing * ROW, chart) / 4
        out[at + 39] = _best(v, opposing * ROW, start, chart) / 4


@batch_kernel
def _write_volatile(v: Array, side: int, out: Array, special: Array) -> None:
    start, at = VOLATILE + side * VOLATILE_SIZE, VOLATILE_AT + side * VOLATILE_NUMBERS
    for k in range(VOLATILE_NUMBERS):
        # counters up to 3; the other columns are flags
        out[at + k] = _clip(v[start + k] / 3 if k in (9, 15) else v[start + k])
    active = v[ACTIVE_ROW + side] * ROW
    if active >= 0 and not v[active + FAINTED] and v[active + LAST_MOVE] > 1 and not v[active + GIMMICK]:
        item = v[active + ITEM]
        # a Choice item locks into the last move, unless a gimmick is on
        out[at + 20] = item == special[_BAND] or item == special[_SPECS] or item == special[_SCARF]


@batch_kernel
def _write_moves(v: Array, mask: Array, alpha: bool, out: Array, moves: Array, chart: Array) -> None:
    own, foe = v[ACTIVE_ROW] * ROW, v[ACTIVE_ROW + 1] * ROW
    # rows 0 to 3: the own menu, as it can be chosen from; rows 4 to 7: what is known of the foe's moves
    for k in range(4):
        out[MOVE_IDS_AT + k] = v[MENU + k]
        at = MOVES_AT + k * MOVE_NUMBERS
        # 1: no such place in the menu
        if v[MENU + k] != 1:
            out[at + 1] = mask[k]
            out[at + 2] = v[MENU + MENU_DISABLED + k]
            out[at + 5] = _clip(v[MENU + MENU_PP + k] / max(1, v[MENU + MENU_PP_MAX + k]))
            _write_move(v, v[MENU + k], own, foe, out, at, moves, chart)
    if foe < 0:
        return
    count = _write_known_moves(v, foe, alpha, out, MOVE_IDS_AT + 4, 0)
    block = TEMPORARY if v[foe + NUM_TEMPORARY] else MOVES
    disabled = v[VOLATILE + VOLATILE_SIZE + DISABLED_MOVE]
    for k in range(count):
        move, at = int(out[MOVE_IDS_AT + 4 + k]), MOVES_AT + (4 + k) * MOVE_NUMBERS
        out[at + 2] = move == disabled
        for place in range(foe + block, foe + block + 4):
            if v[place] == move:
                out[at + 5] = _clip(v[place + PP] / max(1, v[place + PP_MAX]))
        _write_move(v, move, foe, own, out, at, moves, chart)


@batch_kernel
def _write_move(v: Array, move: int, user: int, target: int, out: Array, at: int, moves: Array, chart: Array) -> None:
    if move < 2:
        return
    kind, power = int(moves[move, _TYPE]), moves[move, _POWER]
    category = int(moves[move, _CATEGORY])
    effectiveness = 1.0
    if target >= 0 and moves[move, _AIMED]:
        # what is aimed at the field or the user has no effectiveness
        effectiveness = chart[kind, v[target + TYPE_1]] * chart[kind, v[target + TYPE_2]]
    same = user >= 0 and (v[user + TYPE_1] == kind or v[user + TYPE_2] == kind)
    out[at] = 1
    out[at + 3] = _clip(power / 150)
    out[at + 4] = moves[move, _ACCURACY]
    out[at + 6] = _clip(moves[move, _PRIORITY] / 5)
    out[at + 7] = category == 0
    out[at + 8] = category == SPECIAL
    out[at + 9] = category == STATUS
    out[at + 10] = same
    out[at + 11] = _clip(effectiveness / 4)
    out[at + 12] = effectiveness == 0
    # a rough expectation of the damage; 600 is 150 times an effectiveness of 4
    out[at + 13] = _clip(power * moves[move, _ACCURACY] * (1.5 if same else 1.0) * effectiveness / 600)
    for k in range(8):
        out[at + 14 + k] = moves[move, _FLAGS + k]


@batch_kernel
def _write_field(v: Array, mask: Array, wait: bool, redecision: bool, out: Array) -> None:
    at = FIELD_AT
    out[at + v[WEATHER]] = 1
    out[at + 9] = _clip(v[WEATHER_TURNS] / 8)
    out[at + 10 + v[TERRAIN]] = 1
    out[at + 15] = _clip(v[TERRAIN_TURNS] / 8)
    for k in range(4):
        out[at + 16 + k] = v[ROOM + k]
    for side in range(2):
        start, to = SIDE + side * SIDE_SIZE, at + 20 + 14 * side
        for k in range(14):
            out[to + k] = v[start + k] > 0
        # layers instead of flags
        out[to + 1] = v[start + 1] / 3
        out[to + 2] = v[start + 2] / 2
    out[at + 48] = _clip(v[TURN] / 100)
    out[at + 49] = v[GENERATION] / 9
    out[at + 50] = v[PREVIEW]
    out[at + 51] = v[FORCED]
    out[at + 52] = wait or v[WAITING]
    out[at + 53] = redecision
    for k in range(4):
        out[at + 54 + k] = v[OFFERED + k]
        out[at + 58 + k] = v[SPENT + 4 + k]
    for row in range(POKEMON):
        start = row * ROW
        if v[start + EXISTS]:
            # two entries, one for each side
            out[at + 62 + row // 6] += (1 - v[start + FAINTED]) / 6
            if row >= 6:
                out[at + 66] += v[start + SEEN] / 6
    out[at + 64] = v[TEAM_SIZE] / 6
    out[at + 65] = v[TEAM_SIZE + 1] / 6
    # actions 4 to 9 are switches
    for action in range(4, 10):
        if mask[action]:
            out[at + 67] = 1
    out[at + 68] = v[SEAT]


def flat_of_entity(entity: Array) -> Array:
    """`flat` [..., 1116] of `entity` [..., 932], float32.

    Its last part has, for each of the twelve Pokémon, its types as bits (unknown, then all 19) and its status as bits (unknown, healthy,
    then all six).
    """
    shape = entity.shape[:-1]
    ids = entity[..., :MOVE_IDS_AT].reshape(*shape, POKEMON, IDS).astype(np.intp)
    types = np.arange(1, TYPES + 1)
    bits = np.zeros((*shape, POKEMON, TYPES + STATUSES), np.float32)
    for column in (3, 4):
        bits[..., :TYPES] += np.where(
            # an unknown type has a place of its own; 1, "none", has none
            ids[..., column, None] == 0,
            types == 1,
            (ids[..., column, None] == types) & (types > 1),
        )
    np.minimum(bits, 1, out=bits)
    bits[..., TYPES:] = ids[..., 6, None] == np.arange(STATUSES)
    return np.concatenate([entity[..., POKEMON_AT:], bits.reshape(*shape, -1)], axis=-1, dtype=np.float32)


def write_seed41(tracker: Tracker, out: Array) -> None:
    """Write `seed41` as the tracker knows it into `out`, (41,) float32."""
    v = tracker.values
    own, foe = (v[ACTIVE_ROW + side] * ROW for side in (0, 1))
    values: list[float] = [v[TURN]]
    values += [v[own + SPECIES], v[own + HP] / max(1, v[own + HP_MAX]), v[own + STATUS_ID]] if own >= 0 else [0, 0, 0]
    rows = range(0, 6 * ROW, ROW)
    values += [v[row + HP] / max(1, v[row + HP_MAX]) if v[row + EXISTS] else 0 for row in rows]
    values += [v[row + STATUS_ID] if v[row + EXISTS] else 0 for row in rows]
    values += [v[row + FAINTED] for row in rows]
    values += [v[foe + SPECIES], v[foe + HP] / max(1, v[foe + HP_MAX])] if foe >= 0 else [0, 0]
    values += [v[6 * ROW + row + SEEN] for row in rows]
    values += [v[WEATHER], v[TERRAIN], *v[SIDE : SIDE + 4], *v[SIDE + SIDE_SIZE : SIDE + SIDE_SIZE + 4], 0]
    out[:] = values
