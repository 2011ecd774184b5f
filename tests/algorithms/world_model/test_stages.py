"""All stages together, with very small sizes: tables, skipped stages, runs that were killed, and the learner of the house."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from ludory.algorithms.world_model.config import EvalConfig, SpaConfig, TextConfig, from_fields
from ludory.algorithms.world_model.evaluation import (
    Evaluation,
    PlayerScores,
    anchor_scores,
    evaluate_models,
    evaluation_columns,
    evaluation_lines,
)
from ludory.algorithms.world_model.pipeline import baseline, run, seen_rooms
from ludory.algorithms.world_model.scripted import learn_form, new_model
from ludory.benchmarks.text_games import tiny_run as module
from ludory.benchmarks.text_games.tiny_run import TinyConfig, TinyRun

pytest.importorskip("transformers")

COMPACT = TextConfig(env="Sokoban-v0", preset="compact")
SIZES = TinyConfig(
    arms=("spa",),
    ablations=(),
    form_steps=10,
    batches=2,
    groups=4,
    group_size=2,
    epochs=1,
    batch_size=16,
    iterations=2,
    eval_every=1,
    train_rooms=32,
    rooms=4,
    samples=2,
)


@pytest.fixture(scope="module")
def formed():
    model = new_model(SIZES.text, 1, hidden=32, layers=2, heads=2)
    learn_form(model, COMPACT, steps=350, batch_size=24, learning_rate=5e-3, episodes=96, seed=1)
    return model


@pytest.mark.slow
def test_a_model_that_learnt_the_form_plays_like_random(formed):
    config = EvalConfig(rooms=16, samples=4, k=(1, 4), prompt_mode="world_model", max_new_tokens=48, split="valid")
    found = evaluate_models({"form": formed}, COMPACT, config)
    form, random, optimum = found.players
    assert form.figures["form_ok"] > 0.6
    assert form.figures["observation_copied"] < 0.05
    assert abs(form.rates(1).mean() - random.rates(1).mean()) < 0.2
    assert (random.rates(1) <= optimum.rates(1)).all()


def test_the_table_has_models_random_and_optimum_on_seen_and_unseen_rooms():
    scores = PlayerScores("model", np.array([2, 0, 1, 4]), 4, {"form_ok": 1.0})
    optimum = PlayerScores("optimum", np.zeros(0, np.int64), 0, {}, np.array([1.0, 1.0, 0.5, 1.0]))
    rooms, seen = np.arange(4, dtype=np.uint64), np.array([True, False, False, True])
    found = Evaluation(rooms, seen, (scores, optimum), (1, 4), "temperature 1")
    columns, rows = evaluation_columns(found), evaluation_lines(found)
    assert columns[:5] == ["player", "all (4) Pass@1", "all (4) Pass@4", "seen (2) Pass@1", "seen (2) Pass@4"]
    assert [row[0] for row in rows] == ["model", "optimum"]
    assert rows[0][3].startswith("75.0")
    assert found.as_json()["players"]["optimum"]["pass@1"]["unseen"]["mean"] == 0.75
    assert json.loads(json.dumps(found.as_json()))["unseen_rooms"] == 2


@pytest.mark.slow
def test_anchors_are_of_the_rooms_of_the_evaluation():
    config = EvalConfig(rooms=32, samples=1, k=(1,), seeds="ragen", split=None)
    random, optimum = anchor_scores(COMPACT, config)
    assert 0.1 < random.rates(1).mean() < 0.3
    assert optimum.rates(1).mean() > 0.9


def flat(found, name=""):
    """Figures by dotted name, without times."""
    if isinstance(found, dict):
        return {key: value for part in found for key, value in flat(found[part], f"{name}.{part}").items()}
    return {} if name.endswith("cpu_s") else {name: json.dumps(found)}


@pytest.mark.slow
def test_the_small_experiment_goes_on_after_kills_to_the_same_figures(formed, tmp_path, monkeypatch):
    class KilledError(Exception):
        pass

    monkeypatch.setattr(module, "new_model", lambda text, seed: copy.deepcopy(formed))
    monkeypatch.setattr(module, "learn_form", lambda *arguments, **named: 0.0)
    lines = []
    whole = TinyRun(SIZES, 1, tmp_path / "whole", lines.append).run()
    assert list(whole) == ["seed", "form", "data", "sft", "spa"]
    assert set(whole["spa"]["curve"]) == {"0", "1", "2"}
    original = module._write
    writes = [0]

    def dying(file, content):
        writes[0] += 1
        if writes[0] % 2:
            raise KilledError
        original(file, content)

    monkeypatch.setattr(module, "_write", dying)
    found = None
    for _ in range(20):
        try:
            found = TinyRun(SIZES, 1, tmp_path / "killed", lines.append).run()
            break
        except KilledError:
            continue
    assert flat(found) == flat(whole)


@pytest.mark.slow
def test_all_stages_of_a_configuration_and_complete_ones_are_skipped(formed, tmp_path, monkeypatch):
    formed.save(tmp_path / "start")
    fields = {
        "model": str(tmp_path / "start"),
        "text": {"preset": "compact"},
        "generate": {"batches": 1, "groups": 8, "group_size": 2, "max_new_tokens": 48},
        "sft": {"epochs": 1, "batch_size": 8, "check_rooms": 2},
        "ppo": {"preset": "tiny", "groups": 4, "group_size": 2, "iterations": 1, "val_every": 0, "device": "cpu"},
        "eval": {"rooms": 4, "samples": 2, "k": [1, 2], "max_new_tokens": 48},
    }
    config = from_fields(SpaConfig, fields, "test")
    found = run(config, tmp_path / "out", "cpu")
    assert [player.name for player in found.players] == ["spa", "sft", "start", "random", "optimum"]
    assert seen_rooms(tmp_path / "out" / "data") <= seen_rooms(tmp_path / "out" / "data", tmp_path / "out" / "ppo")
    assert json.loads((tmp_path / "out" / "eval.json").read_text())["rooms"] == 4
    for name in ("_played", "write_rows"):
        monkeypatch.setattr(f"ludory.algorithms.world_model.generate.{name}", None)
    monkeypatch.setattr("ludory.algorithms.world_model.pipeline.fine_tune", None)
    again = run(config, tmp_path / "out", "cpu")
    assert [player.successes.tolist() for player in again.players[:3]] == [
        player.successes.tolist() for player in found.players[:3]
    ]
    alone = baseline(config, tmp_path / "baseline", "cpu")
    assert [player.name for player in alone.players] == ["baseline", "start", "random", "optimum"]


@pytest.mark.slow
def test_the_learner_of_the_house_makes_all_stages(formed, tmp_path):
    import ludory

    formed.save(tmp_path / "start")
    learner = ludory.make_algorithm(
        "world-model",
        env="Sokoban-v0",
        model=str(tmp_path / "start"),
        generate={"batches": 1, "groups": 4, "group_size": 2, "max_new_tokens": 48, "validation_share": 0.0},
        sft={"epochs": 1, "batch_size": 8},
        ppo={"preset": "tiny", "groups": 4, "group_size": 2, "val_every": 0, "device": "cpu"},
        folder=str(tmp_path / "run"),
    )
    learner.learn(8)
    assert learner.num_timesteps == 8
    learner.save(tmp_path / "saved")
    assert ludory.load(tmp_path / "saved").num_timesteps == 8


@pytest.mark.slow
def test_all_stages_on_two_devices_are_those_on_one(tmp_path, monkeypatch):
    from transformers import AutoModelForCausalLM

    monkeypatch.setattr("ludory.algorithms.world_model.pipeline._evaluated", lambda *arguments: None)

    new_model(COMPACT, 1, hidden=16, layers=2, heads=2).save(tmp_path / "start")
    fields = {
        "model": str(tmp_path / "start"),
        "text": {"preset": "compact", "turns": 2},
        "generate": {"policy": "random", "batches": 1, "groups": 4, "group_size": 2},
        "sft": {"epochs": 1, "batch_size": 8, "check_rooms": 2, "learning_rate": 1e-2, "sharding": "fsdp"},
        "ppo": {
            "preset": "tiny",
            "groups": 4,
            "group_size": 2,
            "iterations": 2,
            "minibatches": 2,
            "epochs": 1,
            "max_new_tokens": 8,
            "filter": "none",
            "val_every": 0,
            "collapse_every": 0,
            "sharding": "fsdp",
            "device": "cpu",
        },
    }
    config = from_fields(SpaConfig, fields, "test")
    run(config, tmp_path / "one", "cpu")
    run(config.learnt_on(2), tmp_path / "two", "cpu")
    for stage in ("sft", "ppo"):
        one, two = (AutoModelForCausalLM.from_pretrained(tmp_path / name / stage) for name in ("one", "two"))
        for (name, mine), theirs in zip(one.named_parameters(), two.parameters(), strict=True):
            assert (mine - theirs).abs().max() < 1e-5, (stage, name)
    # another number of devices is no other configuration
    run(config, tmp_path / "two", "cpu")
