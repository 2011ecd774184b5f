"""Lines of coming and going: switches, Illusions, formes, Transform, fainting."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from ..vocab import numbers
from . import layout as at
from .handlers import line
from .reveals import reveal

if TYPE_CHECKING:
    from .tracker import Tracker

_SPECIES = numbers("species")
_ZOROARKS = frozenset(_SPECIES[name] for name in ("zorua", "zoroark", "zoruahisui", "zoroarkhisui"))
_TOXIC = numbers("statuses")["tox"]
_BATON_PASS = numbers("moves")["batonpass"]
_MOVES = numbers("moves")
_NO_STAGES = array("i", [0] * 7)
_PASSED = frozenset(
    at.VOLATILES.index(name)
    for name in (
        "confusion", "leechseed", "substitute", "perish", "curse", "ingrain", "aquaring", "focusenergy", "magnetrise", "healblock",
    )
)  # fmt: skip
"""Volatile conditions that Baton Pass hands on."""


def _enter(tracker: Tracker, parts: list[str], dragged: bool) -> None:
    side = tracker.side(parts[2])
    values = tracker.values
    move = 0 if dragged else tracker.passing[side]
    left = values[at.ACTIVE_ROW + side]
    # before `leave`, which forgets what is passed on
    if move and left >= 0 and not values[left * at.ROW + at.FAINTED]:
        stages = values[left * at.ROW + at.STAGES : left * at.ROW + at.STAGES + 7]
        conditions = values[
            at.VOLATILE + side * at.VOLATILE_SIZE : at.VOLATILE + side * at.VOLATILE_SIZE + at.VOLATILE_SIZE
        ]
    else:
        move = 0
    tracker.passing[side] = 0
    tracker.leave(side)
    row = tracker.find(side, parts[2][5:], parts[3])
    if side == 0 and tracker.bound:
        row = _behind_illusion(tracker, row, parts[4])
    start = row * at.ROW
    if side or not tracker.bound:  # requests tell the truth about the own team
        tracker.before[side] = row, values[start : start + at.ROW], tracker.nicknames[row], tracker.details[row]
    if side or not tracker.bound:
        tracker.nicknames[row] = parts[2][5:]
        tracker.set_details(row, parts[3])
    tracker.set_condition(row, parts[4])
    values[start + at.SEEN] = values[start + at.ACTIVE] = 1
    # damage by bad poison starts anew after a switch
    if values[start + at.STATUS] == _TOXIC:
        values[start + at.STATUS_TURNS] = 0
    values[at.ACTIVE_ROW + side] = row
    if move:
        # Shed Tail passes a substitute only
        if move == _BATON_PASS:
            values[start + at.STAGES : start + at.STAGES + 7] = stages
            for k in _PASSED:
                values[at.VOLATILE + side * at.VOLATILE_SIZE + k] = conditions[k]
        else:
            values[at.VOLATILE + side * at.VOLATILE_SIZE + at.SUBSTITUTE] = conditions[at.SUBSTITUTE]
    if tracker.own_moves and side == 0:
        for name in tracker.own_moves.get(parts[2][5:], ()):
            tracker.learn(row, _MOVES[name])


def _behind_illusion(tracker: Tracker, row: int, condition: str) -> int:
    """Row of the own Pokémon that comes in looking like the one of `row`: its largest hp gives an own Illusion away."""
    most = condition.partition(" ")[0].partition("/")[2]
    values = tracker.values
    if most.isdigit() and int(most) != values[row * at.ROW + at.HP_MAX]:
        for other in range(6):
            start = other * at.ROW
            if (
                values[start + at.BASE_SPECIES] in _ZOROARKS
                and values[start + at.HP_MAX] == int(most)
                and not values[start + at.FAINTED]
            ):
                return other
    return row


@line("switch")
def switch(tracker: Tracker, parts: list[str]) -> None:
    """`|switch|POKEMON|DETAILS|HP STATUS`."""
    _enter(tracker, parts, dragged=False)


@line("drag")
def drag(tracker: Tracker, parts: list[str]) -> None:
    """`|drag|POKEMON|DETAILS|HP STATUS`: nobody chose it."""
    _enter(tracker, parts, dragged=True)


@line("replace")
def replace(tracker: Tracker, parts: list[str]) -> None:
    """`|replace|POKEMON|DETAILS`: an Illusion ends. The Pokémon that was shown gets back what it had before it seemed to come in."""
    side = tracker.side(parts[2])
    values = tracker.values
    shown = values[at.ACTIVE_ROW + side]
    if shown < 0:
        raise ValueError("nobody is active")
    # taken back only if the row is that of the Pokémon that came in
    before = tracker.before[side]
    now = values[shown * at.ROW : shown * at.ROW + at.ROW]
    learnt = now[at.MOVES : at.MOVES + now[at.NUM_MOVES]]
    if before is not None and before[0] == shown:
        values[shown * at.ROW : shown * at.ROW + at.ROW] = before[1]
        tracker.nicknames[shown], tracker.details[shown] = before[2:]
        old = before[1][at.MOVES : at.MOVES + before[1][at.NUM_MOVES]]
        used = dict(zip(old, before[1][at.MOVES + at.PP :], strict=False))
        # pp that it used under the other's name
        spent = {
            move: used.get(move, now[at.MOVES + at.PP_MAX + k]) - now[at.MOVES + at.PP + k]
            for k, move in enumerate(learnt)
        }
        # it had been seen under this name for the first time: the row was an invention
        if before[2] is None and before[3] is None:
            tracker.counts[side] -= 1
            tracker.clear_row(shown)
        item = now[at.ITEM] if now[at.ITEM] != before[1][at.ITEM] else 0
    else:
        spent, item = {}, 0
        values[shown * at.ROW + at.ACTIVE] = 0
        values[shown * at.ROW + at.STAGES : shown * at.ROW + at.STAGES + 7] = _NO_STAGES
    tracker.forget_condition(shown)
    row = tracker.find(side, parts[2][5:], parts[3])
    start = row * at.ROW
    tracker.nicknames[row] = parts[2][5:]
    tracker.set_details(row, parts[3])
    # what is true of the Pokémon on the field, whoever it seemed to be
    for offset in (
        at.HP,
        at.HP_MAX,
        at.HP_EXACT,
        at.STATUS,
        at.STATUS_TURNS,
        at.FIELD_TURNS,
        at.LAST_MOVE,
        at.FAINTED,
        *range(at.STAGES, at.STAGES + 7),
    ):
        values[start + offset] = now[offset]
    tracker.forget_condition(row)
    values[start + at.ACTIVE] = values[start + at.SEEN] = 1
    values[at.ACTIVE_ROW + side] = row
    # of the own team requests say it
    if side == 1 or tracker.perspective is None:
        for move, cost in spent.items():
            if cost > 0:
                place = tracker.learn(row, move)
                if place >= 0:
                    values[place + at.PP] = max(0, values[place + at.PP] - cost)
        if item:
            values[start + at.ITEM] = item
    if len(parts) > 4 and parts[4] and not parts[4].startswith("["):
        tracker.set_condition(row, parts[4])


@line("detailschange")
def details_change(tracker: Tracker, parts: list[str]) -> None:
    """`|detailschange|POKEMON|DETAILS|HP STATUS`: another forme for good."""
    row = tracker.row(parts[2])
    start, values = row * at.ROW, tracker.values
    before = values[start + at.SPECIES]
    tracker.set_details(row, parts[3])
    number = values[start + at.SPECIES]
    ability = tracker.dex.species_ability[number]
    # another forme has another ability
    if number != before and ability and tracker.gen >= 3:
        values[start + at.ABILITY] = values[start + at.BASE_ABILITY] = ability
    if len(parts) > 4 and parts[4] and not parts[4].startswith("["):
        tracker.set_condition(row, parts[4])
    reveal(tracker, parts, row)


@line("-formechange")
def forme_change(tracker: Tracker, parts: list[str]) -> None:
    """`|-formechange|POKEMON|SPECIES|HP STATUS`: another forme until it leaves."""
    row = tracker.row(parts[2])
    number = _SPECIES[parts[3].partition(",")[0]]
    if not number:
        raise ValueError(f"no species is called {parts[3]!r}")
    tracker.set_species(row, number)
    reveal(tracker, parts, row)


@line("-transform")
def transform(tracker: Tracker, parts: list[str]) -> None:
    """`|-transform|POKEMON|TARGET`: species, types, stages, ability and moves of the other until it leaves."""
    row, target = tracker.row(parts[2]), tracker.row(parts[3])
    reveal(tracker, parts, row)
    start, other, values = row * at.ROW, target * at.ROW, tracker.values
    values[start + at.TRANSFORMED] = 1
    values[start + at.SPECIES] = values[other + at.SPECIES]
    # a terastallized Pokémon keeps its type
    if values[start + at.TERASTALLIZED]:
        pass
    elif values[other + at.TERASTALLIZED]:  # the types that it had before are copied
        values[start + at.TYPE_1], values[start + at.TYPE_2] = tracker.dex.species_types[values[other + at.SPECIES]]
    else:
        values[start + at.TYPE_1], values[start + at.TYPE_2] = values[other + at.TYPE_1], values[other + at.TYPE_2]
    values[start + at.ABILITY] = values[other + at.ABILITY]
    values[start + at.STAGES : start + at.STAGES + 7] = values[other + at.STAGES : other + at.STAGES + 7]
    moves, count = (at.TEMPORARY, at.NUM_TEMPORARY) if values[other + at.NUM_TEMPORARY] else (at.MOVES, at.NUM_MOVES)
    known = values[other + count]
    for k in range(4):
        values[start + at.TEMPORARY + k] = values[other + moves + k] if k < known else 0
        # 5 pp for each copied move
        values[start + at.TEMPORARY + at.PP + k] = values[start + at.TEMPORARY + at.PP_MAX + k] = 5 if k < known else 0
    values[start + at.NUM_TEMPORARY] = known


@line("faint")
def faint(tracker: Tracker, parts: list[str]) -> None:
    """`|faint|POKEMON`."""
    tracker.faint(tracker.row(parts[2]))
