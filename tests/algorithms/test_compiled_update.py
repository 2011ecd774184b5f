"""The compiled forward pass and PPO update compute what PyTorch's do."""

from __future__ import annotations

import ast
import inspect

import pytest
import torch

from ludory.agents.networks.fast import mlp_kernels
from ludory.agents.networks.fast.compiled_mlp import CompiledForward, CompiledMlp, can_compile
from ludory.agents.networks.layers import bit_kernels
from ludory.algorithms.losses.returns import gae
from ludory.algorithms.ppo import PPO, kernels
from ludory.algorithms.ppo.compiled import CompiledUpdate
from ludory.algorithms.ppo.torch_update import TorchUpdate
from ludory.envs.engine.binding import linked_kernel

COMPILED = (pytest.mark.slow, pytest.mark.optimised)
NETWORKS = [
    pytest.param({"hidden": (9, 3), "separate_value": True, "activation": "tanh"}, marks=pytest.mark.plain),
    pytest.param({"hidden": (24,)}, marks=COMPILED),
    pytest.param({"hidden": (24, 17), "activation": "tanh"}, marks=COMPILED),
    pytest.param({"hidden": (16, 9, 11), "separate_value": True}, marks=COMPILED),
    pytest.param({"hidden": (32, 32), "separate_value": True, "activation": "tanh"}, marks=COMPILED),
]


def trained_a_little(network, num_envs, **config) -> PPO:
    model = PPO("mlp", "HanabiSmall2P-v0", num_envs=num_envs, n_steps=12, batch_size=128, seed=5, **network, **config)
    model.learn(24 * num_envs)  # values and logits away from their start, Adam with moments
    return model


def both(model, used=None):
    """The two updates, each with a policy and an optimiser of its own, and their rows."""
    rollout, _ = model.sampler.collect(model.policy, 12, model.generator)
    rollout = rollout._replace(used=used)
    targets = gae(rollout.steps(), gamma=0.99, lam=0.95)
    model.save("twin.ludory")
    twin = PPO.load("twin.ludory")
    return [
        kind(one.policy, one.optimizer, one.config, rollout, *targets)
        for kind, one in ((CompiledUpdate, model), (TorchUpdate, twin))
    ], torch.randperm(targets[0].numel(), generator=torch.Generator().manual_seed(0))


@pytest.fixture
def num_envs(request) -> int:
    """Few games where they are played in plain Python."""
    return 26 if "plain" in request.node.keywords else 70


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_forward_gives_logits_and_values_of_the_policy(network, num_envs):
    model = trained_a_little(network, num_envs)
    seen = model.sampler.lanes.observe()
    with torch.no_grad():
        expected = model.policy(seen)
    found = CompiledForward(model.policy, seen)(seen)
    torch.testing.assert_close(found.logits, expected.logits, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found.values, expected.values, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("network", NETWORKS, ids=str)
@pytest.mark.parametrize("threads", ["1", "3"])
def test_gradient_and_losses_are_pytorchs(network, num_envs, threads, monkeypatch, request):
    monkeypatch.setattr("ludory.algorithms.ppo.compiled.ROWS_PER_THREAD", 70)
    monkeypatch.setenv("LUDORY_NUM_THREADS", threads)
    (ours, plain), order = both(trained_a_little(network, num_envs, ent_coef=0.3, clip_range=0.01))
    blocks = 2 if "plain" in request.node.keywords else 5
    rows = order[: 64 * blocks - 20]  # the last one is a part of a block
    torch.testing.assert_close(
        torch.from_numpy(ours.gradient(rows)).float(), plain.gradient(rows), rtol=1e-4, atol=1e-5
    )
    layout = CompiledMlp(plain.policy, ours.mlp.code)
    expected = layout.pack([parameter.grad for parameter in layout.parameters()])[: layout.size]
    gap = abs(ours.work[0].gradient - expected).max()
    assert gap < 1e-4 * abs(expected).max()


@pytest.mark.plain
def test_heads_without_effect_count_in_neither(num_envs):
    used = torch.rand(12, num_envs, 1, generator=torch.Generator().manual_seed(1)) < 0.5
    (ours, plain), order = both(trained_a_little({"hidden": (9,)}, num_envs, ent_coef=0.3, clip_range=0.01), used)
    found = torch.from_numpy(ours.gradient(order[:100])).float()
    torch.testing.assert_close(found, plain.gradient(order[:100]), rtol=1e-4, atol=1e-5)
    layout = CompiledMlp(plain.policy, ours.mlp.code)
    expected = layout.pack([parameter.grad for parameter in layout.parameters()])[: layout.size]
    assert abs(ours.work[0].gradient - expected).max() < 1e-4 * abs(expected).max()


@pytest.mark.parametrize("network", NETWORKS, ids=str)
@pytest.mark.parametrize("normalise", [True, False])
def test_steps_move_weights_and_moments_as_pytorchs_do(network, num_envs, normalise, request):
    model = trained_a_little(network, num_envs, normalize_advantage=normalise, max_grad_norm=0.1)
    (ours, plain), order = both(model)
    for rows in order.split(100)[: 2 if "plain" in request.node.keywords else None]:
        for update in (ours, plain):
            update.gradient(rows)
            update.step()
    ours.finish()
    before = model.policy.state_dict()
    for name, weight in plain.policy.state_dict().items():
        torch.testing.assert_close(before[name], weight, rtol=1e-3, atol=2e-5)
    states = [
        [update.optimizer.state[p] for p in update.optimizer.param_groups[0]["params"]] for update in (ours, plain)
    ]
    for one, other in zip(*states, strict=True):
        assert one["step"] == other["step"]
        for moment in ("exp_avg", "exp_avg_sq"):
            torch.testing.assert_close(one[moment], other[moment], rtol=1e-2, atol=1e-6)


@pytest.mark.plain
def test_only_multi_layer_perceptrons_over_bits_in_float32_are_compiled():
    model = PPO("mlp", "HanabiSmall2P-v0", num_envs=2, hidden=(8,))
    assert can_compile(model.policy)
    assert not can_compile(model.policy.double())


@pytest.mark.parametrize(
    "module", [bit_kernels, mlp_kernels, kernels], ids=lambda module: module.__name__.rpartition(".")[2]
)
def test_kernels_that_kernels_call_are_compiled_within_them(module):
    """A copy of their own rounds differently in the process that compiles it and in those that load it from the cache."""
    called = set()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.FunctionDef):
            called |= {
                call.func.id
                for call in ast.walk(node)
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
            }
    kernels = [vars(module)[name] for name in called if hasattr(vars(module).get(name), "targetoptions")]
    assert kernels
    assert [kernel.__name__ for kernel in kernels if not isinstance(kernel, linked_kernel._LinkedDispatcher)] == []


@pytest.mark.plain
@pytest.mark.parametrize("max_kl", [float("inf"), 1e-9], ids=["all", "until the policy has moved"])
def test_many_minibatches_in_one_call_are_those_of_many_calls(max_kl, num_envs):
    model = trained_a_little({"hidden": (9,), "activation": "tanh"}, num_envs, n_epochs=1)
    rollout, _ = model.sampler.collect(model.policy, 12, model.generator)
    targets = gae(rollout.steps(), gamma=0.99, lam=0.95)
    model.save("twin.ludory")
    twin = PPO.load("twin.ludory")
    one, many = (CompiledUpdate(m.policy, m.optimizer, m.config, rollout, *targets) for m in (model, twin))
    order = torch.randperm(12 * num_envs)[:300]  # the last minibatch is smaller
    losses, begun, norms = one.minibatches(order, max_kl)
    expected, begun_, norms_ = model._minibatches(many, order, max_kl)
    assert begun == begun_ == (2 if max_kl < 1 else 3)
    assert len(norms) == len(norms_) == (1 if max_kl < 1 else 3)
    torch.testing.assert_close(torch.tensor(losses), torch.tensor(expected), rtol=1e-4, atol=1e-6)
    assert norms == pytest.approx(norms_, rel=1e-4)
    torch.testing.assert_close(torch.from_numpy(one.weights), torch.from_numpy(many.weights), rtol=1e-3, atol=1e-5)
    assert one.steps == many.steps
