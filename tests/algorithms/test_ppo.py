"""PPO learns, saves, loads and resumes to the same numbers; bad input is refused."""

from __future__ import annotations

import json
import pickle
from importlib.metadata import version

import numpy as np
import pytest
import torch
from games.identity import make_identity
from games.nim import matching, nim
from safetensors.torch import save_file
from stable_baselines3.common.callbacks import CheckpointCallback

import ludory
from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.make import make_agent
from ludory.algorithms.ppo import PPO
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.checkpoints.checkpoint import read_checkpoint, read_header, write_checkpoint
from ludory.envs.make import make_game
from ludory.errors import CheckpointError, OptionError, OutputError

SMALL = {"num_envs": 16, "n_steps": 8, "batch_size": 64, "hidden": (16,), "seed": 3}
TINY = "HanabiTiny2P-v0"


def weights(model: PPO) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in model.policy.state_dict().items()}


def equal(a: PPO, b: PPO) -> bool:
    return all(torch.equal(x, y) for x, y in zip(weights(a).values(), weights(b).values(), strict=True))


def test_learns_the_identity_game_in_a_second():
    model = PPO(
        "mlp", make_identity(), num_envs=64, n_steps=8, batch_size=256, hidden=(32,), learning_rate=3e-3, seed=0
    )
    model.learn(20_000)
    actions, _ = model.predict(np.eye(4, dtype=np.uint8), deterministic=True)
    assert actions.tolist() == [0, 1, 2, 3]


@pytest.mark.slow
def test_learns_nearly_the_best_play_against_random_when_it_has_one_seat():
    """Nim with one heap of 1 to 6 sticks, take 1 or 2: the best play wins all but heaps 3 (even) and 6 (+0.5), mean 0.75."""
    game = nim(heaps=1, largest=6)
    sizes = {"num_envs": 128, "n_steps": 16, "batch_size": 512, "n_epochs": 8, "hidden": (64, 64)}
    model = PPO("mlp", game, learning_rate=3e-3, others="random", seed=0, **sizes)
    assert model.iterate(lambda: True)["rollout/ep_rew_mean"] < 0.4
    model.learn(60_000)
    assert model.iterate(lambda: True)["rollout/ep_rew_mean"] > 0.6


def test_trains_on_a_simultaneous_game_with_several_heads():
    model = PPO("mlp", matching(), **SMALL).learn(512)
    assert model.num_timesteps == 512
    observation = np.zeros((5, *model.game.facts.observation.shape), np.float32)
    actions, _ = model.predict(observation)
    assert actions.shape == (5, len(model.game.facts.heads))


def test_same_seed_gives_the_same_weights_and_another_seed_others():
    first, second = (PPO("mlp", TINY, **SMALL).learn(512) for _ in range(2))
    assert equal(first, second)
    assert not equal(first, PPO("mlp", TINY, **SMALL | {"seed": 4}).learn(512))


def test_a_resumed_run_ends_at_the_same_numbers(tmp_path):
    whole = PPO("mlp", TINY, **SMALL).learn(1024)
    half = PPO("mlp", TINY, **SMALL).learn(512)
    half.save(tmp_path / "half.ludory")
    rest = PPO.load(tmp_path / "half.ludory").learn(512, reset_num_timesteps=False)
    assert rest.num_timesteps == whole.num_timesteps == 1024
    assert equal(whole, rest)


def test_a_loaded_model_predicts_the_same(tmp_path):
    model = PPO("mlp", TINY, **SMALL).learn(256)
    model.save(tmp_path / "m.ludory")
    observations = np.random.default_rng(0).integers(0, 2, (20, 91)).astype(np.uint8)
    same = PPO.load(tmp_path / "m.ludory").predict(observations, deterministic=True)[0]
    assert (same == model.predict(observations, deterministic=True)[0]).all()


def test_predict_honours_the_mask_and_takes_single_observations():
    model = PPO("mlp", TINY, **SMALL)
    mask = np.zeros(8, bool)
    mask[5] = True
    action, state = model.predict(np.zeros(91, np.uint8), action_masks=mask)
    assert (int(action), state) == (5, None)
    with pytest.raises(OptionError, match=r"shape \(90,\), must be \(91,\)"):
        model.predict(np.zeros(90, np.uint8))


def test_a_function_and_a_list_of_sb3_callbacks_are_called_and_can_stop(tmp_path):
    model = PPO("mlp", TINY, **SMALL)
    model.learn(10_000, callback=lambda inner, outer: model.num_timesteps < 64)
    assert model.num_timesteps == 64
    saver = CheckpointCallback(save_freq=4, save_path=str(tmp_path), name_prefix="tiny")
    model.learn(256, callback=[saver])
    assert sorted(p.name for p in tmp_path.iterdir())[:1] == ["tiny_128_steps.zip"]
    assert PPO.load(tmp_path / "tiny_128_steps.zip").game.id == TINY


def test_stop_ends_a_run_between_iterations_and_it_goes_on_exactly(tmp_path):
    whole = PPO("mlp", TINY, **SMALL).learn(1024)
    model = PPO("mlp", TINY, **SMALL)
    model.learn(1024, callback=lambda inner, outer: model.stop() or True)
    assert model.num_timesteps == 128
    model.save(tmp_path / "m.ludory")
    assert equal(whole, PPO.load(tmp_path / "m.ludory").learn(1024 - 128, reset_num_timesteps=False))


def test_training_to_a_file_writes_model_and_metrics(tmp_path):
    file = tmp_path / "run" / "m.ludory"
    assert not train_to_file(PPO("mlp", TINY, **SMALL), 512, file, save_every=0)
    assert read_header(file)["num_timesteps"] == 512
    table = file.with_suffix(".csv").read_text().splitlines()
    assert len(table) == 1 + 512 // 128
    assert "rollout/ep_rew_mean" in table[0]


def test_training_can_start_from_the_network_of_another_run(tmp_path):
    first = PPO("mlp", make_game(TINY, bomb="keep"), **SMALL).learn(256)
    first.save(tmp_path / "m.ludory")
    second = PPO("mlp", TINY, **SMALL, init_from=str(tmp_path / "m.ludory"))
    assert equal(first, second)
    second.learn(256).save(tmp_path / "n.ludory")
    (tmp_path / "m.ludory").unlink()
    assert equal(second, PPO.load(tmp_path / "n.ludory"))
    with pytest.raises(
        CheckpointError, match=r"n\.ludory: the network of a ppo-v1 on HanabiTiny2P-v0 does not fit HanabiSmall2P-v0"
    ):
        PPO("mlp", "HanabiSmall2P-v0", **SMALL, init_from=str(tmp_path / "n.ludory"))


def test_a_file_of_another_game_is_refused_with_both_names(tmp_path):
    PPO("mlp", TINY, **SMALL).save(tmp_path / "m.ludory")
    with pytest.raises(CheckpointError, match=r"trained on HanabiTiny2P-v0.*got HanabiSmall2P-v0"):
        PPO.load(tmp_path / "m.ludory", env="HanabiSmall2P-v0")


def test_nothing_in_a_foreign_file_is_executed(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "executed"), "w"))

    (tmp_path / "pickle.ludory").write_bytes(pickle.dumps(Bomb()))
    torch.save({"model": Bomb()}, tmp_path / "torch.ludory")
    (tmp_path / "empty.ludory").write_bytes(b"")
    (tmp_path / "text.ludory").write_text("hello")
    for name in ("pickle", "torch", "empty", "text"):
        with pytest.raises(CheckpointError, match="not a checkpoint of Ludory, or damaged"):
            PPO.load(tmp_path / f"{name}.ludory")
    assert not (tmp_path / "executed").exists()


def test_damaged_foreign_and_missing_files_are_named(tmp_path):
    PPO("mlp", TINY, **SMALL).save(tmp_path / "m.ludory")
    data = (tmp_path / "m.ludory").read_bytes()
    (tmp_path / "cut.ludory").write_bytes(data[: len(data) // 2])
    with pytest.raises(CheckpointError, match="damaged"):
        PPO.load(tmp_path / "cut.ludory")
    save_file({"x": torch.zeros(1)}, tmp_path / "plain.ludory")
    with pytest.raises(CheckpointError, match="no 'ludory' header"):
        PPO.load(tmp_path / "plain.ludory")
    with pytest.raises(CheckpointError, match="no such file"):
        PPO.load(tmp_path / "none.ludory")
    header, tensors = read_checkpoint(tmp_path / "m.ludory")
    write_checkpoint(tmp_path / "other.ludory", header | {"algorithm": "vtrace-v1"}, tensors)
    with pytest.raises(CheckpointError, match="written by 'vtrace-v1'"):
        PPO.load(tmp_path / "other.ludory")
    del tensors["policy/logits.bias"]
    write_checkpoint(tmp_path / "part.ludory", header, tensors)
    with pytest.raises(CheckpointError, match="does not fit"):
        PPO.load(tmp_path / "part.ludory")


def test_the_header_is_plain_json_and_names_what_it_needs(tmp_path):
    PPO("mlp", TINY, **SMALL).save(tmp_path / "m.ludory")
    header = read_header(tmp_path / "m.ludory")
    assert json.loads(json.dumps(header)) == header
    assert header["env"] == {"id": TINY, "options": {}}
    assert header["versions"]["torch"] == version("torch")


def test_a_game_that_is_not_installed_is_named(tmp_path):
    PPO("mlp", make_identity(), **SMALL).save(tmp_path / "m.ludory")
    with pytest.raises(CheckpointError, match=r"m\.ludory: trained on Identity-v0, which cannot be made here"):
        PPO.load(tmp_path / "m.ludory")
    assert PPO.load(tmp_path / "m.ludory", env=make_identity()).game.id == "Identity-v0"


def test_an_unwritable_place_is_refused_before_training(tmp_path):
    (tmp_path / "file").write_text("")
    model = PPO("mlp", TINY, **SMALL)
    with pytest.raises(OutputError, match="name a folder that you may write to"):
        train_to_file(model, 10_000, tmp_path / "file" / "m.ludory")
    assert model.num_timesteps == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_step": 3}, "no option 'n_step'"),
        ({"gamma": 1.5}, r"gamma=1\.5"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"seats": "both"}, "seats='both'"),
        ({"seats": "2"}, "seats=2"),
        ({"activation": "cos"}, "activation='cos'"),
        ({"num_envs": 0}, "num_envs=0"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(OptionError, match=message):
        PPO("mlp", make_game(TINY), **SMALL | options)


def test_a_trained_or_loaded_model_can_be_evaluated_as_it_is(tmp_path):
    model = PPO("mlp", TINY, **SMALL).learn(256)
    model.save(tmp_path / "m.ludory")
    loaded = ludory.load(tmp_path / "m.ludory")
    results = [
        ludory.evaluate([one], game=TINY, games=40, seed=3) for one in (model, loaded, str(tmp_path / "m.ludory"))
    ]
    assert len({tuple(result.returns[:, 0]) for result in results}) == 1
    assert ludory.evaluate([loaded, "hanabi/iggi"], game=TINY, games=40, seed=3).returns.shape == (40, 2)
    with pytest.raises(OptionError, match="must be the name of an agent"):
        ludory.evaluate([3], game=TINY)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize("whole", [True, False])
def test_what_was_trained_on_a_gpu_plays_on_a_machine_without_one(tmp_path, caplog, whole):
    model = PPO("gru(hidden=(8,), memory_size=8)", TINY, **SMALL)
    model.learn(2 * model.config.num_envs * model.config.n_steps)
    (model.save if whole else model.save_policy)(tmp_path / "here.ludory")
    header, tensors = read_checkpoint(tmp_path / "here.ludory")
    header["config"]["device"] = "cuda:0"
    if whole:
        tensors["random/torch"] = torch.zeros(16, dtype=torch.uint8)  # as long as the state of a GPU's generator
    write_checkpoint(tmp_path / "there.ludory", header, tensors)
    loaded = PPO.load(tmp_path / "there.ludory")
    assert loaded.config.device == "cpu"
    assert "was trained on cuda:0, which is not there" in caplog.text
    agents = [make_agent(str(tmp_path / name), TINY) for name in ("here.ludory", "there.ludory")]
    scores = [evaluate([agent], TINY, 20).returns.tolist() for agent in agents]
    assert scores[0] == scores[1]
    loaded.learn(1, reset_num_timesteps=False)
    with pytest.raises(OptionError, match="device='cuda'"):
        PPO.load(tmp_path / "here.ludory", device="cuda")
