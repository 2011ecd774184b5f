"""Offline learners take a data set whose game is not installed; playing then says what to install."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from games.identity import make_identity
from support.recorded_games import SaysWhatItSees, record_games

import ludory
from ludory.agents.evaluation.record import record
from ludory.algorithms.bc import BC
from ludory.algorithms.distill import Distill
from ludory.algorithms.offline.algorithm import game_of_data
from ludory.checkpoints.checkpoint import read_header
from ludory.cli import main
from ludory.data.dataset import header_at
from ludory.data.header import header_from_json, header_of, header_to_json
from ludory.data.shards import shard_file
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game
from ludory.errors import OptionError, PluginError

OPTIONS = {"hidden": (8,), "seed": 3, "split_ratio": (0.8, 0.2, 0.0), "num_epochs": 1}
TINY = "HanabiTiny2P-v0"


@pytest.fixture(scope="module")
def identity(tmp_path_factory):
    """Recorded games of a game that no package offers."""
    return record_games(tmp_path_factory.mktemp("identity"), make_identity(), SaysWhatItSees(), 60)


def test_a_header_tells_all_facts_of_its_game(identity):
    header = header_at(identity)
    again = Game.of_header(header)
    assert again.facts == make_identity().facts
    assert (again.id, again.options) == (header.game, header.options)
    assert header_of(again, extra_columns=header.extra_columns) == header
    assert header_of(again).facts == header.facts
    assert header_at(shard_file(identity, 0)) == header


def test_a_header_of_before_tells_less_and_is_taken():
    content = header_to_json(header_of(make_game(TINY)))
    for added in ("facts", "package"):
        del content[added]
    header = header_from_json(content, "dataset.json")
    assert header == header_of(make_game(TINY))  # so that a set of before can grow
    facts = Game.of_header(replace(header, game="Gone-v0")).facts
    assert (facts.observation, facts.heads, facts.players) == (header.observation, header.heads, 2)
    assert (facts.name, facts.reward) == ("Gone-v0", "general")


def test_it_learns_the_same_with_and_without_the_game(identity, tmp_path):
    without = BC(dataset=identity, **OPTIONS).learn()
    installed = BC(env=make_identity(), dataset=identity, **OPTIONS).learn()
    for name, weights in installed.policy.state_dict().items():
        assert torch.equal(without.policy.state_dict()[name], weights)
    without.save(tmp_path / "model.ludory")
    again = ludory.load(tmp_path / "model.ludory")
    observation = torch.zeros(3, *make_identity().facts.observation.shape).numpy()
    assert (again.predict(observation)[0] == without.predict(observation)[0]).all()


def test_playing_says_what_to_install(identity):
    game = BC(dataset=identity, **OPTIONS).game
    with pytest.raises(PluginError, match=r"Identity-v0 is known from recorded games only.*install the package"):
        make_engine(game)
    named = Game.of_header(replace(header_at(identity), package="ludory-identity==1.0"))
    with pytest.raises(PluginError, match=r'cannot be played; type: pip install "ludory-identity==1.0"$'):
        ludory.evaluate(["random"] * named.facts.players, game=named, games=1)


def test_an_installed_game_is_made_with_its_options(tmp_path):
    record("random", TINY, 4, tmp_path, bomb="keep")
    game = game_of_data(header_at(tmp_path))
    assert (game.id, game.options, game.records.header) == (TINY, {"bomb": "keep"}, None)


def test_distilling_without_the_game_gives_no_scores():
    header = replace(header_of(make_game(TINY)), game="Gone-v0")
    with pytest.raises(OptionError, match=r"eval_games=1000: Gone-v0 is known from recorded games only.*eval_games=0"):
        Distill("mlp", Game.of_header(header), hidden=(8,))


def test_the_command_takes_the_game_from_the_data(identity, tmp_path, capsys):
    out = tmp_path / "bc.ludory"
    command = ["train", "bc", "--data", str(identity), "--out", str(out), "--num-epochs", "1", "--hidden", "8"]
    assert main([*command, "--split-ratio", "0.8", "0.2", "0"]) == 0
    assert "timesteps, model in" in capsys.readouterr().out
    assert read_header(out)["env"]["id"] == "Identity-v0"
    assert main(["train", "ppo", "--data", str(identity)]) == 2
    assert "ppo plays games of its own" in capsys.readouterr().err
    assert main(["train", "bc"]) == 2
    assert "or recorded games to learn from, with --data" in capsys.readouterr().err
