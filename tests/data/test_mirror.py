"""A folder of this machine and its store: what was made is never lost or overwritten, whichever of the two is ahead."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludory.data import storage
from ludory.data.mirror import ChangedElsewhereError, Mirror, copy_to_read, last_part
from ludory.data.storage import LIST, fetch, store
from ludory.errors import OptionError, OutputError


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"file://{tmp_path}/store/run" if request.param == "file" else f"memory://{tmp_path.name}/store/run"


def opened(url: str, machine: Path, is_file: bool = False) -> Mirror:
    mirror = Mirror(url, machine, is_file)
    mirror.open()
    return mirror


def write(mirror: Mirror, **contents: str) -> None:
    mirror.folder.mkdir(exist_ok=True)
    for name, content in contents.items():
        (mirror.folder / name).write_text(content)


def read(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir()}


def stored(url: str, folder: Path) -> dict[str, str]:
    fetch(url, folder, replace=True)
    return read(folder)


def test_a_job_goes_on_at_another_machine(url: str, tmp_path: Path) -> None:
    here = opened(url, tmp_path / "here")
    assert here.push().files == 0, "nothing was made, so nothing is stored"
    write(here, log="one")
    here.push()
    there = opened(url, tmp_path / "there")
    assert read(there.folder) == {"log": "one"}
    write(there, log="one two")
    there.push()
    assert read(opened(url, tmp_path / "here").folder) == {"log": "one two"}, "this copy had not changed"


def test_a_file_is_stored_with_what_is_written_beside_it(url: str, tmp_path: Path) -> None:
    here = opened(f"{url}/model.ludory", tmp_path / "here", is_file=True)
    write(here, **{"model.ludory": "weights", "model.csv": "loss"})
    here.push()
    there = opened(f"{url}/model.ludory", tmp_path / "there", is_file=True)
    assert there.path.read_text() == "weights"
    assert read(there.folder) == {"model.ludory": "weights", "model.csv": "loss"}


def test_a_folder_that_was_not_stored_in_time_stays(url: str, tmp_path: Path) -> None:
    """The job was killed between two copies, before the first one, or within one."""
    write(opened(url, tmp_path / "here"), log="one")
    again = opened(url, tmp_path / "here")
    assert read(again.folder) == {"log": "one"}
    again.push()
    write(again, log="one two")
    last = opened(url, tmp_path / "here")
    assert read(last.folder) == {"log": "one two"}
    last.push()
    assert stored(url, tmp_path / "copy") == {"log": "one two"}


def test_a_kill_between_the_list_and_its_note_is_no_change_elsewhere(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = opened(url, tmp_path / "here")
    write(here, log="one")
    whole = storage.Store.write

    def killed(self: storage.Store, name: str, content: bytes) -> None:
        whole(self, name, content)
        if name == LIST:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(storage.Store, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            here.push()
    write(here, log="one two")  # its last words, after the copy
    again = opened(url, tmp_path / "here")
    assert read(again.folder) == {"log": "one two"}
    again.push()
    assert stored(url, tmp_path / "copy") == {"log": "one two"}


def test_two_that_both_changed_are_never_overwritten(url: str, tmp_path: Path) -> None:
    here, there = opened(url, tmp_path / "here"), opened(url, tmp_path / "there")
    write(here, log="here")
    write(there, log="there")
    here.push()
    with pytest.raises(ChangedElsewhereError, match="another machine has stored something there meanwhile"):
        there.push()
    with pytest.raises(ChangedElsewhereError, match="keep one of them: `ludory storage pull"):
        opened(url, tmp_path / "there")
    assert (read(here.folder), read(there.folder)) == ({"log": "here"}, {"log": "there"})
    assert stored(url, tmp_path / "copy") == {"log": "here"}


def test_the_remedies_that_the_error_names_work(url: str, tmp_path: Path) -> None:
    here, there = opened(url, tmp_path / "here"), opened(url, tmp_path / "there")
    write(here, log="here")
    write(there, log="there")
    here.push()
    fetch(url, there.folder, replace=True)
    assert read(opened(url, tmp_path / "there").folder) == {"log": "here"}
    write(there, log="there again")
    there.push()
    assert stored(url, tmp_path / "copy") == {"log": "there again"}


def test_processes_of_one_machine_share_a_mirror(url: str, tmp_path: Path) -> None:
    one, other = opened(url, tmp_path / "here"), opened(url, tmp_path / "here")
    for k, mirror in enumerate((one, other, one)):
        write(mirror, **{f"part{k}": "content"})
        mirror.push()
    assert sorted(stored(url, tmp_path / "copy")) == ["part0", "part1", "part2"]


def test_a_store_that_takes_no_files_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a file where a folder would be")
    with pytest.raises(OutputError, match="cannot be read or written"):
        opened(f"file://{tmp_path}/plain/run", tmp_path / "here")
    with pytest.raises(OptionError, match="must end with a name"):
        Mirror("s3://", tmp_path / "here", False)


def test_copies_to_read_are_of_the_whole_or_of_a_part(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    (run / "players").mkdir(parents=True)
    (run / "events.jsonl").write_text("one")
    (run / "players/main0").write_text("weights")
    store(run, url)
    fetched, whole = [], storage.Store.read

    def counted(self: storage.Store, name: str, file: storage.StoredFile) -> bytes:
        fetched.append(name)
        return whole(self, name, file)

    monkeypatch.setattr(storage.Store, "read", counted)
    assert copy_to_read(f"{url}/players/main0", tmp_path / "copies", False).read_text() == "weights"
    assert read(copy_to_read(f"{url}/players", tmp_path / "copies", True)) == {"main0": "weights"}
    assert (copy_to_read(url, tmp_path / "copies", True) / "events.jsonl").read_text() == "one"
    fetched.clear()
    (run / "events.jsonl").write_text("one two")
    store(run, url)
    for _ in range(2):
        assert (copy_to_read(url, tmp_path / "copies", True) / "events.jsonl").read_text() == "one two"
    assert fetched == ["events.jsonl"], "what is here already is not read again"
    for wrong in (f"{url}/missing", f"{url}-missing"):
        with pytest.raises(OptionError, match="nothing is stored there"):
            copy_to_read(wrong, tmp_path / "copies", False)


@pytest.mark.parametrize("typed", ["model.ludory", "model"])
def test_a_stored_checkpoint_is_found_under_its_name(typed: str, url: str, tmp_path: Path) -> None:
    """Also without its ending, as `ludory train --out` takes it."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "model.ludory").write_text("weights")
    (run / "model.csv").write_text("loss")
    store(run, f"{url}/{typed}")
    assert copy_to_read(f"{url}/{typed}", tmp_path / "copies", False).read_text() == "weights"


def test_the_name_of_a_url_is_without_the_options_of_its_store() -> None:
    """Such as the address of a server that speaks the protocol of S3."""
    assert last_part("s3://bucket/runs/model.ludory?endpoint_override=store.local:9000&scheme=http") == "model.ludory"
    for nameless in ("s3://", "s3://?scheme=http", "file:///", "file:///runs/..", "file:///.hidden"):
        with pytest.raises(OptionError, match="must end with a name"):
            last_part(nameless)
