"""Adam without PyTorch's compiler does what PyTorch's own does."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from python_process import python

from ludory.algorithms import LightAdam, LightAdamW, load_adam, save_adam


@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [
        (LightAdam, torch.optim.Adam, {"lr": 0.1, "eps": 1e-5}),
        (LightAdamW, torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.3}),
    ],
)
def test_it_learns_what_adam_learns_also_after_a_restart(ours: Any, theirs: Any, options: dict[str, float]) -> None:
    def learnt(kind: Any, restart: bool) -> list[torch.Tensor]:
        network = torch.nn.Linear(3, 2)
        torch.nn.init.constant_(network.weight, 0.5)
        torch.nn.init.zeros_(network.bias)
        optimizer = kind(network.parameters(), **options)
        for step in range(6):
            if restart and step == 3:
                saved = copy.deepcopy(save_adam(optimizer))
                optimizer = kind(network.parameters(), **options)
                load_adam(optimizer, saved)
                optimizer = pickle.loads(pickle.dumps(optimizer))
                network_parameters = optimizer.param_groups[0]["params"]
                network.weight, network.bias = network_parameters
            optimizer.zero_grad()
            (network(torch.arange(3.0) - step) - 1).square().sum().backward()
            optimizer.step()
        return list(network.parameters())

    expected = learnt(theirs, False)
    for restart in (False, True):
        assert all(torch.equal(*pair) for pair in zip(learnt(ours, restart), expected, strict=True))


@pytest.mark.slow
def test_learning_and_saving_load_no_compiler_of_pytorch(tmp_path: Any) -> None:
    options = "n_steps=4, num_envs=4, compiled=False"
    code = (
        f"import sys, ludory; model = ludory.make_algorithm('ppo', env='KuhnPoker-v0', batch_size=8, {options}); "
        f"model.learn(32); model.save({str(tmp_path / 'm.ludory')!r}); model = ludory.load({str(tmp_path / 'm.ludory')!r}); "
        "model.learn(32); print('torch._dynamo' in sys.modules)"
    )
    assert python(code).strip().splitlines()[-1] == "False"
