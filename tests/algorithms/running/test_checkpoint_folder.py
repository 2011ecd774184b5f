"""A learner may keep its checkpoints as folders: whole or not at all, loaded and played as files are, refused when damaged."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import hashlib
import json

import pytest
import torch

import ludory
from ludory.algorithms.algorithm import Algorithm
from ludory.atomic import remove_temporaries
from ludory.checkpoints.checkpoint import read_header
from ludory.cli import main
from ludory.errors import CheckpointError, OutputError
from ludory.plugins import Entry, algorithms

TINY = "HanabiTiny2P-v0"


class Speaker(Algorithm):
    """Learns nothing; its checkpoints are folders with a vocabulary beside the weights."""

    id = "speaker-v1"
    saves_folder = True
    words = ("red", "one")

    def setup(self):
        self.fails = False

    def iterate(self, on_step):
        return {} if on_step() else None

    def write_files(self, folder):
        (folder / "tokenizer").mkdir()
        (folder / "tokenizer" / "words.txt").write_text("\n".join(self.words))
        if self.fails:
            raise OSError(28, "No space left on device")

    def read_files(self, folder):
        self.words = tuple((folder / "tokenizer" / "words.txt").read_text().split())


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    monkeypatch.setitem(algorithms._offers, Speaker.id, [Entry(Speaker.id, f"{__name__}:Speaker")])
    monkeypatch.setattr(algorithms, "load", lambda id, load=algorithms.load: Speaker if id == Speaker.id else load(id))


@pytest.fixture
def model():
    made = Speaker("mlp(hidden=(8,))", TINY, num_envs=2, seed=1)
    made.words = ("green", "two")
    return made


@pytest.fixture
def folder(model, tmp_path):
    model.save(tmp_path / "speaker.ludory")
    return tmp_path / "speaker.ludory"


def hidden(folder):
    return [file.name for file in folder.parent.iterdir() if file.name.startswith(".")]


def test_a_folder_holds_header_weights_and_other_files(folder):
    assert {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()} == {
        "ludory.json",
        "run.safetensors",
        "tokenizer/words.txt",
    }
    assert read_header(folder)["algorithm"] == Speaker.id
    assert hidden(folder) == []


def test_a_folder_is_loaded_with_everything_in_it(model, folder):
    again = ludory.load(folder)
    assert again.words == ("green", "two")
    for name, weights in model.policy.state_dict().items():
        assert torch.equal(again.policy.state_dict()[name], weights)


def test_a_folder_plays_wherever_a_file_does(model, folder, capsys):
    games = {"game": TINY, "games": 5, "seed": 2}
    expected = ludory.evaluate([model.as_agent()] * 2, **games).returns
    assert (ludory.evaluate([str(folder)] * 2, **games).returns == expected).all()
    renamed = folder.rename(folder.with_name("speaker"))  # known by its header
    assert ludory.make_agent(f"{renamed}/", TINY).name == Speaker.id
    assert main(["eval", str(renamed), "--game", TINY, "--games", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 5


def test_a_later_save_replaces_the_whole_folder(model, folder):
    (folder / "of_before.txt").write_text("gone afterwards")
    model.words = ("blue",)
    model.save(folder)
    assert not (folder / "of_before.txt").exists()
    assert ludory.load(folder).words == ("blue",)
    assert hidden(folder) == []


def test_what_fails_leaves_the_folder_of_before(model, folder):
    model.words, model.fails = ("blue",), True
    with pytest.raises(OutputError, match=r"cannot write .*speaker\.ludory: No space left"):
        model.save(folder)
    assert ludory.load(folder).words == ("green", "two")
    assert hidden(folder) == []


def test_a_writer_that_was_killed_loses_nothing(folder):
    (folder.parent / ".speaker.ludory.01234567.tmp").mkdir()  # nobody holds its lock
    remove_temporaries(folder.parent)
    assert hidden(folder) == []
    folder.rename(
        folder.with_name(".speaker.ludory.before")
    )  # killed between setting it aside and moving the new one in
    assert ludory.load(folder).words == ("green", "two")


def test_a_file_of_that_name_is_not_replaced(model, tmp_path):
    (tmp_path / "speaker.ludory").write_text("a file")
    with pytest.raises(OutputError, match="there is a file of that name"):
        model.save(tmp_path / "speaker.ludory")


def flipped(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("name", ["run.safetensors", "tokenizer/words.txt"])
def test_a_flipped_bit_is_refused(folder, name):
    flipped(folder / name)
    with pytest.raises(CheckpointError, match=f"speaker.ludory: damaged: its bytes of '{name}'.*nothing was loaded"):
        ludory.load(folder)


def edited(folder, **changes):
    header = json.loads((folder / "ludory.json").read_text())
    (folder / "ludory.json").write_text(json.dumps(header | changes))


def test_a_changed_header_is_refused(folder):
    edited(folder, num_timesteps=7)
    with pytest.raises(CheckpointError, match="damaged: its header"):
        ludory.load(folder)


def test_a_header_that_names_files_elsewhere_is_refused(folder):
    (folder.parent / "elsewhere.txt").write_text("green")
    sums = read_header(folder)["sha256"]
    known = hashlib.sha256(b"green").hexdigest()
    edited(folder, sha256=sums | {"files": sums["files"] | {"../elsewhere.txt": known}})
    with pytest.raises(CheckpointError, match=r"damaged: its bytes of '\.\./elsewhere\.txt'"):
        ludory.load(folder)


def test_missing_files_are_told(folder, tmp_path):
    (folder / "tokenizer" / "words.txt").unlink()
    with pytest.raises(CheckpointError, match=r"damaged: its bytes of 'tokenizer/words\.txt'"):
        ludory.load(folder)
    (folder / "ludory.json").unlink()
    with pytest.raises(CheckpointError, match=r"a folder without a readable ludory\.json"):
        ludory.load(folder)
    with pytest.raises(CheckpointError, match="no such file"):
        ludory.load(tmp_path / "none.ludory")
