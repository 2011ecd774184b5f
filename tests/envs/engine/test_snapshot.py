"""Engine states on disk: bit for bit the same afterwards, and files that are not ours are refused."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.engine.snapshot import check_fields
from ludory.envs.hanabi import make_game
from ludory.envs.parts import Field
from ludory.errors import OutputError, SnapshotError
from ludory.testing.recording import record, replay

TINY = make_game(colors=2, ranks=2, hand_size=2)


@pytest.fixture
def engine():
    engine = KernelEngine(TINY, 20, seed=1)
    engine.reset()
    return engine


@pytest.fixture
def file(engine, tmp_path):
    engine.save(tmp_path / "games.npz")
    return tmp_path / "games.npz"


def test_restored_games_go_on_bit_for_bit_through_later_games_too(engine, file):
    other = KernelEngine(TINY, 3, seed=2)
    other.restore(file)
    for _ in range(3):
        recording = record(engine, np.random.default_rng(3))
        replay(other, recording)
        engine.reset()
        other.reset()


def test_games_that_were_not_started_stay_so(tmp_path):
    engine = KernelEngine(TINY, 3, seed=1)
    engine.reset([1])
    engine.save(tmp_path / "games")
    other = KernelEngine(TINY, 3, seed=2)
    other.reset()
    other.restore(tmp_path / "games")
    other.observe(0, [1])
    with pytest.raises(RuntimeError, match="game 0 was never started"):
        other.observe(0)


def rewritten(file, **changes):
    """The file with some arrays replaced, or left out (None)."""
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files} | changes
    np.savez(file, **{name: array for name, array in arrays.items() if array is not None})


def header(**changes):
    return np.array(json.dumps({"format": 1, "game": {"id": "Hanabi", "options": {}}} | changes))


def saved_array(file):
    with file.open("wb") as handle:
        np.save(handle, np.arange(3))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda file: file.unlink(), "not an engine snapshot"),
        (lambda file: file.write_bytes(b""), "not an engine snapshot"),
        (lambda file: file.write_text("a text"), "not an engine snapshot"),
        (lambda file: file.write_bytes(file.read_bytes()[:500]), "not an engine snapshot"),
        (
            lambda file: file.write_bytes(file.read_bytes()[:900] + b"x" * 50 + file.read_bytes()[950:]),
            "not an engine snapshot",
        ),
        (lambda file: saved_array(file), "not an engine snapshot"),
        (lambda file: rewritten(file, header=None), "not an engine snapshot"),
        (lambda file: rewritten(file, header=np.array("{")), "not an engine snapshot"),
        (lambda file: rewritten(file, header=np.array("3")), "names no game"),
        (lambda file: rewritten(file, header=header(game=3)), "names no game"),
        (lambda file: rewritten(file, header=header(format=9)), "snapshot format 9, this version reads 1"),
        (
            lambda file: rewritten(file, header=header()),
            "saved from Hanabi with options {}, this engine plays Hanabi with options {'colors'",
        ),
        (lambda file: rewritten(file, deck=None), "lacks the field 'deck'"),
        (lambda file: rewritten(file, _started=None), "lacks the field '_started'"),
        (lambda file: rewritten(file, deck=np.zeros((20, 9), np.int8)), "'deck' is int8 (20, 9), must be int8 (20, 8)"),
        (lambda file: rewritten(file, tokens=np.zeros(20, np.int64)), "'tokens' is int64 (20,), must be int8 (20,)"),
        (lambda file: rewritten(file, tokens=np.array([print] * 20)), "not an engine snapshot"),
    ],
)
def test_damaged_and_foreign_files_are_refused_and_the_games_stay(engine, file, damage, message):
    damage(file)
    before = engine.records.copy()
    with pytest.raises(SnapshotError) as caught:
        engine.restore(file)
    assert message in str(caught.value)
    assert (engine.records == before).all()


def test_a_file_of_another_game_is_refused(file):
    other = KernelEngine(make_game(colors=2, ranks=2, hand_size=3), 1)
    with pytest.raises(SnapshotError, match="make the engine with the saved id and options"):
        other.restore(file)


def test_a_failed_save_leaves_the_old_file(engine, file, monkeypatch):
    before = file.read_bytes()
    engine.step(engine.legal().argmax(1))

    def full_disk(*args, **arrays):
        args[0].write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(OSError, match="no space left"):
        engine.save(file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["games.npz"]


def test_a_folder_that_can_not_be_made_is_named(engine, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match=r"cannot write .*; name a folder that you may write to"):
        engine.save(tmp_path / "file" / "games.npz")


def test_missing_folders_are_made(engine, tmp_path):
    engine.save(tmp_path / "new" / "folder" / "games.npz")
    KernelEngine(TINY, 1).restore(tmp_path / "new" / "folder" / "games.npz")


# --- Values that a kernel would take for an index, a count or a limit ---------------------------------------------------


def loaded(engine, name, value):
    """Load the engine's own state, one value of game 3 changed."""
    fields = {key: values.copy() for key, values in engine.fields().items()}
    values = fields[name].view(np.uint8) if fields[name].dtype == bool else fields[name]
    values[3] = value
    engine.load_fields(fields)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("to_move", 127, "'to_move' of game 3 is 127, must be from 0 to 1"),
        ("to_move", -1, "'to_move' of game 3 is -1, must be from 0 to 1"),
        ("deck_top", 9, "'deck_top' of game 3 is 9, must be from 0 to 8"),
        ("deck", [0, 0, 0, 1, 2, 2, 2, 4], "'deck' [7] of game 3 is 4, must be from 0 to 3"),
        ("held", 3, "'held' [0] of game 3 is 3, must be from 0 to 2"),
        ("setup", [8, 3, 0, 1, 1], "'setup' [4] of game 3 is 1, must be 0"),
        ("rewards", [0, np.nan], "'rewards' [1] of game 3 is nan, must be finite"),
        ("terminated", 2, "'terminated' of game 3 is 2, must be from 0 to 1"),
        ("held", 1, "the saved fields of game 3 contradict each other"),
        ("deck", [0, 0, 0, 0, 2, 2, 2, 3], "the saved fields of game 3 contradict each other"),
        ("deck_top", 3, "the saved fields of game 3 contradict each other"),
    ],
)
def test_values_out_of_bounds_are_refused_with_their_place(engine, name, value, message):
    before = engine.records.copy()
    with pytest.raises(SnapshotError) as caught:
        loaded(engine, name, value)
    assert "Hanabi" in str(caught.value)
    assert message in str(caught.value)
    assert (engine.records == before).all()


def test_bounds_are_those_of_the_variant(engine):
    whole = make_game()
    check_fields(whole, KernelEngine(whole, 4, seed=1).fields() | {"turn": np.full(4, 50, np.int16)})
    with pytest.raises(SnapshotError, match=f"must be from 0 to {TINY.facts.longest_game};"):
        loaded(engine, "turn", 50)


def test_games_that_were_never_started_may_contradict_themselves(engine):
    fields = KernelEngine(TINY, 4, seed=1).fields()
    engine.load_fields(fields)
    assert engine.num_games == 4


def test_a_game_without_bounds_is_loaded_as_before(engine):
    free = replace(
        TINY,
        rules=replace(
            TINY.rules, consistent=None, fields={name: Field(*spec[:3]) for name, spec in TINY.rules.fields.items()}
        ),
    )
    other = KernelEngine(free, 1, seed=1)
    other.load_fields(engine.fields())
    assert (other.records == engine.records).all()


# --- Files that ask for more memory than they are worth ------------------------------------------------------------------


def bomb(file, **arrays):
    """A snapshot of zeros, which a thousandth of its size describes; arrays: shape and dtype of those that differ."""
    saved = {name: ((1 << 24, *spec.shape), spec.dtype) for name, spec in TINY.rules.fields.items()}
    with np.load(file) as archive:
        header = archive["header"]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (shape, dtype) in {**saved, "_started": ((1 << 24,), "bool"), **arrays}.items():
            with archive.open(f"{name}.npy", "w") as member:
                form = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(member, form)
        with archive.open("header.npy" if "header" not in arrays else "ours.npy", "w") as member:
            np.lib.format.write_array(member, header)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {},
            "holds 16777216 games, [0-9.]+ GiB in memory; if that is right, make the engine .* with num_games=16777216",
        ),
        ({"tokens": ((1 << 40,), "int8")}, r"'tokens' is int8 \(1099511627776,\), must be int8 \(16777216,\)"),
        ({"tokens": ((1 << 24,), "int64")}, "'tokens' is int64"),
        ({"header": ((), "<U400000000")}, "its header is not a short text"),
    ],
)
def test_sizes_are_compared_before_memory_is_asked_for(engine, file, arrays, message):
    bomb(file, **arrays)
    tracemalloc.start()
    try:
        with pytest.raises(SnapshotError, match=message):
            engine.restore(file)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_arrays_that_the_game_does_not_have_are_not_unpacked(engine, file):
    rewritten(file, stowaway=np.zeros(1 << 22, np.int8))
    tracemalloc.start()
    try:
        engine.restore(file)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_byte_behind_the_values_is_noticed(engine, file):
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content + b"x" * (name == "tokens.npy"))
    with pytest.raises(SnapshotError, match="tokens continues after its last value"):
        engine.restore(file)


# --- Damaged states ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_damaged_states_are_refused_or_harmless(tmp_path):
    script = Path(__file__).with_name("damaged_states.py")
    games = ["HanabiTiny2P-v0", "Texas42Play-v0"]
    done = subprocess.run([sys.executable, script, tmp_path, "12", "1", *games], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\nended with {done.returncode}\n{done.stderr[-2000:]}"
    figures = {name: counts for line in done.stdout.splitlines() for name, counts in json.loads(line).items()}
    assert list(figures) == games
    assert sum(counts["refused"] for counts in figures.values()) > 12
    assert sum(counts["played"] for counts in figures.values()) > 0
