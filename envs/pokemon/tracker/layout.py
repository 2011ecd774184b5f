"""Where a tracker keeps what: offsets into its array of int32.

A tracker is one flat array, so that it can be copied, compared and encoded without walking through objects. It holds twelve rows of
`ROW` numbers (0-5 the own team, 6-11 the foe's), two blocks of volatile conditions, two of side conditions, the field, and the menu of
moves in the last request. Ids are numbers of vocabularies: 0 unknown, 1 absent.
"""

from __future__ import annotations

# One Pokémon. Offsets into its row.
EXISTS = 0
SEEN = 1
ACTIVE = 2
FAINTED = 3
HP = 4
HP_MAX = 5
HP_EXACT = 6
LEVEL = 7
SPECIES = 8
ABILITY = 9
ITEM = 10
TYPE_1 = 11
TYPE_2 = 12
TERA = 13
STATUS = 14
STATUS_TURNS = 15
"""Turns on the field with the status; of a toxic Pokémon since it came in; of a sleeping one, turns that it slept."""
FIELD_TURNS = 16
LAST_MOVE = 17
TERASTALLIZED = 18
GIMMICK = 19
"""Mega-evolved, ultra-bursted or dynamaxed."""
TRANSFORMED = 20
ITEM_LOST = 21
GENDER = 22
"""0 none or unknown, 1 male, 2 female."""
STATS = 23
"""Six: its actual hp, atk, def, spa, spd, spe (own only)."""
STAGES = 29
"""Seven: atk, def, spa, spd, spe, accuracy, evasion."""
MOVES = 36
"""Four ids of its own moves, then four pp left, then four largest pp."""
NUM_MOVES = 48
TEMPORARY = 49
"""The same twelve for moves that it has until it leaves (Transform, Mimic)."""
NUM_TEMPORARY = 61
BASE_SPECIES = 62
"""What it is again when it leaves."""
BASE_ABILITY = 63
ROW = 64

PP = 4
"""Offset of pp left behind move ids, in `MOVES` and `TEMPORARY`."""
PP_MAX = 8

# Volatile conditions of the active Pokémon, per side, in the order of the observation.
VOLATILE = 12 * ROW
VOLATILE_SIZE = 32
VOLATILES = (
    "confusion", "leechseed", "substitute", "taunt", "encore", "disable", "torment", "attract", "yawn", "perish", "curse", "ingrain",
    "aquaring", "focusenergy", "magnetrise", "protect", "partiallytrapped", "mustrecharge", "lockedmove", "charging", "choicelock",
    "flashfire", "healblock", "typechange", "saltcure", "other",
)  # fmt: skip
PERISH = VOLATILES.index("perish")
SUBSTITUTE = VOLATILES.index("substitute")
PROTECT = VOLATILES.index("protect")
TRAPPED_PARTIALLY = VOLATILES.index("partiallytrapped")
MUST_RECHARGE = VOLATILES.index("mustrecharge")
LOCKED = VOLATILES.index("lockedmove")
CHARGING = VOLATILES.index("charging")
CHOICE_LOCK = VOLATILES.index("choicelock")
TYPE_CHANGE = VOLATILES.index("typechange")
OTHER_VOLATILE = VOLATILES.index("other")
DISABLED_MOVE = 26
"""The move that Disable forbids."""

# Conditions of a side, in the order of the observation.
SIDE = VOLATILE + 2 * VOLATILE_SIZE
SIDE_SIZE = 16
SIDE_CONDITIONS = (
    "stealthrock", "spikes", "toxicspikes", "stickyweb", "reflect", "lightscreen", "auroraveil", "tailwind", "safeguard", "mist",
    "wish", "futuremove", "healingwish", "other",
)  # fmt: skip
LAYERS = {"spikes": 3, "toxicspikes": 2}
SPIKES = SIDE_CONDITIONS.index("spikes")
TOXIC_SPIKES = SIDE_CONDITIONS.index("toxicspikes")
WISH = SIDE_CONDITIONS.index("wish")
FUTURE_MOVE = SIDE_CONDITIONS.index("futuremove")
HEALING_WISH = SIDE_CONDITIONS.index("healingwish")
OTHER_SIDE = SIDE_CONDITIONS.index("other")

# The field, and what the last request said.
FIELD = SIDE + 2 * SIDE_SIZE
WEATHERS = (
    "none",
    "raindance",
    "sunnyday",
    "sandstorm",
    "hail",
    "snowscape",
    "primordialsea",
    "desolateland",
    "deltastream",
)
TERRAINS = ("none", "electricterrain", "grassyterrain", "mistyterrain", "psychicterrain")
ROOMS = ("trickroom", "gravity", "magicroom", "wonderroom")
WEATHER = FIELD
WEATHER_TURNS = FIELD + 1
TERRAIN = FIELD + 2
TERRAIN_TURNS = FIELD + 3
ROOM = FIELD + 4
"""Four flags in the order of `ROOMS`."""
TURN = FIELD + 8
PREVIEW = FIELD + 9
FORCED = FIELD + 10
"""The request asks for a replacement."""
WAITING = FIELD + 11
TRAPPED = FIELD + 12
MAYBE_TRAPPED = FIELD + 13
TEAM_SIZE = FIELD + 14
"""Two."""
GIMMICKS = ("mega", "z", "dynamax", "tera")
OFFERED = FIELD + 16
"""Four: the own side's gimmicks that were offered and are not spent."""
SPENT = FIELD + 20
"""Twice four: gimmicks that the own side and the foe have used."""
ACTIVE_ROW = FIELD + 28
"""Two: row of the active Pokémon of a side, -1 before the first."""
GENERATION = FIELD + 30
SEAT = FIELD + 31

# The menu of the last request: four moves.
MENU = FIELD + 32
MENU_DISABLED = 4
MENU_PP = 8
MENU_PP_MAX = 12
MENU_SIZE = 16
SIZE = MENU + MENU_SIZE
