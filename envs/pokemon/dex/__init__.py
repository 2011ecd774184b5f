"""Numbers of the pinned simulator's dex, a table for each generation, so that nothing but playing needs Node.

`make pokemon-dex` writes the files from an installed simulator. NOTICE.md has its licence.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import OptionError

Array = np.ndarray[Any, np.dtype[Any]]
FOLDER = Path(__file__).parent
GENERATIONS = range(1, 10)
STATS = ("hp", "atk", "def", "spa", "spd", "spe")
BOOSTS = ("atk", "def", "spa", "spd", "spe", "accuracy", "evasion")
PHYSICAL, SPECIAL, STATUS = range(3)
TARGETS = (
    "normal", "self", "any", "foeSide", "allySide", "all", "allAdjacent", "allAdjacentFoes", "adjacentFoe", "adjacentAlly",
    "adjacentAllyOrSelf", "allies", "allyTeam", "randomNormal", "scripted",
)  # fmt: skip
"""Whom a move aims at, as the simulator calls it; `Dex.move_target` indexes this."""


@dataclass(frozen=True, slots=True)
class Dex:
    """Species, moves and type chart of one generation, indexed by number (`vocabulary`); S species, M moves, rows 0 and 1 are 0.

    Entries of later generations are there, too, with the numbers that the simulator has for them.
    """

    species_stats: Array
    """int16 [S, 6]: base stats in the order of `STATS`."""
    species_types: Array
    """int8 [S, 2]: numbers of types; the second is 1 if there is none."""
    species_weight: Array
    """float32 [S]: kilograms."""
    species_ability: Array
    """int16 [S]: its ability if it can have one only, 0 if several, 1 in generations without abilities."""
    species_base: Array
    """int16 [S]: the species of which this is a forme, or itself."""
    species_gen: Array
    """int8 [S]: generation in which it appeared."""
    move_type: Array
    """int8 [M]: number of the type."""
    move_category: Array
    """int8 [M]: 0 physical, 1 special, 2 status."""
    move_power: Array
    """int16 [M]: base power; 0 for status moves and where a formula gives it."""
    move_accuracy: Array
    """float32 [M]: probability to hit, 1 if it cannot miss."""
    move_priority: Array
    """int8 [M]."""
    move_pp: Array
    """int16 [M]: largest number of uses (with PP Ups)."""
    move_target: Array
    """int8 [M]: index into `TARGETS`."""
    move_hits: Array
    """float32 [M]: expected hits of a use that connects."""
    move_min_hits: Array
    """int8 [M]."""
    move_max_hits: Array
    """int8 [M]."""
    move_status: Array
    """int8 [M]: number of the status that a hit may give the target, 0 if none."""
    move_status_chance: Array
    """float32 [M]: probability of that status."""
    move_self_boosts: Array
    """int8 [M, 7]: stages of the user that change at every use, in the order of `BOOSTS`."""
    move_target_boosts: Array
    """int8 [M, 7]: stages of the target that change at every use."""
    move_chance_self_boosts: Array
    """float32 [M, 7]: expected change of the user's stages by secondary effects."""
    move_chance_target_boosts: Array
    """float32 [M, 7]: expected change of the target's stages by secondary effects."""
    move_gen: Array
    """int8 [M]: generation in which it appeared."""
    move_recoil: Array
    """bool [M]: costs the user hp: recoil, crash, self-knock-out."""
    move_self_destruct: Array
    """bool [M]: the user faints."""
    move_heals: Array
    """bool [M]: drains, or heals the user or its side."""
    move_raises_self: Array
    """bool [M]: may raise a stage of the user."""
    move_lowers_target: Array
    """bool [M]: may lower a stage of the target."""
    move_hazard_set: Array
    """bool [M]: lays an entry hazard."""
    move_hazard_clear: Array
    """bool [M]: removes or swaps entry hazards."""
    move_pivot: Array
    """bool [M]: the user switches out."""
    move_protect: Array
    """bool [M]: guards the user for a turn."""
    move_phaze: Array
    """bool [M]: drags another Pokémon in."""
    move_charge: Array
    """bool [M]: takes a turn to charge."""
    move_recharge: Array
    """bool [M]: must recharge afterwards."""
    move_contact: Array
    """bool [M]."""
    move_sound: Array
    """bool [M]."""
    move_powder: Array
    """bool [M]."""
    move_ohko: Array
    """bool [M]: knocks out with one hit."""
    move_fixed_damage: Array
    """bool [M]: damage is the level or a fixed number."""
    move_gimmick: Array
    """bool [M]: a Z-move or Max Move, which no Pokémon has in its list."""
    move_pressed: Array
    """bool [M]: costs two uses against Pressure."""
    chart: Array
    """float32 [21, 21]: multiplier by type of the attack, type of the defender. Rows and columns 0 and 1 are 1."""
    rules: str
    """Name and version of the simulator."""
    lock_sha256: str
    """Of the lock file with which the simulator was installed."""


@cache
def dex(gen: int) -> Dex:
    """Table of a generation; its arrays are read-only.

    Raises:
        OptionError: the generation is not 1 to 9.
    """
    if gen not in GENERATIONS:
        raise OptionError(f"there is no generation {gen}: choose 1 to 9")
    tables = _tables()
    return Dex(**{field.name: tables[field.name][gen - GENERATIONS[0]] for field in fields(Dex)})


@cache
def _tables() -> dict[str, Any]:
    """By field, its values of all generations, which differ in few places."""
    with np.load(FOLDER / "dex.npz") as file:
        values = {name: file[name] for name in file.files}
    for name, value in values.items():
        value.setflags(write=False)
        if value.ndim == 1:
            values[name] = value.tolist()
    return values
