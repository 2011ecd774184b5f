"""Lines that show items and abilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..vocab import numbers
from . import layout as at
from .handlers import line

if TYPE_CHECKING:
    from .tracker import Tracker


def reveal(tracker: Tracker, parts: list[str], row: int, of_owns: bool = False) -> None:
    """Items and abilities that the tags `[from]` and `[of]` of a line show.

    Args:
        tracker: that learns of them.
        parts: the line.
        row: the Pokémon that the line is about.
        of_owns: whether the Pokémon behind `[of]` is the holder; otherwise `row` is.
    """
    cause = ""
    for part in parts[3:]:
        if part.startswith("[from]"):
            cause = part[6:].strip()
        elif of_owns and part.startswith("[of] ") and len(part) > 7:
            row = tracker.row(part[5:])
    if cause:
        reveal_effect(tracker, cause, row)


def reveal_effect(tracker: Tracker, cause: str, row: int) -> None:
    """An effect such as "item: Leftovers" shows what the Pokémon holds or can do."""
    if cause.startswith("item: "):
        start = row * at.ROW
        if not (
            tracker.values[start + at.ITEM] == 1 and tracker.values[start + at.ITEM_LOST]
        ):  # a berry heals after it was eaten
            tracker.set_item(row, cause[6:])
    elif cause.startswith("ability: "):
        start = row * at.ROW
        # an ability that is shown is its own, unless its own is known already
        tracker.set_ability(row, cause[9:], for_good=not tracker.values[start + at.BASE_ABILITY])


@line("-item")
def item(tracker: Tracker, parts: list[str]) -> None:
    """`|-item|POKEMON|ITEM|[from]EFFECT`."""
    if not parts[2]:  # generation 5: Frisk does not say whom
        holder = next((part[5:] for part in parts[4:] if part.startswith("[of] ")), None)
        if holder is None:
            raise ValueError("it is not said whose item this is")
        row = tracker.values[at.ACTIVE_ROW + 1 - tracker.side(holder)]
        if row < 0:
            raise ValueError("nobody is there to be frisked")
    else:
        row = tracker.row(parts[2])
    tracker.set_item(row, parts[3])
    frisked = "[from] ability: Frisk" in parts
    for part in parts[4:]:
        if part.startswith("[from] ability: "):
            reveal(tracker, parts, row, of_owns=frisked)
        elif part.startswith("[of] ") and len(part) > 7 and not frisked:  # stolen from, or given by
            other = tracker.row(part[5:])
            if other != row:
                tracker.lose_item(other)


@line("-enditem")
def end_item(tracker: Tracker, parts: list[str]) -> None:
    """`|-enditem|POKEMON|ITEM|[from]EFFECT`."""
    tracker.lose_item(tracker.row(parts[2]))


@line("-ability")
def ability(tracker: Tracker, parts: list[str]) -> None:
    """`|-ability|POKEMON|ABILITY|[from]EFFECT`: announced, or changed by an effect."""
    row = tracker.row(parts[2])
    cause, of = "", -1
    for part in parts[4:]:
        if part.startswith("[from]"):
            cause = part[6:].strip()
        elif part.startswith("[of] ") and len(part) > 7:
            of = tracker.row(part[5:])
    # with a cause the ability was changed by an effect
    tracker.set_ability(row, parts[3], for_good=not cause)
    if cause == "ability: Trace":
        # Trace is its own ability, whatever it has copied
        if tracker.values[row * at.ROW + at.BASE_ABILITY] == 0:
            tracker.values[row * at.ROW + at.BASE_ABILITY] = numbers("abilities")["trace"]
        if of >= 0:
            tracker.set_ability(of, parts[3], for_good=not tracker.values[of * at.ROW + at.BASE_ABILITY])


@line("-endability")
def end_ability(tracker: Tracker, parts: list[str]) -> None:
    """`|-endability|POKEMON|ABILITY`: suppressed; the name, if any, is that of its own."""
    row = tracker.row(parts[2])
    if len(parts) > 3 and parts[3] and not parts[3].startswith("["):
        tracker.set_ability(row, parts[3], for_good=not tracker.values[row * at.ROW + at.BASE_ABILITY])
