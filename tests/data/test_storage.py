"""Copies in stores: whole or not there, only what has changed, and errors that say what is allowed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ludory.cli import main
from ludory.data.storage import LIST, fetch, store
from ludory.errors import DataError, LudoryError, OptionError, OutputError, PluginError


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"file://{tmp_path}/store" if request.param == "file" else f"memory://{tmp_path.name}/store"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    (folder / "players").mkdir(parents=True)
    (folder / "events.jsonl").write_text("one\n")
    (folder / "players/main0@0.ludory").write_bytes(bytes(1000))
    (folder / ".events.jsonl.lock").write_text("a process")
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_what_was_stored_comes_back_without_locks(url: str, run: Path, tmp_path: Path) -> None:
    assert store(run, url) == (2, 2, 1004)
    assert fetch(url, tmp_path / "copy").files == 2
    expected = {name: content for name, content in files(run).items() if not name.startswith(".")}
    assert files(tmp_path / "copy") == expected


def test_only_changes_are_sent_and_old_contents_removed(url: str, run: Path, tmp_path: Path) -> None:
    store(run, url)
    assert store(run, url).sent == 0
    (run / "events.jsonl").write_text("one\ntwo\n")
    (run / "players/main0@0.ludory").unlink()
    assert store(run, url) == (1, 1, 8)
    fetch(url, tmp_path / "copy")
    assert files(tmp_path / "copy") == {"events.jsonl": b"one\ntwo\n"}


def test_a_copy_that_was_interrupted_leaves_the_one_before(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every single write of the store."""
    url = f"file://{tmp_path}/store"
    store(run, url)
    stored = set(tmp_path.glob("store/*@*"))
    before = {name: content for name, content in files(run).items() if not name.startswith(".")}
    (run / "events.jsonl").write_text("one\ntwo\n")
    (run / "more").write_text("more")
    from ludory.data import storage

    whole = storage.Store.write
    for survived in range(3):
        left = [survived]

        def write(self: storage.Store, name: str, content: bytes, left: list[int] = left) -> None:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            whole(self, name, content)

        monkeypatch.setattr(storage.Store, "write", write)
        with pytest.raises(KeyboardInterrupt):
            store(run, url)
        fetch(url, tmp_path / f"copy{survived}")
        assert files(tmp_path / f"copy{survived}") == before
        for extra in set(tmp_path.glob("store/*@*")) - stored:  # as if nothing of this try had arrived
            extra.unlink()


def test_a_folder_that_is_written_to_is_copied_again(
    url: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, lines, seen = Path.read_bytes, ["one\n"], []

    def read(file: Path) -> bytes:
        content = whole(file)
        if file.parent == run and len(lines) < most:  # the job writes as soon as its log was read
            lines.append("more\n")
            (run / "events.jsonl").write_text("".join(lines))
        seen.append(file.name)
        return content

    monkeypatch.setattr(Path, "read_bytes", read)
    most = 3
    store(run, url)
    assert seen.count("main0@0.ludory") == 1, "only what changed is read again"
    fetch(url, tmp_path / "copy")
    assert (tmp_path / "copy/events.jsonl").read_text() == "one\nmore\nmore\n"
    most = 1000
    (run / "events.jsonl").write_text("new\n")
    with pytest.raises(OutputError, match="a job wrote to it during each of 20 copies"):
        store(run, url)


def test_damage_is_refused_and_changes_nothing(run: Path, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/store"
    store(run, url)
    (damaged,) = (tmp_path / "store").glob("events*")
    damaged.write_text("two\n")
    with pytest.raises(DataError, match="SHA-256"):
        fetch(url, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    listed = json.loads((tmp_path / "store" / LIST).read_text())
    listed["files"]["../outside"] = listed["files"].pop("events.jsonl")
    (tmp_path / "store" / LIST).write_text(json.dumps(listed))
    with pytest.raises(LudoryError, match="lies outside"):
        fetch(url, tmp_path / "copy")


def test_the_commands(url: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["storage", "push", str(run / "events.jsonl"), url]) == 0
    assert "1 files (0.0 MB)" in capsys.readouterr().out
    assert main(["storage", "pull", url, str(tmp_path / "copy"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"files": 1, "sent": 1, "bytes": 4}
    assert main(["storage", "pull", url, str(tmp_path / "copy")]) != 0
    assert "add --replace" in capsys.readouterr().err


def test_a_folder_is_copied_until_the_command_is_stopped(run: Path, tmp_path: Path) -> None:
    """With what was written last."""
    command = ["storage", "push", str(run), f"file://{tmp_path}/store", "--every", "0.2"]
    with subprocess.Popen([sys.executable, "-m", "ludory", *command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "2 of them copied now" in process.stdout.readline()
        assert "0 of them copied now" in process.stdout.readline()
        (run / "last").write_text("last")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert fetch(f"file://{tmp_path}/store", tmp_path / "copy").files == 3


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ("bucket/folder", OptionError, "must be a URL, such as s3://bucket/folder"),
        (
            "nonsense://bucket/folder",
            OptionError,
            "unknown scheme 'nonsense'; must be file://, s3://, gs://, or one of fsspec",
        ),
        ("smb://host/folder", PluginError, "needs a package of fsspec that is not installed"),
        ("memory://nothing/here", OptionError, "nothing is stored there; `ludory storage push"),
    ],
)
def test_wrong_urls_are_refused(wrong: str, error: type[LudoryError], said: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=said):
        fetch(wrong, tmp_path / "copy")


def test_a_missing_folder_is_said_before_the_store_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def contacted(url: str) -> None:
        raise AssertionError(f"{url} was contacted")

    monkeypatch.setattr("ludory.data.storage.Store", contacted)
    with pytest.raises(OptionError, match=r"missing: no such file or folder; .* `ludory storage push FOLDER s3://a/b`"):
        store(tmp_path / "missing", "s3://a/b")
