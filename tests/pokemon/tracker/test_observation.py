"""Observations are what the manual says, column by column, and nothing else."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.pokemon_battles import ALL_LEGAL, decisions, recorded_battles

from ludory.envs.pokemon.columns import ENTITY_SIZE, FIELD_AT, MOVES_AT, POKEMON_AT, VOLATILE_AT
from ludory.envs.pokemon.dex import dex
from ludory.envs.pokemon.observation import (
    FLAT_SIZE,
    SEED41_SIZE,
    entity_spec,
    flat_of_entity,
    flat_spec,
    seed41_spec,
    write_entity,
    write_seed41,
)
from ludory.envs.pokemon.tracker import Tracker
from ludory.envs.pokemon.vocab import vocabulary


def entity(tracker: Tracker, mask: np.ndarray = ALL_LEGAL, **flags: bool) -> np.ndarray:
    out = np.full(ENTITY_SIZE, 7, np.float32)
    write_entity(tracker, mask, out, **flags)
    return out


def test_sizes_are_those_of_the_manual() -> None:
    assert (ENTITY_SIZE, FLAT_SIZE, SEED41_SIZE) == (932, 1116, 41)
    for spec, size in ((entity_spec(), 932), (flat_spec(), 1116), (seed41_spec(), 41)):
        assert spec.size == size
        assert spec.segments[-1].start + spec.segments[-1].length == size
        assert spec.dtype == "float32"
    assert [segment.start for segment in entity_spec().segments] == [0, 144, 152, 632, 684, 860]


@pytest.mark.parametrize(
    "index", [pytest.param(index, marks=[] if index % 3 else pytest.mark.slow) for index in range(0, 100, 7)]
)
def test_numbers_stay_in_their_ranges(index: int) -> None:
    battle = recorded_battles()[index]
    largest = np.array([1518, 321, 584, 20, 20, 20, 7, 955, 955, 955, 955, 955])
    for seat in (0, 1):
        tracker = Tracker(battle["gen"], seat, strict=True)
        for lines, _, _ in decisions(battle, seat):
            tracker.feed_all(lines)
            row = entity(tracker)
            assert np.isfinite(row).all()
            ids = row[:144].reshape(12, 12)
            assert (ids == ids.astype(int)).all()
            assert (ids >= 0).all()
            assert (ids <= largest).all()
            assert (np.abs(row[POKEMON_AT:]) <= 1).all()
            assert (entity_spec().low <= row).all()
            assert (row <= entity_spec().high).all()


def test_a_known_position_reads_as_it_should() -> None:
    species, moves, types = vocabulary("species"), vocabulary("moves"), vocabulary("types")
    tracker = Tracker(4, 0, strict=True)
    tracker.feed_all(
        [
            "|player|p1|A|",
            "|player|p2|B|",
            "|teamsize|p1|2",
            "|teamsize|p2|3",
            "|start",
            "|switch|p1a: Gengar|Gengar, L80, M|200/200",
            "|switch|p2a: Blissey|Blissey, L75, F|100/100",
            "|turn|1",
            "|move|p2a: Blissey|Stealth Rock|p1a: Gengar",
            "|-sidestart|p1: A|move: Stealth Rock",
            "|move|p1a: Gengar|Shadow Ball|p2a: Blissey",
            "|-immune|p2a: Blissey",
            "|-weather|Sandstorm",
            "|upkeep",
            "|turn|2",
        ]
    )
    menu = [("shadowball", 23, 24), ("focusblast", 8, 8), ("substitute", 16, 16), ("willowisp", 24, 24)]
    stats = {"atk": 100, "def": 110, "spa": 250, "spd": 130, "spe": 230}
    own = {
        "ident": "p1: Gengar", "details": "Gengar, L80, M", "condition": "200/200", "active": True, "stats": stats, "item": "",
        "moves": [name for name, _, _ in menu], "baseAbility": "levitate",
    }  # fmt: skip
    bench = {
        **own,
        "ident": "p1: Moltres",
        "details": "Moltres, L78",
        "active": False,
        "condition": "0 fnt",
        "item": "leftovers",
    }
    asked = {
        "active": [
            {
                "moves": [{"id": i, "pp": pp, "maxpp": most, "disabled": False} for i, pp, most in menu],
                "maybeTrapped": True,
            }
        ]
    }
    tracker.request(asked | {"side": {"pokemon": [own, bench]}}, [1, 0])
    mask = np.array([True, True, False, True, False, False, False, False, False, False])
    row = entity(tracker, mask)
    ids, pokemon = row[:144].reshape(12, 12), row[POKEMON_AT:VOLATILE_AT].reshape(12, 40)
    known, field = row[MOVES_AT:FIELD_AT].reshape(8, 22), row[FIELD_AT:]
    active = ids[1]
    assert active[0] == species["gengar"]
    assert active[2] == 1, "no item"
    assert active[3:5].tolist() == [types["ghost"], types["poison"]]
    assert active[5] == 1, "no tera types in generation 4"
    assert active[6] == 1, "healthy"
    assert active[7] == moves["shadowball"]
    assert ids[6, :3].tolist() == [species["blissey"], 0, 0], "the foe's ability and item are unknown"
    assert ids[6, 8:].tolist() == [moves["stealthrock"], 0, 0, 0]
    assert ids[7, 0] == 0, "unknown"
    assert (ids[9:] == 1).all(), "three Pokémon: the other places are empty"
    assert pokemon[:, 0].tolist() == [1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0]
    assert pokemon[1, 1:6].tolist() == [1, 1, 0, 1, 1]
    assert pokemon[0, 1:6].tolist() == [0, 0, 1, 0, 1]
    assert pokemon[6, 5] == 0, "the foe's hp are percent"
    assert pokemon[1, 6] == pytest.approx(0.8)
    assert pokemon[1, 7:13] * 255 == pytest.approx(dex(4).species_stats[species["gengar"]])
    assert pokemon[1, 13:19] * 500 == pytest.approx([200, 100, 110, 250, 130, 230])
    assert pokemon[1, 28:30].tolist() == [0, 1], "maybe trapped"
    assert pokemon[0, 37] == pytest.approx(0.5), "rocks take half of Moltres"
    assert pokemon[1, 37] == pytest.approx(1 / 8)
    assert pokemon[1, 38] == pytest.approx(1 / 4), "poison on normal"
    assert pokemon[6, 39] == pytest.approx(1 / 4)
    assert pokemon[6, 36] == 1, "female"
    assert row[144:152].tolist() == [moves[name] for name, _, _ in menu] + [moves["stealthrock"], 0, 0, 0]
    assert known[:4, 1].tolist() == [1, 1, 0, 1]
    assert known[0, [3, 8, 10, 11, 12, 13]] == pytest.approx([80 / 150, 1, 1, 0, 1, 0]), "ghost on normal"
    assert known[1, [4, 11, 13]] == pytest.approx([0.7, 0.5, 120 * 0.7 * 2 / 600])
    assert known[0, 5] == pytest.approx(23 / 24)
    assert known[3, [9, 18]].tolist() == [1, 1]
    assert known[4, [0, 1, 19]].tolist() == [1, 0, 1]
    assert field[:9].tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0], "sand"
    assert field[9] == pytest.approx(1 / 8)
    assert field[20] == 1, "rocks on the own side"
    assert field[34] == 0
    assert field[48:50] == pytest.approx([0.02, 4 / 9])
    assert field[62:67] == pytest.approx([1 / 6, 3 / 6, 2 / 6, 3 / 6, 1 / 6])
    assert field[67] == 0
    assert entity(tracker, mask, redecision=True)[FIELD_AT + 53] == 1
    assert entity(tracker, mask, wait=True)[FIELD_AT + 52] == 1


def test_hidden_facts_change_no_observation() -> None:
    """The foe's request and the simulator's truth are not read: two battles that look alike give the same row."""
    battle = recorded_battles()[0]
    tracker, other = Tracker(1, 0), Tracker(1, 0)
    for lines, _, _ in decisions(battle, 0):
        tracker.feed_all(lines)
        other.feed_all(lines)
        assert np.array_equal(entity(tracker), entity(other))
    foes = {
        seat: {
            json.loads(line[1:])["request"]["side"]["pokemon"][0]["ident"][:2]
            for line in battle["seats"][seat]["stream"]
            if line[0] == "R"
        }
        for seat in (0, 1)
    }
    assert foes == {0: {"p1"}, 1: {"p2"}}, "a stream holds the requests of its own seat only"


def test_observations_are_copies() -> None:
    battle = recorded_battles()[0]
    tracker = Tracker(1, 0)
    rows, copies = [], []
    for lines, _, _ in decisions(battle, 0):
        tracker.feed_all(lines)
        rows.append(entity(tracker))
        copies.append(rows[-1].copy())
    assert all(np.array_equal(row, copy) for row, copy in zip(rows, copies, strict=True))
    assert not np.array_equal(rows[0], rows[-1])


def test_flat_is_a_function_of_entity() -> None:
    battle = recorded_battles()[40]
    tracker = Tracker(battle["gen"], 1)
    rows = []
    for lines, _, _ in decisions(battle, 1):
        tracker.feed_all(lines)
        rows.append(entity(tracker))
    entities = np.stack(rows)
    flat = flat_of_entity(entities)
    assert flat.shape == (len(rows), FLAT_SIZE)
    assert np.array_equal(flat[:, :780], entities[:, POKEMON_AT:])
    bits = flat[:, 780:].reshape(len(rows), 12, 28)
    assert set(np.unique(bits)) <= {0.0, 1.0}
    assert (bits[..., 20:].sum(-1) == 1).all(), "one status each"
    types = entities[:, :144].reshape(-1, 12, 12)[..., 3:5]
    known = (types > 1).sum(-1)
    assert (bits[..., 1:20].sum(-1)[known > 0] == known[known > 0]).all()
    assert (bits[..., 0] == (types == 0).any(-1)).all()
    assert np.array_equal(flat_of_entity(entities[3]), flat[3])


def test_seed41_has_the_raw_values() -> None:
    tracker = Tracker(4, 1, strict=True)
    tracker.feed_all(
        [
            "|teamsize|p1|6",
            "|teamsize|p2|6",
            "|start",
            "|switch|p1a: Skarmory|Skarmory, L80, M|50/100 par",
            "|switch|p2a: Blissey|Blissey, L75, F|300/600",
            "|turn|12",
            "|-sidestart|p1: A|Spikes",
            "|-sidestart|p1: A|Spikes",
            "|-sidestart|p2: B|move: Stealth Rock",
            "|-weather|RainDance",
        ]
    )
    row = np.zeros(SEED41_SIZE, np.float32)
    write_seed41(tracker, row)
    species = vocabulary("species")
    assert row[:4].tolist() == [12, species["blissey"], 0.5, 1]
    assert row[22:24].tolist() == [species["skarmory"], 0.5]
    assert row[24:30].tolist() == [1, 0, 0, 0, 0, 0]
    assert row[30:32].tolist() == [1, 0]
    assert row[32:36].tolist() == [1, 0, 0, 0]
    assert row[36:40].tolist() == [0, 2, 0, 0]


def test_moves_go_by_id_where_asked() -> None:
    battle = recorded_battles()[0]
    plain, sorted_moves = Tracker(1, 0), Tracker(1, 0, slot_order="alpha")
    for lines, _, _ in decisions(battle, 0):
        plain.feed_all(lines)
        sorted_moves.feed_all(lines)
        usual, alpha = entity(plain)[:152], entity(sorted_moves)[:152]
        assert sorted(usual[144:148]) == sorted(alpha[144:148])
        menu = [x for x in alpha[144:148] if x > 1]
        assert menu == sorted(menu)
        own = alpha[:144].reshape(12, 12)[:6, 8:]
        assert all([x for x in row if x > 1] == sorted(x for x in row if x > 1) for row in own)
