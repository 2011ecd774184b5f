"""Lines of conditions of the active Pokémon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..vocab import numbers
from . import layout as at
from .gimmicks import spend
from .handlers import effect, line
from .moves import STALLING, unlock
from .reveals import reveal, reveal_effect

if TYPE_CHECKING:
    from .tracker import Tracker

_MOVES = numbers("moves")
_TYPES = numbers("types")
_MIMIC = _MOVES["mimic"]
_VOLATILE = {name: k for k, name in enumerate(at.VOLATILES)} | {"ability:flashfire": at.VOLATILES.index("flashfire")}
_SIDE_CONDITION = {name: k for k, name in enumerate(at.SIDE_CONDITIONS)}
_TRAPS = frozenset(
    (
        "bind",
        "wrap",
        "firespin",
        "clamp",
        "whirlpool",
        "sandtomb",
        "magmastorm",
        "infestation",
        "snaptrap",
        "thundercage",
    )
)
_FUTURE_MOVES = frozenset(("futuresight", "doomdesire"))
_PP_CHANGES = {"spite": -2, "eeriespell": -3, "gmaxdepletion": -2, "grudge": -99, "leppaberry": 10, "mysteryberry": 5}


@line("-start")
def start_condition(tracker: Tracker, parts: list[str]) -> None:
    """`|-start|POKEMON|EFFECT`."""
    row = tracker.row(parts[2])
    side, values, start = int(row >= 6), tracker.values, row * at.ROW
    volatile = at.VOLATILE + side * at.VOLATILE_SIZE
    name = effect(parts[3])
    place = _VOLATILE.get(name)
    if name == "typechange":
        types = [_TYPES[part] for part in parts[4].split("/") if part != "???"] if len(parts) > 4 else [0]
        if all(types):  # "???/Fighting": a type is lost, as by Double Shock
            values[start + at.TYPE_1], values[start + at.TYPE_2] = (*types, 1, 1)[:2]
        values[volatile + at.TYPE_CHANGE] = 1
    elif name == "typeadd":
        # a third type has no place: shown only where there is no second
        if values[start + at.TYPE_2] == 1:
            values[start + at.TYPE_2] = _TYPES[parts[4]]
        values[volatile + at.TYPE_CHANGE] = 1
    elif name == "dynamax":
        values[start + at.GIMMICK] = 1
        spend(tracker, side, 2)
    elif name.startswith("perish"):
        values[volatile + at.PERISH] = int(name[6:])
    elif name in _FUTURE_MOVES:
        # it will hit the other side
        values[at.SIDE + (1 - side) * at.SIDE_SIZE + at.FUTURE_MOVE] = 1
    elif name == "mimic" and len(parts) > 4:
        _mimic(tracker, row, parts[4])
    elif name in ("reflect", "lightscreen", "mist"):  # generation 1: they belong to the Pokémon
        values[at.SIDE + side * at.SIDE_SIZE + _SIDE_CONDITION[name]] = 1
    elif place is not None:
        values[volatile + place] = 1
        if name == "disable" and len(parts) > 4:
            values[volatile + at.DISABLED_MOVE] = _MOVES[parts[4]]
        elif name == "confusion":
            # a move that goes on by itself ends in confusion
            values[volatile + at.LOCKED] = 0
    else:
        # conditions without a column of their own share one, which is 0 only when all have ended
        tracker.others[side].add(name)
        values[volatile + at.OTHER_VOLATILE] = 1
    if len(parts) > 4:
        reveal(tracker, parts, row, of_owns=True)


def _mimic(tracker: Tracker, row: int, name: str) -> None:
    """It has this move instead of Mimic until it leaves."""
    start, values = row * at.ROW, tracker.values
    # its moves are copied once, then one of them is exchanged
    if not values[start + at.NUM_TEMPORARY]:
        values[start + at.TEMPORARY : start + at.TEMPORARY + 12] = values[start + at.MOVES : start + at.MOVES + 12]
        values[start + at.NUM_TEMPORARY] = values[start + at.NUM_MOVES]
    for k in range(values[start + at.NUM_TEMPORARY]):
        if values[start + at.TEMPORARY + k] == _MIMIC:
            values[start + at.TEMPORARY + k] = _MOVES[name]
            if tracker.gen > 1:  # in generation 1 the copy uses the pp of Mimic
                values[start + at.TEMPORARY + at.PP + k] = values[start + at.TEMPORARY + at.PP_MAX + k] = 5


@line("-end")
def end_condition(tracker: Tracker, parts: list[str]) -> None:
    """`|-end|POKEMON|EFFECT`."""
    row = tracker.row(parts[2])
    side, values, start = int(row >= 6), tracker.values, row * at.ROW
    volatile = at.VOLATILE + side * at.VOLATILE_SIZE
    name = effect(parts[3])
    place = _VOLATILE.get(name)
    if place is not None:
        values[volatile + place] = 0
        if name == "disable":
            values[volatile + at.DISABLED_MOVE] = 0
        elif name == "typechange":
            # back to the types of the species
            tracker.set_species(row, values[start + at.SPECIES])
    elif name == "dynamax":
        values[start + at.GIMMICK] = 0
    elif name in _TRAPS:
        values[volatile + at.TRAPPED_PARTIALLY] = 0
    elif name in _FUTURE_MOVES:
        values[at.SIDE + side * at.SIDE_SIZE + at.FUTURE_MOVE] = 0
    elif name in ("reflect", "lightscreen", "mist"):
        values[at.SIDE + side * at.SIDE_SIZE + _SIDE_CONDITION[name]] = 0
    else:
        tracker.others[side].discard(name)
        values[volatile + at.OTHER_VOLATILE] = bool(tracker.others[side])


@line("-singleturn")
def single_turn(tracker: Tracker, parts: list[str]) -> None:
    """`|-singleturn|POKEMON|MOVE`: of these, guards make the next guard less likely to work."""
    row = tracker.row(parts[2])
    if _MOVES[effect(parts[3])] in STALLING:
        place = at.VOLATILE + (row >= 6) * at.VOLATILE_SIZE + at.PROTECT
        tracker.values[place] = min(3, tracker.values[place] + 1)


@line("-activate")
def activate(tracker: Tracker, parts: list[str]) -> None:
    """`|-activate|POKEMON|EFFECT`: anything without a kind of line of its own."""
    if len(parts) < 4 or len(parts[2]) < 3:
        return
    row = tracker.row(parts[2])
    side, values, start = int(row >= 6), tracker.values, row * at.ROW
    name, extra = effect(parts[3]), parts[4] if len(parts) > 4 and not parts[4].startswith("[") else ""
    if name in _TRAPS:
        values[at.VOLATILE + side * at.VOLATILE_SIZE + at.TRAPPED_PARTIALLY] = 1
    elif _MOVES[name] in STALLING:
        unlock(tracker, 1 - side)
    elif name == "trapped":
        tracker.others[side].add(name)
        values[at.VOLATILE + side * at.VOLATILE_SIZE + at.OTHER_VOLATILE] = 1
    elif name == "mimic" and extra:
        _mimic(tracker, row, extra)
    elif name == "poltergeist" and extra:
        tracker.set_item(row, extra)
    elif name in _PP_CHANGES and extra:
        # older lines do not say how much pp were lost
        change = -int(parts[5]) if len(parts) > 5 and parts[5].isdigit() else _PP_CHANGES[name]
        place = tracker.learn(row, _MOVES[extra])
        if place >= 0:
            values[place + at.PP] = max(0, min(values[place + at.PP_MAX], values[place + at.PP] + change))
    elif name in ("mummy", "lingeringaroma", "wanderingspirit"):
        # the holder's ability is its own
        tracker.set_ability(row, name, for_good=not values[start + at.BASE_ABILITY])
        of = next((tracker.row(part[5:]) for part in parts[4:] if part.startswith("[of] ")), -1)
        if extra[:1] == "p" and extra[3:4] == ":":  # newer lines name the attacker here
            of, extra = tracker.row(extra), ""
        if of >= 0:
            tracker.set_ability(of, extra if name == "wanderingspirit" and extra else name, for_good=False)
    elif name == "skillswap" and extra and len(parts) > 5:
        # Skill Swap names both abilities
        of = next((tracker.row(part[5:]) for part in parts[5:] if part.startswith("[of] ")), -1)
        tracker.set_ability(row, extra, for_good=False)
        if of >= 0:
            tracker.set_ability(of, parts[5], for_good=False)
    else:
        reveal_effect(tracker, parts[3], row)
