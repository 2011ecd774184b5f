"""Stable-Baselines3's own PPO as one of our algorithms: learns, saves, resumes to the same numbers, goes to and from its own files."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from games.identity import make_identity
from games.nim import matching, nim
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO as SB3

import ludory
from ludory.algorithms.ppo import PPO
from ludory.algorithms.sb3_ppo import SB3PPO
from ludory.checkpoints.checkpoint import read_header
from ludory.envs.views.gymnasium_vector import make_vector_env
from ludory.envs.views.sb3 import to_sb3
from ludory.errors import CheckpointError, OptionError

TINY = "HanabiTiny2P-v0"
SMALL = {"num_envs": 8, "n_steps": 8, "batch_size": 32, "n_epochs": 2, "hidden": (16,), "seed": 3}


def equal(a, b) -> bool:
    mine, other = a.policy.state_dict(), b.policy.state_dict()
    return mine.keys() == other.keys() and all(torch.equal(mine[name], other[name]) for name in mine)


@pytest.mark.slow
@pytest.mark.parametrize(("masked", "kind"), [(True, MaskablePPO), (False, SB3)])
def test_learns_the_identity_game_in_seconds(masked, kind):
    options = {"num_envs": 16, "n_steps": 16, "batch_size": 64, "n_epochs": 4, "hidden": (32,), "learning_rate": 3e-3}
    model = SB3PPO("mlp", make_identity(), **options, masked=masked, seed=0).learn(6000)
    assert type(model.sb3) is kind
    assert model.predict(np.eye(4, dtype=np.uint8), deterministic=True)[0].tolist() == [0, 1, 2, 3]


def test_is_found_by_name_and_counts_and_logs_like_the_others(tmp_path):
    model = ludory.make_algorithm("sb3_ppo", env=TINY, **SMALL)
    model.learn(128)
    assert (type(model), model.num_timesteps) == (SB3PPO, 128)
    metrics = model.iterate(lambda: True)
    assert {"train/loss", "train/approx_kl", "rollout/ep_rew_mean"} <= metrics.keys()
    model.save(tmp_path / "m.ludory")
    loaded = ludory.load(tmp_path / "m.ludory")
    results = [
        ludory.evaluate([one], game=TINY, games=20, seed=3) for one in (model, loaded, str(tmp_path / "m.ludory"))
    ]
    assert len({tuple(result.returns[:, 0]) for result in results}) == 1


def test_our_policy_and_the_models_are_one_set_of_weights():
    model = SB3PPO("mlp", TINY, **SMALL).learn(64)
    seen = np.random.default_rng(0).integers(0, 2, (50, 91)).astype(np.uint8)
    masks = np.random.default_rng(1).integers(0, 2, (50, 8)).astype(bool)
    masks[:, 3] = True
    ours = model.predict(seen, deterministic=True, action_masks=masks)[0]
    assert (ours == model.sb3.predict(seen, deterministic=True, action_masks=masks)[0]).all()
    before = model.policy.encoder.weight.clone()
    model.learn(64)
    assert not torch.equal(before, model.policy.encoder.weight)
    assert torch.equal(
        model.policy.encoder.weight[16:], model.sb3.policy.state_dict()["mlp_extractor.value_net.0.weight"]
    )


def test_a_resumed_run_ends_at_the_same_numbers(tmp_path):
    whole = SB3PPO("mlp", TINY, **SMALL, anneal_learning_rate=True)
    whole.learn(256)
    half = SB3PPO("mlp", TINY, **SMALL, anneal_learning_rate=True)
    half.learn(256, callback=lambda inner, outer: half.num_timesteps < 128 or half.stop() or True)
    assert half.num_timesteps == 128
    half.save(tmp_path / "half.ludory")
    rest = SB3PPO.load(tmp_path / "half.ludory")
    running, resumed = half.sampler.state(), rest.sampler.state()
    assert running["lengths"].any()
    assert all(torch.equal(running[name], resumed[name]) for name in ("returns", "lengths"))
    rest.learn(128, reset_num_timesteps=False)
    assert rest.num_timesteps == whole.num_timesteps == 256
    assert equal(whole, rest)
    assert not equal(whole, half)
    assert [model.sb3.policy.optimizer.param_groups[0]["lr"] for model in (half, whole)] == [3e-4 / 2, 0]


def test_training_leaves_the_global_generators_alone():
    torch.manual_seed(1)
    np.random.seed(1)
    SB3PPO("mlp", TINY, **SMALL).learn(64)
    after = torch.rand(3), np.random.rand(3)
    torch.manual_seed(1)
    np.random.seed(1)
    assert torch.equal(after[0], torch.rand(3))
    assert (after[1] == np.random.rand(3)).all()


def test_a_callback_can_stop_it_in_the_middle_of_a_rollout():
    model = SB3PPO("mlp", TINY, **SMALL)
    model.learn(10_000, callback=lambda inner, outer: model.num_timesteps < 24)
    assert model.num_timesteps == 24


def test_a_checkpoint_of_another_game_is_refused_naming_both(tmp_path):
    SB3PPO("mlp", TINY, **SMALL).save(tmp_path / "m.ludory")
    assert read_header(tmp_path / "m.ludory")["config"]["n_steps"] == 8
    with pytest.raises(CheckpointError, match=r"trained on HanabiTiny2P-v0.*got HanabiSmall2P-v0"):
        SB3PPO.load(tmp_path / "m.ludory", env="HanabiSmall2P-v0")
    with pytest.raises(
        CheckpointError, match=r"m\.ludory: the network of a sb3_ppo-v1 on HanabiTiny2P-v0 .*not fit HanabiSmall2P-v0"
    ):
        SB3PPO("mlp", "HanabiSmall2P-v0", **SMALL, init_from=str(tmp_path / "m.ludory"))
    with pytest.raises(CheckpointError, match="written by 'sb3_ppo-v1'"):
        PPO.load(tmp_path / "m.ludory")


@pytest.mark.parametrize("separate", [True, False])
def test_starts_from_our_checkpoints_with_their_layers(tmp_path, separate):
    native = {"num_envs": 16, "n_steps": 8, "batch_size": 64, "hidden": (24, 16), "activation": "relu"}
    ours = PPO("mlp", TINY, **native, separate_value=separate).learn(256)
    ours.save(tmp_path / "m.ludory")
    free = {name: value for name, value in SMALL.items() if name != "hidden"}
    model = SB3PPO("mlp", TINY, **free, init_from=str(tmp_path / "m.ludory"))
    assert (model.policy_spec.arguments["hidden"], model.policy_spec.arguments["activation"]) == ((24, 16), "relu")
    seen = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (100, 12)).astype(np.uint8))
    for given, taken in zip(ours.policy(seen)[:2], model.policy(seen)[:2], strict=True):
        torch.testing.assert_close(taken, given, rtol=0, atol=1e-5)
    (tmp_path / "m.ludory").rename(tmp_path / "n.ludory")
    model.learn(64).save(tmp_path / "own.ludory")
    assert equal(model, SB3PPO.load(tmp_path / "own.ludory"))
    with pytest.raises(CheckpointError, match=r"n\.ludory: .*hidden=\(24, 16\).* does not fit .*hidden=\(8,\)"):
        SB3PPO("mlp", TINY, **free, hidden=(8,), init_from=str(tmp_path / "n.ludory"))


def test_goes_to_sb3_with_its_optimiser_and_comes_back(tmp_path):
    model = SB3PPO("mlp", TINY, **SMALL).learn(64)
    model.export_sb3(tmp_path / "x.zip")
    theirs = MaskablePPO.load(tmp_path / "x.zip", env=to_sb3(make_vector_env(TINY, num_envs=4)))
    assert (theirs.num_timesteps, theirs.n_steps) == (64, 8)
    moments = [state["exp_avg"] for state in theirs.policy.optimizer.state_dict()["state"].values()]
    own = [state["exp_avg"] for state in model.sb3.policy.optimizer.state_dict()["state"].values()]
    assert len(moments) == 8
    assert all(torch.equal(a, b) for a, b in zip(moments, own, strict=True))
    theirs.learn(64)
    assert model.policy.logits.weight.isfinite().all()
    free = {name: value for name, value in SMALL.items() if name != "hidden"}
    assert equal(model, SB3PPO("mlp", TINY, **free, init_from=str(tmp_path / "x.zip")))


@pytest.mark.parametrize("game", [matching(), nim(), nim(two_heads=True)], ids=["simultaneous", "one seat", "heads"])
def test_trains_on_games_with_several_heads_and_on_one_seat(game):
    assert SB3PPO("mlp", game, **SMALL).learn(64).num_timesteps == 64


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        ("gru", {}, "policy 'gru': Stable-Baselines3 has networks like 'mlp' only"),
        ("mlp(separate_value=False)", {}, "with layers of its own for the value"),
        ("mlp", {"separate_value": False}, "separate_value=False"),
        ("mlp", {"batch_size": 1}, "batch_size=1: must be at least 2"),
        ("mlp", {"num_envs": 1, "n_steps": 1}, "one decision is too few"),
        ("mlp", {"gamma": 1.5}, r"gamma=1\.5"),
        ("mlp", {"precision": "bf16"}, "precision='bf16': Stable-Baselines3 computes in float32"),
        ("mlp", {"clip_range": 0}, "clip_range=0"),
        ("mlp", {"activation": "cos"}, "activation='cos'"),
        ("mlp", {"seats": "both"}, "seats='both'"),
    ],
)
def test_wrong_options_are_named(policy, options, message):
    with pytest.raises(OptionError, match=message):
        SB3PPO(policy, TINY, **SMALL | options)
