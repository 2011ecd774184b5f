"""The table of tuned settings: what is committed holds, and the command measures, keeps and writes what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ludory.algorithms.tuned.settings import TunedSettings, read_tuned, tuned_algorithms, tuned_games
from ludory.benchmarks.learning import tuned
from ludory.errors import OptionError

ROOT = Path(__file__).parents[2]
COMMITTED = {
    (row["algorithm"], row["game"]): row
    for file in (ROOT / "benchmarks" / "results").glob("tuned*.json")
    for row in json.loads(file.read_text(encoding="utf-8"))["rows"]
}
ENTRIES = [(name, entry) for name in tuned_algorithms() for entry in tuned_games(name).values()]
KUHN = TunedSettings(
    "KuhnPoker-v0", "random", 4096, 1.0, {"num_envs": 64, "n_steps": 8, "batch_size": 128, "hidden": (8,)}
)


@pytest.mark.parametrize(("name", "entry"), ENTRIES, ids=[f"{name} {entry.game}" for name, entry in ENTRIES])
def test_every_entry_was_measured_and_beats_its_baseline_in_its_time(name, entry):
    row = COMMITTED[name, entry.game]
    assert row["holds"]
    assert row["lead"] > 3 * row["lead_stderr"]
    assert row["cpu_minutes"] <= entry.cpu_minutes == row["stated_minutes"]
    assert entry.baseline == row["baseline"]
    assert entry.reached.mean == pytest.approx(sum(row["scores"]) / len(row["scores"]), abs=1e-3)
    assert entry.reached.seeds == tuple(row["seeds"])


@pytest.mark.parametrize("algorithm", ["ppo", "vtrace"])
def test_eight_games_have_tuned_settings_of_three_seeds(algorithm):
    assert sum(len(entry.reached.seeds) >= 3 for entry in tuned_games(algorithm).values()) >= 8


@pytest.mark.slow
def test_a_row_is_measured_kept_and_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tuned, "tuned_games", lambda algorithm: {KUHN.game: KUHN})
    monkeypatch.setattr("ludory.algorithms.tuned.settings.tuned_games", lambda algorithm: {KUHN.game: KUHN})
    monkeypatch.setattr(tuned.tuned_files, "__file__", str(tmp_path / "settings.py"))
    command = ["--algorithms", "ppo", "--seeds", "1", "2", "--evaluation-games", "100", "--out", str(tmp_path)]
    assert tuned.run([*command, "--write"]) == 0
    said = capsys.readouterr().out
    assert "seed 1:" in said
    (row,) = json.loads((tmp_path / "tuned.json").read_text())["rows"]
    assert row["lead"] == pytest.approx(2 * sum(row["scores"]) / 2)  # zero-sum: the baseline has what the agent lost
    assert row["lead_stderr"] >= abs(row["scores"][0] - row["scores"][1])  # 2 scores: the lead's error over seeds
    reached = read_tuned((tmp_path / "ppo.json").read_text(), "ppo.json")[KUHN.game].reached
    assert (reached.seeds, reached.games) == ((1, 2), 100)

    assert tuned.run(command) == 0
    assert "seed 1:" not in capsys.readouterr().out, "both are known"


@pytest.mark.slow
def test_precisions_are_compared_over_seeds(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tuned, "tuned_games", lambda algorithm: {KUHN.game: KUHN})
    monkeypatch.setattr("ludory.algorithms.tuned.settings.tuned_games", lambda algorithm: {KUHN.game: KUHN})
    command = ["--algorithms", "ppo", "--seeds", "1", "2", "--evaluation-games", "100", "--out", str(tmp_path)]
    assert tuned.run([*command, "--precisions", "float32", "bf16", "--policy", "mlp(hidden=(8,))"]) == 0
    said = capsys.readouterr().out
    rows = json.loads((tmp_path / "precision.json").read_text())["rows"]
    assert [(row["policy"], row["precision"]) for row in rows] == [
        ("mlp(hidden=(8,))", one) for one in ("float32", "bf16")
    ]
    apart = sum(rows[1]["scores"]) / 2 - sum(rows[0]["scores"]) / 2
    assert f"bf16 - float32: {apart:+.3f}" in said
    with pytest.raises(OptionError, match="leave out --precisions"):
        tuned.run([*command, "--precisions", "bf16", "--write"])
