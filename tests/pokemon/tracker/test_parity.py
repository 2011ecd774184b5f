"""The tracker agrees with the simulator's truth at every decision of the recorded battles, for all that the seat may know."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from support.pokemon_battles import decisions, recorded_battles

from ludory.envs.pokemon.tracker import Tracker
from ludory.envs.pokemon.tracker.layout import SIDE_CONDITIONS
from ludory.envs.pokemon.tracker.state import PokemonState, SideState
from ludory.envs.pokemon.vocab import names_of, numbers

BATTLES = range(100)
ROOMS = {"trickroom", "gravity", "magicroom", "wonderroom"}
VOLATILES = {
    "confusion": "confusion", "leechseed": "leechseed", "substitute": "substitute", "taunt": "taunt", "encore": "encore",
    "disable": "disable", "torment": "torment", "attract": "attract", "yawn": "yawn", "perish": "perishsong", "curse": "curse",
    "ingrain": "ingrain", "aquaring": "aquaring", "focusenergy": "focusenergy", "magnetrise": "magnetrise", "healblock": "healblock",
    "mustrecharge": "mustrecharge", "partiallytrapped": "partiallytrapped", "flashfire": "flashfire", "saltcure": "saltcure",
    "charging": "twoturnmove", "protect": "stall",
}  # fmt: skip
"""Ours and the simulator's name."""


def species_id(name: str) -> str:
    """Cosmetic formes count as their species."""
    return names_of("species")[numbers("species")[name]]


def compare_field(state: Any, truth: dict[str, Any]) -> None:
    assert state.turn == truth["turn"]
    assert state.weather == (truth["w"] or "none")
    assert state.terrain == (truth["t"] or "none")
    assert set(state.rooms) == ROOMS & set(truth["p"])


def compare_side(side: SideState, truth: dict[str, Any], gen: int) -> None:
    expected = {name: layers for name, layers in truth["c"].items() if name in SIDE_CONDITIONS}
    if gen == 1:  # screens belong to the active Pokémon
        active = next((pokemon for pokemon in truth["mons"] if pokemon["a"]), {})
        expected |= dict.fromkeys({"reflect", "lightscreen", "mist"} & set(active.get("vo", ())), 1)
    found = {
        name: layers
        for name, layers in side.conditions.items()
        if name not in ("wish", "futuremove", "healingwish", "other")
    }
    assert found == expected
    for name in ("wish", "futuremove"):
        assert (name in side.conditions) == (name in truth["slot"])


def compare_active(side: SideState, pokemon: PokemonState, truth: dict[str, Any]) -> None:
    assert list(pokemon.stages) == truth["bo"]
    assert pokemon.transformed == bool(truth.get("tf"))
    if not truth["ap"] and not truth.get("tera"):
        assert list(pokemon.types) == [name.lower() for name in truth["ty"] if name != "???"]
    for ours, name in VOLATILES.items():
        assert (ours in side.volatiles) == (name in truth["vo"]), ours


def compare_own(pokemon: PokemonState, truth: dict[str, Any]) -> None:
    assert (pokemon.hp, pokemon.max_hp) == (truth["hp"], truth["mx"])
    assert pokemon.hp_exact
    assert pokemon.species == species_id(truth["sp"])
    assert pokemon.item == truth["it"]
    assert pokemon.ability == truth["ab"].replace("noability", "")
    moves = pokemon.temporary_moves or pokemon.moves
    assert [move.id.replace("hiddenpower", "") or "" for move in moves if "hiddenpower" not in move.id] == [
        name for name, _, _ in truth["mv"] if not name.startswith("hiddenpower")
    ]
    assert [move.pp for move in moves] == [pp for _, pp, _ in truth["mv"]]


def compare_foe(pokemon: PokemonState, truth: dict[str, Any]) -> None:
    percent = -(-truth["hp"] * 100 // truth["mx"])
    assert (pokemon.hp, pokemon.max_hp) == (99 if percent == 100 and truth["hp"] < truth["mx"] else percent, 100)
    if truth["ap"]:
        return  # an Illusion: the seat is meant to be wrong
    assert pokemon.species == species_id(truth["sp"])
    assert pokemon.item in (None, truth["it"])
    assert pokemon.ability in (None, truth["ab"].replace("noability", ""))
    pp = {name: left for name, left, _ in truth["mv"]}
    for move in pokemon.temporary_moves or pokemon.moves:
        if not move.id.startswith("hiddenpower"):
            assert move.pp == pp[move.id], move.id


@pytest.mark.parametrize("index", BATTLES)
def test_what_a_seat_knows_is_true(index: int) -> None:
    battle = recorded_battles()[index]
    for seat in (0, 1):
        tracker = Tracker(battle["gen"], seat, strict=True)
        for lines, _, truth in decisions(battle, seat):
            tracker.feed_all(lines)
            state = tracker.snapshot()
            compare_field(state, truth)
            for side, facts, own in ((state.own, truth["s"][seat], True), (state.foe, truth["s"][1 - seat], False)):
                compare_side(side, facts, battle["gen"])
                for known in facts["mons"]:
                    if not own and (not known["a"] or side.active is None):
                        continue
                    pokemon = side.pokemon[known["i"] if own else side.active]
                    assert pokemon.fainted == (known["hp"] == 0)
                    if pokemon.fainted:
                        continue
                    assert pokemon.status == known["st"]
                    if known["st"] == "tox" and known["a"] and battle["gen"] > 2:
                        assert pokemon.status_turns == known["stage"]
                    (compare_own if own else compare_foe)(pokemon, known)
                    if known["a"] and "bo" in known:
                        compare_active(side, pokemon, known)
        tracker.feed_all(battle["seats"][seat]["stream"][battle["seats"][seat]["decisions"][-1]["at"] :])
        assert tracker.unknown == []
        assert tracker.winner is not None


@pytest.mark.parametrize("index", range(0, 100, 11))
def test_a_snapshot_is_what_a_fresh_tracker_knows(index: int) -> None:
    battle = recorded_battles()[index]
    stream = battle["seats"][1]["stream"]
    tracker, snapshots = Tracker(battle["gen"], 1), []
    for lines, decision, _ in decisions(battle, 1):
        tracker.feed_all(lines)
        snapshots.append((decision["at"], tracker.snapshot()))
    for at, snapshot in snapshots:
        fresh = Tracker(battle["gen"], 1)
        fresh.feed_all(stream[:at])
        assert fresh.snapshot() == snapshot


def test_a_snapshot_does_not_change_later() -> None:
    battle = recorded_battles()[3]
    tracker = Tracker(battle["gen"], 0)
    kept = []
    for lines, _, _ in decisions(battle, 0):
        tracker.feed_all(lines)
        snapshot = tracker.snapshot()
        kept.append((snapshot, copy.deepcopy(snapshot)))
    assert all(snapshot == before for snapshot, before in kept)


def test_a_copy_goes_its_own_way() -> None:
    battle = recorded_battles()[3]
    tracker = Tracker(battle["gen"], 0)
    parts = list(decisions(battle, 0))
    for lines, _, _ in parts[:5]:
        tracker.feed_all(lines)
    twin = tracker.copy()
    before = tracker.snapshot()
    for lines, _, _ in parts[5:]:
        twin.feed_all(lines)
    assert tracker.snapshot() == before
    for lines, _, _ in parts[5:]:
        tracker.feed_all(lines)
    assert tracker.snapshot() == twin.snapshot()
    assert np.array_equal(tracker.state, twin.state)


@pytest.mark.parametrize("index", range(0, 100, 9))
def test_a_spectator_reads_both_sides(index: int) -> None:
    """Protocol lines of one seat, as a spectator and from the other chair: the same battle with the sides exchanged."""
    battle = recorded_battles()[index]
    lines = [line for line in battle["seats"][0]["stream"] if not line.startswith("R{")]
    spectator, chair = Tracker(battle["gen"], None, strict=True), Tracker(battle["gen"], 1, strict=True)
    spectator.feed_all(lines)
    chair.feed_all(lines)
    one, two = spectator.snapshot(), chair.snapshot()
    assert one.own.pokemon == two.foe.pokemon
    assert one.foe.pokemon == two.own.pokemon
    assert one.own.conditions == two.foe.conditions
    assert one.winner == two.winner
