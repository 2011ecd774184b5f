"""Behaviour cloning learns from recorded games, resumes to the same numbers, and refuses what it should not learn from."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import islice

import numpy as np
import pytest
import torch
from games.identity import make_identity
from games.memory import make_memory
from games.nim import matching
from stable_baselines3.common.callbacks import CheckpointCallback
from support.recorded_games import FirstLegal, Remembers, SaysWhatItSees, record_games

import ludory
from ludory.agents.evaluation.record import record
from ludory.agents.networks.policy import numpy_to_bits
from ludory.algorithms.bc import BC
from ludory.algorithms.bc.module import BCModule
from ludory.algorithms.offline.batches import ask, read_batches, renamed
from ludory.algorithms.offline.mixture import MixedPart, MixedTrajectories
from ludory.algorithms.ppo import PPO
from ludory.algorithms.running.training_logs import make_loggers
from ludory.checkpoints.checkpoint import read_checkpoint, read_header
from ludory.cli import main
from ludory.data import TrajectoryDataset
from ludory.data.columns import WEIGHT
from ludory.data.shards import shard_file
from ludory.envs.make import make_game
from ludory.errors import DataError, OptionError, OutputError, PluginError, TrainingError

pytestmark = pytest.mark.plain

TINY = "HanabiTiny2P-v0"
SMALL = {"hidden": (16,), "seed": 3, "learning_rate": 3e-3, "split_ratio": (0.8, 0.2, 0.0)}
GRU = "gru(memory_size=16)"


@pytest.fixture(scope="module")
def identity(tmp_path_factory):
    return record_games(tmp_path_factory.mktemp("identity"), make_identity(), SaysWhatItSees(), 600)


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    return record_games(tmp_path_factory.mktemp("memory"), make_memory(2, 3), Remembers(), 500)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Games of IGGI, which plays the first useful move it finds."""
    folder = tmp_path_factory.mktemp("tiny")
    record("hanabi/iggi", TINY, 150, folder, seed=1)
    return folder


def weighing_2(columns):
    return columns._replace(extras={**columns.extras, WEIGHT.name: np.full(len(columns.games), 2, np.float32)})


@pytest.mark.parametrize("whole_games", [False, True])
def test_a_mixture_has_the_first_set_once_and_another_by_its_share(identity, tmp_path, whole_games):
    other = record_games(tmp_path / "other", make_identity(), SaysWhatItSees(), 40, change=weighing_2)
    mixed = MixedTrajectories(TrajectoryDataset(identity), [MixedPart(TrajectoryDataset(other), 0.25)])
    first, again = (list(read_batches(mixed, 16, whole_games, seed=1, epoch=2)) for _ in range(2))
    decisions = [batch.decisions if whole_games else batch for batch in first]
    weights = torch.cat([part.weights.flatten() for part in decisions])
    assert int((weights == 1).sum()) == len(TrajectoryDataset(identity))
    assert abs(int((weights == 2).sum()) - len(mixed) / 4) <= 16
    repeated = [batch.decisions if whole_games else batch for batch in again]
    assert all(torch.equal(one.games, other.games) for one, other in zip(decisions, repeated, strict=True))
    longer = record_games(tmp_path / "memory", make_memory(2, 3), Remembers(), 20)
    with pytest.raises(DataError, match="sets of one size can be mixed"):
        MixedTrajectories(TrajectoryDataset(identity), [MixedPart(TrajectoryDataset(longer), 0.5)])


def logged(model):
    """The metrics of each epoch of `learn`."""
    epochs, dump = [], model.logger.dump

    def keep(step=0):
        epochs.append(dict(model.logger.name_to_value))
        dump(step)

    model.logger.dump = keep
    model.learn(reset_num_timesteps=False)
    return epochs


def equal(one, other):
    """Whether weights, moments and position are the same, bit for bit."""
    (_, a), (_, b) = ((x.config, x._tensors()) for x in (one, other))
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


# --- Learning ---------------------------------------------------------------------------------------------------------


def test_learns_the_identity_game_in_a_second(identity):
    model = BC("mlp", make_identity(), dataset=identity, num_epochs=4, **SMALL)
    epochs = logged(model)
    assert model.predict(np.eye(4, dtype=np.uint8), deterministic=True)[0].tolist() == [0, 1, 2, 3]
    assert epochs[-1]["val/accuracy"] == 1
    assert epochs[-1]["val/nll"] < epochs[0]["val/nll"] < epochs[0]["val/uniform_nll"] == pytest.approx(np.log(4))
    assert epochs[0]["val/uniform_accuracy"] == pytest.approx(0.25)
    assert epochs[-1]["val/prior_accuracy"] < 0.5


@pytest.mark.slow
def test_only_a_network_with_memory_can_imitate_remembering(memory):
    """Of six answers per game two are asked for: without memory they are guessed, so that the best accuracy is 5/6."""
    last = {}
    for policy in ("mlp", GRU):
        model = BC(policy, make_memory(2, 3), dataset=memory, num_epochs=5, **SMALL)
        last[policy] = logged(model)[-1]["val/accuracy"]
    assert last["mlp"] < 0.9
    assert last[GRU] == 1
    assert ludory.evaluate([model], game=make_memory(2, 3), games=100, seed=1).mean == 1


@pytest.mark.slow
def test_several_heads_are_reported_one_by_one(tmp_path):
    game = matching()
    data = record_games(tmp_path, game, FirstLegal(game.facts.head_sizes), 300)
    last = logged(BC("mlp", game, dataset=data, num_epochs=6, **SMALL))[-1]
    heads = [last[f"val/accuracy_{name}"] for name in game.facts.head_names]
    assert len(heads) == 2
    assert min(heads) >= last["val/accuracy"] > 0.95


def test_values_learn_the_returns_when_they_are_asked_to(identity):
    model = BC("mlp", make_identity(), dataset=identity, num_epochs=6, batch_size=16, value_coef=1.0, **SMALL)
    assert logged(model)[-1]["val/value_loss"] < 0.01
    values = model.policy(numpy_to_bits(np.eye(4), model.policy.observation)).values
    assert values.detach().numpy() == pytest.approx(np.ones(4), abs=0.3)


def test_sample_weights_decide_what_is_learnt(tmp_path):
    """Half of the answers are wrong; they weigh nothing."""

    def spoil(columns):
        wrong = columns.games % 2 == 1
        columns.actions[wrong] = (columns.actions[wrong] + 1) % 4
        columns.extras[WEIGHT.name] = np.where(wrong, 0, 2).astype(np.float32)
        return columns

    data = record_games(tmp_path, make_identity(), SaysWhatItSees(), 600, change=spoil)
    model = BC("mlp", make_identity(), dataset=data, num_epochs=6, **SMALL)
    assert logged(model)[-1]["val/accuracy"] == 1
    assert model.predict(np.eye(4, dtype=np.uint8), deterministic=True)[0].tolist() == [0, 1, 2, 3]


@pytest.mark.slow
def test_bf16_learns_too_and_keeps_weights_in_float32(memory):
    model = BC(GRU, make_memory(2, 3), dataset=memory, num_epochs=5, precision="bf16", **SMALL)
    assert logged(model)[-1]["val/accuracy"] == 1
    assert {parameter.dtype for parameter in model.policy.parameters()} == {torch.float32}


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mlp(hidden=(16,))", "gru(hidden=(16,), memory_size=8)"])
def test_augmented_batches_are_the_same_games_under_other_names(policy, tiny):
    model = BC(policy, TINY, dataset=tiny, augment=True, num_epochs=1, seed=1).learn()
    assert model.num_timesteps == len(model.training_data)
    plain = read_batches(model.training_data, model.config.batch_size, model.policy.recurrent, seed=1)
    others = 0
    for place, batch in enumerate(islice(plain, 20)):
        old, new = (ask(model.policy, each) for each in (batch, renamed(batch, model.game, (place,), {})))
        assert new.masks.gather(1, new.actions).all()
        assert torch.equal(new.masks.sum(1), old.masks.sum(1))
        assert torch.equal(new.returns, old.returns)
        others += not torch.equal(new.actions, old.actions)
    assert others


def test_a_game_without_symmetries_is_not_augmented(identity):
    with pytest.raises(OptionError, match="no symmetry of"):
        BC("mlp", make_identity(), dataset=identity, augment=True, **SMALL)


@pytest.mark.slow
def test_max_samples_are_the_same_decisions_in_every_epoch(identity, memory):
    model = BC("mlp", make_identity(), dataset=identity, num_epochs=2, max_samples=100, **SMALL)
    seen = []
    for _ in range(2):
        seen.append(set())
        for batch in _module(model).training_batches():
            seen[-1] |= set(batch.games.tolist())
        model.position.next_epoch(None)
    assert seen[0] == seen[1]
    assert len(seen[0]) == 100
    assert (
        BC("mlp", make_identity(), dataset=identity, num_epochs=2, max_samples=100, **SMALL).learn().num_timesteps
        == 200
    )
    games = BC(GRU, make_memory(2, 3), dataset=memory, num_epochs=1, max_samples=100, **SMALL).learn().num_timesteps
    assert 100 <= games < 170
    assert games % 6 == 0


def _module(model):
    module = BCModule(model.game, model.policy, model.optimizer, model.config, model.training_data, None, model)
    module._trainer = type("OneProcess", (), {"world_size": 1, "global_rank": 0})()
    return module


@pytest.mark.slow
def test_patience_ends_a_run_that_gets_no_better(identity):
    model = BC("mlp", make_identity(), dataset=identity, num_epochs=50, patience=2, **SMALL | {"learning_rate": 0.3})
    assert 3 <= len(logged(model)) < 50
    assert model.position.stale == 2
    assert model.finished


# --- Files ------------------------------------------------------------------------------------------------------------


def test_a_run_leaves_best_last_final_and_periodic_files_and_logs(tiny, tmp_path, capsys):
    options = {"num_epochs": 4, "save_every": 2, "log_every": 5, **SMALL}
    model = BC(GRU, TINY, dataset=tiny, checkpoint_dir=tmp_path / "run", **options).learn()
    files = {path.name for path in (tmp_path / "run").glob("*.ludory")}
    assert files == {"best.ludory", "last.ludory", "final.ludory", "epoch_2.ludory", "epoch_4.ludory"}
    assert equal(model, BC.load(tmp_path / "run" / "final.ludory"))
    table = (tmp_path / "run" / "csv" / "version_0" / "metrics.csv").read_text()
    assert "val/prior_nll" in table
    assert "train/batch_loss" in table
    shown = capsys.readouterr().out
    assert shown.count("class prior") == shown.count("uniform") == 4
    assert "epoch 4 of 4" in shown


def test_a_checkpoint_plays_and_starts_ppo(tiny, tmp_path):
    policy = "gru(hidden=(16,), memory_size=16)"
    BC(policy, TINY, dataset=tiny, num_epochs=2, checkpoint_dir=tmp_path, **SMALL).learn()
    (tmp_path / "copy.ludory").write_bytes((tmp_path / "best.ludory").read_bytes())
    agent = ludory.load(tmp_path / "copy.ludory").as_agent()
    assert ludory.evaluate([agent, "hanabi/iggi"], game=TINY, games=20, seed=3).returns.shape == (20, 2)
    ppo = PPO(policy, TINY, num_envs=16, n_steps=8, batch_size=64, init_from=str(tmp_path / "best.ludory"))
    cloned = read_checkpoint(tmp_path / "best.ludory").tensors
    assert all(torch.equal(cloned[f"policy/{name}"], tensor) for name, tensor in ppo.policy.state_dict().items())


def test_a_model_plays_where_its_dataset_is_gone(identity, tmp_path):
    data = record_games(tmp_path / "data", make_identity(), SaysWhatItSees(), 50)
    BC("mlp", make_identity(), dataset=data, **SMALL).save(tmp_path / "m.ludory")
    shard_file(data, 0).unlink()
    (data / "dataset.json").unlink()
    model = BC.load(tmp_path / "m.ludory", env=make_identity())
    assert model.predict(np.zeros(4, np.uint8))[0] in range(4)
    with pytest.raises(DataError, match="dataset"):
        model.learn()


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mlp", GRU])
def test_a_resumed_run_ends_at_the_same_numbers_wherever_it_stopped(policy, tiny, tmp_path):
    options = {"num_epochs": 3, "batch_size": 128, **SMALL}
    whole = BC(policy, TINY, dataset=tiny, **options).learn()
    for samples in (1, 700, whole.num_timesteps // 3, whole.num_timesteps // 3 + 1, 2500):
        part = BC(policy, TINY, dataset=tiny, **options)
        part.learn(callback=lambda inner, outer, part=part, samples=samples: part.num_timesteps < samples)
        assert samples <= part.num_timesteps < whole.num_timesteps
        part.save(tmp_path / "part.ludory")
        assert equal(whole, BC.load(tmp_path / "part.ludory").learn(reset_num_timesteps=False))


def test_what_a_callback_saves_within_a_run_can_be_resumed_exactly(tiny, tmp_path):
    saver = CheckpointCallback(save_freq=4, save_path=str(tmp_path), name_prefix="bc")
    model = BC("mlp", TINY, dataset=tiny, num_epochs=2, **SMALL).learn(callback=[saver])
    files = sorted(tmp_path.glob("*.zip"))
    assert len(files) > 4
    for file in files[:: len(files) // 3]:
        assert equal(model, BC.load(file).learn(reset_num_timesteps=False))


def test_the_same_seed_gives_the_same_weights_and_learning_leaves_the_callers_draws_alone(tiny):
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    first, second = (BC("mlp", TINY, dataset=tiny, num_epochs=1, **SMALL).learn() for _ in range(2))
    assert torch.equal(torch.rand(3), expected)
    assert equal(first, second)
    assert not equal(first, BC("mlp", TINY, dataset=tiny, num_epochs=1, **SMALL | {"seed": 4}).learn())


def test_more_epochs_can_be_asked_for_later(identity):
    whole = BC("mlp", make_identity(), dataset=identity, num_epochs=3, **SMALL).learn()
    model = BC("mlp", make_identity(), dataset=identity, num_epochs=2, **SMALL).learn()
    model.config = whole.config
    assert equal(whole, model.learn(reset_num_timesteps=False))


def command(data, file, *more):
    small = ["--policy", GRU, "--hidden", "16", "--batch-size", "16", "--split-ratio", "0.8", "0.2", "0"]
    return ["train", "bc", "--env", TINY, "--data", str(data), "--out", str(file), *small, *more]


@pytest.mark.slow
def test_a_killed_run_goes_on_from_its_last_checkpoint_to_the_same_numbers(tiny, tmp_path):
    file = tmp_path / "killed.ludory"
    long = command(tiny, file, "--num-epochs", "3", "--save-every", "0.05")
    process = subprocess.Popen([sys.executable, "-m", "ludory", *long], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 90
    while not (file.exists() and read_header(file)["num_timesteps"] > 0) and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    killed = read_header(file)
    assert 0 < killed["num_timesteps"] < killed["total_timesteps"]
    assert main([*long, "--resume"]) == 0
    assert main(command(tiny, tmp_path / "whole.ludory", "--num-epochs", "3")) == 0
    resumed, whole = BC.load(file), BC.load(tmp_path / "whole.ludory")
    assert equal(resumed, whole)
    assert resumed.num_timesteps == whole.num_timesteps


@pytest.mark.slow
def test_the_command_line_trains_and_extends_a_run(tiny, tmp_path, capsys):
    file = tmp_path / "x.ludory"
    assert main(command(tiny, file, "--num-epochs", "1")) == 0
    assert f"model in {file}, checkpoints and logs in {tmp_path / 'x'}" in capsys.readouterr().out
    assert {"best.ludory", "final.ludory", "epoch_1.ludory"} < {path.name for path in (tmp_path / "x").iterdir()}
    assert main(["train", "bc", "--out", str(file), "--resume"]) == 0
    assert "ask for more with --num-epochs" in capsys.readouterr().out
    assert main(["train", "bc", "--out", str(file), "--resume", "--num-epochs", "2"]) == 0
    assert read_header(file)["position"]["epoch"] == 2
    assert main(["train", "bc", "--out", str(file), "--resume", "--batch-size", "7"]) == 2
    assert "trained with batch_size=16, not 7" in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_learnt(tiny, tmp_path):
    file = tmp_path / "x.ludory"
    line = [sys.executable, "-m", "ludory", *command(tiny, file, "--num-epochs", "10_000", "--save-every", "0.05")]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 90
    while not (file.exists() and read_header(file)["num_timesteps"] > 0) and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted:" in out
    assert "--resume" in out
    assert "Traceback" not in err
    assert read_header(file)["num_timesteps"] > 0


# --- Refusals ---------------------------------------------------------------------------------------------------------


def test_a_dataset_of_another_game_is_refused_with_both_names(tiny, identity):
    with pytest.raises(DataError, match=r"trajectories of Identity-v0.*game is HanabiTiny2P-v0"):
        BC("mlp", TINY, dataset=identity)
    with pytest.raises(DataError, match=r"HanabiTiny2P-v0 with options \{\}.*HanabiTiny2P-v0 with options \{'bomb'"):
        BC("mlp", make_game(TINY, bomb="keep"), dataset=tiny)


def test_an_empty_split_and_a_missing_dataset_are_refused(identity, tmp_path):
    with pytest.raises(DataError, match=r"'val'.*is empty"):
        BC("mlp", make_identity(), dataset=identity, split_ratio=(1 - 1e-6, 1e-6, 0))
    with pytest.raises(DataError, match="none"):
        BC("mlp", make_identity(), dataset=tmp_path / "none")
    with pytest.raises(OptionError, match="bc-v1 needs dataset="):
        BC("mlp", make_identity()).learn()
    model = BC("mlp", make_identity(), dataset=identity, split_ratio=(1, 0, 0), num_epochs=1)
    assert "val/loss" not in logged(model)[0]


def test_a_dataset_that_changed_is_not_gone_on_with(tmp_path):
    data = record_games(tmp_path / "data", make_identity(), SaysWhatItSees(), 100)
    BC("mlp", make_identity(), dataset=data, **SMALL).learn(64).save(tmp_path / "m.ludory")
    record_games(data, make_identity(), SaysWhatItSees(), 200)
    with pytest.raises(DataError, match=r"run began on \{'decisions': \d\d.*now has \{'decisions': 1\d\d"):
        BC.load(tmp_path / "m.ludory", env=make_identity()).learn(reset_num_timesteps=False)


def test_illegal_actions_and_nan_rewards_are_refused_or_left_out_by_name(tmp_path, capsys):
    def spoil(columns):
        columns.actions[3], columns.rewards[5] = 9, np.nan
        return columns

    data = record_games(tmp_path, make_identity(), SaysWhatItSees(), 100, change=spoil)
    with pytest.raises(DataError, match=r"row 3, field 'action_action': got 9"):
        BC("mlp", make_identity(), dataset=data, **SMALL)
    BC("mlp", make_identity(), dataset=data, skip_bad=True, **SMALL)
    said = capsys.readouterr().err
    assert "2 problems" in said
    assert "'reward'" in said


def test_a_loss_that_is_not_finite_stops_the_run_and_leaves_whole_files(tmp_path, identity):
    model = BC("mlp", make_identity(), dataset=identity, checkpoint_dir=tmp_path, **SMALL | {"learning_rate": 1e18})
    with pytest.raises(TrainingError, match=r"epoch 1, batch \d+, games \["):
        model.learn()
    assert all(tensor.isfinite().all() for tensor in read_checkpoint(tmp_path / "last.ludory").tensors.values())


def test_an_unwritable_folder_is_refused_before_training(identity, tmp_path):
    (tmp_path / "file").write_text("")
    model = BC("mlp", make_identity(), dataset=identity, checkpoint_dir=tmp_path / "file" / "run", **SMALL)
    with pytest.raises(OutputError, match="name a folder"):
        model.learn()
    assert model.num_timesteps == 0


def test_loggers_that_are_not_installed_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ludory.algorithms.running.training_logs.find_spec", lambda name: None)
    monkeypatch.setattr("ludory.algorithms.running.training_logs._NOTED", set())
    with pytest.raises(PluginError, match="pip install wandb"):
        make_loggers(str(tmp_path), True, {})
    assert "pip install tensorboard" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 3}, "no option 'num_envs'"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"label_smoothing": 1.0}, r"label_smoothing=1\.0"),
        ({"learning_rate": 0.0}, r"learning_rate=0\.0"),
        ({"precision": "8"}, "precision='8'"),
        ({"patience": 2, "split_ratio": (1, 0, 0)}, "patience=2 needs validation"),
        ({"split_ratio": (1, 1, 1)}, "split_ratio"),
    ],
)
def test_wrong_options_are_named(options, message, identity):
    with pytest.raises(OptionError, match=message):
        BC("mlp", make_identity(), **{"dataset": identity, **options})


# --- A set of its own for validation ----------------------------------------------------------------------------------


def test_validation_games_may_lie_in_a_set_of_their_own(tmp_path, identity):
    other = tmp_path / "other"
    record_games(other, make_identity(), SaysWhatItSees(), 50, seed=9)
    settings = {name: value for name, value in SMALL.items() if name != "split_ratio"}
    model = BC("mlp", make_identity(), train_data_path=identity, val_data_path=other, num_epochs=2, **settings)
    assert (model.training_data.num_games, model.validation_data.num_games) == (600, 50)
    assert logged(model)[-1]["val/accuracy"] == 1
    with pytest.raises(DataError, match=r"600 of 600 games are in .*, too, such as 0, 1, 2, 3, 4"):
        BC("mlp", make_identity(), dataset=identity, val_dataset=identity, **settings)


def test_short_names_of_options_are_understood(tmp_path, identity, capsys):
    folder, validation = tmp_path / "tiny", tmp_path / "validation"
    for place, seed in ((folder, 1), (validation, 2)):
        record("hanabi/iggi", TINY, 40, place, seed=seed)
    line = f"train bc --data {folder} --val-data {validation} --epochs 2 --batch-size 64 --lr 1e-3 --checkpoint-dir {tmp_path / 'out'}"
    assert main([*line.split(), "--out", str(tmp_path / "clone.ludory")]) == 0
    assert sorted(file.name for file in (tmp_path / "out").glob("*.ludory")) == [
        "best.ludory",
        "epoch_1.ludory",
        "epoch_2.ludory",
        "final.ludory",
        "last.ludory",
    ]
    assert (read_header(tmp_path / "clone.ludory")["config"]["learning_rate"]) == 1e-3
    assert "perplexity" in capsys.readouterr().out
