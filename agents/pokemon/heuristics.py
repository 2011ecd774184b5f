"""What the scripted opponents compute from one `entity` row: match-ups, damage estimates and the choice of SimpleHeuristics.

The rules are those of `SimpleHeuristicsPlayer` of poke-env 0.16.1 (hsahovic/poke-env, MIT), described in its `baselines.py`.
All functions are compiled; `row` is float32 [932] of the seat to move, `tables` the numbers of one generation.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs import cached_kernel, kernel
from ludory.envs.pokemon import columns as at

ATK, DEF, SPA, SPD, SPE = 1, 2, 3, 4, 5
FIRST_SWITCH, FIRST_GIMMICK = 4, 10
NO_ROW = -1
"""There is no such Pokémon, for example no active one before the first turn."""
NOBODY = -1
"""There is no such action."""
LEAVE_BELOW = -2.0
"""An active Pokémon with a worse match-up leaves if it can."""

PHYSICAL = 0
HAZARD_REMOVER = -1


class MoveTables(NamedTuple):
    """Numbers of one generation; first axis of all but `chart` is the move's id in the vocabulary."""

    chart: NDArray[np.float64]
    """(types, types) multiplier of an attacking type on a defending type; 1 for unknown and absent types."""
    type: NDArray[np.int64]
    category: NDArray[np.int64]
    """0 physical, 1 special, 2 status."""
    power: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    """Probability to hit; 1 for moves that cannot miss."""
    hits: NDArray[np.float64]
    """Expected number of hits."""
    raises: NDArray[np.int64]
    """(moves, 7) stages that a status move adds to its user: atk, def, spa, spd, spe, accuracy, evasion."""
    hazard: NDArray[np.int64]
    """1-4: sets stealth rock, spikes, toxic spikes, sticky web; -1: rapid spin and defog; 0: other moves."""


@kernel
def pokemon(row, mon, column):
    """One of the 40 numbers of Pokémon `mon` (0-5 own, 6-11 the foe's)."""
    return float(row[at.POKEMON_AT + mon * at.POKEMON_NUMBERS + column])


@kernel
def type_of(row, mon, column):
    """Id of a type of Pokémon `mon`."""
    return int(row[mon * at.IDS + column])


@kernel
def active(row, first):
    """Row of the active Pokémon among the six from `first` on, `NO_ROW` if there is none."""
    for mon in range(first, first + 6):
        if row[at.POKEMON_AT + mon * at.POKEMON_NUMBERS + at.POKEMON_ACTIVE] > 0:
            return mon
    return NO_ROW


@kernel
def effectiveness(row, tables, attack, mon):
    """Multiplier of the type `attack` on Pokémon `mon`, by the type chart alone."""
    first, second = type_of(row, mon, at.TYPE_1_ID), type_of(row, mon, at.TYPE_2_ID)
    # ids 0 and 1 are no types: unknown, and none
    factor = tables.chart[attack, first] if first > 1 else 1.0
    if second > 1 and second != first:
        factor *= tables.chart[attack, second]
    return factor


@kernel
def best_effectiveness(row, tables, attacker, defender):
    """Best multiplier of the attacker's own types on the defender."""
    best = -1.0
    for column in (at.TYPE_1_ID, at.TYPE_2_ID):
        attack = type_of(row, attacker, column)
        if attack > 1:
            best = max(best, effectiveness(row, tables, attack, defender))
    # a type that is not known resists nothing and is weak to nothing
    return best if best >= 0 else 1.0


@kernel
def hp_fraction(row, mon):
    """Hit points as the protocol gives them: whole percents where the exact number is hidden."""
    fraction = pokemon(row, mon, at.POKEMON_HP)
    percents = round(fraction * 100.0)
    # the row is float32: whole percents are hundredths but for rounding
    return percents / 100.0 if abs(fraction * 100.0 - percents) < 1e-4 else fraction


@kernel
def matchup(row, tables, own, foe):
    """How well Pokémon `own` stands against `foe`: types, speed and hit points."""
    score = best_effectiveness(row, tables, own, foe) - best_effectiveness(row, tables, foe, own)
    speed, foes = pokemon(row, own, at.POKEMON_BASE_STATS + SPE), pokemon(row, foe, at.POKEMON_BASE_STATS + SPE)
    if speed > foes:
        score += 0.1
    elif speed < foes:
        score -= 0.1
    score += hp_fraction(row, own) * 0.4
    return score - hp_fraction(row, foe) * 0.4


@kernel
def stage(row, mon, stat):
    """Stages -6..6 of `stat` (ATK to SPE)."""
    return round(pokemon(row, mon, at.POKEMON_STAGES + stat - ATK) * 6)


@kernel
def stat_estimate(row, mon, stat):
    """A stat of level 100 without effort, times a stage factor in which +1 counts as 2, as in the original."""
    stages = stage(row, mon, stat)
    factor = (2 + stages) / 2 if stages > 1 else 2 / (2 - stages)
    return (2 * round(pokemon(row, mon, at.POKEMON_BASE_STATS + stat) * 255) + 36) * factor


@kernel
def best_switch(row, mask, order, tables, foe):
    """Legal switch of best match-up, the first of equals by position; `NOBODY` without a legal switch."""
    best, choice = -1e9, NOBODY
    # equal match-ups go by the order that the player sees, which is not the order of the row
    for place in range(6):
        slot = order[place]
        if mask[FIRST_SWITCH + slot]:
            score = matchup(row, tables, slot, foe)
            if score > best:
                best, choice = score, FIRST_SWITCH + slot
    return choice


@kernel
def should_leave(row, mask, tables, own, foe):
    """Lowered stages or a bad match-up, and somebody on the bench who stands better."""
    better = False
    for slot in range(6):
        if mask[FIRST_SWITCH + slot] and matchup(row, tables, slot, foe) > 0:
            better = True
    if not better:
        return False
    if stage(row, own, DEF) <= -3 or stage(row, own, SPD) <= -3:
        return True
    attack, special = pokemon(row, own, at.POKEMON_STATS + ATK), pokemon(row, own, at.POKEMON_STATS + SPA)
    # a lowered attack only matters to who attacks with it
    if stage(row, own, ATK) <= -3 and attack >= special:
        return True
    if stage(row, own, SPA) <= -3 and attack <= special:
        return True
    return matchup(row, tables, own, foe) < LEAVE_BELOW


@kernel
def hazard_choice(row, mask, tables):
    """First move of the menu that sets a missing hazard or removes hazards, where the original does so."""
    own_left, foes_left = 0, 6
    for mon in range(6):
        own_left += pokemon(row, mon, at.POKEMON_EXISTS) > 0 and pokemon(row, mon, at.POKEMON_FAINTED) == 0
        foes_left -= pokemon(row, 6 + mon, at.POKEMON_FAINTED) > 0
    burdened = False
    for column in range(at.SIDES_AT, at.SIDES_AT + at.SIDE_NUMBERS):
        burdened |= row[column] > 0
    for place in range(4):
        kind = tables.hazard[int(row[at.MOVE_IDS_AT + place])] if mask[place] else 0
        # the first four conditions of a side are the hazards, in the order of their kinds
        if kind > 0 and foes_left >= 3 and row[at.SIDES_AT + at.SIDE_NUMBERS + kind - 1] == 0:
            return place
        if kind == HAZARD_REMOVER and burdened and own_left >= 2:
            return place
    return NOBODY


@kernel
def setup_choice(row, mask, tables, own):
    """First move of the menu that raises its user's stages by two or more in sum, unless they are at their maximum."""
    for place in range(4):
        move = int(row[at.MOVE_IDS_AT + place])
        total, least = 0, 6
        for stat in range(7):
            raised = tables.raises[move, stat]
            total += raised
            if raised > 0:
                least = min(least, stage(row, own, ATK + stat))
        if mask[place] and total >= 2 and least < 6:
            return place
    return NOBODY


@kernel
def best_attack(row, mask, tables, own, foe):
    """Move of the menu with the largest estimated damage, the first of equals."""
    physical = stat_estimate(row, own, ATK) / stat_estimate(row, foe, DEF)
    special = stat_estimate(row, own, SPA) / stat_estimate(row, foe, SPD)
    best, choice = -1.0, NOBODY
    for place in range(4):
        if not mask[place]:
            continue
        move = int(row[at.MOVE_IDS_AT + place])
        attack = tables.type[move]
        same = attack > 1 and (attack == type_of(row, own, at.TYPE_1_ID) or attack == type_of(row, own, at.TYPE_2_ID))
        score = tables.power[move] * (1.5 if same else 1.0)
        score *= physical if tables.category[move] == PHYSICAL else special
        score *= tables.accuracy[move] * tables.hits[move] * effectiveness(row, tables, attack, foe)
        if score > best:
            best, choice = score, place
    return choice


@kernel
def worth_dynamax(row, tables, own, foe):
    """The only Pokémon at full hit points, a good match-up between two at full hit points, or the last Pokémon."""
    healthy, left = 0, 0
    for mon in range(6):
        healthy += hp_fraction(row, mon) == 1
        left += pokemon(row, mon, at.POKEMON_EXISTS) > 0 and pokemon(row, mon, at.POKEMON_FAINTED) == 0
    full = hp_fraction(row, own) == 1
    if full and (healthy == 1 or (hp_fraction(row, foe) == 1 and matchup(row, tables, own, foe) > 0)):
        return True
    return left == 1


@kernel
def worth_terastallizing(row, tables, own, foe, move):
    """Multiplier of the move's type on the foe, times defence after over defence before, is more than 1."""
    tera = type_of(row, own, at.TERA_ID)
    if tera <= 1:
        return False
    before, after = 1e9, 1e9
    for column in (at.TYPE_1_ID, at.TYPE_2_ID):
        attack = type_of(row, foe, column)
        if attack > 1:
            now, then = effectiveness(row, tables, attack, own), tables.chart[attack, tera]
            # an immunity counts as an eighth
            before = min(before, 1 / (now if now > 0 else 0.125))
            after = min(after, 1 / (then if then > 0 else 0.125))
    return effectiveness(row, tables, tables.type[move], foe) * (after / before) > 1


@kernel
def with_gimmick(row, mask, tables, own, foe, place, gen, terastallizes):
    """Action of the move at `place`, with Dynamax in generation 8 or Terastallization in 9 where it is worth it."""
    action = FIRST_GIMMICK + place
    if action >= len(mask) or not mask[action]:
        return place
    if gen == 8 and worth_dynamax(row, tables, own, foe):
        return action
    if gen == 9 and terastallizes and worth_terastallizing(row, tables, own, foe, int(row[at.MOVE_IDS_AT + place])):
        return action
    return place


@kernel
def has_move(mask):
    """True if the menu has a legal move."""
    return mask[0] or mask[1] or mask[2] or mask[3]


@kernel
def heuristic_choice(row, mask, order, tables, gen, sets_up, terastallizes):
    """The action, or `NOBODY` where the original draws one at random."""
    own, foe = active(row, 0), active(row, 6)
    if own == NO_ROW or foe == NO_ROW:
        return NOBODY
    switch = best_switch(row, mask, order, tables, foe)
    if not has_move(mask) or (switch != NOBODY and should_leave(row, mask, tables, own, foe)):
        return switch
    choice = hazard_choice(row, mask, tables)
    if choice != NOBODY:
        return choice
    if sets_up and hp_fraction(row, own) == 1 and matchup(row, tables, own, foe) > 0:
        choice = setup_choice(row, mask, tables, own)
        if choice != NOBODY:
            return choice
    choice = best_attack(row, mask, tables, own, foe)
    return with_gimmick(row, mask, tables, own, foe, choice, gen, terastallizes)


@kernel
def greedy_choice(row, mask, order, tables):
    """Move of largest `MOVE_DAMAGE`; if all are 0, or there is no menu, the switch of best match-up; else the first move."""
    best, choice, first = 0.0, NOBODY, NOBODY
    for place in range(4):
        if mask[place]:
            first = place if first == NOBODY else first
            damage = row[at.MOVES_AT + place * at.MOVE_NUMBERS + at.MOVE_DAMAGE]
            if damage > best:
                best, choice = damage, place
    foe = active(row, 6)
    if choice == NOBODY and foe != NO_ROW:
        choice = best_switch(row, mask, order, tables, foe)
    return choice if choice != NOBODY else first


@cached_kernel(error_model="numpy", nogil=True)
def heuristic_choices(rows, masks, orders, tables, gen, sets_up, terastallizes, actions):
    """Write `heuristic_choice` of rows (m, 932) to actions (m,)."""
    for i in range(len(rows)):
        actions[i] = heuristic_choice(rows[i], masks[i], orders[i], tables, gen, sets_up, terastallizes)


@cached_kernel(error_model="numpy", nogil=True)
def greedy_choices(rows, masks, orders, tables, actions):
    """Write `greedy_choice` of rows (m, 932) to actions (m,)."""
    for i in range(len(rows)):
        actions[i] = greedy_choice(rows[i], masks[i], orders[i], tables)


@cached_kernel(error_model="numpy", nogil=True)
def strongest_choices(rows, masks, tables, actions):
    """Write the legal move of largest base power, or `NOBODY` without a legal move, to actions (m,)."""
    for i in range(len(rows)):
        best, actions[i] = -1.0, NOBODY
        for place in range(4):
            power = tables.power[int(rows[i, at.MOVE_IDS_AT + place])]
            if masks[i, place] and power > best:
                best, actions[i] = power, place


def columns(**arrays: Any) -> MoveTables:
    """`MoveTables` of contiguous arrays in the dtypes that the compiled code expects."""
    floats = {"chart", "power", "accuracy", "hits"}
    made: dict[str, Any] = {
        name: np.ascontiguousarray(array, np.float64 if name in floats else np.int64) for name, array in arrays.items()
    }
    return MoveTables(**made)
