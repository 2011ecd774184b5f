"""Weights go between our networks and Stable-Baselines3's, both ways, and nothing in a foreign file is executed."""

from __future__ import annotations

import json
import pickle
import zipfile

import numpy as np
import pytest
import torch
from games.nim import matching
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C

from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.make import make_agent
from ludory.agents.networks.build import PolicySpec, build_policy
from ludory.agents.networks.import_sb3 import from_sb3, is_sb3_file, read_sb3, sb3_agent, to_sb3_policy
from ludory.agents.networks.policy import numpy_to_bits
from ludory.algorithms.ppo import PPO
from ludory.algorithms.sb3_ppo import export_sb3
from ludory.envs.make import make_game
from ludory.envs.views.gymnasium_vector import make_vector_env
from ludory.envs.views.sb3 import to_sb3
from ludory.errors import CheckpointError, OptionError, OutputError

TINY = "HanabiTiny2P-v0"
LAYERS = {"hidden": (16, 12), "activation": "tanh", "separate_value": True}
NATIVE = {"num_envs": 16, "n_steps": 8, "batch_size": 64, "seed": 3}


@pytest.fixture(scope="module")
def env():
    return to_sb3(make_vector_env(TINY, num_envs=4))


def sb3_model(env, kind=MaskablePPO, layers=(16, 12), activation=torch.nn.Tanh, **options):
    kwargs = {"net_arch": list(layers), "activation_fn": activation, "ortho_init": False}
    return kind("MlpPolicy", env, n_steps=8, policy_kwargs=kwargs, seed=5, device="cpu", **options)


def real_observations(env, count=200):
    """Observations and masks of games played at random."""
    generator, seen, masks = np.random.default_rng(0), [], []
    env.seed(1)
    observations = env.reset()
    for _ in range(count // env.num_envs):
        mask = env.action_masks()
        seen.append(observations)
        masks.append(mask)
        actions = np.array([generator.choice(np.flatnonzero(row)) for row in mask])
        observations = env.step(actions)[0]
    return np.concatenate(seen), np.concatenate(masks)


def random_observations(game, count=200):
    """Any observations and masks, legal or not."""
    generator, facts = np.random.default_rng(0), game.facts
    seen = generator.integers(0, 2, (count, *facts.observation.shape)).astype(facts.observation.dtype)
    masks = generator.integers(0, 2, (count, facts.num_actions)).astype(bool)
    masks[:, np.cumsum((0, *facts.head_sizes[:-1]))] = True
    return seen, masks


def sb3_outputs(model, seen, masks):
    """Logits, values and masked probabilities of each head."""
    tensor = torch.from_numpy(seen)
    with torch.no_grad():
        logits = model.policy.action_net(
            model.policy.mlp_extractor.forward_actor(model.policy.extract_features(tensor))
        )
        distribution = model.policy.get_distribution(tensor, masks)
        heads = getattr(distribution, "distributions", None) or [distribution.distribution]
        return logits, model.policy.predict_values(tensor).squeeze(-1), torch.cat([head.probs for head in heads], -1)


def our_outputs(policy, seen, masks):
    """As `sb3_outputs`."""
    with torch.no_grad():
        output = policy(numpy_to_bits(seen, policy.observation))
    distribution = policy.distribution(output.logits, torch.from_numpy(masks))
    return output.logits, output.values, torch.cat([log_p.exp() for log_p in distribution._log_p], -1)


def assert_alike(model, policy, seen, masks):
    for theirs, ours in zip(sb3_outputs(model, seen, masks), our_outputs(policy, seen, masks), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("activation", [torch.nn.Tanh, torch.nn.ReLU])
@pytest.mark.parametrize("layers", [(24,), (16, 12), (8, 9, 10)])
def test_a_model_of_sb3_becomes_our_policy_with_the_same_outputs(env, layers, activation):
    model = sb3_model(env, layers=layers, activation=activation)
    policy = from_sb3(model, TINY)
    assert_alike(model, policy, *real_observations(env))
    assert_alike(model, policy, *random_observations(make_game(TINY)))


@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_our_network_becomes_a_zip_that_sb3_loads_with_the_same_outputs(env, tmp_path, activation, separate):
    ours = PPO("mlp", TINY, **NATIVE, hidden=(16, 12), activation=activation, separate_value=separate).learn(128)
    export_sb3(ours, tmp_path / "x.zip")
    model = MaskablePPO.load(tmp_path / "x.zip", env=env)
    assert_alike(model, ours.policy, *real_observations(env))
    assert_alike(model, ours.policy, *random_observations(ours.game))
    assert (model.num_timesteps, model.gamma, model.n_steps) == (128, 0.99, 8)
    model.learn(32)
    assert MaskablePPO.load(tmp_path / "x.zip").predict(np.zeros(91, np.uint8))[0] in range(8)


def test_there_and_back_gives_the_same_bits(env, tmp_path):
    ours = PPO("mlp", TINY, **NATIVE, **LAYERS).learn(128)
    export_sb3(ours, tmp_path / "x.zip")
    back = from_sb3(tmp_path / "x.zip", TINY).state_dict()
    assert all(torch.equal(tensor, back[name]) for name, tensor in ours.policy.state_dict().items())
    theirs = sb3_model(env)
    again = to_sb3_policy(from_sb3(theirs, TINY))
    assert again.keys() == theirs.policy.state_dict().keys()
    assert all(torch.equal(tensor, again[name]) for name, tensor in theirs.policy.state_dict().items())


def test_several_heads_and_float_observations_go_along(tmp_path):
    game = matching()
    ours = PPO("mlp", game, **NATIVE, **LAYERS)
    export_sb3(ours, tmp_path / "x.zip")
    model = MaskablePPO.load(tmp_path / "x.zip", env=to_sb3(make_vector_env(game, num_envs=4)))
    assert_alike(model, ours.policy, *random_observations(game))


def test_what_is_exported_is_a_copy():
    policy = build_policy(PolicySpec("mlp", LAYERS), make_game(TINY).facts)
    before = policy.logits.weight.detach().clone()
    to_sb3_policy(policy)["action_net.weight"].fill_(7)
    assert torch.equal(policy.logits.weight, before)


def test_training_starts_from_the_zip_of_any_actor_critic_of_sb3(env, tmp_path):
    theirs = sb3_model(env, A2C)
    theirs.save(tmp_path / "a2c.zip")
    ours = PPO("mlp", TINY, **NATIVE, **LAYERS, init_from=str(tmp_path / "a2c.zip"))
    policy = theirs.policy.to("cpu")
    assert torch.equal(ours.policy.logits.weight, policy.action_net.weight)
    ours.learn(128).save(tmp_path / "m.ludory")
    (tmp_path / "a2c.zip").unlink()
    assert torch.equal(PPO.load(tmp_path / "m.ludory").policy.logits.weight, ours.policy.logits.weight)


def test_other_layers_are_refused_naming_both_and_what_to_type(env, tmp_path):
    sb3_model(env).save(tmp_path / "x.zip")
    file = str(tmp_path / "x.zip")
    given = r"hidden=\(16, 12\), activation='tanh', separate_value=True"
    for other in ({"hidden": (32,)}, {"activation": "relu"}, {"separate_value": False}):
        with pytest.raises(CheckpointError, match=rf"x\.zip: .*{given} does not fit .*; give {given}"):
            PPO("mlp", TINY, **NATIVE, **{**LAYERS, **other}, init_from=file)
    with pytest.raises(OptionError, match="policy 'gru': Stable-Baselines3 has networks like 'mlp' only"):
        PPO("gru", TINY, **NATIVE, init_from=file)


def test_another_game_is_refused_naming_both(env, tmp_path):
    export_sb3(PPO("mlp", TINY, **NATIVE, **LAYERS), tmp_path / "x.zip")
    both = r"network of HanabiTiny2P-v0 from 91 inputs to 8 logits .* network of HanabiSmall2P-v0 from 171 inputs to 11"
    with pytest.raises(CheckpointError, match=both):
        PPO("mlp", "HanabiSmall2P-v0", **NATIVE, **LAYERS, init_from=str(tmp_path / "x.zip"))
    with pytest.raises(CheckpointError, match=r"from 91 inputs to 8 logits .* HanabiSmall2P-v0 from 171 inputs"):
        from_sb3(sb3_model(env), "HanabiSmall2P-v0")


def test_networks_without_a_counterpart_are_refused(env, tmp_path):
    unequal = {"pi": [16], "vf": [8]}
    with pytest.raises(CheckpointError, match=r"layers \(16,\) for the policy and \(8,\) for the value"):
        from_sb3(MaskablePPO("MlpPolicy", env, policy_kwargs={"net_arch": unequal}), TINY)
    with pytest.raises(CheckpointError, match="activation ELU; networks here have ReLU or Tanh"):
        from_sb3(sb3_model(env, activation=torch.nn.ELU), TINY)
    with pytest.raises(OptionError, match="policy 'gru'"):
        export_sb3(PPO("gru", TINY, **NATIVE), tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


def with_member(source, target, member, content):
    """A copy of a zip with one member replaced."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, content if name == member else old.read(name))


def test_no_pickle_in_a_zip_is_executed(env, tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "executed"), "w"))

    sb3_model(env).save(tmp_path / "x.zip")
    data = json.loads(zipfile.ZipFile(tmp_path / "x.zip").read("data"))
    for item in data.values():
        if isinstance(item, dict) and ":serialized:" in item:
            item[":serialized:"] = pickle.dumps(Bomb()).hex()
    with_member(tmp_path / "x.zip", tmp_path / "data.zip", "data", json.dumps(data))
    with_member(tmp_path / "x.zip", tmp_path / "rest.zip", "policy.optimizer.pth", pickle.dumps(Bomb()))
    for name in ("data", "rest"):
        assert read_sb3(tmp_path / f"{name}.zip").hidden == (16, 12)
    torch.save({"action_net.weight": Bomb()}, tmp_path / "bomb.pth")
    with_member(tmp_path / "x.zip", tmp_path / "bomb.zip", "policy.pth", (tmp_path / "bomb.pth").read_bytes())
    with pytest.raises(CheckpointError, match=r"bomb\.zip: .*holds more than tensors.*nothing was loaded"):
        read_sb3(tmp_path / "bomb.zip")
    assert not (tmp_path / "executed").exists()


def test_damaged_files_are_named(env, tmp_path):
    sb3_model(env).save(tmp_path / "x.zip")
    whole = (tmp_path / "x.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    with_member(tmp_path / "x.zip", tmp_path / "text.zip", "data", "no JSON")
    with_member(tmp_path / "x.zip", tmp_path / "list.zip", "data", "[]")
    with_member(tmp_path / "x.zip", tmp_path / "weights.zip", "policy.pth", b"abc")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as archive:
        archive.writestr("a", "b")
    for name in ("cut", "text", "list", "weights", "empty"):
        assert is_sb3_file(tmp_path / f"{name}.zip")
        with pytest.raises(CheckpointError, match=rf"{name}\.zip: not a model of Stable-Baselines3, or damaged"):
            read_sb3(tmp_path / f"{name}.zip")
    with pytest.raises(CheckpointError, match="no such file"):
        PPO("mlp", TINY, **NATIVE, init_from=str(tmp_path / "none.zip"))


def test_weights_that_do_not_belong_together_are_named(env, tmp_path):
    model = sb3_model(env)
    weights = model.policy.state_dict()
    for change, message in (
        ({"value_net.weight": torch.zeros(1, 3)}, r"value_net\.weight differ"),
        ({"log_std": torch.zeros(3)}, r"log_std differ"),
    ):
        torch.save({**weights, **change}, tmp_path / "p.pth")
        model.save(tmp_path / "x.zip")
        with_member(tmp_path / "x.zip", tmp_path / "odd.zip", "policy.pth", (tmp_path / "p.pth").read_bytes())
        with pytest.raises(CheckpointError, match=rf"odd\.zip: not the weights of an MlpPolicy: {message}"):
            read_sb3(tmp_path / "odd.zip")


def test_a_place_that_can_not_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="name a folder that you may write to"):
        export_sb3(PPO("mlp", TINY, **NATIVE), tmp_path / "file" / "x.zip")


def test_a_zip_plays_the_same_actions_as_the_model_that_wrote_it(env, tmp_path):
    model = sb3_model(env)
    model.save(tmp_path / "theirs.zip")
    seen, masks = real_observations(env)
    theirs, _ = model.predict(seen, action_masks=masks, deterministic=True)
    agent = make_agent(str(tmp_path / "theirs.zip"), TINY)
    assert (agent.act(seen, masks, None)[0] == theirs).all()
    assert (sb3_agent(model, TINY).act(seen, masks, None)[0] == theirs).all()
    played = evaluate(f"{tmp_path / 'theirs.zip'}(deterministic=false)", TINY, games=20)
    assert played.games == 20


def test_a_zip_takes_only_an_agents_arguments(env, tmp_path):
    sb3_model(env).save(tmp_path / "theirs.zip")
    with pytest.raises(OptionError, match="did you mean deterministic"):
        make_agent(f"{tmp_path / 'theirs.zip'}(determinstic=true)", TINY)
    with pytest.raises(CheckpointError, match="of another game"):
        make_agent(str(tmp_path / "theirs.zip"), "HanabiSmall2P-v0")
