"""Feedback of a live client: keys and words as actions, the outcome from where it stands, nothing linked by chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.last_man_standing_files import START, STEP, Json, end, manifest, record, stream, write

from ludory.data.formats.last_man_standing.checked_lines import Flaws
from ludory.data.formats.last_man_standing.feedback import Feedback, read_action, read_features, read_feedback
from ludory.data.formats.last_man_standing.load import SequenceSet, load_sequences
from ludory.data.formats.last_man_standing.manifest import link, read_manifest
from ludory.data.formats.last_man_standing.sequence import TrajectorySequence
from ludory.errors import DataError


def read(file: Path) -> Feedback:
    return read_feedback(file, Flaws(skip_bad=False))


def only(data: SequenceSet) -> TrajectorySequence:
    (sequence,) = data.sequences
    return sequence


# --- Steps --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "move"),
    [
        ({"action": "hold KeyW"}, (0, -1)),
        ({"action": "keys", "active_keys": ["keyd", " KeyS "]}, (1, 1)),
        ({"action": "press KEYA", "active_keys": ["KeyA"]}, (-1, 0)),
        ({"action": "KeyA+KeyD+KeyS"}, (0, 1)),
        ({"action": "go left, KeyA and KeyD"}, (0, 0)),  # keys count, though they cancel
        ({"action": "move_left_up"}, (-1, -1)),
        ({"action": "Right, down"}, (1, 1)),
        ({"action": "left or right"}, (0, 0)),
        ({"action": "cooldown, setup, MouseLeft"}, (0, 0)),  # no words of their own
        ({"action": "idle", "active_keys": ["KeyQ", "Shift"]}, (0, 0)),
        ({"action": "idle", "active_keys": None}, (0, 0)),
    ],
)
def test_movement(event: Json, move: tuple[int, int]) -> None:
    action = read_action(event)
    assert (action.move_x, action.move_y) == move


@pytest.mark.parametrize(
    ("event", "fire", "interact", "ability"),
    [
        ({"action": "AttackNearest"}, True, False, None),
        ({"action": "hold fire"}, True, False, None),
        ({"action": "idle", "active_keys": ["mouseRight"]}, True, False, None),
        ({"action": "idle", "active_keys": ["MouseLeft"]}, False, False, None),
        ({"action": "open_chest"}, False, True, None),
        ({"action": "abrir COFRE"}, False, True, None),
        ({"action": "loot and interact", "ability_last": "Digit2"}, False, True, 2),
        ({"action": "Digit1", "ability_last": "keyr"}, False, False, 4),
        ({"action": "press Digit3"}, False, False, 3),
        ({"action": "press KeyR, Digit1", "active_keys": ["KeyW", "DIGIT3"]}, False, False, 3),
        ({"action": "Digit12", "ability_last": ""}, False, False, None),
    ],
)
def test_fire_interact_and_ability(event: Json, fire: bool, interact: bool, ability: int | None) -> None:
    action = read_action(event)
    assert (action.fire, action.interact, action.ability_id) == (fire, interact, ability)
    assert (action.aim_x, action.aim_y) == (float(fire), 0)


EVENT = {
    "mono": 12345.5,
    "bot_state": "in_match",
    "action": "KeyW",
    "action_ok": True,
    "active_keys": ["KeyW", "KeyD"],
    "ui_state": {"canvas_visible": True, "play_visible": False, "character_visible": True},
    "input_probe": {"keyDown": 11, "pointerMove": 12, "focusEvents": 13, "blurEvents": 14},
    "click_probe": {"click0": 15},
    "cursor_probe": {"moves": 16, "visible": True},
}


def test_the_19_features_of_an_event() -> None:
    expected = [0.3455, 1, 0, 1, 1, 2, 0, 0, 0, 0, 11, 12, 15, 16, 1, 13, 14, 0, 1]
    assert read_features(EVENT).tolist() == np.array(expected, np.float32).tolist()
    assert read_features({"action": "x", "bot_state": "lobby"}).tolist() == [0, 0, 1, *[0] * 16]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"mono": "now"}, "mono"),
        ({"input_probe": []}, "input_probe"),
        ({"input_probe": {"keyDown": float("nan")}}, r"input_probe\.keyDown"),
        ({"cursor_probe": {"visible": "yes"}}, r"cursor_probe\.visible"),
        ({"active_keys": "KeyW"}, "active_keys"),
        ({"active_keys": ["KeyW", 7]}, r"active_keys\[1\]"),
        ({"action_ok": "yes"}, "action_ok"),
        ({"action": 5}, "action"),
        ({"ability_last": 1}, "ability_last"),
    ],
)
def test_a_wrong_field_of_a_step_is_named(change: Json, field: str, tmp_path: Path) -> None:
    file = stream(tmp_path, START, STEP, STEP, EVENT | change, STEP, end("win"))
    with pytest.raises(DataError, match=rf"feedback_stream\.jsonl, line 4, field '{field}'"):
        read(file)
    flaws = Flaws(skip_bad=True)
    kept = read_feedback(file, flaws).sequence
    assert kept is not None
    assert (kept.length, len(flaws.found)) == (2, 1)
    assert kept.truncated[-1]


def test_steps_rewards_and_what_is_neither(tmp_path: Path) -> None:
    bad = {"action": "KeyA", "action_ok": False}
    found = read(stream(tmp_path, START, STEP, {"mono": 1.0}, bad, {"event": "note", "action": "x"}, STEP, end("win")))
    assert found.sequence is not None
    assert found.ignored == 1
    assert found.sequence.actions["move_x"].tolist() == [5, 0, 5]
    assert found.sequence.rewards.tolist() == np.array([0.05, -0.05, 1.05], np.float32).tolist()
    assert found.sequence.dones.tolist() == [0, 0, 1]
    assert np.isnan(found.sequence.behavior_logp).all()
    assert found.sequence.extras["features"] == "live19"
    assert found.sequence.extras["steps"]["text"] == ["idle", "KeyA", "idle"]


def test_a_stream_of_one_step_is_left_out_and_counted(tmp_path: Path) -> None:
    short = stream(tmp_path, START, STEP, end("win"))
    long = stream(tmp_path, STEP, STEP, name="run2")
    data = load_sequences(tmp_path)
    assert data.short == (str(short),)
    assert only(data).extras["path"] == str(long)
    with pytest.raises(DataError, match=r"no sequence \(1 streams of fewer than 2 steps"):
        load_sequences(short)


@pytest.mark.parametrize(
    ("last", "outcome", "terminated"),
    [
        (end("win"), 1, True),
        (end("loss"), -1, True),
        (end("defeat"), -1, True),
        (end("death_event", died=True), -1, True),
        (end("death", died=True), -1, True),
        (end("death", died=False), 0, True),
        (end("draw"), 0, True),
        (end("match_end_event"), 0, True),
        (end("max_runtime_reached", died=False), 0, False),
        (end("max_runtime_reached", died=True), -1, False),
        (end("loop_exit"), 0, False),
        (end(died=True), -1, True),
        (end(), 0, False),
        (STEP, 0, False),  # no session_end
    ],
)
def test_the_end_of_a_session(last: Json, outcome: float, terminated: bool, tmp_path: Path) -> None:
    sequence = only(load_sequences(stream(tmp_path, STEP, STEP, last)))
    assert sequence.extras["terminal_outcome"] == outcome
    assert sequence.rewards[-1] == np.float32(0.05 + outcome)
    assert (sequence.terminated[-1], sequence.truncated[-1]) == (terminated, not terminated)
    assert sequence.dones[-1] == 1


def test_an_unknown_reason_is_named_and_counts_0_on_request(tmp_path: Path) -> None:
    file = stream(tmp_path, STEP, STEP, end("surrender"))
    with pytest.raises(
        DataError, match=r"line 3, field 'run_stop_reason': got 'surrender', must be one of death, .*win"
    ):
        read(file)
    data = load_sequences(file, skip_bad=True)
    assert only(data).extras["terminal_outcome"] == 0
    assert len(data.flaws) == 1


# --- Manifests ----------------------------------------------------------------------------------------------------------


def outcome_by(folder: Path, finish: str, stop: str = "", last: Json | None = None, **options: Any) -> float:
    stream(folder, STEP, STEP, last or end("max_runtime_reached"))
    manifest(folder, record(finish, stop))
    found = only(load_sequences(folder, **options))
    assert found.extras["linked"]
    return float(found.extras["terminal_outcome"])


FINISHED = "[BOT][RUN] Ejecucion completa finalizada."


@pytest.mark.parametrize(
    ("finish", "stop", "outcome"),
    [
        (f"{FINISHED} reason=win kills=2 death=none:0.0", "", 1),
        (f"{FINISHED} reason=death_event t=90 death=Winston:0.8", "", -1),
        (f"{FINISHED} reason=DEFEAT, by Winston", "a win", -1),
        (f"{FINISHED} reason=max_runtime_reached after a win", "", 0),
        (f"{FINISHED} cause=zone", "[BOT][RUN] stop reason=loss", -1),
        ("finished without a token: loss", "reason=win", 1),  # a token goes before words
        ("it was a win", "it was a loss", 1),
        (FINISHED, "[BOT][RUN] Fin detectado por muerte del bot. cause=Winston conf=0.9", 0),
        ("Darwin, winter, lossy, defeated, redraw, stop_reason=win2, winning", "", 0),
        ("", "", 0),
    ],
)
def test_the_outcome_is_a_word_and_never_a_part_of_one(finish: str, stop: str, outcome: float, tmp_path: Path) -> None:
    """An attacker called "Winston" is no win."""
    assert outcome_by(tmp_path, finish, stop) == outcome


@pytest.mark.parametrize(
    ("finish", "last", "outcome"),
    [
        ("reason=win", end("loss", died=True), 1),
        ("reason=draw", end("win"), 1),
        ("reason=max_runtime_reached", end("loop_exit", died=True), -1),
        ("reason=match_end_event", end(), 0),
    ],
)
def test_an_outcome_of_0_gives_way_to_the_session_and_then_to_a_death(
    finish: str, last: Json, outcome: float, tmp_path: Path
) -> None:
    assert outcome_by(tmp_path, finish, last=last) == outcome


@pytest.mark.parametrize(
    ("finish", "got"), [("reason=triumph", "'triumph'"), ("a win, no, a loss", "'loss' and 'win'"), ("reason=", "''")]
)
def test_an_unknown_or_doubtful_outcome_is_named_and_counts_0_on_request(finish: str, got: str, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=rf"manifest\.jsonl, line 1, field 'run_finish_line': got the outcome {got}, .*defeat"
    ):
        outcome_by(tmp_path, finish)
    assert outcome_by(tmp_path, finish, skip_bad=True) == 0


def test_keys_as_written_and_as_read_with_and_without_a_mark(tmp_path: Path) -> None:
    """The seed wrote other keys than it read, so that no outcome ever arrived."""
    written, as_read = (
        record("reason=win"),
        {"runtime_feedback": "run2/feedback_stream.jsonl", "run_finish": "reason=loss"},
    )
    for name in ("run1", "run2"):
        stream(tmp_path, STEP, STEP, name=name)
    manifest(tmp_path, written, as_read, mark=True)
    data = load_sequences(tmp_path)
    assert [one.extras["terminal_outcome"] for one in data.sequences] == [1, -1]
    both = written | {"runtime_feedback": written["runtime_feedback_jsonl"], "run_finish": "reason=win"}
    manifest(tmp_path, both, as_read)
    assert only(load_sequences([tmp_path / "feedback_training" / "run1", tmp_path / "live"])).rewards[-1] > 1


@pytest.mark.parametrize(("key", "value"), [("runtime_feedback", "other/f.jsonl"), ("run_finish", "reason=loss")])
def test_two_keys_that_differ_are_refused(key: str, value: str, tmp_path: Path) -> None:
    file = manifest(tmp_path, record("reason=win"), record("reason=win") | {key: value})
    with pytest.raises(
        DataError, match=rf"line 2, field '{key}': got '{value}', must be '.*' as in '\w+_\w+', or left out"
    ):
        read_manifest(file, Flaws(skip_bad=False))
    assert len(read_manifest(file, Flaws(skip_bad=True))) == 1


@pytest.mark.parametrize(
    "path", [r"reports\feedback_training\run1\feedback_stream.jsonl", "/x/run1//feedback_stream.jsonl"]
)
def test_paths_are_linked_by_their_last_two_components(path: str, tmp_path: Path) -> None:
    assert link(path) == "run1/feedback_stream.jsonl"
    stream(tmp_path, STEP, STEP)
    manifest(tmp_path, record("reason=win", path=path))
    assert only(load_sequences(tmp_path)).extras["terminal_outcome"] == 1


def test_what_has_no_partner_is_listed(tmp_path: Path) -> None:
    lonely = stream(tmp_path, STEP, STEP, end("win"), name="run7")
    file = manifest(tmp_path, record("reason=win", path=""), record("reason=win", path="gone/feedback_stream.jsonl"))
    data = load_sequences(tmp_path)
    assert data.unlinked_streams == (str(lonely),)
    assert set(data.unlinked_runs) == {f"{file}, line 1", f"{file}, line 2"}
    assert only(data).extras["terminal_outcome"] == 1


def test_two_records_for_one_stream_are_refused_by_all_their_names(tmp_path: Path) -> None:
    stream(tmp_path, STEP, STEP, end("loss"))
    one, other = manifest(tmp_path, record("reason=win")), manifest(tmp_path, record("reason=loss"), name="copy")
    with pytest.raises(DataError, match="2 records") as caught:
        load_sequences(tmp_path)
    assert f"{one}, line 1" in str(caught.value)
    assert f"{other}, line 1" in str(caught.value)
    data = load_sequences(tmp_path, skip_bad=True)
    assert only(data).extras["terminal_outcome"] == -1
    assert len(data.unlinked_streams) == 1


def test_two_streams_for_one_record_are_refused_by_all_their_names(tmp_path: Path) -> None:
    files = [write(tmp_path / side / "run1" / "feedback_stream.jsonl", STEP, STEP) for side in ("a", "b")]
    manifest(tmp_path, record("reason=win"))
    with pytest.raises(DataError, match="2 streams") as caught:
        load_sequences(tmp_path)
    assert all(str(file) in str(caught.value) for file in files)


def test_a_broken_record_is_left_out_alone(tmp_path: Path) -> None:
    file = manifest(tmp_path, record("reason=win", path="a/b"), "{broken", record("reason=loss", path="c/d"))
    with pytest.raises(DataError, match=r"line 2, field 'line': got invalid JSON .*: '\{broken'"):
        read_manifest(file, Flaws(skip_bad=False))
    flaws = Flaws(skip_bad=True)
    assert [run.stream for run in read_manifest(file, flaws)] == ["a/b", "c/d"]
    assert len(flaws.found) == 1
