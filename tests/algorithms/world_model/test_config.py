"""Configurations set fields, name what they do not know, and stand beside the originals' keys."""

from __future__ import annotations

import pytest

from ludory.algorithms.text_ppo.config import make_text_ppo_config
from ludory.algorithms.world_model.config import (
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
