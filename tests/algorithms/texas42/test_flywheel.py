"""The oracle's flywheel: labels, fine-tuning, golden seeds; stopped or killed it ends where a whole run ends."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch

from ludory.algorithms.flywheel import turns
from ludory.algorithms.texas42.oracle import Texas42Oracle, flywheel
from ludory.algorithms.texas42.oracle.data import read_split
from ludory.algorithms.texas42.oracle.flywheel import (
    POLICY,
    OracleFlywheel,
    OracleFlywheelConfig,
    OracleFlywheelState,
    golden_names,
    lead_by_deal,
    start_oracle_flywheel,
    turn_names,
)
from ludory.algorithms.texas42.oracle.oracle import open_network
from ludory.algorithms.texas42.oracle.tally import regrets, score_network, scores
from ludory.checkpoints.checkpoint import read_checkpoint
from ludory.cli import main
from ludory.data.formats.texas42.names import split_of
from ludory.errors import OptionError, OutputError

SMALL = "domino(width=24, num_layers=1, num_heads=2, feedforward=24)"
QUICK = {"deals": 50, "golden": 50, "paths": 1, "num_epochs": 1, "learning_rate": 3e-3, "batch_size": 64, "turns": 2}


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    file = tmp_path_factory.mktemp("start") / "net.ludory"
    Texas42Oracle(SMALL, seed=1).save(file)
    return file


@pytest.fixture(scope="module")
def whole(start, tmp_path_factory):
    """Two turns that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole")
    with start_oracle_flywheel(OracleFlywheelConfig(str(start), **QUICK), folder) as running:
        assert running.run()
    return folder


@pytest.mark.slow
def test_a_turn_labels_learns_and_keeps_what_is_better(whole, start):
    state = OracleFlywheelState.read(whole)
    first, second = state.history
    assert state.finished
    assert (first.last_seed, second.last_seed) == (49, 99)
    golden = read_split(whole / "labels", "val", 1, 0)
    before, after = (open_network(file).policy for file in (start, whole / "turn-000" / POLICY))
    assert first.q_gap == pytest.approx(scores(score_network(after, golden))[0]["q_gap"])
    assert first.q_gap_before == pytest.approx((golden.weights() * regrets(before, golden)).mean())
    assert first.ahead == pytest.approx(first.q_gap_before - first.q_gap, abs=1e-5)
    assert first.ahead > 0, "whoever knows nothing learns something"
    assert first.deals == 50
    assert first.promoted == (first.lower > 0)
    assert second.blueprint == (first.policy if first.promoted else "start.ludory")
    assert open_network(whole / "turn-001" / POLICY).num_timesteps == len(
        read_split(whole / "labels", "train", 1, 0).state
    )


class Killed(BaseException):
    """Ends everything at once."""


@pytest.mark.slow
def test_a_flywheel_that_is_killed_within_a_step_and_stopped_after_each_ends_at_the_same_numbers(
    whole, start, tmp_path, monkeypatch
):
    config = OracleFlywheelConfig(str(start), **QUICK)
    for name in (*golden_names(config), *turn_names(config, 1)):  # others may have made labels
        (tmp_path / "labels" / name.path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(whole / "labels" / name.path, tmp_path / "labels" / name.path)

    def kill(*given, **options):
        raise Killed

    def kill_at_half(model, total, file, **options):
        model.learn(total // 2, reset_num_timesteps=False)
        model.save(file)
        raise Killed

    with monkeypatch.context() as patched, start_oracle_flywheel(config, tmp_path) as running:
        patched.setattr(flywheel, "make_labels", kill)
        with pytest.raises(Killed):
            running.run()
    shutil.move(tmp_path / "labels" / turn_names(config, 1)[0].path, later := tmp_path / "later")
    for step in ("label", "learn", "evaluate", "promote") * 2:
        assert OracleFlywheelState.read(tmp_path).step == step
        if step == "learn":
            with monkeypatch.context() as patched, OracleFlywheel.resume(tmp_path) as running:
                patched.setattr(turns, "train_to_file", kill_at_half)
                with pytest.raises(Killed):
                    running.run()
        with OracleFlywheel.resume(tmp_path) as running:
            with pytest.raises(OutputError, match="runs this flywheel"):
                OracleFlywheel.resume(tmp_path)
            assert running.run(once=True)
        if step == "promote" and later.exists():
            shutil.move(later, tmp_path / "labels" / turn_names(config, 1)[0].path)
    assert OracleFlywheelState.read(tmp_path).history == OracleFlywheelState.read(whole).history
    ours, theirs = (read_checkpoint(folder / "turn-001" / POLICY).tensors for folder in (tmp_path, whole))
    assert all(torch.equal(ours[name], tensor) for name, tensor in theirs.items() if name.startswith("policy/"))


def test_the_test_split_is_never_read_and_turns_have_seeds_of_their_own():
    config = OracleFlywheelConfig("x", deals=500, golden=100, start_seed=640)
    names = [name for turn in range(3) for name in turn_names(config, turn)]
    assert [name.first_seed for name in golden_names(config)] == [900, 1900]
    assert len({name.first_seed for name in names}) == len(names) == 30
    assert {split_of(seed) for name in names for seed in name.seeds} == {"train"}
    assert names[0].first_seed == 600
    with pytest.raises(OptionError, match="no seeds left"):
        turn_names(OracleFlywheelConfig("x", start_seed=99_999_800), 0)


@pytest.mark.slow
def test_the_error_of_a_lead_is_over_deals(whole):
    golden = read_split(whole / "labels", "val", 1, 0)
    number = np.unique(golden.deal, axis=0, return_inverse=True)[1].reshape(-1)
    noise = np.random.default_rng(0).normal(size=number.max() + 1)[number]
    mean, stderr = lead_by_deal(golden, noise)
    assert mean == pytest.approx((golden.weights() * noise).mean())
    assert stderr > 3 * noise.std() / len(noise) ** 0.5, "states of a deal are not independent"
    assert lead_by_deal(golden, np.full(len(number), 2.0))[0] == pytest.approx(2)


@pytest.mark.slow
def test_the_command_shows_resumes_and_refuses(whole, start, tmp_path, capsys):
    command = ["texas42", "flywheel"]
    assert main([*command, "status", str(whole)]) == 0
    shown = capsys.readouterr().out
    assert "turn 1: turn-000/policy.ludory q_gap" in shown
    assert "all 2 turns are over" in shown
    assert main([*command, "status", str(whole), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["history"]) == 2
    assert main([*command, "resume", str(whole)]) == 0
    assert "finished: best player" in capsys.readouterr().out
    run = [*command, "run", "--start", str(start), "--out"]
    assert main([*run, str(tmp_path / "new"), "--dry-run"]) == 0
    assert "turn 1 of 10, label: seeds 0..499, and 1000 golden ones" in capsys.readouterr().out
    for options, message in (
        ([str(whole)], "holds a flywheel; `ludory texas42 flywheel resume"),
        (
            [str(tmp_path / "new"), "--deals", "70"],
            "deals=70: labels lie in files of 50 seeds, so it must be a multiple of 50; the next is deals=100 (--deals 100)",
        ),
        ([str(tmp_path / "new"), "--confidence", "1"], "must lie in [0.5, 1)"),
        ([str(tmp_path / "new"), "--start", str(tmp_path / "none.ludory")], "none.ludory"),
    ):
        assert main([*run, *options]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    assert main([*command, "status", str(tmp_path)]) == 2
    assert "there is no texas42-flywheel.json here; `ludory texas42 flywheel run" in capsys.readouterr().err
    written = json.loads((whole / "texas42-flywheel.json").read_text())
    for change in (
        {"blueprint": str(start)},
        {"blueprint": "../net.ludory"},
        {"turn": "2"},
        {"turn": 1},
        {"history": [3]},
    ):
        (tmp_path / "texas42-flywheel.json").write_text(json.dumps(written | change))
        assert main([*command, "resume", str(tmp_path)]) == 2
        assert "texas42-flywheel.json: damaged" in capsys.readouterr().err
    assert main([*command, "resume", str(whole), "--turns", "1"]) == 2
    assert "2 are over" in capsys.readouterr().err
    assert OracleFlywheelState.read(whole).plan(whole).startswith("all 2")
