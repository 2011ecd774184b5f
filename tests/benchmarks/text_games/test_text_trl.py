"""`ludory bench text-trl`: two learners start from one model, play as many episodes in the same rooms, and are compared at equal tokens."""

from __future__ import annotations

import json
from importlib.util import find_spec
from xml.etree import ElementTree

import pytest

pytest.importorskip("transformers")

from ludory.benchmarks.tables.text_games import TEXT_GAMES
from ludory.benchmarks.text_games import text_trl
from ludory.benchmarks.text_games.text_trl import OURS, THEIRS, curve, last_reward, run, with_error

ITERATIONS = [{"tokens": 100, "reward": reward, "cpu_s": 1.0} for reward in (0.0, 0.5, 1.0, 2.0)]


def test_rewards_are_those_of_the_last_quarter_of_a_budget():
    assert curve(ITERATIONS) == [(100, 0.0), (200, 0.5), (300, 1.0), (400, 2.0)]
    assert last_reward(ITERATIONS, 400) == 2.0
    assert last_reward(ITERATIONS, 300) == 1.0
    assert last_reward(ITERATIONS, 350, share=0.5) == 0.75
    assert last_reward(ITERATIONS, 50) == 0.0


def test_errors_are_over_seeds():
    assert with_error([2.0]) == "2.00"
    assert with_error([1.0, 3.0]) == "2.00 ± 1.00"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("trl") is None, reason='type: pip install "ludory[trl]"')
def test_both_learn_from_as_many_episodes_of_the_same_model(tmp_path, capsys, monkeypatch):
    new_model = text_trl.new_model
    monkeypatch.setattr(text_trl, "new_model", lambda text, seed, **new: new_model(text, seed, 32, 2, 2, **new))
    options = "--env Sokoban-v0 --seeds 1 --iterations 2 --groups 8 --form-steps 80 --rooms 4 --train-rooms 8 --out"
    assert run([*options.split(), str(tmp_path)]) == 0
    report = json.loads((tmp_path / "text-trl.json").read_text())
    (one,) = report["runs"]
    for name in (OURS, THEIRS):
        assert len(one[name]["iterations"]) == 2
        assert all(part["tokens"] > 0 and part["cpu_s"] > 0 for part in one[name]["iterations"])
    # the first iteration is played by the same weights
    ours, theirs = (one[name]["iterations"][0]["tokens"] for name in (OURS, THEIRS))
    assert 0.5 < ours / theirs < 2
    assert report["ratios"][0] == pytest.approx(
        report["tokens_per_cpu_second"][OURS][0] / report["tokens_per_cpu_second"][THEIRS][0]
    )
    assert "times TRL's" in capsys.readouterr().out
    assert report["config"]["out"] == ""
    rows = list(TEXT_GAMES["text-trl"](report))
    assert [name.rpartition(", ")[2] for name, *_ in rows] == [OURS, THEIRS] * 2
    ElementTree.fromstring((tmp_path / "text-trl.svg").read_text())
