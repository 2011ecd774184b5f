"""`ludory train`: a model in a file, runs that go on, a clean stop, bad input refused before any work."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time

import pytest
import torch

import ludory
from ludory.algorithms.ppo import PPO
from ludory.algorithms.ppo.ppo import WORTH_COMPILING
from ludory.algorithms.tuned.settings import TrainingStage, TunedSettings
from ludory.checkpoints.checkpoint import read_header
from ludory.cli import main
from ludory.cli.train.closing import print_closing

SMALL = ["--num-envs", "16", "--n-steps", "8", "--batch-size", "64", "--hidden", "16"]
TINY = ["train", "ppo", "--env", "HanabiTiny2P-v0", "--untuned"]


def test_trains_and_says_where_the_model_is(tmp_path, capsys):
    file = tmp_path / "m.ludory"
    assert main([*TINY, "--timesteps", "512", "--out", str(file), *SMALL]) == 0
    assert f"512 timesteps, model in {file}" in capsys.readouterr().out
    assert PPO.load(file).config.hidden == (16,)


def test_an_existing_model_is_kept_unless_the_run_is_resumed(tmp_path, capsys):
    command = [*TINY, "--out", str(tmp_path / "m.ludory"), *SMALL]
    main([*command, "--timesteps", "256"])
    before = (tmp_path / "m.ludory").read_bytes()
    assert main([*command, "--timesteps", "512"]) == 2
    assert "exists; add --resume" in capsys.readouterr().err
    assert (tmp_path / "m.ludory").read_bytes() == before
    assert main([*command, "--timesteps", "512", "--resume"]) == 0
    assert read_header(tmp_path / "m.ludory")["num_timesteps"] == 512
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m-2.csv", "m.csv", "m.ludory"]


def test_a_run_is_not_resumed_with_other_options_or_another_game(tmp_path, capsys):
    command = [*TINY, "--out", str(tmp_path / "m.ludory"), "--timesteps", "256", "--resume"]
    main([*command, *SMALL])
    assert main([*command, *SMALL, "--gamma", "0.5"]) == 2
    assert "trained with gamma=0.99, not 0.5" in capsys.readouterr().err
    assert main(["train", "ppo", "--env", "HanabiSmall2P-v0", *command[4:]]) == 2
    assert "was trained on HanabiTiny2P-v0" in capsys.readouterr().err


def test_games_whose_rules_run_elsewhere_get_a_score_over_few_games(tmp_path, capsys):
    model = ludory.make_algorithm("ppo", "gymnasium:CartPole-v1", num_envs=2, n_steps=2, batch_size=2)
    print_closing(model, tmp_path / "m.ludory", 4, 200, None)
    score = capsys.readouterr().out.splitlines()[0]
    assert re.match(r"score: \d+\.\d+ ± \d+\.\d+, random \d+\.\d+ ± \d+\.\d+ ", score)
    assert "20 games, on the same games" in score


def test_the_next_commands_can_be_pasted_into_a_shell(tmp_path, capsys):
    model = ludory.make_algorithm("ppo", "TicTacToe-v0", num_envs=2, n_steps=2, batch_size=2)
    print_closing(model, tmp_path / "my model.ludory", 4, 0, None)
    first, *commands = capsys.readouterr().out.splitlines()
    words = [shlex.split(command) for command in commands]
    assert first == "next:"
    assert [command[:2] for command in words] == [["ludory", "eval"], ["ludory", "watch"], ["ludory", "train"]]
    assert words[0][2:4] == [str(tmp_path / "my model.ludory"), "mcts(simulations=100)"]
    done = subprocess.run(["bash", "-n"], input="\n".join(commands), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "pppo", "--env", "HanabiTiny2P-v0"], "ppo"),
        (["train", "ppo", "--env", "HanabiTny2P-v0"], "HanabiTiny2P-v0"),
        (["train", "ppo"], "--env is missing"),
        ([*TINY, "--option", "bomb=maybe"], "'zero', 'keep'"),
        ([*TINY, "--option", "colors=3"], "Hanabi-v0"),
        ([*TINY, "--gamma", "2"], "gamma=2"),
        ([*TINY, "--no-such", "2"], "no-such"),
    ],
)
def test_bad_input_is_named_before_any_work(arguments, message, tmp_path, capsys):
    assert main([*arguments, "--out", str(tmp_path / "new" / "m.ludory")]) == 2
    captured = capsys.readouterr()
    assert message in captured.err + captured.out
    assert not (tmp_path / "new").exists()


def test_an_unwritable_place_is_named(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main([*TINY, "--out", str(tmp_path / "file" / "m.ludory"), *SMALL]) == 2
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_saves_what_was_learnt_and_the_run_goes_on(tmp_path):
    file = tmp_path / "m.ludory"
    command = [sys.executable, "-m", "ludory", *TINY, "--timesteps", "100_000_000", "--out", str(file), *SMALL]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    table = file.with_suffix(".csv")
    deadline = time.monotonic() + 90
    while not (table.exists() and table.stat().st_size > 2000) and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted:" in out
    assert "--resume" in out
    done = read_header(file)["num_timesteps"]
    assert done > 0
    assert PPO.load(file).learn(256, reset_num_timesteps=False).num_timesteps == done + 256


@pytest.mark.slow
@pytest.mark.optimised  # as in the process that is killed
@pytest.mark.parametrize("algorithm", ["ppo", "vtrace"])
def test_a_killed_run_goes_on_from_its_last_checkpoint_to_the_same_numbers(algorithm, tmp_path):
    def command(name, timesteps):
        size = ["--batch-size", "64"] if algorithm == "ppo" else ["--batch-columns", "8"]
        options = ["--num-envs", "16", "--n-steps", "8", *size, "--policy", "gru(hidden=(8,), memory_size=8)"]
        file = ["--out", str(tmp_path / name), "--timesteps", str(timesteps), "--save-every", "0.2"]
        return ["train", algorithm, "--env", "HanabiTiny2P-v0", *options, *file]

    file = tmp_path / "killed.ludory"
    # short enough for the way to compute a loss that a run of a few steps takes (`WORTH_COMPILING`): the last digit differs
    asked = WORTH_COMPILING // 20
    process = subprocess.Popen(
        [sys.executable, "-m", "ludory", *command(file.name, asked)], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 90
    while not (file.exists() and read_header(file)["num_timesteps"] > 0) and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.kill()
    process.communicate()
    reached = read_header(file)["num_timesteps"]
    assert main([*command(file.name, reached + 256), "--resume"]) == 0
    assert main(command("whole.ludory", reached + 256)) == 0
    killed, whole = (ludory.load(tmp_path / name) for name in (file.name, "whole.ludory"))
    assert killed.num_timesteps == whole.num_timesteps > reached > 0
    for one, other in zip(killed.policy.parameters(), whole.policy.parameters(), strict=True):
        assert torch.equal(one, other)


def test_help_shows_the_options_of_the_algorithm(capsys):
    assert main(["train", "ppo", "--help"]) == 0
    out = capsys.readouterr().out
    assert "--timesteps" in out
    assert "--gae-lambda" in out
    assert "Mixes one-step" in out


@pytest.mark.slow
def test_a_learner_that_lets_others_learn_is_made_with_its_own_options(tmp_path, capsys):
    folder = str(tmp_path / "league")
    assert main(["train", "league", "--env", "HanabiTiny2P-v0", "--out", folder]) == 2
    assert "a league plays zero-sum games" in capsys.readouterr().err
    behind = ["--", "--num-envs", "4", "--n-steps", "8"]
    small = ["--learner", "ppo", "--evaluation-games", "2", "--slice-steps", "64", "--games-per-match", "1"]
    assert main(["train", "league", "--env", "Arena2P-v0", *small, "--timesteps", "64", "--out", folder, *behind]) == 0
    assert "trained:" in capsys.readouterr().out


def test_a_short_training_is_short_and_ends_with_a_score_and_what_to_type(tmp_path, capsys):
    file = tmp_path / "m.ludory"
    assert main([*TINY, "--timesteps", "1000", "--out", str(file), "--hidden", "16", "--eval-games", "20"]) == 0
    out = capsys.readouterr().out
    assert 1000 <= read_header(file)["num_timesteps"] <= 1200
    assert "smaller batches, because the training is short: num_envs=8" in out
    assert "score: " in out
    assert "hanabi/iggi" in out
    assert f"ludory eval {file} hanabi/iggi --game HanabiTiny2P-v0" in out


@pytest.mark.slow
def test_a_resumed_run_says_which_settings_of_the_short_run_go_on(tmp_path, capsys):
    command = [*TINY, "--hidden", "16", "--eval-games", "0", "--resume", "--out", str(tmp_path / "m.ludory")]
    kept = "goes on with the settings that it began with: n_steps=8, batch_size=16"
    for timesteps in (512, 560):
        assert main([*command, "--timesteps", str(timesteps)]) == 0
        assert "goes on" not in capsys.readouterr().out
    assert main([*command, "--timesteps", "4096"]) == 0
    out = capsys.readouterr().out
    assert kept in out
    assert "a new training of 4,096 timesteps takes n_steps=64, batch_size=64" in out
    assert "name another file with --out" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "all seats learn, by self-play"),
        (["--others", "arena/rusher"], "seat 0 learns, arena/rusher plays the other"),
    ],
)
def test_a_line_says_who_plays_a_zero_sum_game(arguments, line, tmp_path, capsys):
    command = ["train", "ppo", "--env", "Arena2P-v0", "--timesteps", "128", "--eval-games", "0", *SMALL, *arguments]
    assert main([*command, "--out", str(tmp_path / "m.ludory")]) == 0
    assert line in capsys.readouterr().out


STAGED = TunedSettings(
    "Hanabi2P-v0",
    "hanabi/iggi",
    512,
    1.0,
    {},
    options={"observation": "tactical"},
    stages=(TrainingStage("warm-up", 0.5, {"bomb": "keep"}, {}), TrainingStage("full", 0.5, {}, {})),
)


@pytest.fixture
def tuned(monkeypatch):
    monkeypatch.setattr("ludory.algorithms.tuned.settings.tuned_games", lambda algorithm: {STAGED.game: STAGED})


@pytest.mark.slow
@pytest.mark.usefixtures("tuned")
def test_stages_are_trained_in_turn_and_a_stopped_one_goes_on(tmp_path, capsys):
    file = tmp_path / "m.ludory"
    command = ["train", "ppo", "--env", "Hanabi2P-v0", "--out", str(file), "--eval-games", "0", *SMALL]
    assert main([*command, "--timesteps", "512"]) == 0
    out = capsys.readouterr().out
    assert "tuned settings (observation='tactical'" in out
    first, last = read_header(tmp_path / "m-warm-up.ludory"), read_header(file)
    assert first["env"]["options"] == {"observation": "tactical", "bomb": "keep"}
    assert last["env"]["options"] == {"observation": "tactical"}
    assert last["config"]["init_from"] == str(tmp_path / "m-warm-up.ludory")
    assert main([*command, "--timesteps", "1024", "--resume"]) == 0
    assert read_header(file)["num_timesteps"] > last["num_timesteps"]
    assert read_header(tmp_path / "m-warm-up.ludory")["num_timesteps"] == first["num_timesteps"]


@pytest.mark.usefixtures("tuned")
def test_untuned_leaves_the_settings_out(tmp_path, capsys):
    command = ["train", "ppo", "--env", "Hanabi2P-v0", "--untuned", "--timesteps", "128", "--eval-games", "0", *SMALL]
    file = tmp_path / "m.ludory"
    assert main([*command, "--out", str(file)]) == 0
    assert "tuned settings" not in capsys.readouterr().out
    assert read_header(file)["env"]["options"] == {}
    command[command.index("128")] = "256"
    command.remove("--untuned")  # a run goes on as it began
    assert main([*command, "--out", str(file), "--resume"]) == 0
    assert read_header(file)["num_timesteps"] == 256


def test_a_printed_config_leaves_stages_their_own_settings(capsys):
    assert main(["train", "ppo", "--env", "Hanabi2P-v0", "--gamma", "0.99", "--print-config"]) == 0
    shown = capsys.readouterr()
    assert "gamma: 0.99" in shown.out
    assert "learning_rate" not in shown.out
    assert "the stages of the tuned settings have the other options" in shown.err
