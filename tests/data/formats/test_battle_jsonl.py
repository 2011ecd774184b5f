"""Trajectories of battles as JSON lines: actions, seats and fields read as written, whole battles, every fault by its place."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludory.cli import main
from ludory.data import TrajectoryDataset
from ludory.data.decisions import Decisions
from ludory.data.formats.battles import BattleTrajectories, game_id
from ludory.data.shards import write_dataset
from ludory.errors import LogFormatError

Line = dict[str, Any]


def step(action_type: int = 0, target: int = 1, done: bool = False, reward: float = 0.0, **observation: Any) -> Line:
    seen = {"turn": 1, "active_hp": 0.5, "team_hp": [1.0, 0.25], "fainted": False} | observation
    return {"observation": seen, "action_type": action_type, "action_target": target, "reward": reward, "done": done}


LINES: list[Line] = [
    {
        "replay_id": "b-1",
        "player": "p1",
        "total_reward": 1,
        "steps": [step(0, 3), step(1, 5, reward=0.5), step(0, 0, True, 0.5)],
    },
    {"replay_id": "b-2", "player": "p2", "total_reward": -1, "steps": [step(1, 0, True, -1.0, turn=7)]},
    {"replay_id": "b-1", "player": "p2", "total_reward": -1, "steps": [step(0, 2), step(0, 1, True, -1.0)]},
]


def write(folder: Path, lines: list[Line], name: str = "battles.jsonl") -> Path:
    (folder / name).write_text("".join(json.dumps(one) + "\n" for one in lines))
    return folder / name


def converted(folder: Path, file: Path) -> Decisions:
    found = BattleTrajectories(file)
    write_dataset(folder / "set", found.header, found.parts())
    return next(TrajectoryDataset(folder / "set").batches(100))


def test_both_players_of_a_battle_are_one_game(tmp_path: Path) -> None:
    data = converted(tmp_path, write(tmp_path, LINES))
    one, two = game_id("b-1"), game_id("b-2")
    assert data.games.tolist() == [one] * 5 + [two]
    assert data.seats.tolist() == [0, 1, 0, 1, 0, 1]
    assert data.steps.tolist() == [0, 0, 1, 1, 2, 0]
    assert data.actions[:, 0].tolist() == [3, 2, 9, 1, 0, 4]
    assert data.rewards.tolist() == [0, 0, 0.5, -1, 0.5, -1]
    assert data.returns.tolist() == [1, -1, 1, -1, 0.5, -1]
    assert data.terminated.tolist() == [False, False, False, True, True, True]
    assert (data.masks.numpy() == np.packbits([1] * 10)).all()
    assert data.weights.tolist() == [1] * 6


def test_numbers_become_a_vector_in_the_order_of_their_names(tmp_path: Path) -> None:
    file = write(tmp_path, LINES)
    names = [segment.name for segment in BattleTrajectories(file).header.observation.segments]
    assert names == ["active_hp", "fainted", "team_hp.0", "team_hp.1", "turn"]
    assert converted(tmp_path, file).observations[-1].tolist() == [0.5, 0, 1, 0.25, 7]


def test_absent_fields_are_0_and_counted_and_texts_are_ignored_and_counted(tmp_path: Path) -> None:
    lines = copy.deepcopy(LINES)
    seen = lines[0]["steps"][0]["observation"]
    del seen["turn"]
    seen |= {"active_hp": None, "name": "Pikachu", "team_hp": [0.5, 0.5, 0.5]}
    found = BattleTrajectories(write(tmp_path, lines))
    assert found.absent == {"turn": 1, "active_hp": 1, "team_hp.2": 5}
    assert found.ignored == {"name": 1}
    assert converted(tmp_path, tmp_path / "battles.jsonl").observations[0].tolist() == [0, 0, 0.5, 0.5, 0.5, 0]


def test_ten_follows_nine_in_names(tmp_path: Path) -> None:
    line = LINES[1] | {"steps": [step(0, 0, True, team_hp=list(range(12)))]}
    data = converted(tmp_path, write(tmp_path, [line]))
    assert data.observations[0, 2:14].tolist() == list(range(12))


def test_masks_and_weights_are_read_where_they_stand(tmp_path: Path) -> None:
    lines = copy.deepcopy(LINES)
    lines[1]["steps"][0] |= {"mask": [4, 7], "weight": 0.25}
    data = converted(tmp_path, write(tmp_path, lines))
    assert np.flatnonzero(np.unpackbits(data.masks[-1].numpy())).tolist() == [4, 7]
    assert data.weights.tolist() == [1, 1, 1, 1, 1, 0.25]


def test_a_battle_without_an_end_is_cut_off(tmp_path: Path) -> None:
    lines = copy.deepcopy(LINES)
    lines[1]["steps"][0]["done"] = False
    data = converted(tmp_path, write(tmp_path, lines))
    assert data.truncated.tolist() == [False] * 5 + [True]


def test_gzip_reads_the_same(tmp_path: Path) -> None:
    file = write(tmp_path, LINES)
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(file.read_bytes()))
    expected = converted(tmp_path / "plain", file)
    for one, other in zip(converted(tmp_path / "packed", tmp_path / "packed.jsonl.gz"), expected, strict=True):
        assert np.array_equal(one, other, equal_nan=one.is_floating_point())


def test_the_split_is_by_battle_whatever_the_order_of_lines(tmp_path: Path) -> None:
    lines = [one | {"replay_id": f"{one['replay_id']}-{k}"} for k in range(60) for one in LINES]
    games = []
    for name, ordered in (("forward", lines), ("backward", lines[::-1])):
        converted(tmp_path / name, write(tmp_path, ordered))
        parts = [TrajectoryDataset(tmp_path / name / "set", split) for split in ("train", "val", "test")]
        games.append([set(next(part.batches(10**6)).games.tolist()) for part in parts])
    assert games[0] == games[1]
    assert sum(map(len, games[0])) == 120


FAULTS: dict[str, tuple[Any, str]] = {
    "no steps key": ({"steps": ...}, r"'steps': got no steps, must be there"),
    "no step": ({"steps": []}, "'steps': got none, must be a list of at least one step"),
    "player 3": ({"player": "p3"}, "'player': got 'p3', must be p1 or p2"),
    "total reward": ({"total_reward": None}, "'total_reward': got None, must be a finite number"),
    "battle without name": ({"replay_id": 3}, "'replay_id': got 3, must be the name of a battle"),
    "target out of range": ({"steps": [step(0, 4, True)]}, r"step 0, field 'action_target': got 4, must be 0\.\.3 for action_type 0"),
    "no label": ({"steps": [step(-1, 0, True)]}, r"step 0, field 'action_type': got -1, must be 0 \(move\) or 1 \(switch\)"),
    "reward NaN": ({"steps": [step(0, 0, True, float("nan"))]}, "step 0, field 'reward': got nan, must be a finite number"),
    "done too early": ({"steps": [step(0, 0, True), step(0, 0, True)]}, "step 0, field 'done': got true before the last step"),
    "done as text": ({"steps": [step() | {"done": "yes"}]}, "'done': got 'yes', must be true or false"),
    "field NaN": ({"steps": [step(0, 0, True, turn=float("inf"))]}, r"'observation\.turn': got NaN or infinity"),
    "observation as list": ({"steps": [step(0, 0, True) | {"observation": [1]}]}, "'observation': got a list, must be an object"),
    "illegal action": ({"steps": [step(0, 0, True) | {"mask": [1, 2]}]}, "'action_target': got action 0, which is not legal, must be among 1, 2"),
    "empty mask": ({"steps": [step(0, 0, True) | {"mask": []}]}, r"'mask': got \[\], must be a list of legal ids 0\.\.9"),
    "negative weight": ({"steps": [step(0, 0, True) | {"weight": -1}]}, "'weight': got -1, must be a finite number of at least 0"),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_with_its_place(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    bad = {name: value for name, value in (LINES[1] | fields).items() if value is not ...}
    with pytest.raises(LogFormatError, match=rf"battles\.jsonl, line 2.*{message}"):
        BattleTrajectories(write(tmp_path, [LINES[0], bad, LINES[2]]))


def test_a_player_twice_in_a_battle_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogFormatError, match=r"line 4, replay_id b-1, field 'player': got p1 as in line 1"):
        BattleTrajectories(write(tmp_path, [*LINES, LINES[0]]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'file': got no trajectory"),
        ("[1]\n", "line 1, field 'record': got a list, must be a JSON object"),
        ('{"replay_id": "b', "line 1, field 'record': got the file ends inside a record"),
        ("{bad}\n", "line 1, field 'record': got invalid JSON"),
    ],
)
def test_broken_files_are_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text(text)
    with pytest.raises(LogFormatError, match=rf"bad\.jsonl.*{message}"):
        BattleTrajectories(tmp_path / "bad.jsonl")
    with pytest.raises(LogFormatError, match="No such file"):
        BattleTrajectories(tmp_path / "none.jsonl")


def test_whole_battles_are_left_out_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = LINES[2] | {"steps": [step(0, 9, True)]}
    file = write(tmp_path, [LINES[0], LINES[1], bad])
    command = ["convert", str(file), "--from", "battle-jsonl", "--out", str(tmp_path / "set")]
    assert main(command) == 2
    assert not (tmp_path / "set").exists()
    assert main([*command, "--skip-bad"]) == 0
    said = capsys.readouterr().out
    assert "left out 1 games" in said
    assert said.splitlines()[-1].startswith("1 games, ")
    assert next(TrajectoryDataset(tmp_path / "set").batches(9)).games.tolist() == [game_id("b-2")]
