"""Logs of Hanabi search: read to the last field, in three orders of actions; every fault named with its place."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludory.agents.evaluation.record import record
from ludory.cli import main
from ludory.data import TrajectoryDataset
from ludory.data.decisions import Decisions
from ludory.data.formats.sparta.log import SpartaLog, read_sparta_log
from ludory.data.formats.sparta.orders import ACTION_ORDERS, Sizes, ludory_ids
from ludory.data.shards import write_dataset
from ludory.errors import LogFormatError, OptionError

GAME = "Hanabi2P-v0"
GAMES, ACTIONS, SIZE = 4, 20, 658
Record = dict[str, Any]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Decisions:
    folder = tmp_path_factory.mktemp("played")
    record("random(seed=1)", GAME, GAMES, folder, seed=2, bomb="keep")
    return next(TrajectoryDataset(folder).batches(10**6))


@pytest.fixture(scope="module")
def log(played: Decisions) -> list[Record]:
    """The played games as a search would log them: every third move another than the blueprint's."""
    seen = np.unpackbits(played.observations.numpy(), axis=1, count=SIZE)
    masks = np.unpackbits(played.masks.numpy(), axis=1, count=ACTIONS)
    records = []
    for row in range(len(seen)):
        legal, action = np.flatnonzero(masks[row]), int(played.actions[row, 0])
        blueprint = int(legal[0]) if row % 3 == 0 else action
        q: list[float | None] = [None] * ACTIONS
        q[action], q[blueprint] = 3.5, 3.5 if action == blueprint else 2.0
        last = row + 1 == len(seen) or int(played.games[row + 1]) != int(played.games[row])
        same = 0 if last else row + 1
        following = 0.0 if last else float(played.returns[same])
        records.append(
            {
                "game_id": 10 * int(played.games[row]),
                "t": int(played.steps[row]),
                "seat": int(played.seats[row]),
                "obs_vec": seen[row].tolist(),
                "legal_mask": masks[row].tolist(),
                "action_sparta": action,
                "reward": float(played.returns[row]) - following,
                "done": last,
                "action_blueprint": blueprint,
                "Q_values": q,
                "deck_left": 7,
            }
        )
    return records


def write(folder: Path, records: list[Record], name: str = "log.jsonl") -> Path:
    (folder / name).write_text("".join(json.dumps(one) + "\n" for one in records))
    return folder / name


def changed(records: list[Record], number: int, **fields: Any) -> list[Record]:
    """A copy in which a record has other fields; `...` takes one away."""
    records = copy.deepcopy(records)
    records[number] |= fields
    records[number] = {name: value for name, value in records[number].items() if value is not ...}
    return records


def same(one: SpartaLog, other: SpartaLog) -> bool:
    pairs = zip(one.columns[:-1], other.columns[:-1], strict=True)
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)


def test_a_log_is_the_games_that_were_played(played: Decisions, log: list[Record], tmp_path: Path) -> None:
    found = read_sparta_log(write(tmp_path, log))
    write_dataset(tmp_path / "set", found.header, [found.columns])
    read = next(TrajectoryDataset(tmp_path / "set").batches(10**6))
    for name in (
        "observations",
        "masks",
        "actions",
        "rewards",
        "returns",
        "terminated",
        "truncated",
        "seats",
        "games",
        "steps",
    ):
        assert np.array_equal(getattr(read, name), getattr(played, name)), name
    assert read.log_probs.isnan().all()
    assert found.header.options == {"bomb": "keep"}
    assert found.unknown_fields == {"deck_left": len(log)}


def test_extra_columns_hold_what_distilling_wants(log: list[Record], tmp_path: Path) -> None:
    found = read_sparta_log(write(tmp_path, log))
    extras = found.columns.extras
    assert set(extras) == {extra.name for extra in found.header.extra_columns}
    assert extras["is_override"].tolist() == [one["action_sparta"] != one["action_blueprint"] for one in log]
    assert extras["action_blueprint"].tolist() == [one["action_blueprint"] for one in log]
    before = [ACTIONS if one["t"] == 0 else log[row - 1]["action_sparta"] for row, one in enumerate(log)]
    assert extras["prev_other_action"].tolist() == before
    assert extras["log_game"].tolist() == [one["game_id"] for one in log]
    assert extras["value_known"].all()
    expected = np.array([[np.nan if q is None else q for q in one["Q_values"]] for one in log], np.float32)
    assert np.array_equal(extras["q"], expected, equal_nan=True)
    assert "q_stderr" not in extras


def test_of_an_older_log_beside_a_newer_one_the_players_that_search_are_those_that_searched(
    log: list[Record], tmp_path: Path
) -> None:
    older = [one | {"searched": number % 2 == 0} for number, one in enumerate(log)]
    newer = [one | {"searches": number % 3 == 0} for number, one in enumerate(older)]
    files = [write(tmp_path, older, "a.jsonl"), write(tmp_path, newer, "b.jsonl")]
    extras = read_sparta_log(files, GAME).columns.extras
    assert extras["searched"].tolist() == 2 * [one["searched"] for one in older]
    assert extras["searches"].tolist() == [one["searched"] for one in older] + [one["searches"] for one in newer]


def test_a_game_whose_end_was_cut_off_can_be_left_out(log: list[Record], tmp_path: Path) -> None:
    file = write(tmp_path, log)
    text = file.read_text()
    file.write_text(text[: text.rindex("{") + 40])
    with pytest.raises(LogFormatError, match="the file ends inside a record"):
        read_sparta_log(file, GAME)
    found = read_sparta_log(file, GAME, on_error="skip-game")
    assert set(found.columns.games.tolist()) == set(range(len({one["game_id"] for one in log}) - 1))
    assert found.skipped_games == 1


def test_columns_that_no_record_fills_are_absent(log: list[Record], tmp_path: Path) -> None:
    bare = [{name: value for name, value in one.items() if name not in ("action_blueprint", "Q_values")} for one in log]
    names = {extra.name for extra in read_sparta_log(write(tmp_path, bare)).header.extra_columns}
    assert names == {"prev_other_action", "value_known", "log_file", "log_game"}


@pytest.mark.parametrize(
    "form",
    [
        lambda log: json.dumps(log),
        lambda log: "\n\n".join(json.dumps(one) for one in log) + "\n",
        lambda log: "\ufeff" + "".join(json.dumps(one) + "\n" for one in log),
        lambda log: "".join(json.dumps(one) + "\n" for one in reversed(log)),
        lambda log: "".join(json.dumps({**one, "done": int(one["done"])}) + "\n" for one in log),
        lambda log: "".join(
            json.dumps({**one, "legal_mask": None, "legal_action_ids": np.flatnonzero(one["legal_mask"]).tolist()})
            + "\n"
            for one in log
        ),
    ],
    ids=["array", "empty lines", "byte-order mark", "any order", "done as 0 and 1", "ids for a mask"],
)
def test_all_its_forms_read_the_same(form: Callable[[list[Record]], str], log: list[Record], tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(form(log), encoding="utf-8")
    assert same(read_sparta_log(tmp_path / "other.json"), read_sparta_log(write(tmp_path, log)))


def test_ids_are_per_file(log: list[Record], tmp_path: Path) -> None:
    files = [write(tmp_path, log, "one.jsonl"), write(tmp_path, log, "two.jsonl")]
    columns = read_sparta_log(files).columns
    assert len(np.unique(columns.games)) == 2 * GAMES
    assert columns.extras["log_file"].tolist() == [0] * len(log) + [1] * len(log)


# --- Orders of actions. ---------------------------------------------------------------------------------------------------


def test_play_first_ids_with_blue_and_white_swapped() -> None:
    ids = ludory_ids("play_first_bw", Sizes(2, 5, 5, 5)).tolist()
    assert ids == [5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 10, 11, 12, 14, 13, 15, 16, 17, 18, 19]


@pytest.mark.parametrize("sizes", [Sizes(2, 5, 5, 5), Sizes(4, 4, 5, 5), Sizes(3, 5, 3, 4)])
@pytest.mark.parametrize("order", ACTION_ORDERS)
def test_every_order_is_its_own_way_back(order: str, sizes: Sizes) -> None:
    ids = ludory_ids(order, sizes)
    assert ids[ids].tolist() == list(range(len(ids)))


def reordered(log: list[Record], order: str) -> list[Record]:
    """The log as a program with that order of ids writes it."""
    ids = ludory_ids(order, Sizes(2, 5, 5, 5))
    place = np.argsort(ids)
    return [
        one
        | {
            "legal_mask": np.array(one["legal_mask"])[ids].tolist(),
            "Q_values": [one["Q_values"][id] for id in ids],
            "action_sparta": int(place[one["action_sparta"]]),
            "action_blueprint": int(place[one["action_blueprint"]]),
        }
        for one in log
    ]


@pytest.mark.parametrize("order", ACTION_ORDERS)
def test_any_order_reads_as_ludory_s(order: str, log: list[Record], tmp_path: Path) -> None:
    expected = read_sparta_log(write(tmp_path, log))
    other = write(tmp_path, reordered(log, order), "other.jsonl")
    found = read_sparta_log(other, action_order=order)
    assert same(found, expected)
    for name, values in expected.columns.extras.items():
        assert np.array_equal(values, found.columns.extras[name], equal_nan=values.dtype.kind == "f"), name
    said = write(tmp_path, [one | {"action_order": order} for one in reordered(log, order)], "said.jsonl")
    assert same(read_sparta_log(said), expected)


@pytest.mark.parametrize("order", ["play_first", "play_first_bw"])
def test_a_wrong_order_is_found_by_the_masks_and_the_right_one_named(
    order: str, log: list[Record], tmp_path: Path
) -> None:
    file = write(tmp_path, reordered(log, order))
    with pytest.raises(LogFormatError, match=rf"masks fit --action-order {order}\b"):
        read_sparta_log(file)


def test_the_bomb_convention_is_what_the_records_say(log: list[Record], tmp_path: Path) -> None:
    file = write(tmp_path, [one | {"bomb": "zero"} for one in log])
    assert read_sparta_log(file).header.options["bomb"] == "zero"
    assert read_sparta_log(file, bomb="keep").header.options["bomb"] == "keep"


# --- Faults. --------------------------------------------------------------------------------------------------------------

AT = 5
FAULTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "missing fields": ({"seat": ..., "reward": ...}, "seat", "no seat, reward, must be there"),
    "game_id true": ({"game_id": True}, "game_id", "got True, must be an integer of at least 0"),
    "t 1.5": ({"t": 1.5}, "t", "got 1.5, must be an integer"),
    "t below 0": ({"t": -1}, "t", "got -1, must be an integer of at least 0"),
    "seat as text": ({"seat": "1"}, "seat", r"got '1', must be a seat 0\.\.1"),
    "seat 2": ({"seat": 2}, "seat", r"got 2, must be a seat 0\.\.1"),
    "short observation": ({"obs_vec": [0] * 308}, "obs_vec", r"308 entries, the length of minimal, must be 658 \(card_knowledge"),
    "observation of no variant": ({"obs_vec": [0] * 10}, "obs_vec", "10 entries, the length of no variant"),
    "observation of text": ({"obs_vec": ["a"] * SIZE}, "obs_vec", "entries that are no numbers"),
    "observation with NaN": ({"obs_vec": [float("nan")] + [0] * 657}, "obs_vec", "got nan at entry 0, must be finite"),
    "observation with 2": ({"obs_vec": [0, 2] + [0] * 656}, "obs_vec", "got 2 at entry 1, must be 0 or 1"),
    "no mask": ({"legal_mask": ...}, "legal_mask", "neither legal_mask nor legal_action_ids"),
    "two masks": ({"legal_action_ids": [0]}, "legal_action_ids", "must be the same"),
    "short mask": ({"legal_mask": [1] * 19}, "legal_mask", "got 19 values, must be 20 values, each 0 or 1"),
    "mask with 2": ({"legal_mask": [2] * 20}, "legal_mask", "must be 20 values, each 0 or 1"),
    "ids out of range": ({"legal_mask": ..., "legal_action_ids": [20]}, "legal_action_ids", r"got \[20\], must be different ids 0\.\.19"),
    "ids repeated": ({"legal_mask": ..., "legal_action_ids": [1, 1]}, "legal_action_ids", "must be different ids"),
    "nothing legal": ({"legal_mask": [0] * 20}, "legal_mask", "no legal action"),
    "action out of range": ({"action_sparta": 20}, "action_sparta", r"got 20, must be an integer 0\.\.19"),
    "action true": ({"action_sparta": True}, "action_sparta", "got True"),
    "previous out of range": ({"prev_other_action": 21}, "prev_other_action", r"got 21, must be an integer 0\.\.20"),
    "previous against the log": ({"prev_other_action": 20}, "prev_other_action", "got 20, must be .* by the log"),
    "reward NaN": ({"reward": float("nan")}, "reward", "got nan, must be a finite number"),
    "reward true": ({"reward": True}, "reward", "got True, must be a finite number"),
    "done 2": ({"done": 2}, "done", "got 2, must be true or false"),
    "done too early": ({"done": True}, "done", "true before the last record"),
    "short Q": ({"Q_values": [1.0]}, "Q_values", "got 1 values, must be 20 numbers"),
    "Q with NaN": ({"Q_values": [float("nan")] * 20}, "Q_values", "must be 20 numbers"),
    "Q_count below 0": ({"Q_count": [-1] * 20}, "Q_count", "must be 20 numbers of at least 0"),
    "searched 1": ({"searched": 1}, "searched", "got 1, must be true or false"),
    "rollouts 1.5": ({"rollouts": 1.5}, "rollouts", "got 1.5, must be an integer of at least 0"),
    "gain infinite": ({"gain": float("inf")}, "gain", "got inf, must be a finite number"),
    "no Q of the action": ({"Q_values": [None] * 20}, "Q_values", "null at action_sparta"),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "field", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_with_its_place(
    fields: dict[str, Any], field: str, message: str, log: list[Record], tmp_path: Path
) -> None:
    file = write(tmp_path, changed(log, AT, **fields))
    with pytest.raises(
        LogFormatError, match=rf"log\.jsonl, line {AT + 1}, game_id .*, t .*, field '{field}': .*{message}"
    ):
        read_sparta_log(file)


def not_legal(one: Record) -> int:
    return int(np.flatnonzero(np.array(one["legal_mask"]) == 0)[0])


@pytest.mark.parametrize("field", ["action_sparta", "action_blueprint"])
def test_an_illegal_action_is_named(field: str, log: list[Record], tmp_path: Path) -> None:
    at = next(row for row, one in enumerate(log) if not all(one["legal_mask"]))
    file = write(tmp_path, changed(log, at, **{field: not_legal(log[at])}))
    with pytest.raises(LogFormatError, match=rf"'{field}': got \d+, which is not legal, must be among"):
        read_sparta_log(file)


def test_a_record_twice_and_seats_out_of_turn_are_named(log: list[Record], tmp_path: Path) -> None:
    with pytest.raises(LogFormatError, match=r"'t': got 5 as in .* once in a game"):
        read_sparta_log(write(tmp_path, [*log, log[AT]]))
    with pytest.raises(LogFormatError, match=r"'seat': got 0, must be 1, who follows seat 0 at t 4"):
        read_sparta_log(write(tmp_path, changed(log, AT, seat=0)))


def test_a_mask_that_fits_no_order_is_named_with_its_record(log: list[Record], tmp_path: Path) -> None:
    mask = list(log[AT]["legal_mask"])
    mask[not_legal(log[AT]) if not all(mask) else 0] ^= 1
    file = write(tmp_path, changed(log, AT, legal_mask=mask, action_blueprint=log[AT]["action_sparta"]))
    with pytest.raises(LogFormatError, match=rf"line {AT + 1}, .*'legal_mask': .* must be what obs_vec says"):
        read_sparta_log(file)


def last_of(log: list[Record], game: int) -> int:
    return max(row for row, one in enumerate(log) if one["game_id"] == game)


def test_a_game_without_an_end_is_refused_or_taken_as_cut_off(log: list[Record], tmp_path: Path) -> None:
    file = write(tmp_path, changed(log, last_of(log, 0), done=False))
    with pytest.raises(
        LogFormatError, match="'done': got false on the last record, must be true, or give allow_truncated=True"
    ):
        read_sparta_log(file)
    columns = read_sparta_log(file, allow_truncated=True).columns
    assert columns.extras["value_known"].tolist() == (columns.games != 0).tolist()
    assert columns.truncated[columns.games == 0].sum() == 2
    assert not columns.terminated[columns.games == 0].any()


def test_a_log_of_one_seat_needs_the_other_s_actions(log: list[Record], tmp_path: Path) -> None:
    mine = [one for one in log if one["seat"] == 1]
    ends = {last_of(mine, game): True for game in {one["game_id"] for one in mine}}
    mine = [one | {"done": row in ends} for row, one in enumerate(mine)]
    with pytest.raises(
        LogFormatError, match=r"'t': got no record of t 0\.\.0, must be no gap, or a record with prev_other_action"
    ):
        read_sparta_log(write(tmp_path, mine))
    before = {(one["game_id"], one["t"] + 1): one["action_sparta"] for one in log}
    mine = [one | {"prev_other_action": before[one["game_id"], one["t"]]} for one in mine]
    columns = read_sparta_log(write(tmp_path, mine)).columns
    assert columns.extras["prev_other_action"].tolist() == [one["prev_other_action"] for one in mine]
    assert not columns.extras["value_known"].any()
    columns = read_sparta_log(write(tmp_path, [one | {"return": 2.0 - 0.5 * (one["t"] > 2)} for one in mine])).columns
    assert columns.extras["value_known"].all()
    assert [columns.rewards[columns.games == game].sum() for game in range(GAMES)] == [2.0] * GAMES


def test_missing_empty_and_broken_files_are_named(log: list[Record], tmp_path: Path) -> None:
    with pytest.raises(LogFormatError, match=r"none\.jsonl, field 'file': .*No such file"):
        read_sparta_log(tmp_path / "none.jsonl")
    for name, text, message in (
        ("empty.jsonl", "\n", "no record"),
        ("empty.json", "[]", "no record"),
        (
            "bad.jsonl",
            json.dumps(log[0]) + "\n{bad}\n" + json.dumps(log[1]),
            r"bad\.jsonl, line 2, field 'record': got invalid JSON",
        ),
        (
            "cut.jsonl",
            json.dumps(log[0]) + "\n" + json.dumps(log[1])[:-9],
            r"line 2, field 'record': got the file ends inside a record",
        ),
        ("cut.json", json.dumps(log[:2])[:-9], "the file ends inside a record"),
        ("list.jsonl", "3\n", "line 1, field 'record': got a int, must be a JSON object"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(LogFormatError, match=message):
            read_sparta_log(tmp_path / name)


def test_twenty_problems_are_shown_and_the_rest_counted(log: list[Record], tmp_path: Path) -> None:
    file = write(tmp_path, [one | {"reward": None} for one in log])
    with pytest.raises(LogFormatError) as caught:
        read_sparta_log(file)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{len(log)} problems in the log:"
    assert len(lines) == 22
    assert lines[-1] == f"  and {len(log) - 20} more"


def test_whole_games_are_left_out_when_asked(log: list[Record], tmp_path: Path) -> None:
    whole = read_sparta_log(write(tmp_path, log))
    found = read_sparta_log(write(tmp_path, changed(log, AT, reward="much")), on_error="skip-game")
    assert found.skipped_games == 1
    assert len(found.problems) == 1
    bad = log[AT]["game_id"]
    assert found.columns.extras["log_game"].tolist() == [one["game_id"] for one in log if one["game_id"] != bad]
    kept = whole.columns.extras["log_game"] != bad
    assert np.array_equal(found.columns.rewards, whole.columns.rewards[kept])


def test_a_record_of_no_game_stops_even_then(log: list[Record], tmp_path: Path) -> None:
    with pytest.raises(LogFormatError, match="'game_id': got None"):
        read_sparta_log(write(tmp_path, changed(log, AT, game_id=None)), on_error="skip-game")


@pytest.mark.parametrize(
    "wrong", [{"action_order": "hle"}, {"bomb": "half"}, {"on_error": "skip"}, {"game": "Hanabi2P-v0", "colors": 4}]
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any], log: list[Record], tmp_path: Path) -> None:
    with pytest.raises(OptionError):
        read_sparta_log(write(tmp_path, log), **wrong)


def test_a_log_is_checked_as_recordings_are(
    log: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(write(tmp_path, log))
    assert main(["check", "data", file]) == 0
    assert f"{GAMES} games of Hanabi2P-v0, {len(log)} decisions" in capsys.readouterr().out
    write(tmp_path, changed(log, AT, reward=None))
    assert main(["check", "data", file]) == 2
    assert main(["check", "data", file, "--skip-bad"]) == 1
    assert "left out: " in capsys.readouterr().out


def test_the_command_converts_a_log_or_writes_nothing(
    log: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, changed(log, AT, reward=None))
    command = ["convert", str(file), "--from", "sparta", "--out", str(tmp_path / "set")]
    assert main(command) == 2
    assert not (tmp_path / "set").exists()
    assert "field 'reward': got None" in capsys.readouterr().err
    assert main([*command, "--skip-bad"]) == 0
    assert f"{GAMES - 1} games," in capsys.readouterr().out
    assert TrajectoryDataset(tmp_path / "set").num_games == GAMES - 1
    assert main([*command, "--skip-bad"]) == 2
    assert "exists; name another folder" in capsys.readouterr().err
