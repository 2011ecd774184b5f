"""Files of jobs that may be killed, share their work, or lose their files to somebody else."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import IO

import pytest

from ludory import locks
from ludory.atomic import atomic_file, atomic_folder, remove_temporaries
from ludory.claims import claimed, share
from ludory.errors import OutputError
from ludory.written import WrittenFiles


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_what_dead_writers_left_is_removed_and_what_living_ones_write_stays(tmp_path: Path) -> None:
    for left in (".old.bin.0123abcd.tmp", ".part.claim", ".bashrc.original", "mine.tmp", ".notes.tmp"):
        (tmp_path / left).touch()
    kept = [".bashrc.original", ".notes.tmp", "mine.tmp"]
    with atomic_file(tmp_path / "new.bin") as handle, claimed(tmp_path / "other.bin"):
        here = names(tmp_path)
        assert [name for name in here if name in (*kept, ".other.bin.claim")] == sorted([*kept, ".other.bin.claim"])
        assert ".old.bin.0123abcd.tmp" not in here, "the first write to a folder removes it"
        remove_temporaries(tmp_path)
        assert names(tmp_path) == here
        handle.write(b"whole")
    assert names(tmp_path) == sorted([*kept, "new.bin"])


def test_a_block_that_fails_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path) -> None:
    for write in (atomic_file, atomic_folder):
        target = tmp_path / write.__name__
        with write(target) as made:
            _fill(made, b"whole")
        before = names(tmp_path)
        with pytest.raises(KeyError), write(target) as made:  # noqa: PT012
            _fill(made, b"half")
            raise KeyError
        assert names(tmp_path) == before
        assert (target / "part" if target.is_dir() else target).read_bytes() == b"whole"


def _fill(made: IO[bytes] | Path, content: bytes) -> None:
    if isinstance(made, Path):
        (made / "part").write_bytes(content)
    else:
        made.write(content)


def test_a_claim_removed_between_its_birth_and_its_lock_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, removed = locks.lock, []

    def lock_late(handle, wait):
        if not removed:
            removed.append(handle.name)
            Path(handle.name).unlink()
        return lock(handle, wait)

    monkeypatch.setattr(locks, "lock", lock_late)
    with atomic_file(tmp_path / "file", "w") as handle:
        handle.write("whole")
    assert removed
    assert (tmp_path / "file").read_text() == "whole"


def test_files_have_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    with atomic_file(tmp_path / "whole"):
        pass
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_work_is_shared_and_the_claims_of_the_dead_are_taken_over(tmp_path: Path) -> None:
    made: list[str] = []

    def make(name: str) -> None:
        made.append(name)
        (tmp_path / name).touch()

    def work() -> list[str | None]:
        return list(share("abcdef", lambda name: tmp_path / name, lambda name: (tmp_path / name).exists(), make))

    (tmp_path / "c").touch()
    (tmp_path / ".d.claim").touch()  # of a process that was killed
    with claimed(tmp_path / "a") as ours:
        assert ours
        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        while len(made) < 4:
            assert "a" not in made
    for worker in workers:
        worker.join()
    assert sorted(made) == ["a", "b", "d", "e", "f"], "a when its claim was given up, nothing twice"
    assert names(tmp_path) == list("abcdef")


def test_files_that_are_gone_or_others_are_named(tmp_path: Path) -> None:
    files, written = [tmp_path / name for name in "abcd"], WrittenFiles()
    for file in files:
        file.write_text("here")
        written.add(file)
    written.check()
    files[0].unlink()
    files[1].write_text("more of it")
    with atomic_file(files[2], "w") as handle:
        handle.write("else")
    written.check(last=1)
    with pytest.raises(OutputError, match=r"c has been replaced; .*b has 10 bytes instead of 4; .*a is gone: "):
        written.check()
    written.check(as_good=lambda file: file.name in "abc")
    written.check()
