"""Tuned settings: files that can be read, fields that exist, stages that add up, and what the user names wins."""

from __future__ import annotations

import dataclasses
import json

import pytest

import ludory
from ludory.algorithms.tuned.plan import plan_training, said_iteration, train
from ludory.algorithms.tuned.settings import (
    TrainingStage,
    TunedSettings,
    read_tuned,
    tuned_algorithms,
    tuned_games,
    tuned_json,
)
from ludory.envs.make import make_game
from ludory.errors import DataError, OptionError
from ludory.plugins import agents, algorithms
from ludory.plugins.spec import parse_spec

ENTRIES = [(name, entry) for name in tuned_algorithms() for entry in tuned_games(name).values()]
STAGED = TunedSettings(
    "HanabiTiny2P-v0",
    "random",
    4096,
    1.0,
    {"num_envs": 8, "n_steps": 16, "batch_size": 64, "hidden": (8,)},
    options={"observation": "minimal"},
    stages=(
        TrainingStage("first", 0.25, {"bomb": "keep"}, {"gamma": 0.5}),
        TrainingStage("second", 0.75, {}, {"gamma": 0.9}),
    ),
)


@pytest.mark.parametrize(("name", "entry"), ENTRIES, ids=[f"{name} {entry.game}" for name, entry in ENTRIES])
def test_an_entry_names_what_exists(name, entry):
    kind = algorithms.load(name)
    assert agents.get(parse_spec(entry.baseline).name)
    for stage in entry.parts:
        assert make_game(entry.game, **{**entry.options, **stage.options})
        assert kind.config_class(**{**entry.settings, **stage.settings})


def test_a_file_that_is_written_is_read_as_it_was():
    written = tuned_json({STAGED.game: STAGED})
    assert read_tuned(written, "here") == {STAGED.game: STAGED}


@pytest.mark.parametrize(
    "change", [{"settings": None}, {"stages": [{"name": "all", "share": 0.5}]}, {"baselines": "random"}]
)
def test_a_damaged_entry_is_refused(change):
    entry = json.loads(tuned_json({STAGED.game: STAGED}))[STAGED.game] | change
    with pytest.raises(DataError, match="here: not a file of tuned settings"):
        read_tuned(json.dumps({STAGED.game: entry}), "here")


def planned(timesteps, **chosen):
    def read(default):
        return {field.name: getattr(default, field.name) for field in dataclasses.fields(default)} | chosen

    def make(options):
        return make_game(STAGED.game, **options)

    return plan_training(algorithms.load("ppo"), STAGED, make, read, timesteps)


def test_stages_share_the_timesteps_and_differ_in_game_and_settings():
    first, second = planned(None)
    assert (first.timesteps, second.timesteps) == (1024, 3072)
    assert first.game.options == {"observation": "minimal", "bomb": "keep"}
    assert second.game.options == {"observation": "minimal"}
    assert (first.config["gamma"], second.config["gamma"]) == (0.5, 0.9)
    assert [stage.config["gamma"] for stage in planned(None, gamma=0.7)] == [0.7, 0.7]


def test_a_short_training_has_smaller_batches():
    first, _ = planned(1000)
    assert first.config["num_envs"] * first.config["n_steps"] <= 1000 / 4 / 2
    assert "n_steps" in first.reduced


def test_a_training_that_cannot_be_shorter_than_an_iteration_says_so():
    assert said_iteration({"num_envs": 8, "n_steps": 16}, 100).startswith("trains at least 128 timesteps")
    assert said_iteration({"num_envs": 8, "n_steps": 16}, 128) == said_iteration({"report_every": 10}, 1) == ""
    league = {"learner": "ppo", "learner_options": {"num_envs": 512, "n_steps": 64}}
    assert "32,768" in said_iteration(league, 4000)


def test_train_goes_through_the_stages(monkeypatch):
    monkeypatch.setattr("ludory.algorithms.tuned.plan.tuned_for", lambda algorithm, game: STAGED)
    model = train("ppo", STAGED.game, 1024, seed=3)
    assert model.num_timesteps == 768
    assert (model.config.gamma, model.config.seed) == (0.9, 3)
    assert model.game.options == {"observation": "minimal"}


def test_a_made_algorithm_takes_the_last_stage(monkeypatch):
    monkeypatch.setattr("ludory.algorithms.tuned.settings.tuned_games", lambda algorithm: {STAGED.game: STAGED})
    model = ludory.make_algorithm("ppo", STAGED.game, tuned=True, num_envs=16)
    assert model.game.options == {"observation": "minimal"}
    assert (model.config.num_envs, model.config.n_steps, model.config.gamma) == (16, 16, 0.9)
    with pytest.raises(OptionError, match="id of a game"):
        ludory.make_algorithm("ppo", make_game(STAGED.game), tuned=True)
