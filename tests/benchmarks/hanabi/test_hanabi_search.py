"""The benchmarks of search: results are kept deck by deck, gains are paired, and calibration counts what came true."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ludory.algorithms.ppo import PPO
from ludory.benchmarks.hanabi.belief import BINS, EXACT, HINTS, BeliefTally, measure
from ludory.benchmarks.hanabi.search import RESULTS, run
from ludory.benchmarks.hanabi.search_report import summary
from ludory.envs.make import make_game
from ludory.errors import CheckpointError, DataError, OptionError

pytestmark = pytest.mark.slow


def test_a_run_goes_on_where_it_was_and_a_cut_line_is_played_again(tmp_path, capsys):
    command = [
        "--game=HanabiTiny2P-v0",
        "--blueprint=hanabi/piers",
        "--decks=2",
        "--budget",
        "20",
        "--contenders",
        "single",
    ]
    command += [f"--out={tmp_path}"]
    assert run(command) == 0
    assert "0 of 4 games are played, 4 to go" in capsys.readouterr().out
    first = json.loads((tmp_path / "hanabi-search-run.json").read_text())
    lines = (tmp_path / RESULTS).read_text().splitlines(keepends=True)
    assert len(lines) == 4
    (tmp_path / RESULTS).write_text("".join(lines[:3]) + lines[3][:30])
    assert run(command) == 0
    assert "3 of 4 games are played, 1 to go" in capsys.readouterr().out
    again = json.loads((tmp_path / "hanabi-search-run.json").read_text())
    for one, other in zip(first["contenders"], again["contenders"], strict=True):
        assert (one["score"], one["gain"], one["rollouts"]) == (other["score"], other["gain"], other["rollouts"])
    assert (tmp_path / "hanabi-search-run.svg").read_text().startswith("<svg")
    with pytest.raises(DataError, match=r"results there are of game='HanabiTiny2P-v0'"):
        run(["--game=HanabiSmall2P-v0", f"--out={tmp_path}"])
    with pytest.raises(OptionError, match="--decks 0: must be at least 2"):
        run(["--decks=0", f"--out={tmp_path}"])


def test_a_network_that_needs_more_of_the_game_is_searched_over_in_that_game(tmp_path):
    network = tmp_path / "network.ludory"
    PPO("mlp(hidden=(8,))", make_game("HanabiTiny2P-v0", observation="conventions"), num_envs=2, seed=1).save(network)
    command = ["--game=HanabiTiny2P-v0", f"--blueprint={network}", "--decks=2", "--budget=20"]
    with pytest.raises(CheckpointError, match="conventions"):
        run([*command, f"--out={tmp_path / 'canonical'}"])
    assert run([*command, "--observation=conventions", f"--out={tmp_path / 'found'}"]) == 0
    report = json.loads((tmp_path / "found" / "hanabi-search-run.json").read_text())
    assert report["observation"] == "conventions"
    assert report["contenders"][1]["searches"] > 0


def line(contender, budget, deck, score):
    rest = dict.fromkeys(("stacks", "moves", "cpu_seconds", "rollouts", "searches", "changed"), 1)
    return {"contender": contender, "budget": budget, "deck": deck, "score": score, "end": "deck", **rest}


def test_gains_are_deck_by_deck():
    alone = [line("blueprint", 0, deck, score) for deck, score in enumerate((20, 10, 25))]
    searched = [line("single", 50, deck, score) for deck, score in ((2, 25), (0, 21), (1, 12))]
    gain = summary([*searched, *alone])[1]["gain"]
    assert gain["mean"] == pytest.approx(1)
    assert gain["stderr"] == pytest.approx(np.std([1, 2, 0], ddof=1) / np.sqrt(3))
    both = [line("joint", 50, deck, score) for deck, score in enumerate((24, 12, 25))]
    found = summary([*searched, *both, *alone])
    assert [one["contender"] for one in found if one["over_single"]] == ["joint"]
    assert found[1]["over_single"]["mean"] == pytest.approx(1)


def test_both_seats_search_each_as_if_the_other_did_not(tmp_path, capsys):
    command = ["--game=HanabiTiny2P-v0", "--blueprint=hanabi/piers", "--decks=3", "--budget=20", f"--out={tmp_path}"]
    assert run([*command, "--contenders", "single", "independent"]) == 0
    _, both, one = json.loads((tmp_path / "hanabi-search-run.json").read_text())["contenders"]
    assert both["contender"] == "independent"
    assert both["searches"] > 1.5 * one["searches"]
    assert "independent over single at 20 rollouts" in capsys.readouterr().out


def test_a_tally_sets_what_was_said_beside_what_came():
    tally = BeliefTally(2)
    tally.add(0, np.array([[0.25, 0.75, 0.0]]), np.array([1]))
    tally.add(1, np.array([[0.25, 0.75, 0.0]]), np.array([0]))
    tally.add(1, np.array([[0.0, 1.0, 0.0]]), np.array([2]))
    found = tally.as_json()
    assert found["held_but_impossible"] == 1
    assert [(one["predicted"], one["frequency"], one["count"]) for one in found["bins"]] == [
        (0.25, 0.5, 2),
        (0.75, 0.5, 2),
        (1.0, 0.0, 1),
    ]
    assert found["log_loss"] == pytest.approx(-(np.log(0.75) + np.log(0.25)) / 3)
    assert tally.count.shape == (2, BINS)


def test_the_exact_range_is_calibrated_and_sharper_than_the_hints():
    beliefs = measure(make_game("HanabiSmall2P-v0"), "hanabi/smartbot", 60, 5)["beliefs"]
    assert beliefs[EXACT]["held_but_impossible"] == 0
    assert beliefs[EXACT]["log_loss"] < beliefs[HINTS]["log_loss"]
    for one in beliefs[EXACT]["bins"]:
        if one["count"] > 100 and one["stderr"]:
            assert abs(one["predicted"] - one["frequency"]) < 4 * one["stderr"]
