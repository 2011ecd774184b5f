"""CFR reaches the known values of small games, and is saved, resumed and played like any learner."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reference.sequence_form import value_of_seat_0

import ludory
from ludory.cli import main
from ludory.envs.game_tree import game_tree
from ludory.envs.make import make_game
from ludory.errors import CheckpointError, OptionError

VALUES = {"KuhnPoker-v0": -1 / 18, "LeducPoker-v0": -0.085606424078}
"""For seat 0. Leduc: as in OpenSpiel's tests."""


@pytest.mark.parametrize("id", VALUES)
def test_the_value_of_a_game_is_that_of_the_literature(id):
    assert value_of_seat_0(game_tree(make_game(id))) == pytest.approx(VALUES[id], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("id", "iterations", "bound"), [("KuhnPoker-v0", 300, 1e-3), ("LeducPoker-v0", 1000, 1e-3)])
def test_cfr_plus_converges(id, iterations, bound):
    model = ludory.make_algorithm("cfr", env=id).learn(iterations)
    found = ludory.exploitability(model, id)
    assert found.exploitability < bound
    assert found.exploitability == pytest.approx(model.exploitability, abs=1e-9)
    assert -found.best_responses[1] <= VALUES[id] <= found.best_responses[0]
    assert found.values[0] == pytest.approx(VALUES[id], abs=bound)


def test_plain_cfr_converges_more_slowly():
    plain = ludory.make_algorithm("cfr", env="KuhnPoker-v0", variant="cfr").learn(300)
    plus = ludory.make_algorithm("cfr", env="KuhnPoker-v0").learn(300)
    assert plus.exploitability < plain.exploitability < 0.03


def test_a_resumed_run_reaches_the_same_tables(tmp_path: Path):
    whole = ludory.make_algorithm("cfr", env="LeducPoker-v0").learn(40)
    part = ludory.make_algorithm("cfr", env="LeducPoker-v0").learn(20)
    part.save(tmp_path / "cfr.ludory")
    resumed = ludory.load(tmp_path / "cfr.ludory").learn(20, reset_num_timesteps=False)
    assert resumed.num_timesteps == 40
    np.testing.assert_array_equal(resumed.average, whole.average)


def test_it_is_trained_and_evaluated_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = str(tmp_path / "cfr.ludory")
    assert main(["train", "cfr", "--env", "KuhnPoker-v0", "--timesteps", "200", "--out", model]) == 0
    assert main(["eval", model, "random", "--game", "KuhnPoker-v0", "--games", "500"]) == 0
    capsys.readouterr()
    played = ludory.evaluate([model, "random"], game="KuhnPoker-v0", games=20_000, seed=2)
    stated = ludory.exploitability([model, "random"], "KuhnPoker-v0")
    assert abs(played.mean[0] - stated.values[0]) < 5 * 1.5 / np.sqrt(20_000)


@pytest.mark.parametrize(
    ("env", "options", "message"),
    [
        ("HanabiTiny2P-v0", {}, "zero-sum rewards; HanabiTiny2P-v0 has 2 with shared rewards: choose ppo"),
        ("ConnectFour-v0", {"max_nodes": 1000}, "too large for exact values"),
        ("KuhnPoker-v0", {"policy": "mlp"}, "learns a table, without a network"),
        ("KuhnPoker-v0", {"variant": "mccfr"}, "variant='mccfr'"),
    ],
)
def test_what_it_cannot_learn_is_said(env, options, message):
    with pytest.raises(OptionError, match=message):
        ludory.make_algorithm("cfr", env=env, **options)


def test_a_table_of_other_rules_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "cfr.ludory"
    ludory.make_algorithm("cfr", env="KuhnPoker-v0").save(file)
    other = game_tree(make_game("LeducPoker-v0"))
    monkeypatch.setattr("ludory.algorithms.cfr.game_tree", lambda game, max_nodes: other)
    with pytest.raises(CheckpointError, match="rules or observations of KuhnPoker-v0 have changed"):
        ludory.load(file)
