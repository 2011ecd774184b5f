"""`ludory bench hanabi-ppo` trains by CPU time, anneals within a stage, goes on where it was stopped, and draws its curve."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from ludory.algorithms.ppo import PPO
from ludory.benchmarks.hanabi import ppo, timed_stage
from ludory.benchmarks.hanabi.timed_stage import CurveFile, train_stage
from ludory.cli import main
from ludory.errors import OptionError

pytestmark = pytest.mark.slow

SMALL = {"num_envs": 16, "n_steps": 8, "batch_size": 64, "hidden": (8,)}
NAME = "HanabiTiny2P-v0-tactical"


def test_a_second_call_trains_nothing_and_the_curve_counts_all_stages(tmp_path, monkeypatch, capsys):
    for name, value in SMALL.items():
        monkeypatch.setitem(ppo.SETTINGS, name, value)
    command = ["bench", "hanabi-ppo", "--game", "HanabiTiny2P-v0", "--minutes", "0.02", "--points", "4"]
    command += ["--point-games", "10", "--games", "20", "--seeds", "1", "2", "--symmetry", "--out", str(tmp_path)]
    command += ["--final-learning-rate", "1e-5"]
    reports = []
    for _ in range(2):
        assert main(command) == 0
        reports.append(json.loads((tmp_path / f"hanabi-ppo-{NAME}-seed2.json").read_text()))
    first, second = reports
    assert first["stages"] == second["stages"]
    assert first["evaluation"] == second["evaluation"]
    assert [stage["stage"] for stage in first["stages"]] == ["keep", "zero", "fine"]
    assert [stage["settings"]["final_learning_rate"] for stage in first["stages"]] == [2e-4, 2e-4, 1e-5]
    assert first["curve"][-1]["decisions"] == sum(stage["timesteps"] for stage in first["stages"])
    assert first["curve"][-1]["minutes"] >= 0.02
    curves = json.loads((tmp_path / f"hanabi-ppo-curves-{NAME}.json").read_text())
    assert curves["curves"][1] == first["curve"]
    ET.parse(tmp_path / f"hanabi-ppo-curves-{NAME}.svg")
    assert "seed 2: " in capsys.readouterr().out
    assert main([*command, "--warmup", "0"]) == 2
    assert "asked for is" in capsys.readouterr().err


def test_a_teacher_is_followed_in_the_first_stage_only() -> None:
    options = ppo.HanabiPPOOptions(teacher=Path("t.ludory"), kl_coef=1.0, warmup=0)
    first, last = ppo.stages(options)
    assert first.changes == {"teacher": "t.ludory", "kl_coef": 1.0, "final_kl_coef": 0.0}
    assert last.changes == ppo.FINE
    start = replace(options, teacher=None, init_from=Path("s.ludory"))
    assert ppo.stages(start)[0].changes == {**first.changes, "init_from": "s.ludory", "teacher": "s.ludory"}
    assert ppo.stages(replace(start, teacher=Path("t.ludory")))[0].changes["teacher"] == "t.ludory"
    with pytest.raises(OptionError, match="--kl-coef 1: name the --teacher"):
        ppo.stages(replace(options, teacher=None))
    with pytest.raises(OptionError, match=r"--teacher: say how close .* --kl-coef 1"):
        ppo.stages(replace(options, kl_coef=0.0))


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass with every reading."""
    passed = iter(range(10**6))
    monkeypatch.setattr(timed_stage, "process_time", lambda: next(passed))


def test_schedules_follow_the_clock_and_a_lost_point_is_forgotten(tmp_path, clock):
    shares = []

    class Watched(PPO):
        def iterate(self, on_step):
            shares.append(1 - self.progress_remaining)
            return super().iterate(on_step)

    make, file = (lambda: Watched("mlp", "HanabiTiny2P-v0", **SMALL)), tmp_path / "m.ludory"
    curve = CurveFile(tmp_path / "curve.json")
    model = train_stage(make, "only", file, 20, 10, curve, lambda model: {"mean": 1.0, "stderr": 0.1})
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.2
    assert shares[-1] < 1
    assert [point["seconds"] for point in curve.points] == [pytest.approx(10, abs=2), pytest.approx(20, abs=2)]

    curve.add({"stage": "only", "timesteps": model.num_timesteps + 128, "seconds": 40})
    again = train_stage(make, "only", file, 20, 10, CurveFile(curve.file), lambda model: {})
    assert again.num_timesteps == model.num_timesteps
