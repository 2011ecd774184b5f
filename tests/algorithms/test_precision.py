"""bfloat16 where it is fast: what "auto" chooses and keeps, and where its few digits could matter."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from ludory.agents.networks.fast import choice
from ludory.agents.networks.fast.choice import fastest
from ludory.agents.networks.layers.packed_linear import PackedLinear
from ludory.agents.networks.policy import OutputLinear
from ludory.algorithms.ppo import PPO, ppo
from ludory.algorithms.ppo.torch_update import TorchUpdate
from ludory.algorithms.running import threads
from ludory.algorithms.vtrace import VTrace
from ludory.cluster.workers import InProcess
from ludory.errors import OptionError

TINY = "HanabiTiny2P-v0"
SMALL = {"num_envs": 32, "n_steps": 4, "batch_size": 64, "hidden": (16,), "seed": 3, "compiled": False}


@pytest.fixture
def units(monkeypatch):
    """A machine with units for bfloat16, on which the way that is asked for is the fastest; returns what was compared."""
    compared = []

    def of(fastest: str) -> list[tuple[str, ...]]:
        def choose(subject, ways):
            compared.append(tuple(ways))
            for way in ways.values():
                way()
            return fastest

        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True}, raising=False)
        for module in (threads, ppo):
            monkeypatch.setattr(module, "fastest", choose)
        return compared

    return of


def precisions_of(model) -> set[str]:
    return {model.config.precision, model.sampler.player.precision, model.sampler.teacher.precision}


def test_auto_is_settled_by_the_first_update_and_stays_where_it_is_resumed(units, tmp_path):
    compared = units("bf16")
    model = PPO("mlp", TINY, **SMALL)
    assert precisions_of(model) == {"auto"}
    model.learn(256).save(tmp_path / "m.ludory")
    assert precisions_of(model) == {"bf16"}
    assert compared == [("float32", "bf16")]
    units("float32")
    assert precisions_of(PPO("mlp", TINY, **SMALL).learn(128)) == {"float32"}
    assert precisions_of(PPO.load(tmp_path / "m.ludory")) == {"bf16"}


@pytest.mark.slow
@pytest.mark.optimised
def test_auto_is_float32_where_the_compiled_twin_is_faster_than_both(units, monkeypatch):
    compared = units("twin")
    monkeypatch.setattr(ppo, "WORTH_LOADING", 0)
    model = PPO("mlp", TINY, **SMALL | {"compiled": None}).learn(128)
    assert compared == [("twin", "float32", "bf16")]
    assert precisions_of(model) == {"float32"}


def test_a_memory_is_measured_over_sequences_as_it_is_learnt(units):
    compared = units("float32")
    model = PPO("gru(memory_size=8)", TINY, **SMALL).learn(128)
    assert compared == [("float32", "bf16")]
    assert precisions_of(model) == {"float32"}


@pytest.mark.parametrize("policy", ["mlp", "gru(memory_size=8)"])
def test_vtrace_measures_passes_of_its_own_network(units, policy):
    compared = units("bf16")
    model = VTrace(policy, TINY, num_envs=8, n_steps=4, batch_columns=4, hidden=(8,))
    assert compared == [("float32", "bf16")]
    assert precisions_of(model) == {"bf16"}


def test_processes_that_learn_together_do_not_measure_each_for_itself(units):
    units("bf16")
    assert PPO("mlp", TINY, **SMALL, devices=2).config.precision == "bf16"


def test_games_at_workers_are_played_as_the_learner_says_from_the_start(units):
    units("bf16")
    model = PPO("mlp", TINY, **SMALL)
    assert precisions_of(model) == {"auto"}
    model.sample_at(InProcess(), 2)
    assert {share.config.precision for share in model.sampler._shares} == {"bf16"}
    model.release_samplers()
    assert precisions_of(model) == {"bf16"}


def test_without_units_auto_is_float32_and_nothing_is_measured(units, monkeypatch):
    compared = units("bf16")
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict, raising=False)
    assert precisions_of(PPO("mlp", TINY, **SMALL).learn(128)) == {"float32"}
    assert compared == []


def test_the_earlier_name_of_float32_goes_on():
    assert PPO("mlp", TINY, **SMALL, precision="32").config.precision == "float32"


def test_the_same_run_twice_has_the_same_bits():
    one, two = (PPO("mlp", TINY, **SMALL, precision="bf16").learn(512).policy.state_dict() for _ in range(2))
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_loss_and_gradient_of_a_minibatch_are_near_those_of_float32():
    model = PPO("mlp", TINY, **SMALL | {"num_envs": 256, "hidden": (32, 32)}).learn(4096)
    rollout, _ = model.sampler.collect(model.policy, 4, model.generator)
    advantages, returns = rollout.gae(gamma=0.99, lam=0.95)
    found = {}
    for precision in ("float32", "bf16"):
        config = PPO("mlp", TINY, **SMALL, precision=precision).config
        update = TorchUpdate(model.policy, model.optimizer, config, rollout, advantages, returns)
        losses = update.gradient(torch.arange(1000))
        found[precision] = losses, torch.cat([p.grad.flatten() for p in model.policy.parameters()])
    (exact, gradient), (near, other) = found["float32"], found["bf16"]
    # loss, value loss and entropy; the policy's loss is a difference of advantages that nearly cancel out
    torch.testing.assert_close(near[[0, 2, 3]], exact[[0, 2, 3]], rtol=0.01, atol=0)
    assert abs(near[1] - exact[1]) < 0.01
    assert torch.cosine_similarity(gradient, other, dim=0) > 0.99


def test_values_of_thousands_and_logits_keep_the_digits_of_float32():
    layer, hidden = OutputLinear(8, 1), torch.rand(5, 8).bfloat16()
    torch.nn.init.constant_(layer.weight, 1.0)
    torch.nn.init.constant_(layer.bias, 12345.0)
    with torch.autocast("cpu", torch.bfloat16):
        values = layer(hidden)
    torch.testing.assert_close(values.squeeze(-1), hidden.float().sum(-1) + 12345, rtol=0, atol=2e-3)


def test_bits_are_multiplied_as_numbers_in_bfloat16():
    torch.manual_seed(0)
    layer, upstream = PackedLinear(70, 16), torch.randn(300, 16)
    bits = torch.rand(300, 70) < 0.3
    packed = torch.from_numpy(np.packbits(bits.numpy(), axis=1))
    with torch.autocast("cpu", torch.bfloat16):
        out = layer(packed)
        plain = torch.nn.functional.linear(bits.float(), layer.weight, layer.bias)
    assert out.dtype == torch.bfloat16
    assert torch.equal(out, plain)
    ours, dense = (torch.autograd.grad(one.float(), layer.weight, upstream)[0] for one in (out, plain))
    torch.testing.assert_close(ours, dense)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("LUDORY_MEASURE")
    choice._file.cache_clear()
    yield tmp_path / "choices"
    choice._file.cache_clear()


def slow() -> None:
    sum(range(300_000))


def test_the_fastest_way_is_measured_once_and_kept(cache):
    calls = []
    ways = {"slow": lambda: (calls.append("slow"), slow()), "quick": lambda: calls.append("quick")}
    assert fastest("something", ways) == "quick"
    assert len(calls) == 2 * (1 + choice.ROUNDS)
    assert fastest("something", ways) == "quick"
    assert len(calls) == 2 * (1 + choice.ROUNDS)
    (file,) = cache.glob("*.json")
    assert json.loads(file.read_text())["fastest"] == "quick"
    file.write_text('{"fastest": "slow"}')  # whatever stands there is what all runs of this machine do
    assert fastest("something", ways) == "slow"


def test_the_first_way_is_taken_where_nothing_is_to_be_measured(cache, monkeypatch):
    monkeypatch.setenv("LUDORY_MEASURE", "0")
    assert fastest("something", {"slow": lambda: pytest.fail("measured"), "quick": lambda: None}) == "slow"
    assert not list(cache.glob("*.json"))


def test_a_wish_that_is_none_is_refused(cache, monkeypatch):
    monkeypatch.setenv("LUDORY_MEASURE", "no")
    with pytest.raises(OptionError, match="LUDORY_MEASURE='no': set it to 0 or 1, or unset it"):
        fastest("something", {"one": lambda: None})


@pytest.mark.parametrize("damaged", ["", "[]", '{"fastest": "gone"}', "\x00"])
def test_a_file_that_says_nothing_is_measured_again(cache, damaged):
    ways = {"slow": slow, "quick": lambda: None}
    assert fastest("something", ways) == "quick"
    (file,) = cache.glob("*.json")
    file.write_text(damaged)
    assert fastest("something", ways) == "quick"
    assert json.loads(file.read_text())["fastest"] == "quick"
