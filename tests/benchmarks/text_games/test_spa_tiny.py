"""`ludory bench spa-tiny`: the same command for all three puzzles, with random play and the optimum in its table."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from ludory.benchmarks.text_games import tiny_run as tiny
from ludory.benchmarks.text_games.spa_tiny import result_name, run
from ludory.errors import OptionError

pytest.importorskip("transformers")
SIZES = "--seeds 1 --ablations states --batches 1 --groups 4 --epochs 1 --iterations 1 --eval-every 1 --rooms 4"


@pytest.fixture
def small(monkeypatch):
    """A smaller model, which has not learnt the form of replies, and data of random moves."""
    model, generate = tiny.new_model, tiny.generate
    monkeypatch.setattr(tiny, "new_model", lambda text, seed: model(text, seed, hidden=16, layers=1, heads=2))
    monkeypatch.setattr(tiny, "learn_form", lambda *arguments, **named: 0.0)
    monkeypatch.setattr(
        tiny,
        "generate",
        lambda model, text, how, out: generate(model, text, replace(how, policy="random"), out),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "name", "certain", "budget", "arms", "tuned"),
    [
        (
            "FrozenLakeAny-v0 --success-rate 0.8",
            "spa-tiny-FrozenLakeAny-v0-success_rate-0.8",
            False,
            "5 turns and 10",
            "direct spa",
            {"sft"},
        ),
        (
            "Sudoku4-v0",
            "spa-tiny-Sudoku4-v0",
            True,
            "10 turns and 10",
            "direct spa uncorrected spa-grpo spa-gae",
            {"sft", "sft-self"},
        ),
    ],
)
def test_lakes_and_sudoku_run_as_sokoban_does(small, game, name, certain, budget, arms, tuned, tmp_path, capsys):
    assert run([*f"--env {game} --arms {arms} {SIZES} --out".split(), str(tmp_path)]) == 0
    report = json.loads((tmp_path / f"{name}.json").read_text())
    assert set(report["arms"]) == set(arms.split())
    assert set(report["masks"]) == {*tuned, "sft-states"}
    random, optimum = (report["anchors"][name]["pass@1"][0] for name in ("random", "optimum"))
    assert random < optimum
    assert (optimum == 1.0) == certain, "ice that slips can defeat anybody"
    assert f"{budget} actions" in report["convention"]
    printed = capsys.readouterr().out
    assert all(word in printed for word in (game.split()[0], "random", "optimum", "4 rooms", "SPA - direct PPO"))
    ElementTree.fromstring((tmp_path / f"{name}.svg").read_text())


def test_the_result_of_sokoban_has_the_short_name():
    assert result_name(tiny.TinyConfig()) == "spa-tiny"


def test_models_train_on_easier_puzzles_than_they_are_evaluated_on():
    config = tiny.TinyConfig(env="Sudoku4-v0")
    assert (config.training_text.options, config.text.options) == ({"fewest_blanks": 3, "blanks": 10}, {})
    given = {"fewest_blanks": 6, "blanks": 6}
    assert tiny.TinyConfig(env="Sudoku4-v0", options=given).training_text.options == given
    for other in ("Sokoban-v0", "Sudoku9-v0"):
        assert tiny.TinyConfig(env=other).training_text == tiny.TinyConfig(env=other).text


def test_games_without_texts_of_words_are_refused():
    with pytest.raises(OptionError, match=r"compact\); choose one of .*Sudoku4-v0, .*Sokoban-v0"):
        tiny.training_rooms(tiny.TinyConfig(env="Hanabi2P-v0"))
