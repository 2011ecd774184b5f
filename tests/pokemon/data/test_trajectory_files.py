"""Trajectory files: both schemas, what is wrong with a line, statistics, and splits."""

from __future__ import annotations

import copy
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludory.cli import main
from ludory.data.pokemon.conversion import Conversion, ConvertedBattle, converted
from ludory.data.pokemon.observations import observations_of
from ludory.data.pokemon.replays import battle_of
from ludory.data.pokemon.resimulation import check_same, request_trajectories, resimulate, spectator_lines
from ludory.data.pokemon.samples import BattleSamples, create_dataloader
from ludory.data.pokemon.splitting import check_disjoint, in_validation, names_of_split, split_file
from ludory.data.pokemon.statistics import statistics_of
from ludory.data.pokemon.trajectories import (
    MISSING,
    BattleStep,
    BattleTrajectory,
    content_of,
    read_trajectories,
    type_and_target,
    write_trajectories,
)
from ludory.envs.pokemon.backends.sim import SimWorker
from ludory.envs.pokemon.observation import write_entity
from ludory.envs.pokemon.tracker import Tracker
from ludory.envs.pokemon.vocab import numbers
from ludory.errors import DataError, OptionError, RejectedBattleError

from .recorded import BATTLES, battles, lines_of, resimulations

pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def chosen() -> list[BattleTrajectory]:
    """Trajectories of twenty battles, from their input logs."""
    found: list[BattleTrajectory] = []
    for battle in battles()[::8]:
        found += request_trajectories(battle, resimulations()[battle.id])
    return found


@pytest.fixture(scope="module")
def seen() -> list[BattleTrajectory]:
    """Trajectories of twenty battles, from what a spectator sees."""
    found: list[BattleTrajectory] = []
    for number, one in enumerate(converted([BATTLES], Conversion(labels="log"))):
        if isinstance(one, ConvertedBattle) and number % 6 == 0:
            found += one.trajectories
    return found


# Files


@pytest.mark.parametrize("name", ["battles.jsonl", "battles.jsonl.gz"])
def test_what_is_written_is_read(tmp_path: Path, name: str, chosen: list[BattleTrajectory]) -> None:
    file = tmp_path / name
    assert write_trajectories(file, chosen) == len(chosen)
    assert list(read_trajectories(file)) == chosen
    assert (file.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


def test_a_file_depends_on_its_content_alone(tmp_path: Path, chosen: list[BattleTrajectory]) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_trajectories(tmp_path / name, chosen)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_the_seeds_schema_keeps_ids_rewards_and_ends(tmp_path: Path, seen: list[BattleTrajectory]) -> None:
    write_trajectories(tmp_path / "seed.jsonl", seen, "seed")
    for line, one in zip((tmp_path / "seed.jsonl").read_text().splitlines(), seen, strict=True):
        assert set(json.loads(line)) == {"replay_id", "player", "total_reward", "steps"}
        fields = {"observation", "action_type", "action_target", "reward", "done"}
        assert all(set(step) == fields and step["action_type"] in (0, 1) for step in json.loads(line)["steps"])
        assert sum(step["reward"] for step in json.loads(line)["steps"]) == one.total_reward
    again = list(read_trajectories(tmp_path / "seed.jsonl"))
    for back, one in zip(again, seen, strict=True):
        kept = [step for step in one.steps if step.action != MISSING]
        assert [step.action for step in back.steps] == [
            4 + target if kind else target for kind, target in (type_and_target(step.action) for step in kept)
        ]
        assert (back.total_reward, back.steps[-1].done) == (one.total_reward, True)
        assert not any(step.done for step in back.steps[:-1])


def test_a_missing_label_is_no_action(seen: list[BattleTrajectory]) -> None:
    missing = [step for one in seen for step in one.steps if step.label_source == "missing"]
    assert missing
    assert all((step.action, step.weight, type_and_target(step.action)) == (MISSING, 0.0, (-1, -1)) for step in missing)


def test_steps_see_no_line_of_the_future(chosen: list[BattleTrajectory]) -> None:
    """The last line before a decision is its request; nothing that a side reads tells its choice."""
    for one in chosen:
        places = [step.at for step in one.steps]
        assert places == sorted(set(places))
        assert all(one.stream[at - 1].startswith("R{") for at in places)
        for at in places:
            request = json.loads(one.stream[at - 1][1:])["request"]
            assert request["side"]["id"] == one.player


# Lines that are wrong


def changed(base: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The object with one field set, or removed (value `...`)."""
    content = copy.deepcopy(base)
    *parents, last = (int(part) if part.lstrip("-").isdigit() else part for part in path.split("."))
    place: Any = content
    for part in parents:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return content


FAULTS: list[tuple[str, Any, str]] = [
    ("steps", ..., "steps"), ("steps", [], "steps"), ("steps", {}, "steps"), ("steps", None, "steps"), ("steps", [1], "steps"),
    ("replay_id", ..., "replay_id"), ("replay_id", 5, "replay_id"), ("replay_id", "", "replay_id"),
    ("player", ..., "player"), ("player", "p3", "player"), ("player", 1, "player"),
    ("total_reward", ..., "total_reward"), ("total_reward", "1", "total_reward"), ("total_reward", True, "total_reward"),
    ("total_reward", float("nan"), "total_reward"), ("total_reward", 1e60, "total_reward"),
    ("steps.0.observation", ..., "observation"), ("steps.0.observation", [], "observation"), ("steps.0.observation", None, "observation"),
    ("steps.0.observation", {"turn": float("inf")}, "observation.turn"), ("steps.0.observation", {"team": [1, 1e300]}, "observation.team.1"),
    ("steps.0.action_type", ..., "action_type"), ("steps.0.action_type", 2, "action_type"), ("steps.0.action_type", -1, "action_type"),
    ("steps.0.action_type", "move", "action_type"), ("steps.0.action_type", True, "action_type"), ("steps.0.action_type", None, "action_type"),
    ("steps.0.action_target", ..., "action_target"), ("steps.0.action_target", 4, "action_target"), ("steps.0.action_target", -1, "action_target"),
    ("steps.0.action_target", 1.5, "action_target"), ("steps.0.action_target", "0", "action_target"),
    ("steps.0.reward", ..., "reward"), ("steps.0.reward", "0", "reward"), ("steps.0.reward", None, "reward"), ("steps.0.reward", float("nan"), "reward"),
    ("steps.0.done", ..., "done"), ("steps.0.done", True, "done"), ("steps.0.done", "no", "done"), ("steps.0.done", 7, "done"),
    ("steps.0.mask", [], "mask"), ("steps.0.mask", [1, 2], "action_target"), ("steps.0.mask", [99], "mask"), ("steps.0.mask", "all", "mask"),
    ("steps.0.weight", -1, "weight"), ("steps.0.weight", "1", "weight"),
]  # fmt: skip
OWN_FAULTS: list[tuple[str, Any, str]] = [
    ("meta.schema", 2, "meta.schema"), ("meta", None, "meta.schema"), ("meta.gen", 10, "meta.gen"), ("meta.gen", "9", "meta.gen"),
    ("meta.gimmick", "often", "meta.gimmick"), ("stream", "lines", "stream"), ("stream", [1], "stream"),
    ("steps.0.at", -1, "steps.0.at"), ("steps.0.at", 10**6, "steps.0.at"), ("steps.1.at", 1, "steps.1.at"), ("steps.0.at", ..., "steps.0.at"),
    ("steps.0.kind", "wait", "steps.0.kind"), ("steps.0.label_source", "guess", "steps.0.label_source"),
    ("steps.0.label_source", "missing", "steps.0.action"), ("steps.0.mask", [], "steps.0.mask"), ("steps.0.mask", [40], "steps.0.mask"),
    ("steps.0.action", 40, "steps.0.action"), ("steps.0.action", -1, "steps.0.action"), ("steps.0.action_type", 1, "steps.0.action_type"),
    ("meta.rating", float("inf"), "meta.rating"), ("steps.0.choice", float("nan"), "steps.0.choice"), ("steps.0.gimmick", 3, "steps.0.gimmick"),
]  # fmt: skip
SEED_LINE: dict[str, Any] = {
    "replay_id": "b",
    "player": "p1",
    "total_reward": 1,
    "steps": [
        {"observation": {"turn": 1}, "action_type": 0, "action_target": 0, "reward": 0, "done": False},
        {"observation": {"turn": 2}, "action_type": 1, "action_target": 5, "reward": 1, "done": True},
    ],
}


@pytest.mark.parametrize(("path", "value", "field"), FAULTS)
def test_faults_are_told_with_their_place(tmp_path: Path, path: str, value: Any, field: str) -> None:
    file = tmp_path / "b.jsonl"
    good, bad = json.dumps(SEED_LINE), json.dumps(changed(SEED_LINE, path, value))
    file.write_text(f"{good}\n{bad}\n{json.dumps(SEED_LINE | {'replay_id': 'c'})}\n")
    with pytest.raises(DataError, match="line 2") as caught:
        list(read_trajectories(file))
    assert f"'{field}'" in str(caught.value)
    skipped: list[str] = []
    assert len(list(read_trajectories(file, skipped))) == 2
    assert "line 2" in skipped[0]


@pytest.mark.parametrize(("path", "value", "field"), OWN_FAULTS)
def test_faults_of_our_schema(
    tmp_path: Path, path: str, value: Any, field: str, chosen: list[BattleTrajectory]
) -> None:
    file = tmp_path / "b.jsonl"
    file.write_text(json.dumps(changed(content_of(chosen[0]), path, value)) + "\n")
    with pytest.raises(DataError, match="line 1") as caught:
        list(read_trajectories(file))
    assert field in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "{", "[]", "null", '{"replay_id":', '"text"', "7", "\x00\x01", "{}" * 3, "[" * 99]
)
def test_what_is_no_trajectory(tmp_path: Path, text: str) -> None:
    file = tmp_path / "b.jsonl"
    file.write_text(text)
    with pytest.raises(DataError, match=r"b\.jsonl"):
        list(read_trajectories(file))


def test_a_cut_file_and_one_that_is_absent(tmp_path: Path) -> None:
    lines = [json.dumps(SEED_LINE | {"replay_id": f"b{k}"}) + "\n" for k in range(500)]
    packed = gzip.compress("".join(lines).encode())
    (tmp_path / "cut.jsonl.gz").write_bytes(packed[:-30])
    with pytest.raises(DataError, match=r"cut off|ends inside"):
        list(read_trajectories(tmp_path / "cut.jsonl.gz"))
    with pytest.raises(DataError, match="No such file"):
        list(read_trajectories(tmp_path / "absent.jsonl"))


def test_the_type_of_a_missing_label_is_checked(tmp_path: Path, chosen: list[BattleTrajectory]) -> None:
    content = content_of(chosen[0])
    content["steps"][0] |= {"label_source": "missing", "action": MISSING, "action_type": {}, "action_target": -1}
    (tmp_path / "b.jsonl").write_text(json.dumps(content) + "\n")
    with pytest.raises(DataError, match=r"steps\.0\.action_type"):
        list(read_trajectories(tmp_path / "b.jsonl"))


def test_a_side_that_stands_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text((json.dumps(SEED_LINE) + "\n") * 2)
    with pytest.raises(DataError, match="line 2, replay_id b, field 'player': got p1, as in line 1"):
        list(read_trajectories(tmp_path / "b.jsonl"))


# Statistics


def battle(number: int, actions: list[int], rewards: tuple[float, float] = (1.0, -1.0)) -> list[BattleTrajectory]:
    """Both sides of a battle in which each takes these actions."""
    steps = tuple(BattleStep(action, observation={"turn": k}) for k, action in enumerate(actions))
    return [
        BattleTrajectory(f"b{number}", f"p{seat + 1}", rewards[seat], (*steps[:-1], BattleStep(actions[-1], rewards[seat], True)))
        for seat in (0, 1)
    ]  # fmt: skip


VARIED = list(range(10))


def test_constant_labels_and_rewards_are_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Labels that are nearly constant pass no check; in the data that Ludory was built for, two of ten actions occurred."""
    few = tmp_path / "few.jsonl"
    write_trajectories(few, battle(1, [0, 0, 4, 0]) + battle(2, [0, 4, 0]), "seed")
    assert "only 2 distinct actions" in statistics_of([few]).problems()[0]
    assert any("action 0 is 71" in one for one in statistics_of([few]).warnings())
    assert main(["check", "data", str(few)]) == 1
    lost = tmp_path / "lost.jsonl"
    write_trajectories(lost, battle(1, VARIED, (-1.0, -1.0)) + battle(2, VARIED, (-1.0, -1.0)), "seed")
    assert "one sign" in statistics_of([lost]).problems()[0]
    assert main(["check", "data", str(lost)]) == 1
    good = tmp_path / "good.jsonl"
    write_trajectories(good, battle(1, VARIED) + battle(2, VARIED, (-1.0, 1.0)), "seed")
    assert statistics_of([good]).problems() == []
    assert main(["check", "data", str(good)]) == 0
    assert "fault: " in capsys.readouterr().out


def test_a_constant_observation_field_is_told(tmp_path: Path) -> None:
    file = tmp_path / "b.jsonl"
    lines = [changed(SEED_LINE, f"steps.{k}.observation", {"turn": k, "active_species_id": 0}) for k in (0, 1)]
    for k in (0, 1):
        lines[k]["steps"][1 - k]["observation"] = {"turn": 9, "active_species_id": 0}
        lines[k]["replay_id"] = f"b{k}"
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    warnings = statistics_of([file]).warnings()
    assert any("'active_species_id' is always 0" in one for one in warnings)
    assert not any("'turn'" in one for one in warnings)


@pytest.mark.slow
def test_statistics_of_the_recorded_battles(tmp_path: Path, chosen: list[BattleTrajectory]) -> None:
    write_trajectories(tmp_path / "b.jsonl", chosen)
    found = statistics_of([tmp_path / "b.jsonl"])
    assert found.steps == sum(len(one.steps) for one in chosen)
    assert found.label_sources == {"request": found.steps}
    assert found.warnings() == []
    assert 0.4 < found.strongest / found.moves < 0.95
    assert 0.1 < found.uniform / found.labels < found.class_prior() < 0.5


# Observations and samples


def test_every_label_stands_beside_its_move(chosen: list[BattleTrajectory], seen: list[BattleTrajectory]) -> None:
    """The observation shows, at the place of the action, the very move or Pokémon that was chosen."""
    moves = numbers("moves")
    for one in [*chosen[:12], *seen]:
        rows = observations_of(one).observations
        for step, row in zip(one.steps, rows, strict=True):
            if step.action == MISSING or step.kind == "single":
                continue
            verb, *words = step.choice.split()
            if verb == "move" and words[0] not in ("fight", "hiddenpower"):
                place = step.action if step.action < 4 else (step.action - 10) % 4
                assert row[144 + place] == moves[words[0]], (one.replay_id, step.choice)


def test_observations_do_not_stay_the_same(seen: list[BattleTrajectory]) -> None:
    """States before a decision are those of then: the active species, turn and hp change, and nearly no column is constant."""
    rows = np.concatenate([observations_of(one).observations for one in seen])
    assert len(np.unique(rows[:, 144:148])) > 50
    pokemon = rows[:, 152 : 152 + 480].reshape(-1, 12, 40)
    varying = [column for column in range(40) if len(np.unique(pokemon[:, :, column])) > 1]
    assert len(varying) >= 25
    for one in seen[:4]:
        turns = observations_of(one).observations[:, 932 - 72 + 48]
        assert (np.diff(turns) >= 0).all()
        assert turns[0] < turns[-1]


def test_a_cut_stream_gives_the_same_observations(seen: list[BattleTrajectory]) -> None:
    """What comes after a decision changes nothing but the names of moves that the player knew."""
    one = seen[0]
    whole = observations_of(one).observations
    tracker = Tracker(int(one.meta["gen"]), one.seat, slot_order="alpha")
    tracker.feed_all(one.stream[: one.steps[5].at])
    row = np.zeros(932, np.float32)
    write_entity(tracker, [action in one.steps[5].mask for action in range(one.actions)], row)
    field = slice(932 - 72, 932 - 72 + 50)
    assert (row[field] == whole[5][field]).all()
    assert (row[72:144:12] == whole[5][72:144:12]).all()


def test_a_log_that_shows_fewer_decisions_is_refused(seen: list[BattleTrajectory]) -> None:
    one = replace(seen[0], steps=seen[0].steps * 2)
    with pytest.raises(
        DataError, match=rf"battle {one.replay_id}: {len(one.steps)} decisions of seat \d, of which its log"
    ):
        observations_of(one)


@pytest.mark.slow
def test_samples_have_the_shapes_of_a_data_set(tmp_path: Path, chosen: list[BattleTrajectory]) -> None:
    gen9 = [one for one in chosen if one.meta["format"] == "gen9randombattle"]
    file = tmp_path / "b.jsonl"
    write_trajectories(file, gen9)
    samples = BattleSamples(file)
    assert len(samples) == sum(step.weight > 0 for one in gen9 for step in one.steps)
    item = samples[3]
    assert {"ids", "move_ids", "pokemon", "volatile", "moves", "field", "action", "mask", "weight"} == set(item)
    assert item["mask"][item["action"]]
    assert (item["mask"].shape, item["ids"].shape) == ((14,), (144,))
    assert len(BattleSamples(file, max_samples=7)) == 7, "samples are counted, not lines"
    assert len(BattleSamples(file, max_trajectories=1)) == sum(step.weight > 0 for step in gen9[0].steps)
    only = BattleSamples(file, kinds=["forced_switch"])
    assert all(4 <= only[k]["action"] <= 9 for k in range(len(only)))
    assert len(BattleSamples(file, weights={"single": 1.0})) == sum(len(one.steps) for one in gen9)
    with pytest.raises(DataError, match="shares"):
        BattleSamples(file, train_path=file)
    batch = next(iter(create_dataloader(file, batch_size=16, num_workers=0)))
    assert batch["action"].shape == (16,)
    assert str(batch["action"].dtype) == "torch.int64"
    batches = list(create_dataloader(file, batch_size=64, shuffle=False, num_workers=1))
    assert sum(len(one["action"]) for one in batches) == len(samples)
    assert batches[0]["action"][:8].tolist() == [int(samples[k]["action"]) for k in range(8)]


def test_samples_of_one_kind_only(tmp_path: Path, chosen: list[BattleTrajectory], seen: list[BattleTrajectory]) -> None:
    write_trajectories(tmp_path / "b.jsonl", [chosen[0], seen[1]])
    with pytest.raises(DataError, match="one order of moves"):
        BattleSamples(tmp_path / "b.jsonl")


def test_samples_whose_cache_is_damaged_are_computed_again(
    tmp_path: Path, chosen: list[BattleTrajectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path / "cache"))
    write_trajectories(tmp_path / "b.jsonl", chosen[:1])
    before = [item["action"] for item in map(BattleSamples(tmp_path / "b.jsonl").__getitem__, range(3))]
    (actions,) = (tmp_path / "cache").glob("pokemon-samples/*/actions.npy")
    data = bytearray(actions.read_bytes())
    data[-8] ^= 1
    actions.write_bytes(bytes(data))
    assert [item["action"] for item in map(BattleSamples(tmp_path / "b.jsonl").__getitem__, range(3))] == before
    assert actions.read_bytes() != bytes(data)


# Splits


def test_both_sides_of_a_battle_go_to_one_file(tmp_path: Path, chosen: list[BattleTrajectory]) -> None:
    file = tmp_path / "b.jsonl.gz"
    write_trajectories(file, chosen)
    found = split_file(file, 0.3, seed=1)
    train, val = ({one.replay_id for one in read_trajectories(part)} for part in (found.train, found.val))
    assert train
    assert val
    assert not train & val
    assert train | val == {one.replay_id for one in chosen}
    assert found.train_trajectories + found.val_trajectories == len(chosen)
    assert (found.train, found.val) == names_of_split(file)
    check_disjoint(found.train, found.val)
    with pytest.raises(DataError, match="shares"):
        check_disjoint(file, found.val)


def test_a_battles_side_depends_on_its_id_alone(tmp_path: Path, chosen: list[BattleTrajectory]) -> None:
    sides = {}
    for name, part in (("all", chosen), ("back", chosen[::-1]), ("half", chosen[:20])):
        write_trajectories(tmp_path / f"{name}.jsonl", part)
        found = split_file(tmp_path / f"{name}.jsonl", 0.4, seed=3)
        sides[name] = {one.replay_id for one in read_trajectories(found.val)}
    assert sides["all"] == sides["back"]
    assert sides["half"] == {one.replay_id for one in chosen[:20]} & sides["all"]
    assert all(in_validation(id, 0.4, 3) for id in sides["all"])


def test_one_battle_under_two_ids_is_one_battle(tmp_path: Path, chosen: list[BattleTrajectory]) -> None:
    from dataclasses import replace

    for seed in range(3):
        copies = [replace(one, replay_id=f"copy of {one.replay_id}") for one in chosen]
        write_trajectories(tmp_path / "b.jsonl", chosen + copies)
        found = split_file(tmp_path / "b.jsonl", 0.3, seed)
        val = {one.replay_id.removeprefix("copy of ") for one in read_trajectories(found.val)}
        assert not val & {one.replay_id.removeprefix("copy of ") for one in read_trajectories(found.train)}


def test_players_and_days_stay_together(tmp_path: Path, chosen: list[BattleTrajectory]) -> None:
    write_trajectories(tmp_path / "b.jsonl", chosen)
    with pytest.raises(DataError, match=r"meta\.day"):
        split_file(tmp_path / "b.jsonl", by="day")
    with pytest.raises(OptionError, match="between 0 and 1"):
        split_file(tmp_path / "b.jsonl", 1.5)
    for number, one in enumerate(chosen):
        one.meta["day"] = f"2026-01-{1 + number // 4:02}"  # type: ignore[index]
    write_trajectories(tmp_path / "b.jsonl", chosen)
    found = split_file(tmp_path / "b.jsonl", 0.4, by="day")
    days = [{one.meta["day"] for one in read_trajectories(part)} for part in (found.train, found.val)]
    assert not days[0] & days[1]


def test_a_single_battle_cannot_be_split(tmp_path: Path) -> None:
    write_trajectories(tmp_path / "b.jsonl", battle(1, VARIED), "seed")
    with pytest.raises(DataError, match="one battle, which cannot be divided"):
        split_file(tmp_path / "b.jsonl")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["b.jsonl"]


@pytest.mark.parametrize("ratio", [1e-9, 0.1, 1 - 1e-9])
def test_a_split_of_few_battles_has_one_on_each_side(tmp_path: Path, ratio: float) -> None:
    write_trajectories(tmp_path / "b.jsonl", [side for number in range(4) for side in battle(number, VARIED)], "seed")
    found = split_file(tmp_path / "b.jsonl", ratio)
    assert min(found.train_battles, found.val_battles) >= 1
    assert found.train_battles + found.val_battles == 4


SEED_FILE = """{"replay_id": "test", "player": "p1", "total_reward": 1.0, "steps": [
{"observation": {"turn": 1, "team_id": 0, "weather_id": 0, "team_hp": [1, 1, 1, 1, 1, 1]}, "action_type": 0, "action_target": 0,
"reward": 0, "done": false},
{"observation": {"turn": 2, "team_id": 0, "weather_id": 0, "team_hp": [0.8, 0.8, 0.8, 0.8, 0.8, 0.8]}, "action_type": 1,
"action_target": 1, "reward": 1.0, "done": true}]}"""


def test_a_file_of_the_seed_is_read_without_naming_its_observation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "t.jsonl").write_text(SEED_FILE.replace("\n", " ") + "\n")
    samples = BattleSamples(tmp_path / "t.jsonl")
    assert [int(samples[k]["action"]) for k in range(len(samples))] == [0, 5]
    assert samples[1]["team_hp"].tolist() == pytest.approx([0.8] * 6)
    batch = next(iter(create_dataloader(tmp_path / "t.jsonl", shuffle=False, num_workers=0)))
    assert batch["action"].tolist() == [0, 5]
    with pytest.raises(DataError, match='observation="seed41"'):
        BattleSamples(tmp_path / "t.jsonl", "entity")


# Resimulation


def test_input_logs_give_every_true_choice() -> None:
    """Actions from requests and choices equal those that were recorded, in every battle."""
    golden = {one["id"]: one for one in lines_of(BATTLES.with_name("streams.jsonl.gz"))}
    count = 0
    for one in battles():
        for trajectory in request_trajectories(one, resimulations()[one.id]):
            wanted = [step["action"] for step in golden[one.id]["seats"][trajectory.seat]["decisions"]]
            assert [step.action for step in trajectory.steps] == wanted
            assert all(step.action in step.mask for step in trajectory.steps)
            count += len(wanted)
    assert count == 4673


def test_a_spectator_sees_what_each_side_sees_of_the_other() -> None:
    for one in battles()[::7]:
        sides = [[line for line in s if not line.startswith("R{")] for s in resimulations()[one.id].streams]
        merged = [line for line in spectator_lines(*sides) if not line.startswith("|player|")]
        assert merged == [line for line in one.lines if not line.startswith("|player|")]


def test_battles_play_again_as_recorded(worker: SimWorker) -> None:
    for one in battles()[::9]:
        played = resimulate(worker, one)
        check_same(one, played)
        streams = resimulations()[one.id].streams
        for seat in (0, 1):
            mine = [line for line in played.streams[seat] if line.startswith("|move|")]
            assert mine == [line for line in streams[seat] if line.startswith("|move|")]
            assert played.decisions[seat] == tuple(resimulations()[one.id].decisions[seat])


def test_a_log_that_does_not_play_again_is_named(worker: SimWorker) -> None:
    one = battles()[0]
    false = one._replace(lines=tuple(line.replace("Rock Slide", "Splash") for line in one.lines))
    with pytest.raises(RejectedBattleError, match="resim_mismatch"):
        check_same(false, resimulate(worker, false))
    wrong = one._replace(input_log=tuple(line.replace("move hyperbeam", "move splash") for line in one.input_log))
    with pytest.raises(RejectedBattleError, match="refuses"):
        resimulate(worker, wrong)
    with pytest.raises(DataError, match="inputLog"):
        resimulate(worker, battle_of({"id": "x", "log": "|turn|1"}))


# Commands


@pytest.mark.slow
def test_convert_writes_trajectories_and_rejections(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.jsonl.gz"
    assert main(["pokemon", "convert", str(BATTLES), "-o", str(out), "--labels", "log"]) == 0
    said = capsys.readouterr().out
    assert "100 battles read, 98 converted: 196 trajectories" in said
    assert "label missing" in said
    rejected = [json.loads(line) for line in (tmp_path / "out.rejected.jsonl").read_text().splitlines()]
    assert [one["name"] for one in rejected] == ["illusion", "illusion"]
    assert main(["pokemon", "stats", str(out)]) == 0
    assert "baselines: class prior" in capsys.readouterr().out
    assert main(["pokemon", "split", str(out), "--val-ratio", "0.2"]) == 0


@pytest.mark.slow
def test_the_seeds_readers_get_their_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "seed.jsonl"
    convert = ["pokemon", "convert", str(BATTLES), "-o", str(out), "--labels", "log"]
    assert main([*convert, "--schema", "seed", "--format", "gen4randombattle"]) == 0
    assert main(["convert", str(out), "--from", "battle-jsonl", "--out", str(tmp_path / "set")]) == 0
    capsys.readouterr()
    assert main(["check", "data", str(out)]) == 0
    assert statistics_of([out]).constant.keys() <= {"weather_id", "terrain_id", "team_id"} | {
        f"{side}{hazard}"
        for side in ("", "opp_")
        for hazard in ("spikes", "toxic_spikes", "sticky_web", "stealth_rock")
    }
    assert "active_species_id" in statistics_of([out]).varying


def test_convert_says_what_it_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.jsonl"
    convert = ["pokemon", "convert", str(BATTLES), "-o", str(out), "--labels", "log"]
    assert main([*convert, "--format", "gen4randombattle"]) == 0
    assert "format_mismatch: 86" in capsys.readouterr().out
    assert main([*convert, "--min-rating", "1500"]) == 1
    assert "low_rating: 100" in capsys.readouterr().out
    out.unlink()
    assert main([*convert, "--strict"]) == 2
    assert "line 61" in capsys.readouterr().err
    assert not out.exists()
    assert main(["pokemon", "convert", str(BATTLES), "-o", str(tmp_path / "out.txt")]) == 2
