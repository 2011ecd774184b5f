"""The learner: it learns a toy reward, resumes to the same numbers, and every option runs."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from stable_baselines3.common.logger import KVWriter, Logger

import ludory
from ludory.algorithms.text_ppo.advantages import TokenColumns, token_gae
from ludory.algorithms.text_ppo.config import PRESETS, make_text_ppo_config
from ludory.algorithms.text_ppo.text_ppo import TextPPO
from ludory.errors import CheckpointError, OptionError

from .conftest import form_model

CRITIC = {"advantage": "gae", "value": "shared", "value_clip": 0.2, "value_coef": 0.1, "critic_lr": 5e-3}
SMALL = {
    "preset": "tiny",
    "prompt_mode": "base",
    "groups": 2,
    "group_size": 2,
    "max_new_tokens": 8,
    "val_every": 0,
    **CRITIC,
}


class Kept(KVWriter):
    """Keeps what is logged."""

    def __init__(self) -> None:
        self.lines: list[dict[str, float]] = []

    def write(self, key_values, key_excluded, step=0):
        self.lines.append({name: value for name, value in key_values.items() if not name.startswith("time/")})

    def close(self):
        pass


def learnt(model: TextPPO, iterations: int) -> list[dict[str, float]]:
    """Train for some more iterations; returns what was logged."""
    kept = Kept()
    model.set_logger(Logger(None, [kept]))
    model.learn(iterations * model.config.episodes, reset_num_timesteps=False)
    return kept.lines


def first_move_is_up(batch) -> np.ndarray:
    """1 for every turn whose first move is Up."""
    rewards = np.zeros_like(batch.turn_rewards)
    for row, turns in enumerate(batch.records):
        for k, record in enumerate(turns):
            rewards[row, k] = float(record.verdict.actions[:1] == (0,))
    return rewards


@pytest.mark.slow
def test_a_toy_reward_is_learnt_in_ten_iterations():
    sizes = {"groups": 10, "group_size": 8, "max_new_tokens": 10, "actions_per_turn": 2, "lr": 3e-3}
    model = TextPPO(form_model(steps=40, hidden=48, layers=2), "Sokoban-v0", **SMALL | sizes)
    model.reward = first_move_is_up
    # Of five turns: an episode whose room is solved on the way has fewer.
    returns = [5 * line["rollout/return"] / line["rollout/turns"] for line in learnt(model, 11)]
    assert returns[0] < 2
    assert returns[10] >= 4.5, returns


@pytest.mark.slow
def test_a_resumed_run_has_the_same_numbers(written, tmp_path):
    options = {**SMALL, "val_every": 2, "val_groups": 2, "val_samples": 2, "collapse_every": 2, "filter": "none"}
    whole = TextPPO(written, "Sokoban-v0", **options)
    lines = learnt(whole, 4)
    broken = TextPPO(written, "Sokoban-v0", **options)
    first = learnt(broken, 2)
    broken.save(tmp_path / "run")
    resumed = ludory.load(tmp_path / "run")
    assert isinstance(resumed, TextPPO)
    assert resumed.start_hash == whole.start_hash
    assert first + learnt(resumed, 2) == lines
    assert resumed.model.hash == whole.model.hash
    assert resumed.rooms_seen == whole.rooms_seen
    assert resumed.num_timesteps == whole.num_timesteps == 16


def test_the_checkpoint_is_a_folder_of_transformers(written, tmp_path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = TextPPO(written, "Sokoban-v0", **SMALL)
    learnt(model, 1)
    model.save(tmp_path / "run")
    folder = tmp_path / "run"
    assert {"value_head.safetensors", "optimizer.safetensors", "ludory.json", "config.json", "model.safetensors"} <= {
        file.name for file in folder.iterdir()
    }
    assert not [file.name for file in folder.iterdir() if file.suffix in (".bin", ".pt", ".pkl")]
    loaded = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    ids = torch.arange(5).unsqueeze(0)
    assert torch.equal(loaded(ids).logits, model.model.model.eval()(ids).logits)
    assert AutoTokenizer.from_pretrained(folder, local_files_only=True).get_vocab() == model.model.tokenizer.get_vocab()
    header = json.loads((folder / "ludory.json").read_text())
    assert header["algorithm"] == "text-ppo-v1"
    assert len(header["rooms_seen"]) == 2


def test_damage_is_named(written, tmp_path):
    model = TextPPO(written, "Sokoban-v0", **SMALL)
    model.save(tmp_path / "run")
    head = tmp_path / "run" / "value_head.safetensors"
    head.write_bytes(head.read_bytes()[:-1] + b"!")
    with pytest.raises(CheckpointError, match=r"value_head\.safetensors"):
        ludory.load(tmp_path / "run")
    model.save(tmp_path / "other")
    with pytest.raises(OptionError, match="lr cannot change"):
        TextPPO.load(tmp_path / "other", lr=1.0)


@pytest.mark.parametrize(
    "options",
    [
        {"advantage": "bilevel", "value": "separate", "critic_lr": 1e-4},
        pytest.param({"advantage": "bilevel_ragen", "filter": "none", "kl_in": "reward"}, marks=pytest.mark.slow),
        pytest.param({"advantage": "grpo", "loss_mean": "sequence", "importance": "truncated"}, marks=pytest.mark.slow),
        pytest.param({"advantage": "dr_grpo", "filter": "none", "filter_score": "entropy"}, marks=pytest.mark.slow),
        pytest.param({"advantage": "rloo", "filter_score": "entropy"}, marks=pytest.mark.slow),
        pytest.param({"advantage": "turn_grpo", "filter_score": "length"}, marks=pytest.mark.slow),
        pytest.param(
            {"reward_at": "episode", "reward_norm": "mean_std", "response_mask": False, "minibatch": 2},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"history": "full", "turns": 2, "response_mask": False, "temperature": 0.8}, marks=pytest.mark.slow
        ),
    ],
    ids=lambda options: options.get("advantage", next(iter(options))),
)
def test_every_option_runs_and_resumes(written, tmp_path, options):
    model = TextPPO(written, "Sokoban-v0", **{**SMALL, **options})
    (line,) = learnt(model, 1)
    assert all(np.isfinite(value) for value in line.values())
    assert line["train/sampler_gap"] < 1e-4
    assert (model.network.head is None) == (model.config.advantage in ("grpo", "dr_grpo", "rloo", "turn_grpo"))
    model.save(tmp_path / "run")
    again = ludory.load(tmp_path / "run")
    assert learnt(again, 1) == learnt(model, 1)


@pytest.mark.slow
def test_lora_learns_and_resumes(written, tmp_path):
    pytest.importorskip("peft")
    model = TextPPO(written, "Sokoban-v0", **{**SMALL, "lora_rank": 2, "filter": "none"})
    learnt(model, 1)
    model.save(tmp_path / "run")
    again = ludory.load(tmp_path / "run")
    lines, expected = learnt(again, 1), learnt(model, 1)
    assert lines[0].keys() == expected[0].keys()
    assert list(lines[0].values()) == pytest.approx(list(expected[0].values()), abs=1e-4)


def test_advantages_of_a_batch_are_those_of_its_columns(written):
    model = TextPPO(written, "Sokoban-v0", **{**SMALL, "save_episodes": True, "whiten": False, "kl": 0.0})
    learnt(model, 1)
    batch = model.batch
    targets, _ = model.targets(batch)
    episode = 1
    tokens = np.flatnonzero((batch.token_episode == episode) & batch.sampled)
    rewards = torch.from_numpy(batch.token_rewards("turn"))[tokens].unsqueeze(1)
    values = targets.old.values[tokens].unsqueeze(1).double()
    every = torch.ones_like(values, dtype=torch.bool)
    alone = TokenColumns(rewards, values, torch.zeros_like(values).long(), every, every)
    found = token_gae(alone).advantages.flatten().float()
    assert torch.allclose(targets.advantages[tokens], found, atol=1e-5)
    assert torch.allclose(targets.returns[tokens], rewards.flatten().flip(0).cumsum(0).flip(0).float(), atol=1e-5)


def test_a_filter_that_leaves_nothing_stops_the_run(written, caplog):
    model = TextPPO(written, "Sokoban-v0", **{**SMALL, "filter": "top_p", "filter_share": 0.9})
    model.reward = lambda batch: np.zeros_like(batch.turn_rewards)
    before = model.model.hash
    with caplog.at_level(logging.WARNING):
        lines = learnt(model, 9)
    assert [line["filter/skipped"] for line in lines] == [1, 2, 3, 4, 5]
    assert "left no group in 5 iterations" in caplog.text
    assert model.model.hash == before


def test_presets():
    assert set(PRESETS) == {"spa", "ragen", "default", "tiny"}
    spa = make_text_ppo_config("spa")
    assert (spa.episodes, spa.filter_share, spa.response_mask, spa.kl, spa.iterations) == (256, 0.25, False, 0, 1000)
    ragen = make_text_ppo_config("ragen", lr=1e-5)
    assert (ragen.episodes, ragen.filter, ragen.val_temperature, ragen.lr) == (128, "none", 0.5, 1e-5)
    tiny = make_text_ppo_config("tiny")
    assert (tiny.episodes, tiny.epochs, tiny.dual_clip, tiny.advantage, tiny.kl) == (512, 2, None, "rloo", 0.02)
    assert tiny.rates(0.0)[0] == 5e-4
    assert tiny.rates(1.0)[0] == pytest.approx(5e-5)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"preset": "verl"}, "spa"),
        ({"filter": "best"}, "top_p_softmax"),
        ({"advantage": "grpo", "group_size": 1}, "at least 2"),
        ({"reward_norm": "mean_std"}, 'reward_at="episode"'),
        ({"clip": (0.2,)}, "two numbers"),
        ({"learning_rate": 1.0}, "no option 'learning_rate'"),
    ],
)
def test_wrong_options_are_named(options, match):
    with pytest.raises(OptionError, match=match):
        make_text_ppo_config(**options)


def test_weights_file_has_the_moments_by_name(written, tmp_path):
    model = TextPPO(written, "Sokoban-v0", **{**SMALL, "filter": "none"})
    learnt(model, 1)
    model.save(tmp_path / "run")
    moments = load_file(tmp_path / "run" / "optimizer.safetensors")
    assert {"head.weight/exp_avg", "head.weight/exp_avg_sq", "head.weight/step"} <= set(moments)


def test_the_command_takes_presets(tmp_path, capsys):
    from ludory.cli import main

    arguments = ["--env", "Sokoban-v0", "--preset", "tiny", "--groups", "2", "--group-size", "2", "--val-every", "0"]
    out = ["--max-new-tokens", "4", "--timesteps", "4", "--out", str(tmp_path / "run.ludory")]
    assert main(["train", "text-ppo", *arguments, *out]) == 0
    config = ludory.load(tmp_path / "run.ludory").config
    assert (config.lr, config.env_preset, config.groups, config.kl) == (5e-4, "compact", 2, 0.02)
    assert "trained: 4 timesteps" in capsys.readouterr().out
