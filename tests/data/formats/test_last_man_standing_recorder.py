"""Files of a recorder: every number where it belongs, and every fault by path, line and field."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.last_man_standing_files import changed, recording, tick

from ludory.data.formats.last_man_standing.checked_lines import Flaw, Flaws
from ludory.data.formats.last_man_standing.observation import FEATURES
from ludory.data.formats.last_man_standing.recorder import Reading, read_recorder
from ludory.data.formats.last_man_standing.sequence import TrajectorySequence, check_heads
from ludory.envs.arena.codec import HEADS, head_sizes
from ludory.errors import DataError, OptionError


def read(file: Path, reading: Reading | None = None, **options: Any) -> list[TrajectorySequence]:
    return read_recorder(file, Flaws(skip_bad=False), reading, **options)


def flaw_of(read_it: Callable[[], object]) -> Flaw:
    with pytest.raises(DataError) as caught:
        read_it()
    assert isinstance(caught.value.problem, Flaw)
    return caught.value.problem


def test_every_one_of_19_features_is_a_number_of_the_file(tmp_path: Path) -> None:
    """The seed's environment had 15 and padded them to 19."""
    (sequence,) = read(recording(tmp_path, tick(), tick(1, done=True)))
    distances = [np.hypot(4.25 - 1.25, 1.5 + 2.5), np.hypot(6.0, 8.0)]
    expected = [1.25, -2.5, 3.5, -4.5, 77, 12, 0.5, 0.75, 9.5, 1, 4.25, 1.5, 55, 7.25, 5.5, 3, 2, *distances]
    assert sequence.obs.dtype == np.float32
    assert sequence.obs.tolist() == [expected, expected]
    assert len(FEATURES) == len(expected) == 19


def test_nearest_things_on_request_and_a_hp_of_null_is_0(tmp_path: Path) -> None:
    (sequence,) = read(recording(tmp_path, tick(done=True)), Reading(pick="nearest"))
    assert sequence.obs[0, 10:15].tolist() == [1.25, -1.5, 0, 1.25, -3.5]
    assert sequence.obs[0, 17:].tolist() == [1, 1]


def test_of_things_as_near_the_first_is_taken(tmp_path: Path) -> None:
    """Distances of the same place seen from both sides differ by rounding only."""
    sides = [{"id": k, "position": [1.25 + side, -2.5], "type": "enemy"} for k, side in enumerate((0.1, -0.1, 0.1))]
    for order in (sides, sides[::-1], sides[1:]):
        (sequence,) = read(
            recording(tmp_path, changed(tick(done=True), "observation.visible_entities", order)),
            Reading(pick="nearest"),
        )
        assert sequence.obs[0, 10] == np.float32(order[0]["position"][0])


def test_without_an_enemy_the_first_entity_and_without_any_zeros(tmp_path: Path) -> None:
    friends = changed(
        tick(done=True), "observation.visible_entities", [{"id": 1, "position": [4.0, 5.0], "type": "friend"}]
    )
    (sequence,) = read(recording(tmp_path, friends))
    assert sequence.obs[0, 10:13].tolist() == [4, 5, 0]
    nothing = changed(changed(friends, "observation.visible_entities", []), "observation.visible_items", [])
    (sequence,) = read(recording(tmp_path, nothing))
    assert sequence.obs[0, 10:].tolist() == [0] * 9


def test_actions_rewards_and_the_end(tmp_path: Path) -> None:
    (sequence,) = read(recording(tmp_path, tick(), tick(3, reward=-1.5, done=True)))
    assert {name: values.tolist() for name, values in sequence.actions.items()} == {
        "move_x": [10, 10],
        "move_y": [4, 4],
        "aim_x": [5, 5],
        "aim_y": [7, 7],
        "fire": [1, 1],
        "ability": [0, 0],
        "interact": [0, 0],
    }
    assert sequence.rewards.tolist() == [0.25, -1.5]
    assert sequence.dones.tolist() == sequence.terminated.tolist() == [0, 1]
    assert not sequence.truncated.any()
    assert sequence.extras["steps"]["tick_id"].tolist() == [0, 3]


def test_a_file_without_done_is_cut_off_and_not_ended(tmp_path: Path) -> None:
    (sequence,) = read(recording(tmp_path, tick(), tick(1)))
    assert sequence.truncated.tolist() == sequence.dones.tolist() == [False, True]
    assert not sequence.terminated.any()


def test_unknown_log_probs_are_nan_and_never_0(tmp_path: Path) -> None:
    (sequence,) = read(recording(tmp_path, tick(), tick(1, behavior_logp=None), tick(2, behavior_logp=-3.5, done=True)))
    assert np.isnan(sequence.behavior_logp).tolist() == [True, True, False]
    assert sequence.behavior_logp[2] == -3.5
    assert not sequence.has_log_probs
    assert all(np.isnan(values).all() for values in sequence.behavior_logp_heads.values())


def test_all_four_abilities_are_told_apart(tmp_path: Path) -> None:
    lines = [changed(tick(k, done=k == 5), "action.ability_id", id) for k, id in enumerate([None, 0, 1, 2, 3, 4])]
    (sequence,) = read(recording(tmp_path, *lines))
    assert sequence.actions["ability"].tolist() == [0, 0, 1, 2, 3, 4]


def test_unknown_keys_are_kept(tmp_path: Path) -> None:
    odd = changed(
        changed(tick(note="hi"), "observation.visible_entities.1.armour", 3), "observation.zone_state.phase", 2
    )
    (sequence,) = read(recording(tmp_path, odd, tick(1, done=True)))
    first = {"observation.zone_state.phase": 2, "observation.visible_entities[1].armour": 3, "note": "hi"}
    assert sequence.extras["steps"]["unknown"] == [first, {}]
    assert sequence.extras["steps"]["cooldowns"] == [{"fire": 0.2}] * 2


def test_other_bins_and_old_data(tmp_path: Path) -> None:
    file = recording(tmp_path, changed(changed(tick(done=True), "action.move_x", 4), "action.aim_y", 0))
    assert flaw_of(lambda: read(file)).got == "4"
    (sequence,) = read(file, Reading(bins=(5, 9), strict=False, legacy_aim=True))
    assert [int(sequence.actions[name][0]) for name in HEADS] == [4, 2, 8, 4, 1, 0, 0]
    with pytest.raises(OptionError, match="pick='last'"):
        Reading(pick="last")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "value", "got", "wanted"),
    [
        ("observation.self_state.position", ..., "nothing", "a list of 2 finite numbers"),
        ("observation.self_state.position", [1.0], "1 entries", "a list of 2 finite numbers"),
        ("observation.self_state.position", [1.0, 2.0, 3.0], "3 entries", "a list of 2 finite numbers"),
        ("observation.self_state.velocity.1", "fast", "'fast'", "a finite number"),
        ("observation.self_state.hp", float("nan"), "nan", "a finite number"),
        ("observation.self_state.hp", True, "True", "a finite number"),
        ("observation.self_state.ammo", None, "None", "a finite number"),
        ("observation.self_state.ammo", 1e39, "1e+39", "a finite number"),
        ("observation.self_state.cooldowns.fire", [], "[]", "a finite number"),
        ("observation.zone_state", ..., "nothing", "a JSON object"),
        ("observation.zone_state.radius", float("inf"), "inf", "a finite number"),
        ("observation.zone_state.is_safe", "yes", "'yes'", "true or false"),
        ("observation.visible_entities", {}, "{}", "a list"),
        ("observation.visible_entities.0.position.0", -float("inf"), "-inf", "a finite number"),
        ("observation.visible_entities.2.type", 3, "3", "a text"),
        ("observation.visible_items.1.position", None, "None", "a list of 2 finite numbers"),
        ("observation.tick_id", 9, "9", "4, the tick_id of the line"),
        ("tick_id", 1.5, "1.5", "an integer of at least 0"),
        ("tick_id", -1, "-1", "an integer of at least 0"),
        ("tick_id", 1 << 63, str(1 << 63), "an integer of at least 0"),
        ("observation.self_state.hp", 10**60, str(10**60), "a finite number"),
        ("reward", float("nan"), "nan", "a finite number"),
        ("reward", ..., "nothing", "a finite number"),
        ("done", ..., "nothing", "true or false"),
        ("behavior_logp", 0.5, "0.5", "at most 0"),
        ("behavior_logp", float("-inf"), "-inf", "a finite number"),
        ("action", ..., "nothing", "a JSON object"),
        ("action.move_x", 1.5, "1.5", "-1..1"),
        ("action.move_x", [1.0], "[1.0]", "one value"),
        ("action.move_y", ..., "nothing", "a value"),
        ("action.aim_x", float("nan"), "nan", "-1..1"),
        ("action.ability_id", 5, "5", "None or a whole number 0..4"),
        ("action.interact", "no", "'no'", "true or false"),
        ("action.jump", 1, "an unknown head", "one of move_x, move_y, aim_x, aim_y, fire, ability_id, interact"),
    ],
)
def test_a_wrong_field_is_named(path: str, value: Any, got: str, wanted: str, tmp_path: Path) -> None:
    file = recording(tmp_path, tick(1), tick(2), changed(tick(4), path, value), tick(5, done=True))
    flaw = flaw_of(lambda: read(file))
    assert (flaw.path, flaw.line, flaw.got) == (str(file), 3, got)
    assert flaw.field.replace("[", ".").replace("]", "") == path
    assert wanted in flaw.wanted
    flaws = Flaws(skip_bad=True)
    (kept,) = read_recorder(file, flaws)
    assert (kept.length, kept.truncated.tolist()) == (2, [False, True])
    assert flaws.found == [flaw]


BROKEN = {
    "{" + "x" * 200: "invalid JSON",
    "[1, 2]": "a list, not an object",
    "\udcff": "no UTF-8",
    '"' * 3: "invalid JSON",
    '{"tick_id": ' + "9" * 5000 + "}": "invalid JSON",
    "[" * 100_000: "invalid JSON",
}


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_line_is_never_skipped_in_silence(text: str, tmp_path: Path) -> None:
    lines = "\n".join([json.dumps(tick(1)), "", text, json.dumps(tick(2))])
    file = tmp_path / "ep_bot.jsonl.gz"
    file.write_bytes(gzip.compress(lines.encode(errors="surrogateescape")))
    flaw = flaw_of(lambda: read(file))
    assert (flaw.line, flaw.field) == (3, "line")
    assert BROKEN[text] in flaw.got
    assert len(flaw.got) < 170
    assert text[:60].replace("\udcff", "\ufffd") in flaw.got
    flaws = Flaws(skip_bad=True)
    (kept,) = read_recorder(file, flaws)
    assert (kept.length, len(flaws.found)) == (1, 1)


def test_a_file_that_is_not_gzip(tmp_path: Path) -> None:
    file = tmp_path / "ep_bot.jsonl.gz"
    file.write_text(json.dumps(tick()))
    flaw = flaw_of(lambda: read(file))
    assert (flaw.path, flaw.line, flaw.wanted) == (str(file), 1, "a whole gzip file")
    assert flaw.got.startswith('no gzip data: \'{"tick_id": 0, ')
    assert len(flaw.got) <= len("no gzip data: ''") + 80


@pytest.mark.parametrize("flush", [zlib.Z_NO_FLUSH, zlib.Z_SYNC_FLUSH])
def test_of_a_file_that_is_cut_off_the_whole_lines_are_kept(flush: int, tmp_path: Path) -> None:
    packer = zlib.compressobj(wbits=31)
    half = json.dumps(tick(2))[:300]
    packed = packer.compress((json.dumps(tick(0)) + "\n" + json.dumps(tick(1)) + "\n" + half).encode())
    packed += packer.flush(zlib.Z_SYNC_FLUSH)
    file = tmp_path / "ep_bot.jsonl.gz"
    file.write_bytes(packed if flush else packed + packer.flush()[:-6])
    flaw = flaw_of(lambda: read(file))
    assert (flaw.line, flaw.got) == (3, f"gzip data that are cut off: {half[:80]!r}")
    (kept,) = read_recorder(file, Flaws(skip_bad=True))
    assert kept.length == 2
    assert kept.truncated[-1]


def test_damage_and_strange_ends_are_seen(tmp_path: Path) -> None:
    whole = recording(tmp_path, *(tick(k) for k in range(3))).read_bytes()
    for data, got in {
        whole[:-8] + bytes(4) + whole[-4:]: "damaged gzip data",
        whole + b"more": "gzip data followed by something else",
    }.items():
        (tmp_path / "ep_bot.jsonl.gz").write_bytes(data)
        assert flaw_of(lambda: read(tmp_path / "ep_bot.jsonl.gz")).got.startswith(got)


def test_gzip_in_several_members_with_padding(tmp_path: Path) -> None:
    file = recording(tmp_path, tick(0), tick(1))
    end = gzip.compress(json.dumps(tick(2, done=True)).encode())
    file.write_bytes(file.read_bytes() + end + bytes(512))
    (sequence,) = read(file)
    assert sequence.length == 3
    assert sequence.terminated[-1]


@pytest.mark.parametrize(
    "content", [b"", gzip.compress(b""), gzip.compress(b"\n \n")], ids=("empty", "compressed", "blank lines")
)
def test_an_empty_file_is_said_to_be_one(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "ep_bot.jsonl.gz"
    file.write_bytes(content)
    flaw = flaw_of(lambda: read(file))
    assert "empty" in flaw.got
    assert flaw.field == "file"
    assert read_recorder(file, Flaws(skip_bad=True)) == []


def test_done_inside_a_file_names_both_lines(tmp_path: Path) -> None:
    file = recording(tmp_path, tick(0), tick(1, done=True), tick(0), tick(1), tick(2))
    flaw = flaw_of(lambda: read(file))
    assert (flaw.line, flaw.field, flaw.got) == (3, "done", "true in line 2, which line 3 follows")
    assert "split_on_done=True" in flaw.wanted
    first, second = read(file, split_on_done=True)
    assert (first.length, second.length) == (2, 3)
    assert first.terminated.tolist() == [False, True]
    assert second.truncated.tolist() == [False, False, True]


@pytest.mark.parametrize("split", [False, True])
def test_ticks_that_do_not_grow_name_both_lines(split: bool, tmp_path: Path) -> None:
    file = recording(tmp_path, tick(4), tick(6), tick(6), tick(7, done=True))
    flaw = flaw_of(lambda: read(file, split_on_done=split))
    assert (flaw.line, flaw.field, flaw.got) == (3, "tick_id", "6 in line 3 after 6 in line 2")


def test_fields_of_other_length_are_named_with_their_lengths(tmp_path: Path) -> None:
    (whole,) = read(recording(tmp_path, tick(), tick(1, done=True)))
    parts = {name: getattr(whole, name) for name in whole.__dataclass_fields__}
    for name in ("rewards", "dones", "behavior_logp", "terminated"):
        with pytest.raises(DataError, match=rf"obs 2, .*{name} 1, .*ep_bot|ep_bot.*obs 2, .*{name} 1"):
            TrajectorySequence(**parts | {name: parts[name][:1]})
    with pytest.raises(DataError, match=r"actions\[aim_y\] 3"):
        TrajectorySequence(**parts | {"actions": whole.actions | {"aim_y": np.zeros(3, np.int64)}})


def test_bins_that_heads_do_not_have_name_the_bins_that_fit(tmp_path: Path) -> None:
    (sequence,) = read(recording(tmp_path, tick(done=True)))
    seed = dict(zip(HEADS, head_sizes("seed"), strict=True))
    check_heads(sequence, seed)
    with pytest.raises(DataError, match=r"actions\[move_x\].*bin 10 at step 0, must be 0\.\.4; bins=11 would fit"):
        check_heads(sequence, dict(zip(HEADS, head_sizes("default"), strict=True)))
    (small,) = read(recording(tmp_path, tick(done=True)), Reading(bins=(5, 9)))
    with pytest.raises(DataError, match=r"actions\[aim_y\].*bin 6 at step 0, must be 0\.\.2; bins=\(5, 9\) would fit"):
        check_heads(small, dict(zip(HEADS, head_sizes((5, 3)), strict=True)) | {"aim_x": 9})
    with pytest.raises(DataError, match=r"actions\[jump\].*an unknown head"):
        check_heads(replace(sequence, actions=sequence.actions | {"jump": sequence.actions["fire"]}), seed)


def test_bins_of_the_file_go_before_none_and_are_held_against_others(tmp_path: Path) -> None:
    file = recording(tmp_path, tick(done=True, bins=[5, 5, 9, 9, 2, 5, 2]))
    (sequence,) = read(file)
    assert int(sequence.actions["move_x"][0]) == 4
    with pytest.raises(DataError, match=r"'bins'.*11.*as asked for; bins=\(5, 9\) would fit"):
        read(file, Reading(bins=11))
    with pytest.raises(DataError, match="sizes of seven heads"):
        read(recording(tmp_path, tick(done=True, bins=[5, 5])))


def test_what_ludory_adds_is_checked_too(tmp_path: Path) -> None:
    legal = [1] * 53
    added = {"bins": [11, 11, 11, 11, 2, 5, 2], "game": 4, "seat": 1, "legal": legal, "used": [1] * 7}
    (sequence,) = read(recording(tmp_path, tick(0, **added), tick(1, done=True, **added)))
    assert (sequence.extras["game"], sequence.extras["seat"]) == (4, 1)
    assert sequence.extras["steps"]["legal"].shape == (2, 53)
    for change, message in [
        ({"seat": 0}, r"'seat'.*got 0, must be 1"),
        ({"legal": legal[1:]}, r"'legal'.*52 entries, must be a list of 53"),
        ({"legal": [*legal[:45], 0, *legal[46:]]}, r"'action\.fire'.*bin 1, which is not legal, must be among 0"),
        ({"used": [1, 1, 2, 1, 1, 1, 1]}, r"used\[2\]"),
        ({"behavior_logp_heads": {"fire": 1.0}}, r"behavior_logp_heads\.fire.*at most 0"),
    ]:
        with pytest.raises(DataError, match=message):
            read(recording(tmp_path, tick(0, **added), tick(1, done=True, **added | change)))
    with pytest.raises(DataError, match="line 2, field 'fields'"):
        read(
            recording(
                tmp_path, tick(0, **added), tick(1, done=True, **{k: v for k, v in added.items() if k != "legal"})
            )
        )
