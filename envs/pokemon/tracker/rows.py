"""`TeamRows`: the numbers of both teams, who is who among them, and how they change."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..dex import Dex, dex
from ..vocab import numbers, vocabulary
from . import layout as at

SPECIES_NUMBERS, MOVE_NUMBERS = numbers("species"), numbers("moves")
ITEM_NUMBERS, ABILITY_NUMBERS = numbers("items"), numbers("abilities")
TYPE_NUMBERS, STATUS_NUMBERS = numbers("types"), numbers("statuses")
HIDDEN_POWERS = frozenset(number for name, number in vocabulary("moves").items() if name.startswith("hiddenpower"))
"""Requests write its type into the id, lines do not."""
_TWO_IN_ONE = frozenset((ABILITY_NUMBERS["asoneglastrier"], ABILITY_NUMBERS["asonespectrier"]))
"""Announced as the two abilities that they are."""
GRENINJA, GRENINJA_BOND = SPECIES_NUMBERS["greninja"], SPECIES_NUMBERS["greninjabond"]
_OWN_SCREENS = tuple(at.SIDE_CONDITIONS.index(name) for name in ("reflect", "lightscreen", "mist"))
_NO_STAGES = array("i", [0] * 7)
_NO_VOLATILES = array("i", [0] * at.VOLATILE_SIZE)
NO_MENU = array("i", [1] * 4 + [0] * (at.MENU_SIZE - 4))
_GENDERS = {"M": 1, "F": 2}


class TeamRows:
    """What is known of both teams, as one flat array; see `layout`.

    Args:
        gen: generation, 1 to 9.
        perspective: 0 for p1, 1 for p2, None for a spectator.
    """

    def __init__(self, gen: int, perspective: int | None) -> None:
        self.dex: Dex = dex(gen)
        self.gen = gen
        self.fifth_moves = 0
        """How often a Pokémon that has four known moves used another one."""
        self.nicknames: list[str | None] = [None] * 12
        self.details: list[str | None] = [None] * 12
        # an `array` of integers: single reads and writes are much faster than those of NumPy
        self.values = array("i", bytes(4 * at.SIZE))
        """The state; see `layout`."""
        self.state = np.frombuffer(self.values, dtype=np.int32)
        """The same memory as an array."""
        self._sides = {"1": 0, "2": 1} if perspective != 1 else {"2": 0, "1": 1}
        self._conditions: list[str | None] = [None] * 12
        self._requested: list[Mapping[str, Any] | None] = [None] * 6
        self.bound = False
        """A request has named the own team, so that rows 0-5 are fixed slots."""
        self.counts = [0, 0]
        """Rows in use per side."""
        self.before: list[tuple[int, array[int], str | None, str | None] | None] = [None, None]
        """Per side: row of the active Pokémon, and what the row was before it came in (an Illusion may have to be taken back)."""
        self.others: list[set[str]] = [set(), set(), set(), set()]
        """Names behind the columns "other": volatile conditions of both sides, then side conditions of both."""
        for row in range(12):
            self.clear_row(row)
        values = self.values
        values[at.ACTIVE_ROW] = values[at.ACTIVE_ROW + 1] = -1
        values[at.GENERATION] = gen
        values[at.SEAT] = perspective or 0
        values[at.TEAM_SIZE] = values[at.TEAM_SIZE + 1] = 6
        values[at.MENU : at.MENU + at.MENU_SIZE] = NO_MENU

    # Who is who.

    def side(self, ident: str) -> int:
        """0 for the own side, 1 for the foe, of "p1", "p1a: Nick" or "p2: Nick"."""
        return self._sides[ident[1]]

    def row(self, ident: str) -> int:
        """Row of "p1a: Nick" (the active one) or "p1: Nick" (by nickname)."""
        side = self._sides[ident[1]]
        if ident[2] != ":":
            row = self.values[at.ACTIVE_ROW + side]
            if row < 0:
                raise ValueError(f"no Pokémon is active at {ident[:3]}")
            return row
        nickname = ident[4:]
        for row in range(6 * side, 6 * side + 6):
            if self.nicknames[row] == nickname:
                return row
        raise ValueError(f"no Pokémon is called {nickname!r}")

    def find(self, side: int, nickname: str, details: str) -> int:
        """Row of a Pokémon that appears: the one of this nickname and details, or of this nickname, or in the preview, or a new one."""
        rows = range(6 * side, 6 * side + 6)
        values = self.values
        named = [row for row in rows if self.nicknames[row] == nickname]
        # of two that are alike, not one that is active or has fainted
        for row in named:
            if self.details[row] == details and (
                len(named) == 1 or not values[row * at.ROW + at.ACTIVE] | values[row * at.ROW + at.FAINTED]
            ):
                return row
        base = self.base_species(details)
        # another forme of the same species
        for row in named:
            if (
                self.dex.species_base[values[row * at.ROW + at.BASE_SPECIES]] == base
                and not values[row * at.ROW + at.FAINTED]
            ):
                return row
        if named:
            return named[0]
        for row in rows:  # in the preview, not yet seen
            known = values[row * at.ROW + at.BASE_SPECIES]
            if self.nicknames[row] is None and known and self.dex.species_base[known] == base:
                return row
        if self.counts[side] >= 6:
            raise ValueError(f"a seventh Pokémon, {nickname!r}")
        row = 6 * side + self.counts[side]
        self.counts[side] += 1
        return row

    def base_species(self, details: str) -> int:
        """Number of the species of which the one in `details` is a forme."""
        return int(self.dex.species_base[SPECIES_NUMBERS[details.partition(",")[0]]])

    # Changes of a row.

    def clear_row(self, row: int) -> None:
        """A Pokémon of which nothing is known: unseen, therefore healthy and at full hp."""
        start = row * at.ROW
        values = self.values
        exists = values[start + at.EXISTS]
        # whether a slot exists is not forgotten with what is in it
        values[start : start + at.ROW] = array("i", bytes(4 * at.ROW))
        values[start + at.EXISTS] = exists
        # percent, until a request or a spectator's line says hp
        values[start + at.HP] = values[start + at.HP_MAX] = 100
        values[start + at.STATUS] = values[start + at.LAST_MOVE] = 1
        # before generation 9 nobody has a Tera type
        values[start + at.TERA] = 0 if self.gen == 9 else 1
        # 1, "none": no items in generation 1, no abilities before generation 3
        values[start + at.ITEM] = 1 if self.gen == 1 else 0
        values[start + at.ABILITY] = values[start + at.BASE_ABILITY] = 1 if self.gen < 3 else 0
        self.nicknames[row] = self.details[row] = self._conditions[row] = None

    def set_details(self, row: int, details: str) -> None:
        """Species, level and gender, such as "Palafin-Hero, L77, M, tera:Water"."""
        if self.details[row] == details:
            return
        self.details[row] = details
        parts = details.split(", ")
        start, values = row * at.ROW, self.values
        values[start + at.EXISTS] = 1
        level = 100
        for part in parts[1:]:
            if part in _GENDERS:
                values[start + at.GENDER] = _GENDERS[part]
            elif part.startswith("L"):
                level = int(part[1:])
            elif part.startswith("tera:"):
                values[start + at.TERA] = TYPE_NUMBERS[part[5:]]
                values[start + at.TERASTALLIZED] = 1
        values[start + at.LEVEL] = level
        # "-*" hides the forme in previews
        species = parts[0][:-2] if parts[0].endswith("-*") else parts[0]
        number = SPECIES_NUMBERS[species]
        if not number:
            raise ValueError(f"no species is called {species!r}")
        if number == GRENINJA and values[start + at.BASE_SPECIES] == GRENINJA_BOND:
            number = GRENINJA_BOND
        if number != values[start + at.BASE_SPECIES]:  # otherwise it may be in another forme until it leaves
            values[start + at.BASE_SPECIES] = number
            self.set_species(row, number)
        elif values[start + at.TERASTALLIZED]:
            self.set_species(row, values[start + at.SPECIES])
        # the only possible ability is known from the species
        ability = self.dex.species_ability[number]
        if ability and not values[start + at.BASE_ABILITY]:
            values[start + at.ABILITY] = values[start + at.BASE_ABILITY] = ability

    def set_species(self, row: int, number: int) -> None:
        """Species and its types, unless the Pokémon is terastallized."""
        start, values = row * at.ROW, self.values
        values[start + at.SPECIES] = number
        # Stellar keeps the types of the species
        if values[start + at.TERASTALLIZED] and values[start + at.TERA] != TYPE_NUMBERS["stellar"]:
            values[start + at.TYPE_1], values[start + at.TYPE_2] = values[start + at.TERA], 1
        else:
            values[start + at.TYPE_1], values[start + at.TYPE_2] = self.dex.species_types[number]

    def set_condition(self, row: int, text: str) -> None:
        """Hp and status, such as "45/100 psn", "123/257" or "0 fnt"."""
        if self._conditions[row] == text:
            return
        start, values = row * at.ROW, self.values
        head, _, status = text.partition(" ")
        hp, _, most = head.partition("/")
        if hp == "0":
            self.faint(row)
        else:
            values[start + at.FAINTED] = 0
            values[start + at.HP] = int(hp)
            if most:
                # "y", "g" and "r" tell the colour of a bar of 48 pixels
                maximum = int(most) if most.isdigit() else int(most.rstrip("ygr"))
                if maximum <= 0:
                    raise ValueError(f"{maximum} is no largest hp")
                values[start + at.HP_MAX] = maximum
                # percent and pixels are rounded
                values[start + at.HP_EXACT] = (row < 6 and self.bound) or maximum not in (100, 48)
            self.set_status(row, STATUS_NUMBERS[status] if status else 1)
        self._conditions[row] = text

    def forget_condition(self, row: int) -> None:
        """The next hp and status are read even if the text is that of the last ones."""
        self._conditions[row] = None
        if row < 6:
            self._requested[row] = None

    def set_status(self, row: int, number: int) -> None:
        """Status by number, 1 for healthy; a new one counts its turns from 0."""
        start = row * at.ROW
        # a status that goes on keeps its turns
        if self.values[start + at.STATUS] != number:
            self.values[start + at.STATUS] = number
            self.values[start + at.STATUS_TURNS] = 0
            self._conditions[row] = None

    def faint(self, row: int) -> None:
        """No hp left; what it had on the field is gone."""
        start, values = row * at.ROW, self.values
        values[start + at.HP] = 0
        values[start + at.FAINTED] = values[start + at.HP_EXACT] = 1
        values[start + at.STATUS] = 1
        values[start + at.STATUS_TURNS] = 0
        self._conditions[row] = "0 fnt"
        if values[start + at.ACTIVE]:
            values[start + at.STAGES : start + at.STAGES + 7] = _NO_STAGES
            self.clear_volatiles(row >= 6)

    def clear_volatiles(self, side: int) -> None:
        """The active Pokémon of a side has no volatile conditions any more."""
        start = at.VOLATILE + side * at.VOLATILE_SIZE
        self.values[start : start + at.VOLATILE_SIZE] = _NO_VOLATILES
        self.others[side].clear()
        if self.gen == 1:  # they belong to the Pokémon
            for condition in _OWN_SCREENS:
                self.values[at.SIDE + side * at.SIDE_SIZE + condition] = 0

    def set_item(self, row: int, name: str) -> None:
        """It holds this."""
        self.values[row * at.ROW + at.ITEM] = ITEM_NUMBERS[name]

    def lose_item(self, row: int) -> None:
        """It holds nothing any more."""
        self.values[row * at.ROW + at.ITEM] = 1
        self.values[row * at.ROW + at.ITEM_LOST] = 1

    def set_ability(self, row: int, name: str, for_good: bool = True) -> None:
        """It has this ability; `for_good`: also after it left the field."""
        start, number = row * at.ROW, ABILITY_NUMBERS[name]
        base = self.values[start + at.BASE_ABILITY]
        # both together are one ability, which must not be taken for either
        if not number or base in _TWO_IN_ONE or (base and number == self.values[start + at.ABILITY]):
            return  # what it has by Trace is announced again and is not its own
        self.values[start + at.ABILITY] = number
        if for_good and not self.values[start + at.TRANSFORMED]:
            self.values[start + at.BASE_ABILITY] = number

    def learn(self, row: int, move: int) -> int:
        """Offset of a move's id in the array, added to the moves that the Pokémon has now if it was not known.

        A fifth move (an Illusion that has not ended) is counted in `fifth_moves` and not learnt: the answer is then -1.
        """
        start, values = row * at.ROW, self.values
        # moves learnt while a Pokémon is transformed are of the other one
        block, count = (
            (at.TEMPORARY, at.NUM_TEMPORARY) if values[start + at.NUM_TEMPORARY] else (at.MOVES, at.NUM_MOVES)
        )
        known = values[start + count]
        first = start + block
        for place in range(first, first + known):
            if values[place] == move or (move in HIDDEN_POWERS and values[place] in HIDDEN_POWERS):
                return place
        if known >= 4:
            self.fifth_moves += 1
            return -1
        place = first + known
        values[place] = move
        values[place + at.PP] = values[place + at.PP_MAX] = (
            5 if values[start + at.TRANSFORMED] else self.dex.move_pp[move]
        )
        values[start + count] = known + 1
        if block == at.TEMPORARY and not values[start + at.TRANSFORMED] and values[start + at.NUM_MOVES] == known:
            values[start + at.MOVES + known] = move  # Mimic replaced one move; this one is its own
            values[start + at.MOVES + at.PP + known] = values[start + at.MOVES + at.PP_MAX + known] = self.dex.move_pp[
                move
            ]
            values[start + at.NUM_MOVES] = known + 1
        return place

    def leave(self, side: int) -> None:
        """The active Pokémon of a side leaves the field."""
        values = self.values
        row = values[at.ACTIVE_ROW + side]
        if row < 0:
            return
        start = row * at.ROW
        # what belongs to the field ends with leaving it
        values[start + at.ACTIVE] = 0
        values[start + at.STAGES : start + at.STAGES + 7] = _NO_STAGES
        values[start + at.ABILITY] = values[start + at.BASE_ABILITY]
        if (
            values[start + at.NUM_TEMPORARY] and not values[start + at.TRANSFORMED]
        ):  # Mimic: the other moves are its own
            for k in range(values[start + at.NUM_MOVES]):
                same = values[start + at.TEMPORARY + k] == values[start + at.MOVES + k]
                if same or self.gen == 1:  # there the copy uses the pp of Mimic
                    values[start + at.MOVES + at.PP + k] = values[start + at.TEMPORARY + at.PP + k]
        values[start + at.TRANSFORMED] = values[start + at.NUM_TEMPORARY] = 0
        values[start + at.FIELD_TURNS] = 0
        values[start + at.LAST_MOVE] = 1
        if values[start + at.BASE_SPECIES]:
            self.set_species(row, values[start + at.BASE_SPECIES])
        self.clear_volatiles(side)
