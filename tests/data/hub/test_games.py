"""Recorded games go to a hub and come back; what is sent names no folders of this machine, and `datasets` reads it."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from ludory.agents.evaluation.record import record
from ludory.agents.pretrained.cards import weights_file
from ludory.cli import main
from ludory.data import TrajectoryDataset
from ludory.errors import DataError, HubError, OutputError
from ludory.hub import pull, push

from .conftest import Machine
from .server import HubServer

GAME = "KuhnPoker-v0"
NAMES = ["dataset.json", "part-00000.parquet", "part-00001.parquet"]


@pytest.fixture
def games(machine: Machine) -> Path:
    """Eight games in two files, and one that is not sent."""
    record("random", GAME, 8, "games", seed=1, shard_games=4)
    Path("games/names.json").write_text("who played")
    return Path("games")


def contents(folder: Path, names: list[str] = NAMES) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names}


def test_what_is_pulled_is_what_was_pushed(games: Path, machine: Machine) -> None:
    done = push(games, "alice/games")
    assert sorted(done.files) == NAMES
    machine("second")
    assert pull("datasets/alice/games") == Path("games")  # nothing to do: the same files are there
    found = pull("datasets/alice/games", "pulled")
    assert sorted(file.name for file in found.iterdir()) == ["README.md", *NAMES]
    assert contents(found) == contents(games)


def test_learners_and_commands_read_games_of_the_hub(
    games: Path, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    push(games, "alice/games")
    machine("second")
    assert TrajectoryDataset("hf://datasets/alice/games").num_games == 8
    assert main(["check", "data", "hf://datasets/alice/games"]) == 0
    assert "8 games of KuhnPoker-v0" in capsys.readouterr().out


@pytest.mark.slow
def test_datasets_read_the_folder_by_its_card(games: Path, machine: Machine, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="reads the folder")
    push(games, "alice/games")
    found = datasets.load_dataset(str(pull("datasets/alice/games", "pulled")), cache_dir=str(tmp_path / "cache"))
    own = TrajectoryDataset(games)
    assert found["train"].num_rows == len(own)
    rewards = np.concatenate([table["reward"].to_numpy() for table in own.tables()])
    np.testing.assert_array_equal(np.asarray(found["train"]["reward"], np.float32), rewards)


def test_agents_are_named_without_their_folders(machine: Machine) -> None:
    agent = Path("alices secret folder/agent.ludory")
    agent.parent.mkdir()
    shutil.copy(weights_file("kuhn/cfr"), agent)
    record(str(agent.resolve()), GAME, 4, "games", seed=1)
    push("games", "alice/games")
    found = pull("datasets/alice/games", "pulled")
    header = json.loads((found / "dataset.json").read_text())["header"]
    assert header["agents"] == ["agent.ludory"] * 2
    assert header["checkpoints"] == {"agent.ludory": hashlib.sha256(agent.read_bytes()).hexdigest()}
    assert not any(b"secret" in content for content in contents(found, ["README.md", *NAMES[:2]]).values())
    before, after = (TrajectoryDataset(folder).tables() for folder in ("games", found))
    assert all(ours.equals(theirs) for ours, theirs in zip(before, after, strict=True))


def test_files_of_an_earlier_push_are_removed(games: Path, hub: HubServer) -> None:
    push(games, "alice/games")
    record("random", GAME, 3, "fewer", seed=2)
    push("fewer", "alice/games")
    assert sorted(pull("datasets/alice/games", "pulled").glob("*.parquet")) == [Path("pulled/part-00000.parquet")]
    latest = hub.repositories["datasets", "alice/games"]
    assert "part-00001.parquet" not in latest.commits[latest.branches["main"]]


def test_damaged_and_unfinished_games_are_not_pushed(games: Path, hub: HubServer) -> None:
    (games / "part-00001.parquet").unlink()
    with pytest.raises(DataError, match=r"part-00001\.parquet"):
        push(games, "alice/games")
    assert not hub.repositories


def test_a_damaged_shard_on_the_hub_is_named(games: Path, hub: HubServer, machine: Machine) -> None:
    push(games, "alice/games")
    hub.damage("datasets", "alice/games", "part-00001.parquet", b"PAR1")
    machine("second")
    with pytest.raises(
        HubError, match=r"part-00001\.parquet is damaged or missing: expected SHA-256 \w{64}, got \w{64}"
    ):
        pull("datasets/alice/games", "pulled")
    assert not Path("pulled").exists()


def test_a_folder_is_replaced_only_by_force_and_only_where_it_holds_games(games: Path) -> None:
    push(games, "alice/games")
    record("random", GAME, 3, "mine", seed=2)
    before = contents(Path("mine"), NAMES[:2])
    with pytest.raises(OutputError, match=r"mine: exists, and differs .*--force"):
        pull("datasets/alice/games", "mine")
    assert contents(Path("mine"), NAMES[:2]) == before
    assert contents(pull("datasets/alice/games", "mine", force=True)) == contents(games)
    Path("thesis").mkdir()
    Path("thesis/thesis.tex").touch()
    with pytest.raises(OutputError, match=r"thesis: exists, and holds no recorded games"):
        pull("datasets/alice/games", "thesis", force=True)
