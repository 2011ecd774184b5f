"""Configurations set fields, name what they do not know, and stand beside the originals' keys."""

from __future__ import annotations

import pytest

from ludory.algorithms.text_ppo.config import make_text_ppo_config
from ludory.algorithms.world_model.config import (
    EvalConfig,
    GenerateConfig,
    SpaConfig,
    config_names,
    from_fields,
    parse_policy,
    read_config,
)
from ludory.algorithms.world_model.originals import KEYS, beside_originals, read_original
from ludory.algorithms.world_model.pipeline import ppo_options
from ludory.errors import OptionError

ORIGINAL = """
model_path: Qwen/Qwen2.5-1.5B-Instruct
enable_response_mask: false
actor_rollout_ref:
  actor: {clip_ratio_low: 0.2, clip_ratio_high: 0.28, use_kl_loss: false, optim: {lr: 1e-6}}
  rollout: {rollout_filter_ratio: 0.25, temperature: 1, dtype: bfloat16}
algorithm: {gamma: 1.0, lam: 1.0, adv_estimator: gae}
agent_proxy: {max_turn: 5, max_actions_per_turn: 5, use_turn_scores: false}
es_manager:
  format_penalty: -0.1
  train: {env_groups: 32, group_size: 8, env_configs: {tags: [CoordSokoban], n_groups: [32]}}
  val: {env_groups: 128, group_size: 8}
custom_envs: {CoordSokoban: {max_actions_per_traj: 10}}
"""


@pytest.mark.parametrize(
    ("kind", "option"), [(GenerateConfig, "top_p"), (GenerateConfig, "still"), (EvalConfig, "top_p")]
)
def test_shares_lie_between_0_and_1(kind, option):
    for value in (-0.5, 2.0):
        with pytest.raises(OptionError, match=rf"{option}={value}: must lie in \[0, 1\]"):
            kind(**{option: value})


@pytest.mark.parametrize("name", config_names())
def test_every_named_configuration_reads(name):
    config = read_config(name)
    assert config.model.startswith("Qwen2.5")
    assert config.text.preset in ("ragen", "ragen2")


def test_the_originals_names_are_there():
    assert {"spa/_2_sokoban", "spa/_3_frozen_lake", "spa/_10_sudoku", "ragen/_2_sokoban"} <= set(config_names())


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"sft": {"epoch": 3}}, "no field is called 'epoch'; did you mean 'epochs'"),
        ({"sft": {"epochs": 0}}, "epochs=0: must be at least 1"),
        ({"sft": 3}, "sft: got 3, must be a mapping"),
        ({"generate": {"policy": "solver(2)"}}, "must be 'model', 'random'"),
        ({"eval": {"samples": 4}}, "k=8: must lie in"),
    ],
)
def test_wrong_fields_are_named(fields, said):
    with pytest.raises(OptionError, match=said):
        from_fields(SpaConfig, fields, "file.yaml")


def test_numbers_that_yaml_reads_as_text(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text("sft: {learning_rate: 1e-5}\n")
    assert read_config(file).sft.learning_rate == 1e-5


def test_an_unknown_configuration_lists_the_known(tmp_path):
    with pytest.raises(OptionError, match="spa/_2_sokoban"):
        read_config("spa/_4_webshop")


def test_policies_have_names_and_chances():
    assert parse_policy("solver(0.75)") == ("solver", 0.75)
    assert parse_policy("solver") == ("solver", 1.0)
    assert parse_policy(GenerateConfig().policy) == ("model", 0.0)


def test_an_original_file_is_converted_and_the_rest_is_listed(tmp_path):
    file = tmp_path / "base.yaml"
    file.write_text(ORIGINAL)
    found = read_original(file, "spa")
    config = found.config
    assert config.text.env == "Sokoban-v0"
    assert (config.text.format_penalty, config.text.actions_per_episode, config.text.turns) == (0.1, 10, 5)
    assert (config.ppo["lr"], config.ppo["filter_share"], config.ppo["reward_at"]) == (1e-6, 0.25, "episode")
    assert config.ppo["clip"] == [0.2, 0.28]
    assert config.ppo["response_mask"] is False
    assert (config.eval.rooms, config.eval.samples) == (128, 8)
    assert [one.split(":")[0] for one in found.unknown] == [
        "actor_rollout_ref.rollout.dtype",
        "es_manager.train.env_configs.n_groups",
    ]


FINE_TUNING = """
data: {train_batch_size: 256, micro_batch_size: null, micro_batch_size_per_gpu: 4, prompt_key: question, response_key: answer,
  max_length: 1024, truncation: left, balance_dp_token: false, multiturn: {enable: false}}
model: {partial_pretrain: models/qwen, lora_rank: 0, target_modules: all-linear, trust_remote_code: false}
optim: {lr: 1e-5, betas: [0.9, 0.95], weight_decay: 0.01, warmup_steps_ratio: 0.1, clip_grad: 1.0, lr_scheduler: cosine}
trainer: {default_local_dir: /tmp/out, total_epochs: 4, seed: 1}
"""


def read(folder, **files):
    """The first of some files by name, which may name the others as defaults."""
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return read_original(folder / f"{next(iter(files))}.yaml", "spa")


def test_the_key_names_of_verls_fine_tuning_are_understood(tmp_path):
    found = read(tmp_path, sft_trainer=FINE_TUNING)
    sft = found.config.sft
    assert found.config.model == "models/qwen"
    assert (sft.batch_size, sft.micro_batch, sft.prompt_key, sft.response_key) == (256, 4, "question", "answer")
    assert (sft.max_length, sft.learning_rate, sft.betas, sft.weight_decay) == (1024, 1e-5, (0.9, 0.95), 0.01)
    assert (sft.warmup, sft.max_grad_norm, sft.epochs, sft.seed) == (0.1, 1.0, 4, 1)
    assert [one.split(":")[0] for one in found.unknown] == ["data.truncation", "trainer.default_local_dir"]
    assert "rows are never cut" in found.unknown[0]


def test_the_files_of_defaults_lie_below_the_one_that_names_them(tmp_path):
    found = read(
        tmp_path,
        own="defaults: [base, _self_]\nagent_proxy: {max_turn: 3}",
        base="defaults: [below, elsewhere]\nagent_proxy: {max_turn: 5, max_actions_per_turn: 5}",
        below="agent_proxy: {max_actions_per_turn: 2}\nalgorithm: {gamma: 0.5}",
    )
    text = found.config.text
    assert (text.turns, text.actions_per_turn, found.config.ppo["gamma"]) == (3, 5, 0.5)
    assert found.unknown == ("defaults: 'elsewhere' (there is no elsewhere.yaml beside base.yaml)",)


def test_one_clip_ratio_is_both_where_none_is_named_apart(tmp_path):
    actor = "actor_rollout_ref: {actor: {clip_ratio: 0.1, %s}}"
    assert read(tmp_path, both=actor % "ppo_epochs: 2").config.ppo["clip"] == [0.1, 0.1]
    assert read(tmp_path, high=actor % "clip_ratio_high: 0.3").config.ppo["clip"] == [0.1, 0.3]


def test_the_mode_of_stage_1_is_not_that_of_ppo(tmp_path):
    found = read(tmp_path, base="ctx_manager: {mode: add_worldmodel}").config
    assert found.generate.prompt_mode == "world_model"
    assert make_text_ppo_config(**found.ppo).prompt_mode == "base"
    assert read(tmp_path, rl="ctx_manager: {mode: base}").config.ppo["prompt_mode"] == "base"
    assert read(tmp_path, no="agent_proxy: {enable_think: false}\nMODE: base").config.ppo["prompt_mode"] == "no_think"


def test_values_of_other_keys_are_looked_up_and_those_of_the_shell_listed(tmp_path):
    found = read(
        tmp_path,
        base="ppo_mini_batch_size: 64\nactor_rollout_ref: {actor: {ppo_mini_batch_size: '${ppo_mini_batch_size}'}}\n"
        "ctx_manager: {mode: '${oc.env:MODE}'}",
    )
    assert found.config.ppo["minibatch"] == 64
    assert found.unknown == ("ctx_manager.mode: '${oc.env:MODE}' (set where the original runs)",)


def test_only_the_kl_that_counts_is_taken_and_contradictions_are_listed(tmp_path):
    text = """
actor_rollout_ref: {actor: {use_kl_loss: %s, kl_loss_coef: 0.5}}
algorithm: {kl_ctrl: {kl_coef: 0.25}, bi_level_gae: %s, adv_estimator: gae}
es_manager: {train: {env_configs: {tags: [Sudoku]}}, val: {env_configs: {tags: [FrozenLake]}}}
custom_envs: {Sudoku: {max_actions_per_traj: 7}, FrozenLake: {max_actions_per_traj: 9}}
"""
    loss, reward = read(tmp_path, a=text % ("true", "false")), read(tmp_path, b=text % ("false", "true"))
    assert (loss.config.ppo["kl"], loss.config.ppo["advantage"]) == (0.5, "gae")
    assert (reward.config.ppo["kl"], reward.config.ppo["advantage"]) == (0.25, "bilevel_ragen")
    assert (loss.config.text.env, loss.config.text.options) == ("Sudoku4-v0", {"rewards": "spa"})
    assert loss.config.text.actions_per_episode == 7
    assert loss.unknown == (
        "es_manager.val.env_configs.tags: ['FrozenLake'] (another key has set text.env to 'Sudoku4-v0')",
    )


def test_every_original_key_stands_beside_one_of_ours():
    rows = beside_originals(read_config("spa/_2_sokoban"))
    assert {row[0] for row in rows} == {key.original for key in KEYS}
    assert ("model_path", "model", "Qwen2.5-1.5B-Instruct") in rows
    assert (
        "actor_rollout_ref.rollout.rollout_filter_ratio",
        "ppo.filter_share",
        '0.25  (with filter: "top_k")',
    ) in rows


@pytest.mark.parametrize("name", config_names())
def test_the_options_of_ppo_are_allowed(name):
    config = make_text_ppo_config(**{**ppo_options(read_config(name).text), **read_config(name).ppo})
    assert config.env_preset == read_config(name).text.preset
