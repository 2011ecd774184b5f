"""The dex tables say what the games say, and the pinned simulator still says the same."""

from __future__ import annotations

import hashlib
import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ludory.envs.pokemon.backends.install import Installation
from ludory.envs.pokemon.dex import BOOSTS, FOLDER, GENERATIONS, PHYSICAL, SPECIAL, dex
from ludory.envs.pokemon.vocab import KINDS, VOCAB_SHA256, names_of, numbers, to_id, vocabulary, written_names
from ludory.errors import OptionError

generate = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[2] / "tools" / "pokemon_dex.py")))
"""Writes the tables."""
MOVES, SPECIES, TYPES = vocabulary("moves"), vocabulary("species"), vocabulary("types")


def test_vocabularies_hold_the_whole_dex() -> None:
    sizes = {kind: len(vocabulary(kind)) for kind in KINDS}
    assert sizes == {"species": 1517, "moves": 954, "items": 583, "abilities": 320, "types": 19, "statuses": 6}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_run_from_two_without_gaps(kind: str) -> None:
    assert sorted(vocabulary(kind).values()) == list(range(2, len(vocabulary(kind)) + 2))
    assert all(names_of(kind)[number] == name for name, number in vocabulary(kind).items())


def test_the_hash_is_that_of_the_ids_since_the_first_checkpoint() -> None:
    assert VOCAB_SHA256 == "cd8fb2c110526e157d00378d6f601024eec63dfe4e0d4253f923c224e2613f21"


def test_names_are_found_as_they_are_written() -> None:
    species, moves = numbers("species"), numbers("moves")
    assert species["Mr. Mime"] == SPECIES["mrmime"]
    assert species["Sawsbuck-Winter"] == SPECIES["sawsbuck"], "a cosmetic forme"
    assert species["Nidoran-F"] == SPECIES["nidoranf"]
    assert moves["hiddenpowerice60"] == MOVES["hiddenpowerice"]
    assert moves["return102"] == MOVES["return"]
    assert species["Missingmon"] == 0
    assert to_id("Flabébé") == "flabb"


def test_facts_that_changed_between_generations() -> None:
    assert (dex(1).move_power[MOVES["blizzard"]], dex(9).move_power[MOVES["blizzard"]]) == (120, 110)
    assert dex(1).move_type[MOVES["bite"]] == TYPES["normal"]
    assert dex(2).move_type[MOVES["bite"]] == TYPES["dark"]
    assert dex(3).move_category[MOVES["bite"]] == SPECIAL
    assert dex(4).move_category[MOVES["bite"]] == PHYSICAL
    assert dex(1).chart[TYPES["ghost"], TYPES["psychic"]] == 0
    assert dex(2).chart[TYPES["ghost"], TYPES["psychic"]] == 2
    assert dex(5).chart[TYPES["dark"], TYPES["steel"]] == 0.5
    assert dex(6).chart[TYPES["dark"], TYPES["steel"]] == 1
    assert dex(6).chart[TYPES["dragon"], TYPES["fairy"]] == 0
    assert dex(5).species_types[SPECIES["clefable"]].tolist() == [TYPES["normal"], 1]
    assert dex(6).species_types[SPECIES["clefable"]].tolist() == [TYPES["fairy"], 1]


def test_what_moves_do() -> None:
    table = dex(9)
    assert table.move_self_boosts[MOVES["swordsdance"], BOOSTS.index("atk")] == 2
    assert table.move_self_boosts[MOVES["closecombat"]].tolist() == [0, -1, 0, -1, 0, 0, 0]
    assert table.move_target_boosts[MOVES["growl"], BOOSTS.index("atk")] == -1
    assert table.move_status_chance[MOVES["scald"]] == pytest.approx(0.3)
    for column, yes, no in (
        ("pivot", "uturn", "tackle"),
        ("hazard_set", "stealthrock", "rapidspin"),
        ("hazard_clear", "rapidspin", "spikes"),
        ("protect", "protect", "endure"),
        ("recoil", "explosion", "recover"),
        ("heals", "drainpunch", "superfang"),
        ("raises_self", "swordsdance", "closecombat"),
        ("lowers_target", "crunch", "swordsdance"),
        ("phaze", "roar", "uturn"),
    ):
        flags = getattr(table, f"move_{column}")
        assert flags[MOVES[yes]], (column, yes)
        assert not flags[MOVES[no]], (column, no)
    assert table.move_hits[MOVES["doublekick"]] == 2
    assert dex(4).move_hits[MOVES["bulletseed"]] == 3
    assert table.move_pp[MOVES["recover"]] == 8
    assert dex(1).move_pp[MOVES["growl"]] == 61


@pytest.mark.parametrize("gen", GENERATIONS)
def test_tables_fit_their_vocabularies_and_cannot_be_written_to(gen: int) -> None:
    table = dex(gen)
    for name in table.__slots__:
        value = getattr(table, name)
        if isinstance(value, str):
            continue
        size = {"species": 1519, "move": 956, "chart": 21}[name.partition("_")[0]]
        assert len(value) == size, name
        assert not value.flags.writeable, name
    assert (table.chart >= 0).all()
    assert (table.chart <= 2).all()
    assert table.rules.startswith("pokemon-showdown ")


def test_a_generation_that_does_not_exist_is_refused() -> None:
    with pytest.raises(OptionError, match="1 to 9"):
        dex(10)


def test_the_tables_belong_to_the_lock_file() -> None:
    lock = hashlib.sha256(generate.LOCK.read_bytes()).hexdigest()
    assert {dex(gen).lock_sha256 for gen in GENERATIONS} == {lock}, "run make pokemon-dex"


def test_the_simulator_still_says_the_same(simulator: Installation) -> None:
    raw = generate.simulator_dex(simulator.folder)
    assert json.loads((FOLDER / "names.json").read_text(encoding="utf-8")) == generate.written(raw), (
        "run make pokemon-dex"
    )
    for kind, ids in generate.vocabularies(raw).items():
        assert names_of(kind)[2:] == tuple(ids)  # type: ignore[arg-type]
    for gen in GENERATIONS:
        table = dex(gen)
        for name, array in generate.tables(raw, gen).items():
            assert np.array_equal(getattr(table, name), array), (gen, name)


def test_every_id_has_a_written_name() -> None:
    for kind in KINDS:
        assert len(written_names(kind)) == len(names_of(kind))
    assert written_names("species")[SPECIES["tapukoko"]] == "Tapu Koko"
