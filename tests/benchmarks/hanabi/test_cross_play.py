"""`ludory bench hanabi-cross-play` on a small Hanabi."""

from __future__ import annotations

import json

import pytest

from ludory.agents.evaluation.evaluate import evaluate
from ludory.benchmarks.hanabi.cross_play import run, with_others
from ludory.errors import OptionError, OutputError

pytestmark = pytest.mark.slow

SMALL = ["--game", "HanabiTiny2P-v0", "--games", "60", "--decks", "5"]


def test_every_pair_is_played_on_the_same_decks(tmp_path, capsys) -> None:
    file = tmp_path / "pairs.json"
    assert run([*SMALL, "--agents", "hanabi/iggi", "lucky=random(seed=1)", "--out", str(file)]) == 0
    report = json.loads(file.read_text())
    assert report["agents"] == ["hanabi/iggi", "lucky"]
    scores = report["scores"]
    alone = evaluate(["hanabi/iggi"], "HanabiTiny2P-v0", games=60, seed=5)
    mixed = evaluate(["hanabi/iggi", "random(seed=1)"], "HanabiTiny2P-v0", games=60, seed=5)
    assert scores["hanabi/iggi"]["hanabi/iggi"]["mean"] == pytest.approx(float(alone.mean))
    assert scores["hanabi/iggi"]["lucky"]["mean"] == pytest.approx(float(mixed.mean))
    beside = (scores["hanabi/iggi"]["lucky"]["mean"] + scores["lucky"]["hanabi/iggi"]["mean"]) / 2
    assert with_others(scores, "lucky") == with_others(scores, "hanabi/iggi") == pytest.approx(beside)
    assert file.with_suffix(".svg").read_text().count("lucky") >= 2
    assert f"with others {beside:5.2f}" in capsys.readouterr().out


def test_agents_that_differ_in_a_number_are_a_method(tmp_path, capsys) -> None:
    file = tmp_path / "pairs.json"
    agents = ["hanabi/iggi", *(f"lucky {seed}=random(seed={seed})" for seed in (1, 2, 3))]
    assert run([*SMALL, "--agents", *agents, "--out", str(file)]) == 0
    report = json.loads(file.read_text())
    scores, (means,) = report["scores"], report["methods"].values()
    names = [f"lucky {seed}" for seed in (1, 2, 3)]
    assert means["alone"]["mean"] == pytest.approx(sum(scores[name][name]["mean"] for name in names) / 3)
    others = [scores[a][b]["mean"] for a in names for b in names if a != b]
    assert means["together"]["mean"] == pytest.approx(sum(others) / 6)
    assert means["together"]["of"] == 3
    assert f"lucky: with itself {means['alone']['mean']:.2f} ± " in capsys.readouterr().out


@pytest.mark.parametrize("agents", [["random"], ["random", "random"]])
def test_agents_are_told_apart(agents) -> None:
    with pytest.raises(OptionError, match="NAME=SPEC"):
        run([*SMALL, "--agents", *agents])


def test_a_folder_is_refused_before_anything_is_played(tmp_path) -> None:
    with pytest.raises(OptionError, match="is a folder; name a file in it"):
        run([*SMALL, "--agents", "hanabi/iggi", "random", "--out", str(tmp_path)])


def test_scores_stay_on_the_terminal_if_they_cannot_be_written(tmp_path, capsys) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        run([*SMALL, "--agents", "hanabi/iggi", "random", "--out", str(tmp_path / "file" / "pairs.json")])
    assert "with others" in capsys.readouterr().out
