"""A network plays games that show their seats another observation than the one that it was trained with."""

from __future__ import annotations

import pytest

import ludory
from ludory.agents.make import make_agent
from ludory.cli.eval import run as eval_run
from ludory.envs.make import make_game
from ludory.errors import CheckpointError

SIZES = {"num_envs": 4, "n_steps": 4, "batch_size": 16, "hidden": (8,)}


@pytest.fixture(scope="module")
def model():
    return ludory.make_algorithm("ppo", make_game("HanabiTiny2P-v0", observation="minimal"), **SIZES)


def test_it_makes_the_same_moves_whatever_the_game_shows(model):
    seen, plain = (
        ludory.evaluate(model, "HanabiTiny2P-v0", 20, seed=3, **options) for options in ({"observation": "minimal"}, {})
    )
    assert (seen.returns == plain.returns).all()
    assert make_agent(model, "HanabiTiny2P-v0").sees.options == {"observation": "minimal"}
    assert make_agent(model, model.game).sees is None


def test_eval_says_in_one_line_what_it_sees(model, tmp_path, capsys):
    file = tmp_path / "small.ludory"
    model.save(file)
    assert eval_run([str(file), "random", "--game", "HanabiTiny2P-v0", "--games", "4"]) == 0
    assert capsys.readouterr().err.count("small.ludory sees observation=minimal, as it was trained") == 1


def test_what_a_seat_may_not_know_stays_hidden():
    seer = ludory.make_algorithm("ppo", make_game("HanabiTiny2P-v0", observation="seer"), **SIZES)
    with pytest.raises(CheckpointError, match="cannot play HanabiTiny2P-v0"):
        make_agent(seer, "HanabiTiny2P-v0")
