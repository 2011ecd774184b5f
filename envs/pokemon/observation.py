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

from . import columns as col
from .dex import SPECIAL, STATUS, TARGETS, dex
from .tracker import Tracker
from .tracker import layout as seen
from .tracker.layout import STATUS as TRACKED_STATUS
from .vocab import vocabulary

Array = np.ndarray[Any, np.dtype[Any]]

ENCODER_VERSION = 1
"""Part of the key of cached observations; grows when a number changes its meaning."""
TYPES = 20
"""Places of a multi-hot of types: unknown, then all."""
STATUSES = 8
"""Places of a one-hot of statuses: unknown, healthy, then all."""
FLAT_SIZE = col.ENTITY_SIZE - col.POKEMON_AT + col.POKEMON * (TYPES + STATUSES)
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
_UNAIMED = {"self", "foeSide", "allySide", "all", "adjacentAlly", "adjacentAllyOrSelf", "allies", "allyTeam"}

# Places of ids that the kernel knows by name.
_LEVITATE, _MAGIC_GUARD, _BOOTS, _BALLOON, _BAND, _SPECS, _SCARF, _FLYING, _ROCK = range(9)


def entity_spec() -> ObservationSpec:
    """Shape and segments of `entity`. Ids reach 1,518; all other numbers lie in [-1, 1]."""
    return ObservationSpec(
        "entity", (col.ENTITY_SIZE,), "float32", flat_segments(col.ENTITY_PARTS), -1.0, _largest_id()
    )


def flat_spec() -> ObservationSpec:
    """Shape and segments of `flat`: `entity` without ids, then types and statuses of the twelve Pokémon as bits."""
    parts = {name: size for name, size in col.ENTITY_PARTS.items() if not name.endswith("ids")}
    segments = flat_segments(parts | {"types_and_statuses": col.POKEMON * (TYPES + STATUSES)})
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
    flags = [hazard if name == "hazard" else getattr(table, f"move_{name}") > 0 for name in col.FLAG_FIELDS]
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
    for row in range(col.POKEMON):
        if v[row * seen.ROW + seen.EXISTS]:
            _write_ids(v, row, alpha, out)
            _write_pokemon(v, row, out, stats, chart, special)
        else:
            # 1 is "none" in every vocabulary: there is no Pokémon
            out[row * col.IDS : row * col.IDS + col.IDS] = 1
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
    block, count = seen.MOVES, v[start + seen.NUM_MOVES]
    if v[start + seen.NUM_TEMPORARY]:
        block, count = seen.TEMPORARY, v[start + seen.NUM_TEMPORARY]
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
    start, at = row * seen.ROW, row * col.IDS
    out[at + col.SPECIES_ID] = v[start + seen.SPECIES]
    out[at + col.ABILITY_ID] = v[start + seen.ABILITY]
    out[at + col.ITEM_ID] = v[start + seen.ITEM]
    out[at + col.TYPE_1_ID] = v[start + seen.TYPE_1]
    out[at + col.TYPE_2_ID] = v[start + seen.TYPE_2]
    out[at + col.TERA_ID] = v[start + seen.TERA]
    out[at + col.STATUS_ID] = v[start + TRACKED_STATUS]
    out[at + col.LAST_MOVE_ID] = v[start + seen.LAST_MOVE]
    own = (
        row < 6 and v[start + seen.NUM_MOVES] > 0 and v[start + seen.STATS] > 0
    )  # a request has named all of its moves
    _write_known_moves(v, start, alpha, out, at + col.MOVES_ID, 1 if own else 0)


@batch_kernel
def _best(v: Array, attacker: int, defender: int, chart: Array) -> float:
    """Multiplier of the attacker's best own type on the defender."""
    best = 0.0
    one, two = v[defender + seen.TYPE_1], v[defender + seen.TYPE_2]
    for offset in (seen.TYPE_1, seen.TYPE_2):
        # 0 and 1 are "unknown" and "none"
        kind = v[attacker + offset]
        if kind > 1:
            best = max(best, chart[kind, one] * chart[kind, two])
    return best


@batch_kernel
def _hazards(v: Array, row: int, chart: Array, special: Array) -> float:
    """Share of hp that entry hazards would take."""
    start, side = row * seen.ROW, seen.SIDE + (row // 6) * seen.SIDE_SIZE
    # Heavy-Duty Boots, Magic Guard
    if v[start + seen.ITEM] == special[_BOOTS] or v[start + seen.ABILITY] == special[_MAGIC_GUARD]:
        return 0.0
    one, two = v[start + seen.TYPE_1], v[start + seen.TYPE_2]
    share = 0.0
    if v[side]:
        # Stealth Rock takes an eighth, times how well rock fares
        share += chart[special[_ROCK], one] * chart[special[_ROCK], two] / 8
    flies = one == special[_FLYING] or two == special[_FLYING] or v[start + seen.ABILITY] == special[_LEVITATE]
    flies = flies or v[start + seen.ITEM] == special[_BALLOON]
    # gravity brings everybody down
    if v[side + seen.SPIKES] and (not flies or v[seen.ROOM + 1]):
        # 1/8, 1/6 and 1/4 for one to three layers of Spikes
        share += 1 / (10 - 2 * v[side + seen.SPIKES])
    return min(1.0, share)


@batch_kernel
def _write_pokemon(v: Array, row: int, out: Array, stats: Array, chart: Array, special: Array) -> None:
    start, at = row * seen.ROW, col.POKEMON_AT + row * col.POKEMON_NUMBERS
    out[at + col.POKEMON_EXISTS] = 1
    out[at + col.POKEMON_SEEN] = v[start + seen.SEEN]
    out[at + col.POKEMON_ACTIVE] = v[start + seen.ACTIVE]
    out[at + col.POKEMON_FAINTED] = v[start + seen.FAINTED]
    # in hp where it is known exactly, else in percent; as a share it is the same
    out[at + col.POKEMON_HP] = _clip(v[start + seen.HP] / max(1, v[start + seen.HP_MAX]))
    out[at + col.POKEMON_HP_EXACT] = v[start + seen.HP_EXACT]
    out[at + col.POKEMON_LEVEL] = _clip(v[start + seen.LEVEL] / 100)
    for k in range(6):
        out[at + col.POKEMON_BASE_STATS + k] = _clip(stats[v[start + seen.SPECIES], k])
        out[at + col.POKEMON_STATS + k] = _clip(v[start + seen.STATS + k] / 500)
    for k in range(7):
        out[at + col.POKEMON_STAGES + k] = v[start + seen.STAGES + k] / 6
    out[at + col.POKEMON_STATUS_TURNS] = _clip(max(0, v[start + seen.STATUS_TURNS]) / 8)
    out[at + col.POKEMON_FIELD_TURNS] = _clip(v[start + seen.FIELD_TURNS] / 8)
    if row < 6 and v[start + seen.ACTIVE]:
        out[at + col.POKEMON_TRAPPED] = v[seen.TRAPPED]
        # only the own active one: requests say nothing of the foe
        out[at + col.POKEMON_MAYBE_TRAPPED] = v[seen.MAYBE_TRAPPED]
    out[at + col.POKEMON_TERASTALLIZED] = v[start + seen.TERASTALLIZED]
    out[at + col.POKEMON_GIMMICK] = v[start + seen.GIMMICK]
    out[at + col.POKEMON_TRANSFORMED] = v[start + seen.TRANSFORMED]
    out[at + col.POKEMON_ITEM_LOST] = v[start + seen.ITEM_LOST]
    count = v[start + seen.NUM_TEMPORARY]
    out[at + col.POKEMON_KNOWN_MOVES] = (count if count else v[start + seen.NUM_MOVES]) / 4
    out[at + col.POKEMON_MALE] = v[start + seen.GENDER] == 1
    out[at + col.POKEMON_FEMALE] = v[start + seen.GENDER] == 2
    if v[start + seen.SPECIES] == 0:
        return
    out[at + col.POKEMON_HAZARDS] = _hazards(v, row, chart, special)
    # unknown species have no types to compare with
    opposing = v[seen.ACTIVE_ROW + (1 if row < 6 else 0)]
    if opposing >= 0:
        out[at + col.POKEMON_BEST] = _best(v, start, opposing * seen.ROW, chart) / 4
        out[at + col.POKEMON_BEST_AGAINST] = _best(v, opposing * seen.ROW, start, chart) / 4


@batch_kernel
def _write_volatile(v: Array, side: int, out: Array, special: Array) -> None:
    start, at = seen.VOLATILE + side * seen.VOLATILE_SIZE, col.VOLATILE_AT + side * col.VOLATILE_NUMBERS
    for k in range(col.VOLATILE_NUMBERS):
        # counters up to 3; the other columns are flags
        out[at + k] = _clip(v[start + k] / 3 if k in (seen.PERISH, seen.PROTECT) else v[start + k])
    active = v[seen.ACTIVE_ROW + side] * seen.ROW
    if active >= 0 and not v[active + seen.FAINTED] and v[active + seen.LAST_MOVE] > 1 and not v[active + seen.GIMMICK]:
        item = v[active + seen.ITEM]
        # a Choice item locks into the last move, unless a gimmick is on
        out[at + seen.CHOICE_LOCK] = item == special[_BAND] or item == special[_SPECS] or item == special[_SCARF]


@batch_kernel
def _write_moves(v: Array, mask: Array, alpha: bool, out: Array, moves: Array, chart: Array) -> None:
    own, foe = v[seen.ACTIVE_ROW] * seen.ROW, v[seen.ACTIVE_ROW + 1] * seen.ROW
    # rows 0 to 3: the own menu, as it can be chosen from; rows 4 to 7: what is known of the foe's moves
    for k in range(4):
        out[col.MOVE_IDS_AT + k] = v[seen.MENU + k]
        at = col.MOVES_AT + k * col.MOVE_NUMBERS
        # 1: no such place in the menu
        if v[seen.MENU + k] != 1:
            out[at + col.MOVE_LEGAL] = mask[k]
            out[at + col.MOVE_DISABLED] = v[seen.MENU + seen.MENU_DISABLED + k]
            out[at + col.MOVE_PP] = _clip(v[seen.MENU + seen.MENU_PP + k] / max(1, v[seen.MENU + seen.MENU_PP_MAX + k]))
            _write_move(v, v[seen.MENU + k], own, foe, out, at, moves, chart)
    if foe < 0:
        return
    count = _write_known_moves(v, foe, alpha, out, col.MOVE_IDS_AT + 4, 0)
    block = seen.TEMPORARY if v[foe + seen.NUM_TEMPORARY] else seen.MOVES
    disabled = v[seen.VOLATILE + seen.VOLATILE_SIZE + seen.DISABLED_MOVE]
    for k in range(count):
        move, at = int(out[col.MOVE_IDS_AT + 4 + k]), col.MOVES_AT + (4 + k) * col.MOVE_NUMBERS
        out[at + col.MOVE_DISABLED] = move == disabled
        for place in range(foe + block, foe + block + 4):
            if v[place] == move:
                out[at + col.MOVE_PP] = _clip(v[place + seen.PP] / max(1, v[place + seen.PP_MAX]))
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
        effectiveness = chart[kind, v[target + seen.TYPE_1]] * chart[kind, v[target + seen.TYPE_2]]
    same = user >= 0 and (v[user + seen.TYPE_1] == kind or v[user + seen.TYPE_2] == kind)
    out[at + col.MOVE_KNOWN] = 1
    out[at + col.MOVE_POWER] = _clip(power / 150)
    out[at + col.MOVE_ACCURACY] = moves[move, _ACCURACY]
    out[at + col.MOVE_PRIORITY] = _clip(moves[move, _PRIORITY] / 5)
    out[at + col.MOVE_PHYSICAL] = category == 0
    out[at + col.MOVE_SPECIAL] = category == SPECIAL
    out[at + col.MOVE_STATUS] = category == STATUS
    out[at + col.MOVE_SAME_TYPE] = same
    out[at + col.MOVE_EFFECTIVENESS] = _clip(effectiveness / 4)
    out[at + col.MOVE_IMMUNE] = effectiveness == 0
    # a rough expectation of the damage; 600 is 150 times an effectiveness of 4
    out[at + col.MOVE_DAMAGE] = _clip(power * moves[move, _ACCURACY] * (1.5 if same else 1.0) * effectiveness / 600)
    for k in range(len(col.FLAG_FIELDS)):
        out[at + col.MOVE_FLAGS + k] = moves[move, _FLAGS + k]


@batch_kernel
def _write_field(v: Array, mask: Array, wait: bool, redecision: bool, out: Array) -> None:
    out[col.WEATHER_AT + v[seen.WEATHER]] = 1
    out[col.WEATHER_TURNS_AT] = _clip(v[seen.WEATHER_TURNS] / 8)
    out[col.TERRAIN_AT + v[seen.TERRAIN]] = 1
    out[col.TERRAIN_TURNS_AT] = _clip(v[seen.TERRAIN_TURNS] / 8)
    for k in range(4):
        out[col.ROOMS_AT + k] = v[seen.ROOM + k]
    for side in range(2):
        start, to = seen.SIDE + side * seen.SIDE_SIZE, col.SIDES_AT + col.SIDE_NUMBERS * side
        for k in range(col.SIDE_NUMBERS):
            out[to + k] = v[start + k] > 0
        # layers instead of flags
        out[to + seen.SPIKES] = v[start + seen.SPIKES] / 3
        out[to + seen.TOXIC_SPIKES] = v[start + seen.TOXIC_SPIKES] / 2
    out[col.TURN_AT] = _clip(v[seen.TURN] / 100)
    out[col.GENERATION_AT] = v[seen.GENERATION] / 9
    out[col.PREVIEW_AT] = v[seen.PREVIEW]
    out[col.FORCED_AT] = v[seen.FORCED]
    out[col.WAIT_AT] = wait or v[seen.WAITING]
    out[col.REDECISION_AT] = redecision
    for k in range(4):
        out[col.OFFERED_AT + k] = v[seen.OFFERED + k]
        out[col.SPENT_AT + k] = v[seen.SPENT + 4 + k]
    for row in range(col.POKEMON):
        start = row * seen.ROW
        if v[start + seen.EXISTS]:
            # two entries, one for each side
            out[col.UNFAINTED_AT + row // 6] += (1 - v[start + seen.FAINTED]) / 6
            if row >= 6:
                out[col.FOES_SEEN_AT] += v[start + seen.SEEN] / 6
    out[col.TEAM_SIZES_AT] = v[seen.TEAM_SIZE] / 6
    out[col.TEAM_SIZES_AT + 1] = v[seen.TEAM_SIZE + 1] / 6
    # actions 4 to 9 are switches
    for action in range(4, 10):
        if mask[action]:
            out[col.CAN_SWITCH_AT] = 1
    out[col.SEAT_AT] = v[seen.SEAT]


def flat_of_entity(entity: Array) -> Array:
    """`flat` [..., 1116] of `entity` [..., 932], float32.

    Its last part has, for each of the twelve Pokémon, its types as bits (unknown, then all 19) and its status as bits (unknown, healthy,
    then all six).
    """
    shape = entity.shape[:-1]
    ids = entity[..., : col.MOVE_IDS_AT].reshape(*shape, col.POKEMON, col.IDS).astype(np.intp)
    types = np.arange(1, TYPES + 1)
    bits = np.zeros((*shape, col.POKEMON, TYPES + STATUSES), np.float32)
    for column in (col.TYPE_1_ID, col.TYPE_2_ID):
        bits[..., :TYPES] += np.where(
            # an unknown type has a place of its own; 1, "none", has none
            ids[..., column, None] == 0,
            types == 1,
            (ids[..., column, None] == types) & (types > 1),
        )
    np.minimum(bits, 1, out=bits)
    bits[..., TYPES:] = ids[..., col.STATUS_ID, None] == np.arange(STATUSES)
    return np.concatenate([entity[..., col.POKEMON_AT :], bits.reshape(*shape, -1)], axis=-1, dtype=np.float32)


def write_seed41(tracker: Tracker, out: Array) -> None:
    """Write `seed41` as the tracker knows it into `out`, (41,) float32."""
    v = tracker.values
    own, foe = (v[seen.ACTIVE_ROW + side] * seen.ROW for side in (0, 1))
    values: list[float] = [v[seen.TURN]]
    values += (
        [v[own + seen.SPECIES], v[own + seen.HP] / max(1, v[own + seen.HP_MAX]), v[own + TRACKED_STATUS]]
        if own >= 0
        else [0, 0, 0]
    )
    rows = range(0, 6 * seen.ROW, seen.ROW)
    values += [v[row + seen.HP] / max(1, v[row + seen.HP_MAX]) if v[row + seen.EXISTS] else 0 for row in rows]
    values += [v[row + TRACKED_STATUS] if v[row + seen.EXISTS] else 0 for row in rows]
    values += [v[row + seen.FAINTED] for row in rows]
    values += [v[foe + seen.SPECIES], v[foe + seen.HP] / max(1, v[foe + seen.HP_MAX])] if foe >= 0 else [0, 0]
    values += [v[6 * seen.ROW + row + seen.SEEN] for row in rows]
    values += [
        v[seen.WEATHER],
        v[seen.TERRAIN],
        *v[seen.SIDE : seen.SIDE + 4],
        *v[seen.SIDE + seen.SIDE_SIZE : seen.SIDE + seen.SIDE_SIZE + 4],
        0,
    ]
    out[:] = values
