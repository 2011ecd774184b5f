"""Where the observation `entity` keeps what: its segments, and the columns of their rows.

As `tracker.layout` for what the tracker knows. The kernels that write and read observations share these numbers.
"""

from __future__ import annotations

from itertools import accumulate

POKEMON = 12
"""Rows of ids and of Pokémon: 0 to 5 the own team, 6 to 11 the foe's."""
IDS = 12
POKEMON_NUMBERS = 40
VOLATILE_NUMBERS = 26
MOVE_ROWS = 8
"""The own menu, then what is known of the foe's moves."""
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
_, MOVE_IDS_AT, POKEMON_AT, VOLATILE_AT, MOVES_AT, FIELD_AT, ENTITY_SIZE = accumulate(ENTITY_PARTS.values(), initial=0)

# Ids of one Pokémon; four moves come last.
SPECIES_ID, ABILITY_ID, ITEM_ID, TYPE_1_ID, TYPE_2_ID, TERA_ID, STATUS_ID, LAST_MOVE_ID, MOVES_ID = range(9)

# One Pokémon.
POKEMON_EXISTS, POKEMON_SEEN, POKEMON_ACTIVE, POKEMON_FAINTED = 0, 1, 2, 3
POKEMON_HP, POKEMON_HP_EXACT, POKEMON_LEVEL = 4, 5, 6
POKEMON_BASE_STATS, POKEMON_STATS = 7, 13
"""Six each: hp, atk, def, spa, spd, spe."""
POKEMON_STAGES = 19
"""Seven: atk, def, spa, spd, spe, accuracy, evasion."""
POKEMON_STATUS_TURNS, POKEMON_FIELD_TURNS = 26, 27
POKEMON_TRAPPED, POKEMON_MAYBE_TRAPPED, POKEMON_TERASTALLIZED, POKEMON_GIMMICK = 28, 29, 30, 31
POKEMON_TRANSFORMED, POKEMON_ITEM_LOST, POKEMON_KNOWN_MOVES, POKEMON_MALE, POKEMON_FEMALE = 32, 33, 34, 35, 36
POKEMON_HAZARDS, POKEMON_BEST, POKEMON_BEST_AGAINST = 37, 38, 39

# One move.
MOVE_KNOWN, MOVE_LEGAL, MOVE_DISABLED, MOVE_POWER, MOVE_ACCURACY, MOVE_PP, MOVE_PRIORITY = range(7)
MOVE_PHYSICAL, MOVE_SPECIAL, MOVE_STATUS, MOVE_SAME_TYPE, MOVE_EFFECTIVENESS, MOVE_IMMUNE = range(7, 13)
MOVE_DAMAGE = 13
"""Power x accuracy x same type x effectiveness."""
MOVE_FLAGS = 14
FLAG_FIELDS = ("recoil", "heals", "raises_self", "lowers_target", "status", "hazard", "pivot", "protect")
"""Of a move, in the order of their columns; fields of `Dex`."""

# The field; unlike the columns above, places in the whole observation.
WEATHER_AT, WEATHER_TURNS_AT, TERRAIN_AT, TERRAIN_TURNS_AT, ROOMS_AT = (FIELD_AT + k for k in (0, 9, 10, 15, 16))
SIDES_AT, SIDE_NUMBERS = FIELD_AT + 20, 14
"""Own conditions, then the foe's, in the order of `tracker.layout.SIDE_CONDITIONS`."""
TURN_AT, GENERATION_AT, PREVIEW_AT, FORCED_AT, WAIT_AT, REDECISION_AT = range(FIELD_AT + 48, FIELD_AT + 54)
OFFERED_AT, SPENT_AT = FIELD_AT + 54, FIELD_AT + 58
"""Four each, in the order of `tracker.layout.GIMMICKS`: those that the own side may still use, those that the foe has used."""
UNFAINTED_AT, TEAM_SIZES_AT = FIELD_AT + 62, FIELD_AT + 64
"""Two each: own, foe."""
FOES_SEEN_AT, CAN_SWITCH_AT, SEAT_AT = FIELD_AT + 66, FIELD_AT + 67, FIELD_AT + 68
