"""A value function that sees the whole game: it knows what no seat knows, the policy does not, and a run resumes with it."""

from __future__ import annotations

import pytest
import torch
from games.elimination import STANDOFF
from games.hidden_cards import make_hidden_cards
from games.nim import nim

import ludory
from ludory.algorithms.ppo import PPO
from ludory.algorithms.sampling.privileged import values_of
from ludory.algorithms.vtrace import VTrace
from ludory.checkpoints.checkpoint import read_checkpoint
from ludory.errors import OptionError

QUICK = {"num_envs": 64, "n_steps": 10, "learning_rate": 5e-3, "hidden": (32,), "gamma": 1.0, "seed": 0}
SMALL = {"num_envs": 8, "n_steps": 8, "hidden": (8,), "seed": 3}
KINDS = [(PPO, {"batch_size": 256, "n_epochs": 4}), (VTrace, {"batch_columns": 32, "c_value": 1.0, "reuse": 4})]


def explained_variance(model) -> float:
    """Of the returns that finished games of a rollout have, by the values with which it was sampled."""
    model.sampler.start()
    rollout, _ = model.sampler.collect(model.policy, 4, model.generator)
    returns = rollout.rewards[-1].expand(4, -1)
    assert (rollout.terminated | rollout.truncated)[-1].all()
    return float(1 - (returns - rollout.values).var() / returns.var())


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "options"), KINDS, ids=["ppo", "vtrace"])
def test_only_a_privileged_value_foresees_what_depends_on_both_hidden_cards(kind, options):
    """Rollouts of 10 steps cut games of 4 in the middle, so that the values are learnt through their own bootstrap, too."""
    seeing = kind("mlp", make_hidden_cards(), privileged_value=True, **QUICK, **options).learn(20_000)
    assert explained_variance(seeing) > 0.95
    blind = kind("mlp", make_hidden_cards(), **QUICK, **options).learn(20_000)
    assert explained_variance(blind) < 0.3


@pytest.mark.parametrize(("kind", "options"), KINDS, ids=["ppo", "vtrace"])
@pytest.mark.parametrize("policy", ["mlp", pytest.param("gru(hidden=(8,), memory_size=8)", marks=pytest.mark.slow)])
def test_a_resumed_run_ends_at_the_same_numbers(tmp_path, kind, options, policy):
    options = (
        SMALL | {"privileged_value": True, "hidden": ()} | {"batch_size": 32}
        if kind is PPO
        else SMALL | {"privileged_value": True, "hidden": (), "batch_columns": 4}
    )
    whole = kind(policy, "HanabiTiny2P-v0", **options).learn(256)
    half = kind(policy, "HanabiTiny2P-v0", **options).learn(128)
    half.save(tmp_path / "half.ludory")
    rest = kind.load(tmp_path / "half.ludory").learn(128, reset_num_timesteps=False)
    for mine, theirs in ((rest.policy, whole.policy), (rest.value, whole.value)):
        for one, other in zip(mine.parameters(), theirs.parameters(), strict=True):
            assert torch.equal(one, other)


def test_it_is_no_part_of_the_policy(tmp_path):
    model = PPO("mlp", "HanabiTiny2P-v0", privileged_value=True, batch_size=32, **SMALL).learn(64)
    model.save(tmp_path / "model.ludory")
    _, tensors = read_checkpoint(tmp_path / "model.ludory")
    kept = {name.partition("/")[0] for name in tensors if "privileged_value" in name}
    assert kept == {"training"}
    plain = PPO("mlp", "HanabiTiny2P-v0", batch_size=32, **SMALL)
    assert model.policy.state_dict().keys() == plain.policy.state_dict().keys()
    agent = ludory.load(tmp_path / "model.ludory")
    result = ludory.evaluate([agent, agent], game="HanabiTiny2P-v0", games=4, seed=1)
    assert result.returns.shape[0] == 4


def test_the_policys_own_value_does_not_learn():
    model = PPO("mlp", "HanabiTiny2P-v0", privileged_value=True, batch_size=32, separate_value=True, **SMALL)
    before = model.policy.value.weight.clone()
    model.learn(64)
    assert torch.equal(model.policy.value.weight, before)


GAMES = [("all", STANDOFF), ("1", STANDOFF), ("0", make_hidden_cards(cut=True)), ("all", nim(players=3, limit=4))]


@pytest.mark.parametrize(("seats", "game"), GAMES, ids=["at once", "one seat", "cut off", "self-play in turn, floats"])
def test_the_sampled_values_are_those_of_what_was_stored(seats, game):
    model = PPO("mlp", game, privileged_value=True, batch_size=32, seats=seats, **SMALL)
    rollout, _ = model.sampler.collect(model.policy, 8, model.generator)
    spec = game.facts.critic_spec
    assert rollout.critic.shape[-1] == (-(-spec.size // 8) if spec.bits else spec.size)
    torch.testing.assert_close(values_of(model.value, rollout), rollout.values)
    following = torch.ones_like(rollout.starts) if rollout.valid is None else rollout.valid
    inside = (following & ~(rollout.terminated | rollout.truncated))[:-1]
    assert torch.equal(rollout.next_values[:-1][inside], rollout.values[1:][inside])


def test_games_cut_off_bootstrap_from_the_privileged_value():
    model = PPO("mlp", make_hidden_cards(cut=True), privileged_value=True, batch_size=32, **SMALL)
    engine, seen = model.engine, []
    plain = model.sampler.lanes.start

    def start(rows=None):
        if engine.state.turn.any():
            with torch.no_grad():
                bits = torch.as_tensor(engine.critic(rows=rows, packed=True))
                seen.append(model.value(bits))
        plain(rows)

    model.sampler.lanes.start = start
    rollout, _ = model.sampler.collect(model.policy, 8, model.generator)
    assert rollout.truncated[3].all()
    torch.testing.assert_close(rollout.next_values[3], seen[0])
    torch.testing.assert_close(rollout.next_values[7], seen[1])


def test_a_sampler_that_does_not_write_it_down_is_refused():
    model = VTrace("mlp", "HanabiTiny2P-v0", privileged_value=True, batch_columns=4, **SMALL)
    model.sampler.critic = None
    with pytest.raises(OptionError, match="sampled without what a privileged value sees"):
        model.learn(64)


def test_a_run_without_one_can_go_on_with_one(tmp_path):
    PPO("mlp", "HanabiTiny2P-v0", batch_size=32, **SMALL).learn(64).save(tmp_path / "plain.ludory")
    model = PPO.load(tmp_path / "plain.ludory", privileged_value=True).learn(128, reset_num_timesteps=False)
    assert any(name.startswith("privileged_value/") for name in model.training_state())
    model.save(tmp_path / "seeing.ludory")
    again = PPO.load(tmp_path / "seeing.ludory")
    assert torch.equal(again.value.value.weight, model.value.value.weight)


def test_a_value_that_warms_up_leaves_the_policy_alone():
    options = SMALL | {"privileged_value": True, "hidden": (), "batch_columns": 4}
    model = VTrace("mlp", "HanabiTiny2P-v0", value_warm_up=64, **options)
    policy = [weight.clone() for weight in model.policy.parameters()]
    value = [weight.clone() for weight in model.value.parameters()]
    model.learn(64)
    assert all(map(torch.equal, policy, model.policy.parameters()))
    assert not all(map(torch.equal, value, model.value.parameters()))
    model.learn(64, reset_num_timesteps=False)
    assert not all(map(torch.equal, policy, model.policy.parameters()))


def test_a_value_that_shares_layers_cannot_warm_up():
    with pytest.raises(OptionError, match="privileged_value=True"):
        VTrace("mlp", "HanabiTiny2P-v0", value_warm_up=64, **SMALL)
