"""Weights spread over two processes (FSDP2) learn what one process learns."""

from __future__ import annotations

import copy
import socket
from pathlib import Path

import pytest

pytest.importorskip("transformers")

import torch
import torch.distributed as dist
from torch import multiprocessing

from ludory.agents.language.small_model import make_small_model
from ludory.algorithms.text_ppo.loss import TokenCoefficients, TokenTargets, token_loss
from ludory.algorithms.text_ppo.network import TokenNetwork

STEPS = 4


def network_and_data() -> tuple[TokenNetwork, list[torch.Tensor]]:
    network = TokenNetwork(copy.deepcopy(make_small_model("words", hidden=16, layers=2).model))
    g = torch.Generator().manual_seed(0)
    ids = torch.randint(3, 36, (4, 12), generator=g)
    return network, [ids, torch.randn(4, 8, generator=g), -3 - torch.rand(4, 8, generator=g)]


def four_steps(network: TokenNetwork, data: list[torch.Tensor], rows: slice, scale: float) -> None:
    """AdamW steps on some rows of a batch of 4 x 8 tokens; gradients of all processes are averaged, so losses are scaled up."""
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3)
    ids, advantages, old = (part[rows] for part in data)
    row, place = (part.flatten() for part in torch.meshgrid(torch.arange(len(ids)), torch.arange(4, 12), indexing="ij"))
    weights = torch.full((len(row),), scale / 32)
    for _ in range(STEPS):
        outputs = network(ids, row, place)
        targets = TokenTargets(
            old.flatten(), advantages.flatten(), weights, torch.zeros(len(row)), advantages.flatten()
        )
        optimiser.zero_grad()
        token_loss(outputs, targets, TokenCoefficients(entropy=0.01)).loss.backward()
        optimiser.step()


def one_of_two(rank: int, port: int, file: str) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    network, data = network_and_data()
    mesh = init_device_mesh("cpu", (2,))
    for block in network.policy.transformer.h:
        fully_shard(block, mesh=mesh)
    fully_shard(network, mesh=mesh)
    four_steps(network, data, slice(2 * rank, 2 * rank + 2), 2.0)
    whole = {name: tensor.full_tensor() for name, tensor in network.state_dict().items()}
    if rank == 0:
        torch.save(whole, file)
    dist.destroy_process_group()


@pytest.mark.slow
def test_two_processes_learn_as_one(tmp_path: Path):
    alone, data = network_and_data()
    four_steps(alone, data, slice(None), 1.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.spawn(one_of_two, (port, str(tmp_path / "weights.pt")), nprocs=2)
    together = torch.load(tmp_path / "weights.pt", weights_only=True)
    start, _ = network_and_data()
    for name, tensor in alone.state_dict().items():
        assert torch.allclose(together[name], tensor, atol=1e-5), name
    assert (alone.head.weight - start.head.weight).abs().max() > 1e-3
