"""Locks by `fcntl`, by `msvcrt`, and none at all."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from ludory import atomic, locks
from ludory.algorithms.running.folder_lock import FileLock
from ludory.atomic import atomic_file, atomic_folder, remove_temporaries
from ludory.claims import claimed
from ludory.errors import OutputError


@pytest.fixture
def of_windows(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[int, int], int]:
    """`msvcrt` in place of `fcntl`: the locked bytes, (inode, place) -> descriptor."""
    held: dict[tuple[int, int], int] = {}

    def locking(descriptor: int, mode: int, size: int) -> None:
        byte = os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
        if mode == 0:
            assert held.pop(byte) == descriptor, "somebody else's lock"
        elif byte in held:
            raise PermissionError(13, "Permission denied")
        else:
            held[byte] = descriptor

    monkeypatch.setattr(locks, "_FCNTL", None)
    monkeypatch.setattr(locks, "_MSVCRT", SimpleNamespace(locking=locking, LK_NBLCK=2, LK_UNLCK=0))
    monkeypatch.setattr(locks, "OPEN_FILES_MOVE", False)
    monkeypatch.setattr(atomic, "OPEN_FILES_MOVE", False)
    return held


def test_windows_locks_a_byte_that_no_file_has(tmp_path: Path, of_windows: dict[tuple[int, int], int]) -> None:
    file = tmp_path / "lock"
    file.write_text("whoever")
    handle = locks.open_locked(file)
    assert handle is not None
    assert [place > 2**30 for _, place in of_windows] == [True]
    assert locks.open_locked(file, wait=False) is None
    handle.write(b" else")
    locks.remove_locked(handle, file)
    assert not of_windows
    assert not file.exists()


def test_jobs_are_claimed_and_files_written_whole_with_the_locks_of_windows(
    tmp_path: Path, of_windows: dict[tuple[int, int], int]
) -> None:
    with claimed(tmp_path / "job") as ours, claimed(tmp_path / "job") as again:
        assert (ours, again) == (True, False)
    with FileLock(tmp_path / "model"), pytest.raises(OutputError, match=f"process {os.getpid()} on "):
        FileLock(tmp_path / "model")
    (tmp_path / ".old.01234567.tmp").touch()
    with atomic_file(tmp_path / "file", "w") as handle, atomic_folder(tmp_path / "folder") as folder:
        (folder / "part").touch()
        handle.write("one\ntwo\n")
        remove_temporaries(tmp_path)
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["file", "folder", "part"]
    assert (tmp_path / "file").read_bytes() == b"one\ntwo\n"
    assert not of_windows


def test_without_locks_everything_can_be_written_and_nothing_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_FCNTL", None)
    monkeypatch.setattr(locks, "_MSVCRT", None)
    monkeypatch.setattr(atomic, "LOCKS", False)
    (tmp_path / ".old.01234567.tmp").touch()
    with FileLock(tmp_path / "model"), atomic_file(tmp_path / "model", "w") as handle:
        remove_temporaries(tmp_path)
        handle.write("whole")
    assert sorted(file.name for file in tmp_path.iterdir()) == [".old.01234567.tmp", "model"]
