"""Engine states on disk: bit for bit the same afterwards, and files that are not ours are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ludory.envs.hanabi import make_game
from ludory.envs.kernel_engine import KernelEngine
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
        (lambda file: np.save(file.open("wb"), np.arange(3)), "not an engine snapshot"),
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
    with pytest.raises(OutputError, match=r"can not write .*; name a folder that you may write to"):
        engine.save(tmp_path / "file" / "games.npz")


def test_missing_folders_are_made(engine, tmp_path):
    engine.save(tmp_path / "new" / "folder" / "games.npz")
    KernelEngine(TINY, 1).restore(tmp_path / "new" / "folder" / "games.npz")
