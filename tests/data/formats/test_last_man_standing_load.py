"""Which files are found, what goes into one set, and what `ludory check data` says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.last_man_standing_files import STEP, end, manifest, record, recording, stream, tick, write

import ludory
from ludory.cli import main
from ludory.data import TrajectoryDataset
from ludory.data.formats.last_man_standing.as_trajectories import as_trajectories
from ludory.data.formats.last_man_standing.format import bins_of
from ludory.data.formats.last_man_standing.load import load_sequences
from ludory.data.formats.last_man_standing.recorder import Reading
from ludory.data.shards import write_dataset
from ludory.envs.make import make_game
from ludory.errors import DataError, OptionError

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A folder as the seed's programs fill it: two episodes, two streams, one manifest."""
    processed = tmp_path / "data" / "processed"
    processed.mkdir(parents=True)
    recording(processed, tick(0), tick(1, reward=-1.0), tick(2, done=True), name="ep1_bot.jsonl.gz")
    recording(processed, tick(0, behavior_logp=-2.0), tick(1, behavior_logp=-3.0), name="ep2_bot.jsonl.gz")
    stream(tmp_path / "reports", STEP, STEP, STEP, STEP, end("death_event"))
    stream(tmp_path / "reports", STEP, STEP, end("win"), name="run2")
    manifest(tmp_path / "reports", record("reason=win"), record("reason=loss", path="run9/feedback_stream.jsonl"))
    return tmp_path


def test_files_folders_and_patterns(both: Path) -> None:
    one = both / "data" / "processed" / "ep1_bot.jsonl.gz"
    assert [len(load_sequences(path).sequences) for path in (one, str(one), both / "data", [one, one])] == [1, 1, 2, 1]
    assert len(load_sequences(both / "d*" / "**" / "ep?_bot.jsonl.gz").sequences) == 2
    assert len(load_sequences(str(both / "reports" / "f*" / "run2" / "*.jsonl")).sequences) == 1


@pytest.mark.parametrize(
    ("path", "got"),
    [
        ("empty", "an empty folder for"),
        ("none/at/all", "no such file for"),
        ("data/processed/ep7*.jsonl.gz", "no such file for"),
        ("other", r"no such file for \*\.jsonl\.gz, feedback_stream\.jsonl or manifest\.jsonl"),
    ],
)
def test_nothing_found_names_the_pattern_and_the_nearest_folder(path: str, got: str, both: Path) -> None:
    (both / "empty").mkdir()
    (both / "other").mkdir()
    (both / "other" / "notes.txt").write_text("x")
    near = both / "data" / "processed"
    with pytest.raises(DataError, match=rf"{got}.*nearest folder with such files is {near}$"):
        load_sequences(both / path)


def test_nothing_near_is_no_hint(tmp_path: Path) -> None:
    lonely = tmp_path / "a" / "b" / "c" / "d"
    lonely.mkdir(parents=True)
    with pytest.raises(DataError) as caught:
        load_sequences(lonely)
    assert "nearest" not in str(caught.value)


def test_a_file_of_no_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "episode.json").write_text("{}")
    with pytest.raises(DataError, match=r"got the name episode\.json, must be a file called \*\.jsonl\.gz"):
        load_sequences(tmp_path / "episode.json")


def test_recorded_ticks_and_feedback_are_not_mixed_by_accident(both: Path) -> None:
    with pytest.raises(DataError, match=r"'features': got .*seed19.*ep1_bot.*live19.*allow_mixed=True"):
        load_sequences(both)
    mixed = load_sequences(both, allow_mixed=True)
    assert (mixed.features, len(mixed.sequences)) == ("mixed", 4)
    assert load_sequences(both / "data").features == "seed19"
    assert load_sequences(both / "reports").features == "live19"
    with pytest.raises(DataError, match="told apart"):
        as_trajectories(mixed)


def test_a_manifest_alone_is_no_data(both: Path) -> None:
    with pytest.raises(DataError, match="no sequence"):
        load_sequences(both / "reports" / "live")


def test_heads_of_two_sizes_are_not_mixed(tmp_path: Path) -> None:
    recording(tmp_path, tick(done=True, bins=[5, 5, 9, 9, 2, 5, 2]), name="a.jsonl.gz")
    recording(tmp_path, tick(done=True), name="b.jsonl.gz")
    with pytest.raises(DataError, match=r"b\.jsonl\.gz, field 'bins'.*a\.jsonl\.gz.*bins=\(5, 9\) the latter"):
        load_sequences(tmp_path)


def test_foreign_files_become_trajectories(both: Path, tmp_path: Path) -> None:
    made = as_trajectories(load_sequences(both / "data"))
    write_dataset(tmp_path / "set", made.header, [made.columns])
    dataset = TrajectoryDataset(tmp_path / "set")
    assert (dataset.num_games, len(dataset), dataset.header.observation.name) == (2, 5, "seed19")
    data = next(dataset.batches(10))
    assert (int(data.terminated.sum()), int(data.truncated.sum())) == (1, 1)
    assert np.isnan(data.log_probs.numpy()).all()
    joint = np.concatenate([table.column("joint_log_prob").to_numpy() for table in dataset.tables()])
    assert sorted(joint[~np.isnan(joint)].tolist()) == [-3, -2]


def test_an_episode_is_in_the_same_split_wherever_its_folder_lies(tmp_path: Path) -> None:
    ids = []
    for place in ("here", "there"):
        (tmp_path / place / "processed").mkdir(parents=True)
        file = recording(tmp_path / place / "processed", tick(0, done=True), tick(0, done=True))
        ids.append(set(as_trajectories(load_sequences(file, split_on_done=True)).columns.games.tolist()))
    assert ids[0] == ids[1]
    assert len(ids[0]) == 2


def test_foreign_files_fit_the_arena_with_the_seeds_heads(both: Path) -> None:
    game = make_game("Arena2P-v0", observation="seed19", heads="seed")
    header = as_trajectories(load_sequences(both / "data"), game).header
    header.check_fits(game.facts)
    with pytest.raises(DataError, match="give --option observation=seed19 --option heads=seed"):
        as_trajectories(load_sequences(both / "data"), make_game("Arena2P-v0"))


def test_two_files_of_one_seat_are_refused(tmp_path: Path) -> None:
    for name in "ab":
        recording(tmp_path, tick(done=True, game=3, seat=1), name=f"{name}.jsonl.gz")
    with pytest.raises(DataError, match=r"a\.jsonl\.gz and .*b\.jsonl\.gz are both seat 1 of game 3"):
        as_trajectories(load_sequences(tmp_path))


# --- ludory check data --------------------------------------------------------------------------------------------------


def checked(capsys: Capture, *argv: object) -> tuple[int, str]:
    code = main(["check", "data", *map(str, argv)])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def test_the_summary_for_programs(both: Path, capsys: Capture) -> None:
    code, text = checked(capsys, both, "--allow-mixed", "--json")
    found = json.loads(text)
    assert code == 0
    assert (found["episodes"], found["steps"], found["features"]) == (4, 11, "mixed")
    assert found["length"] == {"min": 2, "mean": 2.75, "max": 4}
    assert found["reward_sum"] == pytest.approx(0.25 - 1 + 0.25 + 0.5 + 6 * 0.05 + 1 + 1)
    assert found["sources"] == {"recorder": 2, "live_feedback": 2}
    assert found["ends"] == {"terminated": 3, "truncated": 1}
    assert found["outcomes"] == {"linked": {"+1": 1}, "unlinked": {"+1": 1}}
    assert found["actions"]["fire"] == {"0": 6, "1": 5}
    assert found["actions"]["move_x"] == {"5": 6, "10": 5}
    assert found["log_probs"] == 1
    assert [Path(path).parent.name for path in found["unlinked_streams"]] == ["run2"]
    assert len(found["unlinked_runs"]) == 1
    assert [Path(path).name for path in found["frozen"]] == ["ep1_bot.jsonl.gz", "ep2_bot.jsonl.gz"]


def test_the_summary_for_people(both: Path, capsys: Capture) -> None:
    code, text = checked(capsys, both, "--allow-mixed")
    assert code == 0
    for line in (
        "4 episodes, 11 steps of mixed, recorder 2, live_feedback 2",
        "length: 2 to 4, mean 2.8",
        "ends: terminated 3, truncated 1",
        "outcomes, linked: +1 1",
        "log-probabilities: known in 1 episodes; the others are usable for bc and KL only",
        "move_x: 5 6, 10 5",
        "streams that no manifest tells of: 1",
    ):
        assert line in text.splitlines()


def test_a_flaw_stops_or_is_listed(both: Path, capsys: Capture) -> None:
    recording(both / "data", tick(), "{", name="bad.jsonl.gz")
    code, text = checked(capsys, both / "data")
    assert code == 2
    assert "bad.jsonl.gz, line 2, field 'line'" in text
    code, text = checked(capsys, both / "data", "--skip-bad")
    assert code == 1
    assert text.splitlines()[-1].startswith("left out: ")
    code, text = checked(capsys, both / "data", "--skip-bad", "--json")
    assert [flaw["line"] for flaw in json.loads(text)["flaws"]] == [2]


def test_old_data_and_several_episodes_in_a_file(tmp_path: Path, capsys: Capture) -> None:
    wild = tick(1, done=True)
    wild["action"]["move_x"] = 3
    recording(tmp_path, tick(0), wild, tick(0), tick(1, done=True))
    assert checked(capsys, tmp_path)[0] == checked(capsys, tmp_path, "--clamp")[0] == 2
    code, text = checked(capsys, tmp_path, "--clamp", "--split-on-done", "--bins", "5,9", "--json")
    found = json.loads(text)
    assert (code, found["episodes"], found["bins"]) == (0, 2, [5, 5, 9, 9, 2, 5, 2])


def test_bins_as_they_are_typed() -> None:
    assert [bins_of(text) for text in ("11", "5,9", " 5, 9")] == [11, (5, 9), (5, 9)]
    for text in ("x", "5,", "5,9,2", "1", ""):
        with pytest.raises(OptionError, match=r"--bins .*such as 11, or two"):
            bins_of(text)
    with pytest.raises(OptionError, match="bins=1"):
        Reading(bins=1)


def test_feedback_from_the_command_line(both: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "set"
    assert main(["convert", str(both / "reports"), "--from", "feedback", "--out", str(out)]) == 0
    data = next(TrajectoryDataset(out).batches(10))
    assert data.rewards[data.terminated].tolist() == pytest.approx([1.05, 1.05])
    assert main(["convert", str(both / "data"), "--from", "feedback", "--out", str(tmp_path / "no")]) == 2
    assert "the files hold seed19, not live19" in capsys.readouterr().err


def test_training_on_files_of_older_bots_names_what_converts_them(both: Path, capsys: Capture) -> None:
    processed = both / "data" / "processed"
    for data in (processed, processed / "ep1_bot.jsonl.gz"):
        assert main(["train", "bc", "--data", str(data), "--out", str(both / "net.ludory")]) == 2
        assert f"`ludory convert {data} --from recorder --out recorder-games`" in capsys.readouterr().err
    with pytest.raises(DataError, match=r"feedback of a live client; convert .* --from feedback"):
        TrajectoryDataset(both / "reports")
    with pytest.raises(DataError, match=r"--from recorder .* and .* --from feedback .*--mix feedback-games=0\.3"):
        TrajectoryDataset(both)
    write(both / "text" / "other.jsonl.gz", "no gzip")
    with pytest.raises(DataError, match=r"dataset\.json cannot be read"):
        TrajectoryDataset(both / "text")


def test_what_both_kinds_of_files_hold_is_learnt_from_with_shares(
    both: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(both)
    for kind in ("recorder", "feedback"):  # one folder holds both
        assert main(["convert", ".", "--from", kind, "--out", f"{kind}-games"]) == 0
    assert "2 games, 5 decisions in recorder-games" in (said := capsys.readouterr().out)
    assert "2 games, 6 decisions in feedback-games" in said
    learn = ["train", "bc", "--data", "recorder-games", "--split-ratio", "1", "0", "0", "--num-epochs", "2"]
    learn += ["--batch-size", "2", "--policy", "mlp(hidden=(8,))", "--eval-games", "0"]
    assert main([*learn, "--mix", "feedback-games=0.5", "--out", "net.ludory"]) == 0
    model: Any = ludory.load("net.ludory")
    assert model.config.mix == ("feedback-games=0.5",)
    assert model.game.facts.observation.name == "seed19"
    assert 2 * 10 <= model.num_timesteps <= 2 * 12, "half of the decisions are of each kind"
    assert main([*learn, "--mix", "feedback-games=0.5", "--out", "net.ludory", "--resume"]) == 0
    assert main([*learn, "--mix", "feedback-games", "--out", "other.ludory"]) == 2
    assert "must be DIR=SHARE" in capsys.readouterr().err
    assert main([*learn, "--mix", "feedback-games=0.5", "feedback-games=0.5", "--out", "other.ludory"]) == 2
    assert "add up to less than 1" in capsys.readouterr().err
