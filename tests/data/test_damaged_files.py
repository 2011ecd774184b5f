"""Damaged files: every reader names the file and what is wrong with it, or reads it; no other exception, no hang."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.damage import damaged_bytes, damaged_text
from support.golden_texas42 import load
from support.last_man_standing_files import START, STEP, end, manifest, record, recording, stream, tick
from support.made_up_sets import BITS, a_set, made_up, write_set

from ludory.agents.evaluation.record import record as record_set
from ludory.agents.random import RandomAgent
from ludory.agents.texas42.bidding.fitted_make_probability import FILE as CALIBRATION
from ludory.agents.texas42.bidding.fitted_make_probability import read_calibration
from ludory.algorithms.flywheel.state import read_scores
from ludory.algorithms.league.exploitation import Exploitation, read_exploitations, write_exploitations
from ludory.algorithms.texas42.oracle.catalogue import list_cards
from ludory.data import TrajectoryDataset
from ludory.data.formats.battles import BattleTrajectories
from ludory.data.formats.last_man_standing.checked_lines import Flaws
from ludory.data.formats.last_man_standing.feedback import read_feedback
from ludory.data.formats.last_man_standing.manifest import read_manifest
from ludory.data.formats.last_man_standing.recorder import read_recorder
from ludory.data.formats.sparta.log import read_sparta_log
from ludory.data.formats.sparta.writer import write_sparta_log
from ludory.data.formats.texas42.bid_tables import BidName, BidTable, read_bids, write_bids
from ludory.data.formats.texas42.contracts import (
    CONTRACTS,
    OPEN,
    ContractsName,
    PlayedContracts,
    read_contracts,
    write_contracts,
)
from ludory.data.formats.texas42.eq_records import EqGame, empty_columns, read_eq, write_eq
from ludory.data.formats.texas42.eq_torch import read_pt, write_pt
from ludory.data.formats.texas42.labels import Labels, LabelSettings, LabelsName, read_labels, write_labels
from ludory.data.formats.texas42.names import ShardName
from ludory.data.formats.texas42.shards import StateRows, read_shard, write_shard
from ludory.data.replay import frames, read_replay, record_replay, write_replay
from ludory.data.shards import read_manifest as read_dataset
from ludory.envs.make import make_engine, make_game
from ludory.envs.texas42.start import seed_deal
from ludory.envs.texas42.tiles import mask_of
from ludory.errors import DataError, LudoryError, OptionError
from ludory.reading import VARIABLE, JsonError, parse_json, read_json, read_npz, unpacked

Read = Callable[[Path], Any]


class Kind(NamedTuple):
    """A kind of file: one that is good, who reads it, and whether it is text."""

    make: Callable[[Path], Path]
    read: Read
    is_text: bool


def _shard_rows() -> StateRows:
    rows = sorted((row for row in load("shard_states.parquet") if row["seed"] == 930), key=lambda row: row["state"])
    q = np.array([[row[f"q{k}"] for k in range(7)] for row in rows], np.int8)
    return StateRows(np.array([row["state"] for row in rows]), np.array([row["V"] for row in rows], np.int8), q)


def _shard(folder: Path) -> Path:
    rows, name = _shard_rows(), ShardName(930, 0)
    write_shard(folder / name.file, name, [rows], len(rows.states))
    return folder / name.file


def _labels(folder: Path) -> Path:
    rows = _shard_rows()
    count = len(rows.states)
    deal = np.tile(np.array([tile for hand in seed_deal(930) for tile in hand], np.int8), (count, 1))
    same = (np.full(count, 930), np.full(count, -1), np.zeros(count, np.int8), np.zeros(count, np.int8), deal)
    decision = (28 - np.bitwise_count(rows.states & ((1 << 28) - 1))).astype(np.int8)
    labels = Labels(*same, decision, *rows, np.zeros(count, np.int8))
    write_labels(folder / "labels_00000900.parquet", LabelsName(900), LabelSettings(), labels)
    return folder / "labels_00000900.parquet"


def _contracts(folder: Path) -> Path:
    dealt = np.array([[mask_of(hand) for hand in seed_deal(seed)] for seed in range(CONTRACTS)], np.int32)
    points = (np.arange(CONTRACTS) % 43).astype(np.int8)
    contracts = PlayedContracts(np.arange(CONTRACTS), dealt, points % 8, points, np.tile(points[:, None], (1, OPEN)))
    write_contracts(folder / "contracts_00000000.parquet", ContractsName(0), contracts)
    return folder / "contracts_00000000.parquet"


def _bids(folder: Path) -> Path:
    p = np.broadcast_to(np.linspace(0.9, 0.3, 13), (9, 13))
    table = BidTable("6-4", "x", np.tile(np.arange(20, 40, dtype=np.int8), (9, 1)), np.stack([p, p - 0.1, p + 0.1]))
    write_bids(folder / "seed_00000042.parquet", BidName(42, "rollout", 20, 3, 0), table)
    return folder / "seed_00000042.parquet"


def _eq_game() -> EqGame:
    """A hand in which everybody plays the first tile allowed, every value 0."""
    deal = [tile for hand in seed_deal(947) for tile in hand]
    header = {"seed": 947, "decl_id": 7, "deal": deal, "leader": 0, "bid": 30, "bidder": 0}
    engine, columns = make_engine("Texas42Play-v0", 1), empty_columns()
    engine.reset(options={"deal": deal, "decl": 7, "bid": 30, "bidder": 0, "leader": 0})
    columns["game_idx"][:], columns["decision_idx"][:], columns["bid"][:] = 947, np.arange(28), 30
    for name in ("transcript_lengths", "n_samples", "worlds_total", "ess", "max_w"):
        columns[name][:] = 1
    for k in range(28):
        seat, legal = int(engine.to_move[0]), engine.legal()[0]
        slots = legal[deal[7 * seat : 7 * seat + 7]]
        columns["seat"][k], columns["legal_mask"][k], columns["action_taken"][k] = seat, slots, slots.argmax()
        columns["e_q_mean"][k, slots], columns["e_q_pdf"][k, slots, 42] = 0, 1
        engine.step(np.array([deal[7 * seat + int(slots.argmax())]]))
    return EqGame(header, columns)


def _written(write: Callable[[Path], Any], name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        write(folder / name)
        return folder / name

    return make


def _replay(file: Path) -> None:
    game = make_game("HanabiTiny2P-v0")
    write_replay(file, record_replay(game, [RandomAgent(game.facts, seed=k) for k in range(2)], seed=3))


def _sparta(folder: Path) -> Path:
    record_set("random", "HanabiTiny2P-v0", 3, folder / "set", seed=1)
    data = TrajectoryDataset(folder / "set")
    write_sparta_log(folder / "log.jsonl", data.header, data.tables())
    return folder / "log.jsonl"


def _exploiters(folder: Path) -> Path:
    return write_exploitations(folder, [Exploitation("main", "teacher", 0, 100, 10, 0.5, 0.4, 0.6)] * 2)


BATTLES = [
    {
        "replay_id": f"b-{battle}",
        "player": player,
        "total_reward": 1.0,
        "steps": [
            {
                "observation": {"turn": turn, "hp": [1.0, 0.5]},
                "action_type": turn % 2,
                "action_target": 1,
                "reward": 0.5,
                "done": turn == 2,
            }
            for turn in range(3)
        ],
    }
    for battle in range(3)
    for player in ("p1", "p2")
]
CARD = {"file": "a.ludory", "sha256": "0" * 64, "loss_mode": "qvalue", "policy": {}, "parameters": 1, "trained_on": 1}
CATALOGUE = {"format": "ludory texas42 catalogue 1", "networks": [CARD | {"scores": {}, "data": "x"}]}
KINDS = {
    "battle": Kind(
        lambda folder: _lines(folder / "battles.jsonl", BATTLES),
        lambda file: list(BattleTrajectories(file).parts()),
        True,
    ),
    "recorder": Kind(
        lambda folder: recording(folder, *(tick(k, done=k == 5) for k in range(6))),
        lambda file: read_recorder(file, Flaws(skip_bad=False)),
        True,
    ),
    "feedback": Kind(
        lambda folder: stream(
            folder, START, *[STEP | {"mono": 1.5, "ui_state": {"canvas_visible": 1}}] * 4, end("win")
        ),
        lambda file: read_feedback(file, Flaws(skip_bad=False)),
        True,
    ),
    "manifest": Kind(
        lambda folder: manifest(folder, *[record("reason=win")] * 3),
        lambda file: read_manifest(file, Flaws(skip_bad=False)),
        True,
    ),
    "sparta": Kind(_sparta, lambda file: read_sparta_log(file, "HanabiTiny2P-v0"), True),
    "replay": Kind(_written(_replay, "game.json"), lambda file: _played(file), True),
    "dataset.json": Kind(
        lambda folder: a_set(folder, shards=1) / "dataset.json", lambda file: read_dataset(file.parent), True
    ),
    "trajectories": Kind(
        lambda folder: a_set(folder, shards=1) / "part-00000.parquet",
        lambda file: [len(TrajectoryDataset(path).header.heads) for path in (file.parent, file)],
        False,
    ),
    "shard": Kind(_shard, lambda file: list(read_shard(file)), False),
    "labels": Kind(_labels, read_labels, False),
    "contracts": Kind(_contracts, lambda file: read_contracts([file]), False),
    "bids": Kind(_bids, read_bids, False),
    "eq": Kind(_written(lambda file: write_eq(file, _eq_game()), "seed_00000947.safetensors"), read_eq, False),
    "pt": Kind(_written(lambda file: write_pt(file, _eq_game()), "seed_00000947.pt"), read_pt, False),
    "calibration": Kind(
        _written(lambda file: file.write_bytes(CALIBRATION.read_bytes()), "calibration.json"), read_calibration, True
    ),
    "exploiters": Kind(_exploiters, lambda file: read_exploitations(file.parent), True),
    "catalogue": Kind(
        _written(lambda file: file.write_text(json.dumps(CATALOGUE)), "catalogue.json"),
        lambda file: list_cards(file.parent),
        True,
    ),
    "scores": Kind(
        _written(lambda file: file.write_text('{"policy": [1, 2.5], "blueprint": [3, 0]}'), "scores.json"),
        read_scores,
        True,
    ),
}


def _lines(file: Path, records: list[Any]) -> Path:
    file.write_text("".join(json.dumps(one) + "\n" for one in records))
    return file


def _played(file: Path) -> int:
    """Moves of a replay; what the rules refuse of it is refused without the file's name, which they do not know."""
    replay = read_replay(file)
    try:
        return sum(1 for _ in frames(replay))
    except LudoryError as error:
        raise DataError(f"{file}: {error}") from error


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def of(kind: str) -> Path:
        if kind not in made:
            made[kind] = KINDS[kind].make(tmp_path_factory.mktemp("good"))
        return made[kind]

    return of


ROUNDS = int(os.environ.get("LUDORY_DAMAGED_FILES", "12"))
"""Damages of each sort and kind of file."""


@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_is_named_or_read_and_nothing_else_happens(name: str, good: Callable[[str], Path]) -> None:
    kind, file = KINDS[name], good(name)
    data = file.read_bytes()
    kind.read(file)
    draws = np.random.default_rng([ROUNDS, sorted(KINDS).index(name)])
    damages: Iterator[Any] = damaged_bytes(data, draws, ROUNDS)
    if kind.is_text:
        damages = iter([*damages, *damaged_text(data, draws, 2 * ROUNDS)])
    refused = 0
    try:
        for damage in damages:
            file.write_bytes(damage.data)
            complaint = said(kind, file, f"{name}, {damage.how}")
            refused += complaint is not None
            place = (file.name, str(file.parent))
            assert complaint is None or any(one in complaint for one in place), (damage.how, complaint[:300])
    finally:
        file.write_bytes(data)
    assert refused > ROUNDS // 4


def said(kind: Kind, file: Path, how: str) -> str | None:
    """What the reader says; None: it has read the file."""
    try:
        kind.read(file)
    except LudoryError as error:
        return str(error)
    except Exception as error:
        raise AssertionError(f"{how}: {error!r:.300}") from error
    return None


@pytest.mark.parametrize("name", KINDS)
def test_folders_loops_and_missing_files_are_named(name: str, good: Callable[[str], Path]) -> None:
    kind, file = KINDS[name], good(name)
    data = file.read_bytes()
    file.unlink()
    try:
        for place in (lambda: file.mkdir(), lambda: file.rmdir() or file.symlink_to(file)):
            place()
            complaint = said(kind, file, name)
            if complaint is None:
                assert name in ("exploiters", "catalogue"), "a loop of links is no file, and there need be none"
            else:
                assert file.name in complaint
    finally:
        file.unlink()
        file.write_bytes(data)


def test_a_tensor_that_was_changed_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "seed_00000947.pt"
    write_pt(file, _eq_game())
    game, data = read_pt(file), file.read_bytes()
    place = data.index(game.columns["e_q_pdf"].tobytes()[:64])
    file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    with pytest.raises(DataError, match="does not have its checksum"):
        read_pt(file)


def test_what_a_file_unpacks_to_has_a_limit_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    big = b" " * (1 << 20) + b"{}\n"
    log = tmp_path / "log.jsonl.gz"
    log.write_bytes(gzip.compress(big))
    handle, flaw = unpacked(log)
    handle.close()
    assert "1 MiB" in flaw
    assert VARIABLE in flaw
    for read in (BattleTrajectories, lambda file: read_sparta_log(file, "HanabiTiny2P-v0")):
        with pytest.raises(DataError, match=rf"log\.jsonl\.gz.*{VARIABLE}"):
            read(log)
    with pytest.raises(DataError, match=rf"log\.jsonl\.gz.*{VARIABLE}"):
        read_recorder(log, Flaws(skip_bad=False))
    np.savez_compressed(tmp_path / "deals.npz", a=np.zeros(1 << 20), b=np.zeros(2))
    with pytest.raises(DataError, match=rf"deals\.npz.*{VARIABLE}"):
        read_npz(tmp_path / "deals.npz")
    with zipfile.ZipFile(tmp_path / "hand.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.pkl", big)
    with pytest.raises(DataError, match=rf"hand\.pt.*{VARIABLE}"):
        read_pt(tmp_path / "hand.pt")
    table = pa.table({"a": np.zeros(1 << 18, np.int64)})
    pq.write_table(table, tmp_path / "seed_00000042.parquet")
    with pytest.raises(DataError, match=rf"seed_00000042\.parquet.*{VARIABLE}"):
        read_bids(tmp_path / "seed_00000042.parquet")
    monkeypatch.setenv(VARIABLE, "none")
    with pytest.raises(OptionError, match=VARIABLE):
        unpacked(log)


def test_arrays_that_say_more_than_they_hold_ask_for_no_memory(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", a=np.arange(6).reshape(2, 3))
    assert read_npz(tmp_path / "a.npz")["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        member = archive.read("a.npy").replace(b"(2, 3), }   ", b"(9999, 9), }")
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.writestr("a.npy", member)
    with pytest.raises(ValueError, match=r"48 bytes are no int64 \(9999, 9\)"):
        read_npz(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "column 1"),
        (b"\xff{}", "no UTF-8"),
        (b"[" * 100_000, "deep"),
        (b"[" * 40 + b"]" * 40, "deep"),
        (b"9" * 5000, "digits"),
        (b'{"a": "\0"}', "control character"),
    ],
)
def test_json_has_one_error(text: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(JsonError, match=reason):
        parse_json(text)
    (tmp_path / "a.json").write_bytes(text)
    with pytest.raises(JsonError, match=reason):
        read_json(tmp_path / "a.json")
    assert parse_json(b"\xef\xbb\xbf[1]\r\n") == [1]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda rows: rows.q.__setitem__((3, 0), 99), "q"),
        (lambda rows: rows.values.__setitem__(3, 77), "V"),
        (lambda rows: rows.states.__setitem__(-1, 1 << 41), "state"),
        (lambda rows: rows.states.__setitem__(3, rows.states[3] ^ 1), "state"),
    ],
)
def test_a_shard_with_a_row_that_can_not_be_is_refused(
    change: Callable[[StateRows], Any], field: str, tmp_path: Path
) -> None:
    rows, name = _shard_rows(), ShardName(930, 0)
    change(rows)
    write_shard(tmp_path / name.file, name, [rows], len(rows.states))
    with pytest.raises(DataError, match=rf"{name.file}, row \d+, field '{field}'"):
        list(read_shard(tmp_path / name.file))


def test_a_shard_or_table_with_a_value_missing_is_refused(tmp_path: Path) -> None:
    file = _shard(tmp_path)
    table = pq.read_table(file)
    q = table["q0"].to_pylist()
    open_schema = pa.schema([pa.field(one.name, one.type) for one in table.schema], table.schema.metadata)
    columns = [pa.array([None, *q[1:]], pa.int8()) if one == "q0" else table[one] for one in table.column_names]
    pq.write_table(pa.table(columns, schema=open_schema), file)
    with pytest.raises(DataError, match="row 0, field 'q0': got null"):
        list(read_shard(file))
    bids = _bids(tmp_path)
    table = pq.read_table(bids)
    for value, message in ((None, "null"), (float("nan"), "nan")):
        at = table.column_names.index("pmake_3_31")
        pq.write_table(table.set_column(at, table.schema.field(at), pa.array([value], pa.float32())), bids)
        with pytest.raises(DataError, match=rf"field 'pmake_3_31': got {message}"):
            read_bids(bids)


def test_games_without_their_first_decisions_and_sets_without_a_game_are_refused(tmp_path: Path) -> None:
    columns = made_up(BITS, 20)._replace(seeds=np.zeros(len(made_up(BITS, 20).games), np.int64))
    starts = np.append(True, columns.games[1:] != columns.games[:-1])
    lost = int(np.flatnonzero(starts & ~np.append(starts[1:], True))[0])
    kept = np.arange(len(columns.games)) != lost
    cut = columns._replace(**{name: getattr(columns, name)[kept] for name in columns._fields if name != "extras"})
    TrajectoryDataset(write_set(tmp_path / "whole", BITS, columns, games=20))
    with pytest.raises(DataError, match=rf"row {lost}, field 'step': got 1, so that decisions before it are missing"):
        TrajectoryDataset(write_set(tmp_path / "cut", BITS, cut, games=20))
    with pytest.raises(DataError, match="field 'game': got 20 games, must be 21 games"):
        TrajectoryDataset(write_set(tmp_path / "fewer", BITS, columns, games=21))


def test_rewards_beyond_what_the_game_can_give_are_refused(good: Callable[[str], Path]) -> None:
    folder = good("sparta").parent / "set"
    file = folder / "part-00000.parquet"
    data, table = file.read_bytes(), pq.read_table(file)
    at = table.column_names.index("reward")
    try:
        for first, message in ((1e6, r"1e\+06, must be"), (4.0, "in all for the seat")):
            rewards = table["reward"].to_pylist()
            rewards = [first] * len(rewards) if first == 4.0 else [first, *rewards[1:]]
            pq.write_table(table.set_column(at, table.schema.field(at), pa.array(rewards, pa.float32())), file)
            with pytest.raises(DataError, match=rf"part-00000\.parquet, row \d+, field 'reward': got .*{message}"):
                TrajectoryDataset(folder)
    finally:
        file.write_bytes(data)


def test_a_recording_with_a_tick_left_out_is_refused(tmp_path: Path) -> None:
    for ticks, line in (((0, 1, 3, 4), 3), ((0, 2, 4, 5), 4)):
        file = recording(tmp_path, *(tick(k) for k in ticks))
        with pytest.raises(DataError, match=rf"line {line}, field 'tick_id': .*a tick is left out"):
            read_recorder(file, Flaws(skip_bad=False))
        (kept,) = read_recorder(file, Flaws(skip_bad=True))
        assert kept.length == line - 1
    assert read_recorder(recording(tmp_path, tick(4), tick(6), tick(8)), Flaws(skip_bad=False))[0].length == 3
