"""From a request of the simulator to legal actions and their choice strings. Everything here follows from the request alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from .formats import FIRST_GIMMICK, MOVES, Gimmick, SlotOrder, gimmick_groups, num_actions

Kind = Literal["move", "switch", "revive", "preview", "wait"]
KINDS: tuple[Kind, ...] = ("move", "switch", "revive", "preview", "wait")
"""Kinds of requests; the compact answers of the worker give their place in this tuple."""
_FLAGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "mega": (("mega", "canMegaEvo"), ("megax", "canMegaEvoX")),
    "ultra": (("ultra", "canUltraBurst"),),
    "dynamax": (("dynamax", "canDynamax"),),
    "terastallize": (("terastallize", "canTerastallize"),),
    "zmove": (("zmove", "canZMove"), ("megay", "canMegaEvoY")),
}
"""For each gimmick the words that may follow a move, and the flag of the request that offers each. Where a Pokémon has two Mega
Evolutions without a stone that decides (Let's Go, which has no Z-moves), the second one is in the place of the Z-moves."""


class SeatRequest(NamedTuple):
    """What a seat may choose now."""

    kind: Kind
    """"move": a turn; "switch": replace the active Pokémon; "revive": one that fainted; "preview": the lead; "wait": nothing."""
    mask: tuple[bool, ...]
    """(A,) legal actions. A seat that waits has action 0 alone, which has no effect."""
    choices: tuple[str | None, ...]
    """(A,) the choice string of each legal action; None where illegal, and for a seat that waits."""


def menu_order(request: Mapping[str, Any], slot_order: SlotOrder = "request") -> tuple[int, ...]:
    """Places in the request's menu of actions 0, 1, ...; "alpha" sorts the menu by move id. () if there is no menu."""
    active = request.get("active")
    if not active:
        return ()
    moves = active[0]["moves"][:MOVES]
    places = range(len(moves))
    return tuple(sorted(places, key=lambda k: str(moves[k]["id"])) if slot_order == "alpha" else places)


def seat_request(
    request: Mapping[str, Any] | None,
    order: Sequence[int],
    gen: int,
    gimmick: Gimmick = "native",
    slot_order: SlotOrder = "request",
) -> SeatRequest:
    """Legal actions of a seat.

    A mask is a superset of the truth where the request says `maybeTrapped`, `maybeDisabled` or `maybeLocked`: the simulator may then
    refuse a choice as unavailable, and sends a corrected request.

    Args:
        request: as the simulator made it; None: the seat has nothing to decide.
        order: fixed team slot of each current position of the seat's team.
        gen: generation, which decides the groups of gimmicks.
        gimmick: "never" offers no gimmicks.
        slot_order: order of the menu's moves among actions 0 to 3.
    """
    choices: list[str | None] = [None] * num_actions(gen, gimmick)
    if request is None or request.get("wait"):
        return SeatRequest("wait", (True, *[False] * (len(choices) - 1)), tuple(choices))
    team = request["side"]["pokemon"]
    kind: Kind = "move"
    if request.get("teamPreview"):
        kind = "preview"
        for position in range(len(team)):
            # actions name fixed slots of the team; the simulator counts present positions
            choices[MOVES + order[position]] = f"team {position + 1}"
    elif request.get("forceSwitch"):
        kind = "revive" if any(pokemon.get("reviving") for pokemon in team) else "switch"
        _write_switches(choices, team, order, fainted=kind == "revive")
    else:
        active = request["active"][0]
        if not active.get("trapped"):
            _write_switches(choices, team, order, fainted=False)
        _write_moves(
            choices, active, menu_order(request, slot_order), gimmick_groups(gen) if gimmick == "native" else ()
        )
    return SeatRequest(kind, tuple([choice is not None for choice in choices]), tuple(choices))


def _write_switches(
    choices: list[str | None], team: Sequence[Mapping[str, Any]], order: Sequence[int], fainted: bool
) -> None:
    for position, pokemon in enumerate(team):
        # a revival chooses among the fallen, everything else among the others
        if pokemon["condition"].endswith(" fnt") == fainted and (fainted or not pokemon["active"]):
            choices[MOVES + order[position]] = f"switch {position + 1}"


def _write_moves(
    choices: list[str | None],
    active: Mapping[str, Any],
    places: Sequence[int],
    groups: Sequence[Sequence[str]],
) -> None:
    menu, maximum = active["moves"], (active.get("maxMoves") or {}).get("maxMoves", ())
    # a dynamaxed Pokémon has a menu of Max Moves, and no offer to dynamax
    dynamaxed = bool(maximum) and not active.get("canDynamax")
    for action, place in enumerate(places):
        legal = not menu[place].get("disabled")
        as_maximum = place < len(maximum) and not maximum[place].get("disabled")
        if as_maximum if dynamaxed else legal:
            choices[action] = f"move {place + 1}"
        for group, gimmicks in enumerate(groups):
            for word, flag in (offer for gimmick in gimmicks for offer in _FLAGS[gimmick]):
                told = active.get(flag)
                if word == "zmove":
                    # Z-moves are offered move by move
                    offered = place < len(told or ()) and (told or ())[place] is not None
                elif word == "dynamax":
                    # a Max Move may be possible where the move itself is disabled
                    offered = bool(told) and as_maximum
                else:
                    offered = bool(told) and legal
                if offered:
                    choices[FIRST_GIMMICK + MOVES * group + action] = f"move {place + 1} {word}"
