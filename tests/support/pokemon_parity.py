"""Where a tracker differs from what the simulator holds: the comparison, and truths read from the simulator's own state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ludory.envs.pokemon.tracker import BattleState, PokemonState, SideState
from ludory.envs.pokemon.tracker.layout import SIDE_CONDITIONS
from ludory.envs.pokemon.vocab import names_of, numbers

ROOMS = {"trickroom", "gravity", "magicroom", "wonderroom"}
VOLATILES = {
    "confusion": "confusion", "leechseed": "leechseed", "substitute": "substitute", "taunt": "taunt", "encore": "encore",
    "disable": "disable", "torment": "torment", "attract": "attract", "yawn": "yawn", "perish": "perishsong", "curse": "curse",
    "ingrain": "ingrain", "aquaring": "aquaring", "focusenergy": "focusenergy", "magnetrise": "magnetrise", "healblock": "healblock",
    "mustrecharge": "mustrecharge", "partiallytrapped": "partiallytrapped", "flashfire": "flashfire", "saltcure": "saltcure",
    "charging": "twoturnmove", "protect": "stall",
}  # fmt: skip
"""Ours and the simulator's name."""
LOCKS = {"lockedmove", "uproar", "rollout", "iceball"}
"""The simulator's names of what is one column of ours."""


class Difference(NamedTuple):
    """One thing that the tracker has otherwise than the simulator."""

    side: str
    """"field", "own" or "foe"."""
    what: str
    got: Any
    wanted: Any


def species_id(name: str) -> str:
    """Cosmetic formes count as their species."""
    return names_of("species")[numbers("species")[name]]


def differences(state: BattleState, truth: Mapping[str, Any], seat: int) -> list[Difference]:
    """All differences at a decision of a seat, in what the seat may know."""
    found = [Difference("field", *entry) for entry in _field(state, truth) if entry[1] != entry[2]]
    for name, side, facts in (("own", state.own, truth["s"][seat]), ("foe", state.foe, truth["s"][1 - seat])):
        found += [Difference(name, *entry) for entry in _side(side, facts, state.gen, name) if entry[1] != entry[2]]
    return found


Entries = Iterator[tuple[str, Any, Any]]


def _field(state: BattleState, truth: Mapping[str, Any]) -> Entries:
    yield "turn", state.turn, truth["turn"]
    yield "weather", state.weather, truth["w"] or "none"
    yield "terrain", state.terrain, truth["t"] or "none"
    yield "rooms", set(state.rooms), ROOMS & set(truth["p"])


def _side(side: SideState, truth: Mapping[str, Any], gen: int, whose: str) -> Entries:
    expected = {name: layers for name, layers in truth["c"].items() if name in SIDE_CONDITIONS}
    if gen == 1:  # screens belong to the active Pokémon
        active = next((pokemon for pokemon in truth["mons"] if pokemon["a"]), {})
        expected |= dict.fromkeys({"reflect", "lightscreen", "mist"} & set(active.get("vo", ())), 1)
    hidden = ("wish", "futuremove", "healingwish", "other")
    yield "conditions", {name: n for name, n in side.conditions.items() if name not in hidden}, expected
    for name in ("wish", "futuremove"):
        yield name, name in side.conditions, name in truth["slot"]
    for known in truth["mons"]:
        if whose == "foe" and (not known["a"] or side.active is None):
            continue
        pokemon = side.pokemon[known["i"] if whose == "own" else side.active or 0]
        yield "fainted", pokemon.fainted, known["hp"] == 0
        if pokemon.fainted or known["hp"] == 0:
            continue
        yield "status", pokemon.status, known["st"]
        if known["st"] == "tox" and known["a"] and gen > 2:
            yield "toxic turns", pokemon.status_turns, known["stage"]
        yield from _own(pokemon, known) if whose == "own" else _foe(pokemon, known)
        if known["a"] and "bo" in known:
            yield from _active(side, pokemon, known)


def _active(side: SideState, pokemon: PokemonState, truth: Mapping[str, Any]) -> Entries:
    yield "stages", list(pokemon.stages), truth["bo"]
    yield "transformed", pokemon.transformed, bool(truth.get("tf"))
    if not truth["ap"] and not truth.get("tera"):
        yield "types", list(pokemon.types), [name.lower() for name in truth["ty"] if name != "???"]
    for ours, name in VOLATILES.items():
        yield ours, ours in side.volatiles, name in truth["vo"]
    if "locks" in truth:
        yield "lockedmove", "lockedmove" in side.volatiles, truth["locks"]


def _own(pokemon: PokemonState, truth: Mapping[str, Any]) -> Entries:
    yield "hp", (pokemon.hp, pokemon.max_hp, pokemon.hp_exact), (truth["hp"], truth["mx"], True)
    yield "species", pokemon.species, species_id(truth["sp"])
    yield "item", pokemon.item, truth["it"]
    yield "ability", pokemon.ability, truth["ab"].replace("noability", "")
    moves = pokemon.temporary_moves or pokemon.moves
    yield "moves", [_plain(move.id) for move in moves], [_plain(name) for name, _, _ in truth["mv"]]
    yield "pp", [move.pp for move in moves], [pp for _, pp, _ in truth["mv"]]


def _foe(pokemon: PokemonState, truth: Mapping[str, Any]) -> Entries:
    percent = -(-truth["hp"] * 100 // truth["mx"])
    yield "hp", (pokemon.hp, pokemon.max_hp), (99 if percent == 100 and truth["hp"] < truth["mx"] else percent, 100)
    if truth["ap"]:
        return  # an Illusion: the seat is meant to be wrong
    yield "species", pokemon.species, species_id(truth["sp"])
    if pokemon.item is not None:
        yield "item", pokemon.item, truth["it"]
    if pokemon.ability is not None:
        yield "ability", pokemon.ability, truth["ab"].replace("noability", "")
    pp = {_plain(name): left for name, left, _ in truth["mv"]}
    for move in pokemon.temporary_moves or pokemon.moves:
        yield f"pp of {move.id}", move.pp, pp.get(_plain(move.id))


def _plain(move: str) -> str:
    """Requests write the type of Hidden Power into its id, lines do not."""
    return "hiddenpower" if move.startswith("hiddenpower") else move


def truth_of(state: Mapping[str, Any], orders: Sequence[Sequence[int]]) -> dict[str, Any]:
    """What the simulator holds, in the form of truth.jsonl.gz, from its state (`SimWorker.state`) and the fixed slots by position."""
    field = state["field"]
    return {
        "turn": state["turn"],
        "w": field["weather"],
        "t": field["terrain"],
        "p": list(field["pseudoWeather"]),
        "s": [
            {
                "c": {name: kept.get("layers", 1) for name, kept in side["sideConditions"].items()},
                "slot": [
                    {"futuremove": "futuremove"}.get(name, name) for slot in side["slotConditions"] for name in slot
                ],
                "mons": [_member(pokemon, slot) for pokemon, slot in zip(side["pokemon"], order, strict=True)],
            }
            for side, order in zip(state["sides"], orders, strict=True)
        ],
    }


def _member(pokemon: Mapping[str, Any], slot: int) -> dict[str, Any]:
    volatiles = pokemon["volatiles"]
    return {
        "i": slot,
        "sp": _reference(pokemon["species"]),
        "ap": pokemon["illusion"] or "",
        "a": pokemon["isActive"],
        "hp": pokemon["hp"],
        "mx": pokemon["maxhp"],
        "st": pokemon["status"],
        "stage": pokemon["statusState"].get("stage"),
        "it": pokemon["item"],
        "ab": pokemon["ability"],
        "mv": [(move["id"], move["pp"], move["maxpp"]) for move in pokemon["moveSlots"]],
        "bo": list(pokemon["boosts"].values()),
        "vo": list(volatiles),
        "locks": bool(LOCKS & set(volatiles)),
        "ty": [*pokemon["types"], *filter(None, [pokemon["addedType"]])],
        "tf": pokemon["transformed"],
        "tera": pokemon.get("terastallized"),
    }


CAUSES = (
    "illusion",
    "middle of a turn",
    "base of a Z-move or Max Move",
    "Battle Bond",
    "ability by Transform",
    "end of a lock",
    "desync",
)
"""Why a seat cannot know better; tests/golden/pokemon/parity.md tells more."""


def cause(difference: Difference, state: BattleState, truth: Mapping[str, Any], seen_as: set[str]) -> str | None:
    """Why the seat cannot know this, one of `CAUSES`; None: the tracker is wrong.

    Args:
        difference: between tracker and simulator.
        state: what the tracker knows.
        truth: of the seat's foe, as in truth["s"].
        seen_as: nicknames under which an Illusion of the foe has shown itself.
    """
    side, what, got, wanted = difference
    foe = state.foe.pokemon[state.foe.active or 0]
    active = next((pokemon for pokemon in truth["mons"] if pokemon["a"]), None)
    if side == "foe" and (foe.nickname in seen_as or (active and active["sp"].startswith(("zorua", "zoroark")))):
        return "illusion"
    if state.forced_switch and what in ("lockedmove", "charging", "protect") and wanted:
        return "middle of a turn"
    spent = {"z", "dynamax"} & set(state.foe.spent)
    if side == "foe" and what.startswith("pp of") and wanted is not None and got > wanted and spent:
        return "base of a Z-move or Max Move"
    if (side, what, wanted) == ("foe", "species", "greninjabond"):
        return "Battle Bond"
    if side == "own" and what == "ability" and got is None and state.own.pokemon[state.own.active or 0].transformed:
        return "ability by Transform"
    if side == "foe" and what == "lockedmove" and got and "confusion" in state.foe.volatiles:
        return "end of a lock"
    return None


def _reference(text: Any) -> str:
    """The id in "[Species:pikachu]"."""
    return str(text if isinstance(text, str) else text["id"]).strip("[]").rpartition(":")[2]
