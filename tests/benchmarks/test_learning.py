"""`ludory bench learning` trains what is not trained yet, and tells what the curves add up to."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

import ludory
from ludory.agents.networks.build import complete, parse_policy
from ludory.algorithms.bc import BCConfig
from ludory.algorithms.make import make_algorithm
from ludory.algorithms.vtrace.vtrace import outputs_in_time
from ludory.benchmarks.learning import learning
from ludory.benchmarks.learning import processes as learning_processes
from ludory.benchmarks.learning.report import summary
from ludory.benchmarks.learning.run import TrainingRun, make_curve, runs_of
from ludory.benchmarks.learning.stale import StaleSampler, as_if_fresh
from ludory.benchmarks.learning.suites import IMITATION, SUITES, Claim, Contender, Suite
from ludory.charts.curves import Point, Series, apart, curve_plot
from ludory.checkpoints.checkpoint import weights_hash
from ludory.cli import main
from ludory.errors import OptionError, TrainingError

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"
GAME = "HanabiTiny2P-v0"
SMALL = {"num_envs": 8, "n_steps": 8, "batch_size": 64, "compiled": False}
TINY = Suite(
    "tiny",
    "Two & two",
    GAME,
    192,
    (0.5, 1.0),
    (
        Contender("fresh", "fresh <games>", "ppo-v1", "mlp(hidden=(8,))", SMALL),
        Contender("stale", "stale games", "ppo-v1", "mlp(hidden=(8,))", SMALL, lag=2, taken_for_fresh=True),
    ),
    (Claim("fresh", "stale"),),
)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(learning, "SUITES", {"tiny": TINY})


def texts(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def curve(run: TrainingRun, scores: list[float]) -> dict[str, Any]:
    """What a run would have written."""
    return {"run": run.as_json(), "timesteps": [0, 128, 192], "scores": scores, "seconds": 1.0, "commit": "abc"}


def test_a_run_leaves_curves_a_result_and_a_plot_and_is_not_repeated(tiny, tmp_path, capsys, monkeypatch):
    command = ["bench", "learning", "--suite", "tiny", "--seeds", "1", "--jobs", "2", "--out", str(tmp_path)]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "0 of 2 runs are in" in printed
    assert (
        printed.splitlines()[-1] == f"result in {tmp_path / 'learning-tiny.json'} and {tmp_path / 'learning-tiny.svg'}"
    )
    result = json.loads((tmp_path / "learning-tiny.json").read_text())
    assert {"date", "commit", "machine", "statistic", "score"} <= result.keys()
    assert result["seeds"] == [1]
    for one in result["contenders"]:
        assert one["timesteps"] == [0, 128, 192]
        assert all(len(scores) == 3 and all(0 <= score <= 4 for score in scores) for scores in one["scores"].values())
        assert one["iqm"]["middle"] == pytest.approx(one["scores"]["1"], abs=1e-4)
    assert {one.name for one in TINY.contenders} <= set(texts((tmp_path / "learning-tiny.svg").read_text()))

    monkeypatch.setattr(learning_processes, "run_command", lambda *_: pytest.fail("trained again"))
    assert main(command) == 0
    assert "2 of 2 runs are in" in capsys.readouterr().out
    assert json.loads((tmp_path / "learning-tiny.json").read_text())["contenders"] == result["contenders"]


def test_only_what_is_missing_is_trained(tiny, tmp_path, monkeypatch):
    runs = runs_of(TINY, 2, None, None)
    trained = []

    def fake(waiting, files, bc, jobs):
        for run in waiting:
            trained.append(run.name)
            files[run.name].parent.mkdir(parents=True, exist_ok=True)
            files[run.name].write_text(json.dumps(curve(run, [0, 1, 2])))
            yield run
            if len(trained) == 3:
                raise KeyboardInterrupt

    monkeypatch.setattr(learning, "train", fake)
    arguments = ["--seeds", "2", "--out", str(tmp_path)]
    assert learning.run(arguments) == 130
    assert not (tmp_path / "learning-tiny.json").exists()
    assert learning.run(arguments) == 0
    assert trained == [run.name for run in runs]


def test_curves_of_other_settings_are_refused_before_anything_is_trained(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "train", lambda *_: pytest.fail("trained"))
    run = runs_of(TINY, 1, None, None)[1]
    file = tmp_path / "curves" / f"{run.name}.json"
    file.parent.mkdir()
    file.write_text(json.dumps(curve(run, [0, 1, 2])))
    with pytest.raises(OptionError, match=r"stale-seed1.json was made with other settings \(budgets\).*--out"):
        learning.run(["--seeds", "1", "--steps", "1000", "--out", str(tmp_path)])


@pytest.mark.parametrize("option", ["--seeds", "--jobs", "--steps"])
def test_bad_numbers_are_refused(option):
    with pytest.raises(OptionError, match=f"{option} 0: must be at least 1"):
        learning.run([option, "0"])


def test_imitation_without_a_checkpoint_says_how_to_make_one(tmp_path):
    with pytest.raises(OptionError, match=r"(?s)ludory record hanabi/iggi.*ludory train bc.*--bc runs/bc/best.ludory"):
        learning.run(["--suite", "imitation", "--out", str(tmp_path)])
    with pytest.raises(OptionError, match=r"no.ludory: there is no such file; make one with"):
        learning.run(["--suite", "imitation", "--bc", str(tmp_path / "no.ludory"), "--out", str(tmp_path)])


def test_the_recommended_checkpoint_can_be_made():
    options = shlex.split(learning.BC_OPTIONS)
    policy = options[options.index("--policy") + 1]
    given = {name[2:].replace("-", "_"): value for name, value in zip(options[::2], options[1::2], strict=True)}
    assert set(given) - {"policy"} <= {field.name for field in dataclasses.fields(BCConfig)}
    assert complete(parse_policy(policy), {}).arguments["memory_size"] == 128


def test_both_contenders_of_imitation_have_the_network_of_the_checkpoint(tmp_path, monkeypatch):
    model = make_algorithm("ppo", "Hanabi2P-v0", "gru(hidden=(4,), memory_size=8)", num_envs=1)
    model.save(tmp_path / "bc.ludory")
    planned = []
    monkeypatch.setattr(learning, "train", lambda runs, files, bc, jobs: iter(planned.extend(runs) or ()))
    with pytest.raises(FileNotFoundError):  # nothing was trained
        learning.run(
            ["--suite", "imitation", "--seeds", "1", "--bc", str(tmp_path / "bc.ludory"), "--out", str(tmp_path)]
        )
    from_bc, from_scratch = planned
    assert parse_policy(from_bc.contender.policy) == model.policy_spec
    assert from_bc.contender.policy == from_scratch.contender.policy
    assert from_bc.bc == weights_hash(model.policy.state_dict())
    assert from_scratch.bc is None


def test_a_curve_repeats_and_may_start_from_a_checkpoint(tmp_path):
    fresh = TINY.contenders[0]
    run = TrainingRun("tiny", GAME, fresh, 1, (0, 64), games=50)
    once, again = make_curve(run), make_curve(run)
    assert once["scores"] == again["scores"]
    assert once["timesteps"] == [0, 64]
    model = make_algorithm("ppo", GAME, fresh.policy, **SMALL, seed=5).learn(256)
    model.save(tmp_path / "bc.ludory")
    from_there = make_curve(replace(run, contender=replace(fresh, from_bc=True)), str(tmp_path / "bc.ludory"))
    assert from_there["scores"][0] == float(ludory.evaluate([model.as_agent()], GAME, games=50, seed=run.decks).mean)


def stale(lag: int, taken_for_fresh: bool = False, policy: str = "mlp(hidden=(8,))") -> tuple[Any, list[Any]]:
    """A PPO whose games lag behind, and a list of (current policy, rollout) that grows as it learns."""
    model = make_algorithm("ppo", GAME, policy, **SMALL, seed=3, learning_rate=0.01)
    model.sampler = StaleSampler(model.sampler.lanes, lag, taken_for_fresh)
    seen, collect = [], model.sampler.collect

    def watched(policy, *arguments):
        rollout, stats = collect(policy, *arguments)
        seen.append(({name: tensor.clone() for name, tensor in policy.state_dict().items()}, rollout))
        return rollout, stats

    model.sampler.collect = watched
    return model, seen


def log_probs(model: Any, weights: dict[str, torch.Tensor], rollout: Any) -> torch.Tensor:
    """Of the rollout's actions, under `weights`."""
    model.policy.load_state_dict(weights)
    with torch.no_grad():
        return as_if_fresh(rollout, model.policy, 2).log_probs


@pytest.mark.parametrize("lag", [1, 3])
def test_games_are_played_by_the_weights_of_some_iterations_ago(lag):
    model, seen = stale(lag)
    model.learn(64 * 6)
    for now, (_, rollout) in enumerate(seen):
        played = seen[max(0, now - lag)][0]
        assert log_probs(model, played, rollout) == pytest.approx(rollout.log_probs, abs=1e-5)
    last = seen[-1]
    assert log_probs(model, *last) != pytest.approx(last[1].log_probs, abs=1e-3)


@pytest.mark.parametrize("policy", ["mlp(hidden=(8,))", "gru(hidden=(8,), memory_size=4)"])
def test_without_lag_nothing_changes_by_taking_games_for_fresh(policy):
    model, seen = stale(0, policy=policy)
    model.learn(64)
    weights, rollout = seen[0]
    model.policy.load_state_dict(weights)
    with torch.no_grad():
        fresh = as_if_fresh(rollout, model.policy, 2)
    for name in ("log_probs", "values", "next_values"):
        torch.testing.assert_close(getattr(fresh, name), getattr(rollout, name), atol=1e-5, rtol=1e-5)


def test_games_taken_for_fresh_have_the_numbers_of_the_policy_of_now():
    model, seen = stale(2, taken_for_fresh=True)
    model.learn(64 * 5)
    weights, rollout = seen[-1]
    model.policy.load_state_dict(weights)
    with torch.no_grad():
        values = outputs_in_time(model.policy, rollout, 2).values
    torch.testing.assert_close(rollout.values, values)
    torch.testing.assert_close(rollout.log_probs, log_probs(model, weights, rollout))


def test_a_claim_is_judged_at_every_budget():
    runs = runs_of(TINY, 4, None, None)
    scores = {"fresh": [1.0, 2.0, 3.0], "stale": [1.0, 2.5, 1.0]}
    result = summary(TINY, [curve(run, scores[run.contender.key]) for run in runs])
    (claim,) = result["claims"]
    assert claim["lead"]["middle"] == [0, -0.5, 2]
    assert (claim["ahead_at_every_budget"], claim["ahead_at_the_end"], claim["surely_ahead_at_the_end"]) == (
        False,
        True,
        True,
    )


def test_a_run_that_fails_stops_the_others_and_says_why(tmp_path, monkeypatch):
    programs = ["import time; time.sleep(1e6)", "raise ValueError('no cards')"]
    monkeypatch.setattr(learning_processes, "run_command", lambda *_: [sys.executable, "-c", programs.pop(0)])
    runs = runs_of(TINY, 1, None, None)
    with pytest.raises(TrainingError, match=r"tiny-stale-seed1 ended with exit code 1: ValueError: no cards"):
        list(learning_processes.train(runs, {run.name: tmp_path / run.name for run in runs}, None, 2))


def test_a_run_ends_with_the_process_that_wanted_it(tmp_path):
    file = tmp_path / "curve.json"
    run = TrainingRun("tiny", GAME, TINY.contenders[0], 1, (0, 10**9))
    code = (
        "import subprocess, sys; p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE); "
        "print(p.pid, flush=True); import time; time.sleep(60)"
    )
    from ludory.benchmarks.learning.run import run_command

    parent = subprocess.Popen(
        [sys.executable, "-c", code, *run_command(run, file, None)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(1)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 30
    try:
        while time.monotonic() < deadline and alive(child):
            time.sleep(0.1)
        assert not alive(child)
    finally:
        if alive(child):
            os.kill(child, signal.SIGKILL)


def alive(process: int) -> bool:
    """Whether a process runs (one that has ended and is not waited for does not)."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_plot_shows_every_line_with_its_interval_and_its_name():
    steps = [0, 1_000, 3_000]
    lines = [
        Series(f"line {k} & more", [Point(step, y + k, y + k - 0.5, y + k + 0.5) for y, step in enumerate(steps)])
        for k in range(3)
    ]
    drawn = curve_plot("Title", lines, "score (points)", ["caption", "2 & 3"])
    root = ElementTree.fromstring(drawn)
    assert {
        "Title",
        "score (points)",
        "decisions (thousands)",
        "caption",
        "2 & 3",
        *(line.name for line in lines),
    } <= set(texts(drawn))
    curves = [one for one in root.iter(f"{SVG}polyline") if one.get("stroke-width") == "2.2"]
    assert len(curves) == len(list(root.iter(f"{SVG}polygon"))) == 3
    assert len({(one.get("stroke"), one.get("stroke-dasharray")) for one in curves}) == 3
    across = [float(point.split(",")[0]) for point in curves[0].get("points", "").split()]
    assert across[2] - across[0] == pytest.approx(3 * (across[1] - across[0]), abs=0.2)
    heights = [float(one.get("points", "").split()[0].split(",")[1]) for one in curves]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.2)
    assert heights[0] > heights[1]  # more is higher up


def test_a_plot_of_nothing_learnt_is_a_plot():
    flat = [Point(step, 0, 0, 0) for step in (0, 10)]
    assert "nothing" in texts(curve_plot("Title", [Series("nothing", flat)], "score", []))


@pytest.mark.parametrize(
    ("wanted", "placed"),
    [
        ([10, 50], [10, 50]),
        ([50, 50, 50], [50, 60, 70]),
        ([90, 99], [90, 100]),
        ([98, 97], [100, 90]),
        ([-5, 20], [0, 20]),
    ],
)
def test_labels_do_not_touch(wanted, placed):
    assert apart(wanted, 10, 0, 100) == placed


@pytest.mark.parametrize("suite", SUITES.values(), ids=list(SUITES))
def test_every_suite_can_be_built_and_compares_contenders_that_exist(suite):
    keys = [one.key for one in suite.contenders]
    assert len(set(keys)) == len(keys)
    assert {key for claim in suite.claims for key in claim} <= set(keys)
    assert list(suite.budgets(None)) == sorted(set(suite.budgets(None)))
    assert suite.budgets(None)[-1] == suite.steps
    for one in suite.contenders:
        config = {**one.settings, "num_envs": 1}
        assert make_algorithm(one.algorithm, GAME, one.policy, **config).num_timesteps == 0


def test_contenders_of_the_imitation_suite_differ_only_in_where_they_start():
    from_bc, from_scratch = IMITATION.contenders
    assert from_bc.policy == from_scratch.policy
    assert {**from_bc.settings} == {**from_scratch.settings, "kl_coef": from_bc.settings["kl_coef"]}
