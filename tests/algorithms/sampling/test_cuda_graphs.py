"""`cuda_graphs=True`: the same numbers as without, and on a GPU nothing goes to the host within a rollout or a gradient step."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import torch
from games.nim import nim
from support.cuda.paper_device import PaperDevice

from ludory.agents.networks.build import build_policy, parse_policy
from ludory.algorithms.ppo import PPO
from ludory.algorithms.ppo.captured_minibatch import CapturedMinibatches
from ludory.algorithms.ppo.torch_update import TorchUpdate
from ludory.algorithms.sampling.captured_sampler import CapturedSampler, _Buffers
from ludory.algorithms.sampling.lanes import make_lanes
from ludory.algorithms.sampling.sampler import Sampler
from ludory.envs.engine import cuda_engine
from ludory.envs.engine.cuda_engine import CudaEngine
from ludory.envs.make import make_engine, make_game

TINY = "HanabiTiny2P-v0"
SMALL: dict[str, Any] = {"num_envs": 16, "n_steps": 8, "batch_size": 48, "hidden": (16,), "seed": 1, "compiled": False}
POLICIES = ("mlp(hidden=(16,))", "gru(hidden=(16,), memory_size=8)")
needs_numba_cuda = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")


def played(kind: type[Sampler], game: Any, policy: str) -> tuple[list[Any], dict[str, torch.Tensor]]:
    """Three rollouts, and what the sampler keeps."""
    engine = make_engine(game, 6, seed=5)
    torch.manual_seed(3)
    network = build_policy(parse_policy(policy), engine.facts)
    sampler = kind(make_lanes(engine.game, engine, "all", "random"))
    generator = torch.Generator().manual_seed(7)
    return [sampler.collect(network, 9, generator) for _ in range(3)], sampler.state()


@pytest.mark.plain
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("make", [lambda: make_game(TINY), lambda: nim(limit=4)], ids=[TINY, "own, truncated"])
def test_rollouts_are_those_of_the_sampler(make, policy: str) -> None:
    (expected, kept), (got, kept_here) = (played(kind, make(), policy) for kind in (Sampler, CapturedSampler))
    for (rollout, stats), (here, stats_here) in zip(expected, got, strict=True):
        assert rollout is not None
        for name, part in rollout._asdict().items():
            if name == "next_values":  # the values of truncated games are computed together: to rounding
                torch.testing.assert_close(here.next_values, part)
            elif part is None:
                assert getattr(here, name) is None
            else:
                assert torch.equal(getattr(here, name), part), name
        np.testing.assert_array_equal(stats_here.returns, stats.returns)
        np.testing.assert_array_equal(stats_here.lengths, stats.lengths)
    assert kept.keys() == kept_here.keys()
    assert all(torch.equal(kept[name], kept_here[name]) for name in kept)


@pytest.mark.plain
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_ppo_learns_the_same(precision: str) -> None:
    weights = []
    for graphs in (False, True):
        model = PPO("mlp", TINY, **SMALL, precision=precision, cuda_graphs=graphs, final_learning_rate=0.0)
        assert type(model.sampler) is (CapturedSampler if graphs else Sampler)
        weights.append(model.learn(3 * 16 * 8).policy.state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


@pytest.mark.plain
def test_what_cannot_be_played_as_a_whole_is_played_step_by_step(caplog) -> None:
    caplog.set_level("INFO", "ludory.sampling")
    model = PPO("mlp", TINY, **SMALL, cuda_graphs=True, privileged_value=True)
    model.learn(16 * 8)
    assert "rollouts are played step by step: a teacher, a privileged value or shaping" in caplog.messages


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> PaperDevice:
    device = PaperDevice(place="meta")
    monkeypatch.setattr(cuda_engine, "find_device", lambda name: device)
    # which has no autocast on "meta"
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: False)
    return device


@needs_numba_cuda
@pytest.mark.slow  # PyTorch's operations on "meta" take two seconds to import
@pytest.mark.parametrize("policy", POLICIES)
def test_a_rollout_is_one_launch_a_step_and_nothing_goes_to_the_host(paper: PaperDevice, policy: str) -> None:
    engine = CudaEngine(make_game(TINY), 6, seed=5)
    engine.reset()
    network = build_policy(parse_policy(policy), engine.facts).to("meta")
    sampler = CapturedSampler(make_lanes(engine.game, engine, "all", "random"))
    sampler.player.prepare(network, torch.empty(0))
    buffers = _Buffers(sampler, network, 5, None)  # type: ignore[arg-type]  # no generator draws on "meta"
    paper.launches.clear()
    buffers._all()  # a tensor on "meta" cannot be copied to the host, nor asked for a number
    assert paper.launches == ["turn_rows"] * 5
    with pytest.raises((NotImplementedError, RuntimeError)):
        engine.terminated.cpu()  # the test would fail if somebody copied


def test_a_gradient_step_asks_a_gpu_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: False)
    model = PPO("mlp", TINY, **SMALL, cuda_graphs=True)
    rollout, _ = model.sampler.collect(model.policy, 4, model.generator)
    assert rollout is not None
    far = type(rollout)(*(None if part is None else part.to("meta") for part in rollout))
    policy = model.policy.to("meta")
    optimizer = torch.optim.Adam(policy.parameters(), foreach=True, capturable=False)
    for group in optimizer.param_groups:
        group["params"] = list(policy.parameters())
    update = TorchUpdate(policy, optimizer, model.config, far, far.values, far.values)
    update.captured = CapturedMinibatches()
    update.clipped_step = lambda: torch.zeros((), device="meta")  # type: ignore[method-assign]  # Adam's is not for "meta"
    losses = update.gradient(torch.arange(48, device="meta"))
    assert losses.is_meta
    assert update.step().is_meta
