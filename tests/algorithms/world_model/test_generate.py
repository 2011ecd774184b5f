"""Generation: true states in every row, rooms on one side of the split, and the same files after a kill at any point."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from ludory.agents.language.spans import OBSERVATION, PREDICTION
from ludory.algorithms.world_model import files
from ludory.algorithms.world_model import generate as module
from ludory.algorithms.world_model.config import GenerateConfig, TextConfig
from ludory.algorithms.world_model.generate import generate, held_out, why_dropped
from ludory.algorithms.world_model.scripted import new_model
from ludory.benchmarks.text_games.tiny_run import TinyConfig, training_rooms
from ludory.cluster.workers import InProcess
from ludory.errors import DataError, OptionError, OutputError

pytest.importorskip("transformers")

COMPACT = TextConfig(env="Sokoban-v0", preset="compact")
SMALL = GenerateConfig(
    policy="random", batches=3, groups=4, group_size=2, max_new_tokens=48, split=None, validation_share=0.3
)


@pytest.fixture(scope="module")
def model():
    from ludory.agents.language.small_model import make_small_model

    return make_small_model("words", hidden=16, layers=1, heads=2)


@pytest.fixture(scope="module")
def made(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "data"
    return generate(model, COMPACT, SMALL, folder)


def columns(file, *names):
    table = pq.read_table(file)
    return [table[name].to_pylist() for name in names]


def digest(folder):
    names = sorted(file for file in folder.glob("*.parquet"))
    return [(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in names]


def test_every_reply_says_the_true_states_before_and_after(made):
    for shard in sorted(made.folder.glob("turns-*.parquet")):
        for reply, before, after, between, actions in zip(
            *columns(shard, "reply_true", "state_before", "state_after", "states_between", "actions"), strict=True
        ):
            assert f"<observation> {before} </observation>" in reply
            assert f"<prediction> {after} </prediction>" in reply
            assert len(between) == len(actions) <= 5
            assert between[-1] == after


def test_rows_hold_the_states_where_their_spans_say(made, model):
    ids, spans, response = columns(made.folder / files.TRAIN, "input_ids", "spans", "response")
    for row, kinds, text in zip(ids, spans, response, strict=True):
        row, kinds = np.array(row), np.array(kinds)
        for kind, name in ((OBSERVATION, "observation"), (PREDICTION, "prediction")):
            said = model.decode(row[kinds == kind].tolist())
            assert f"<{name}> {said} </{name}>" in text
        assert model.decode(row[kinds > 0].tolist()) == text
        assert row[-1] in model.ends


def test_no_room_and_no_episode_lies_on_both_sides(made):
    train, val = (columns(made.folder / name, "room_hash", "episode") for name in (files.TRAIN, files.VALIDATION))
    assert train[0]
    assert val[0]
    assert not set(train[0]) & set(val[0])
    assert not set(train[1]) & set(val[1])


@pytest.mark.slow
def test_a_run_killed_at_any_point_makes_the_same_files(model, made, tmp_path, monkeypatch):
    class KilledError(Exception):
        pass

    whole = digest(made.folder)
    for place in range(7):
        calls = [0]

        def dying(original, calls=calls, place=place):
            def wrapped(*arguments, **named):
                calls[0] += 1
                if calls[0] == place:
                    raise KilledError
                return original(*arguments, **named)

            return wrapped

        folder = tmp_path / str(place)
        with monkeypatch.context() as patched:
            for name in ("write_table", "write_meta"):
                patched.setattr(files, name, dying(getattr(files, name)))
            if place:
                with pytest.raises(KilledError):
                    generate(model, COMPACT, SMALL, folder)
        generate(model, COMPACT, SMALL, folder)
        assert digest(folder) == whole


def test_a_complete_folder_is_left_alone_and_a_foreign_one_refused(model, made, monkeypatch):
    monkeypatch.setattr(module, "_played", None)
    assert generate(model, COMPACT, SMALL, made.folder).counts == made.counts
    with pytest.raises(OutputError, match="another configuration or model"):
        generate(model, COMPACT, GenerateConfig(policy="random"), made.folder)


@pytest.mark.parametrize("policy", ["model", pytest.param("random", marks=pytest.mark.slow)])
def test_workers_make_the_same_files(model, tmp_path, policy):
    config = replace(SMALL, policy=policy, max_new_tokens=48 if policy == "random" else 12)
    for name, workers in (("here", None), ("there", InProcess())):
        with suppress(DataError):  # random weights write no answer: no row is left of the turns
            generate(model, COMPACT, config, tmp_path / name, workers=workers)
    assert digest(tmp_path / "there") == digest(tmp_path / "here")
    assert len(digest(tmp_path / "here")) >= config.batches


def test_a_damaged_shard_is_made_again(model, made, tmp_path):
    folder = tmp_path / "data"
    generate(model, COMPACT, SMALL, folder)
    shard = files.turns_file(folder, 1)
    shard.write_bytes(shard.read_bytes()[:100])
    files.write_meta(folder, files.read_meta(folder) | {"complete": False})
    generate(model, COMPACT, SMALL, folder)
    assert digest(folder) == digest(made.folder)


def test_a_model_plays_and_its_replies_are_judged(model, tmp_path):
    config = GenerateConfig(batches=1, groups=2, group_size=2, max_new_tokens=20, split=None)
    with pytest.raises(DataError, match="no row is left"):  # random weights write no answer
        generate(model, COMPACT, config, tmp_path / "data")
    (forms,) = columns(files.turns_file(tmp_path / "data", 0), "form")
    assert set(forms) <= {"no_think", "no_answer", "bad_structure"}


@pytest.mark.parametrize(
    ("turn", "options", "reason"),
    [
        ({"actions": []}, {}, "no_action"),
        ({"problem": "round_trip"}, {}, "round_trip"),
        ({"form": "bad_structure"}, {}, ""),
        ({"form": "bad_structure"}, {"format": "strict"}, "form"),
        ({"reply_true": "<observation> a <observation> b <prediction>"}, {"format": "strict"}, "form"),
        ({}, {"format": "strict"}, ""),
        ({}, {"min_chars": 100}, "too_short"),
        ({}, {"max_chars": 10}, "too_long"),
        ({}, {"max_tokens": 3}, "too_many_tokens"),
    ],
)
def test_filters(turn, options, reason):
    fine = {
        "form": "ok",
        "actions": [1],
        "problem": "",
        "reply": "x" * 50,
        "input_ids": [1] * 9,
        "reply_true": "<observation><prediction>",
    }
    assert why_dropped(fine | turn, GenerateConfig(**options)) == reason


def test_turns_that_change_nothing_are_thinned_out(model, made, tmp_path):
    def states(folder):
        found = [columns(folder / name, "response")[0] for name in (files.TRAIN, files.VALIDATION)]
        return [re.findall(r"<(?:observation|prediction)> (.*?) </", row) for part in found for row in part]

    def still(folder):
        return sum(before == after for before, after in states(folder))

    few = generate(model, COMPACT, replace(SMALL, still=0.3), tmp_path / "few")
    none = generate(model, COMPACT, replace(SMALL, still=0.0), tmp_path / "none")
    assert still(made.folder) > 20
    assert 0 < still(few.folder) < 0.6 * still(made.folder)
    assert still(none.folder) == 0
    moved = len(states(made.folder)) - still(made.folder)
    assert len(states(few.folder)) - still(few.folder) == len(states(none.folder)) == moved
    assert none.counts["dropped"]["still"] == still(made.folder)
    # a folder that keeps all is one of before there was this option
    assert "still" not in files.read_meta(made.folder)["generate"]
    assert files.read_meta(few.folder)["generate"]["still"] == 0.3


def test_the_split_is_by_room_alone():
    rooms = np.array([5 << 32, 9_999 << 32, 5 << 32, 9_999 << 32], np.uint64)
    assert held_out(rooms, np.arange(4), 0.2).tolist() == [True, False, True, False]
    groups = held_out(np.zeros(2000, np.uint64), np.repeat(np.arange(1000), 2), 0.2)
    assert (groups[::2] == groups[1::2]).all()
    assert 0.15 < groups.mean() < 0.25


@pytest.mark.slow
@pytest.mark.parametrize("game", ["FrozenLakeFirm-v0", "Sudoku4-v0"])
def test_words_and_lengths_of_the_small_model_fit_other_games(game, tmp_path):
    sizes = TinyConfig(env=game)
    model = new_model(sizes.text, 0, hidden=16, layers=1, heads=2)
    config = GenerateConfig(policy="solver", batches=1, groups=8, group_size=1, split=None)
    assert generate(model, sizes.text, config, tmp_path / "data").counts["success"] == 1
    ids, spans = columns(tmp_path / "data" / files.TRAIN, "input_ids", "spans")
    assert model.tokenizer.unk_token_id not in {token for row in ids for token in row}
    assert max(map(len, ids)) < model.longest
    assert max((np.array(row) > 0).sum() for row in spans) < training_rooms(sizes).reply_tokens


@pytest.mark.slow
def test_a_solver_plays_the_games_that_have_one(model, tmp_path):
    config = GenerateConfig(policy="solver(1.0)", batches=1, groups=16, group_size=1, split=None)
    counts = generate(model, COMPACT, config, tmp_path / "data").counts
    assert counts["success"] > 0.75
    with pytest.raises(OptionError, match="policy='best'"):
        GenerateConfig(policy="best")
