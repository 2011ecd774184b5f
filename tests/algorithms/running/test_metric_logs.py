"""Logs of metrics: a table with the time first, TensorBoard as in Stable-Baselines3, and what is not there is named."""

from __future__ import annotations

import csv
import sys

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from ludory.agents.evaluation.record import record
from ludory.algorithms import make_algorithm
from ludory.algorithms.ppo import PPO
from ludory.algorithms.running.metric_logs import CSVLog, Logger, TerminalLog, check_logs
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.errors import OptionError, PluginError

OPTIONS = {"num_envs": 8, "n_steps": 8, "batch_size": 64, "hidden": (8,)}


def small(**options):
    return PPO("mlp", "HanabiTiny2P-v0", **OPTIONS, **options)


def test_columns_stay_in_order_when_a_metric_comes_later(tmp_path):
    log = CSVLog(tmp_path / "m.csv")
    log.write({"train/loss": 1.0, "time/total_timesteps": 8}, {}, 8)
    log.write({"train/loss": 2.0, "rollout/ep_rew_mean": 3.0, "time/total_timesteps": 16}, {}, 16)
    log.close()
    with (tmp_path / "m.csv").open() as file:
        header, *rows = csv.reader(file)
    assert header == ["time/total_timesteps", "time/elapsed", "rollout/ep_rew_mean", "train/loss"]
    assert [(row[0], row[2], row[3]) for row in rows] == [("8", "", "1.0"), ("16", "3.0", "2.0")]


def test_a_run_writes_the_logs_that_are_named(tmp_path):
    train_to_file(small(), 128, tmp_path / "m.ludory", logs=("csv", "tensorboard"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m-tensorboard", "m.csv", "m.ludory"]
    events = EventAccumulator(str(tmp_path / "m-tensorboard" / "1")).Reload()
    assert [event.step for event in events.Scalars("train/value_loss")] == [64, 128]


def test_options_of_stable_baselines3(tmp_path, capsys):
    small(verbose=1, tensorboard_log=tmp_path).learn(64).learn(64)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ppo_1", "ppo_2"]
    assert "total_timesteps" in capsys.readouterr().out


def test_learn_takes_the_other_arguments_of_stable_baselines3(tmp_path, capsys):
    small(verbose=1, tensorboard_log=tmp_path).learn(64 * 6, log_interval=3, tb_log_name="mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine_1"]
    events = EventAccumulator(str(tmp_path / "mine_1")).Reload()
    assert [event.step for event in events.Scalars("train/value_loss")] == [192, 384]
    assert capsys.readouterr().out.count("total_timesteps") == 2
    with pytest.raises(OptionError, match="log_interval=0: must be an integer of at least 1"):
        small().learn(64, log_interval=0)


def test_learners_from_data_log_to_tensorboard_too(tmp_path):
    folder = tmp_path / "games"
    record("random", "HanabiTiny2P-v0", 20, folder)
    model = make_algorithm("bc", "HanabiTiny2P-v0", dataset=str(folder), num_epochs=2, tensorboard_log=tmp_path / "tb")
    model.learn()
    events = EventAccumulator(str(tmp_path / "tb" / "bc_1")).Reload()
    assert len(events.Scalars("train/loss")) == 2


def test_unknown_and_missing_logs_are_named(monkeypatch):
    with pytest.raises(OptionError, match="csv, tensorboard, wandb"):
        check_logs(["csvs"])
    monkeypatch.setattr("ludory.algorithms.running.metric_logs.find_spec", lambda name: None)
    with pytest.raises(PluginError, match=r"ludory\[wandb\]"):
        check_logs(["wandb"])
    with pytest.raises(PluginError, match="--log tensorboard needs the module 'tensorboard'"):
        check_logs(["tensorboard"])


def test_weights_and_biases_gets_the_numbers(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason='Weights & Biases is the extra "wandb"')
    monkeypatch.setenv("WANDB_MODE", "offline")
    train_to_file(small(), 64, tmp_path / "m.ludory", logs=("wandb",))
    assert list(tmp_path.glob("wandb/offline-run-*/*.wandb"))


def test_a_table_at_the_terminal_is_that_of_stable_baselines3(capsys):
    from stable_baselines3.common.logger import HumanOutputFormat
    from stable_baselines3.common.logger import Logger as SB3Logger

    numbers = {
        "time/fps": 12,
        "train/loss": 0.123456,
        "alone": 3.0,
        "rollout/" + "long" * 12: 1e-9,
        "rollout/b": "text",
    }
    printed = []
    for logger in (SB3Logger(None, [HumanOutputFormat(sys.stdout)]), Logger([TerminalLog()])):
        for name, value in numbers.items():
            logger.record(name, value)
        logger.record("time/hidden", 1, exclude="stdout")
        logger.record_mean("train/mean", 1.0)
        logger.record_mean("train/mean", 4.0)
        logger.dump(5)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
