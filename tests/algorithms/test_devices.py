"""Several processes that learn as one: the numbers are those of one process, apart from the order of sums."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ludory
from ludory.agents.networks.layers.distribution import DiagonalGaussian, MaskedHeads
from ludory.algorithms import PPO
from ludory.algorithms.running.ranks import MinibatchPart, Ranks
from ludory.cli import main
from ludory.cluster.workers import InProcess
from ludory.errors import LostWorkerError, OptionError

GAME = "HanabiTiny2P-v0"
SMALL: dict[str, Any] = {"num_envs": 16, "n_steps": 8, "seed": 3}
PPO_ONLY: dict[str, Any] = {"batch_size": 50, "compiled": False}
STEPS = 16 * 8


def numbers(model: Any) -> dict[str, Tensor]:
    """All that a checkpoint of the model holds."""
    return {name: tensor.double() for name, tensor in model._tensors().items()}


def assert_same(got: Any, expected: Any) -> None:
    """Both would save the same, up to the order of sums."""
    mine, theirs = numbers(got), numbers(expected)
    assert mine.keys() == theirs.keys()
    for name, tensor in theirs.items():
        torch.testing.assert_close(
            mine[name], tensor, rtol=1e-4, atol=1e-6, msg=lambda said, name=name: f"{name}: {said}"
        )


class Alone(Ranks):
    """One of several processes without the others: what they add is 0."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def add(self, parameters: Any, losses: Tensor, weight: float) -> Tensor:
        """Only what this one adds."""
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad *= weight
        return losses * weight


@pytest.mark.parametrize("policy", ["mlp(hidden=(8,))", "gru(memory_size=8)"])
@pytest.mark.parametrize("units", [1, 2, 7])
def test_gradients_of_parts_of_a_minibatch_add_up(policy: str, units: int) -> None:
    model = PPO(policy, GAME, **SMALL, **PPO_ONLY)
    model._total_timesteps = 1
    rollout, _ = model.sampler.collect(model.policy, 8, model.generator)
    assert rollout is not None
    advantages, returns = rollout.gae(gamma=0.9, lam=0.9)
    order = torch.arange(units)

    def gradient(ranks: Ranks | None) -> tuple[Tensor, Tensor]:
        model.ranks = ranks
        update: Any = model._update(rollout, advantages, returns)
        losses = update.gradient(order)
        return torch.cat([one.grad.flatten() for one in update.parameters if one.grad is not None]), losses

    whole = gradient(None)
    parts = [gradient(Alone(rank, 3)) for rank in range(3)]
    for together, expected in zip((sum(part) for part in zip(*parts, strict=True)), whole, strict=True):
        torch.testing.assert_close(together, expected)


def test_parts_are_all_of_the_rows() -> None:
    assert [Alone(rank, 3).part(7) for rank in range(3)] == [
        MinibatchPart(0, 2, 1),
        MinibatchPart(2, 4, 1),
        MinibatchPart(4, 7, 1),
    ]
    # two processes have nothing to learn from, and count for nothing
    assert sorted(Alone(rank, 3).part(1).weight for rank in range(3)) == [0, 0, 1]


def test_a_share_draws_what_one_process_draws_for_its_rows() -> None:
    logits, half = torch.randn(16, 7, generator=torch.Generator().manual_seed(1)), slice(4, 12)
    legal = torch.ones_like(logits, dtype=torch.bool)
    heads = [MaskedHeads(part, legal[: len(part)], (3, 4)) for part in (logits, logits[half])]
    numbers = [DiagonalGaussian(part, torch.zeros(7)) for part in (logits, logits[half])]
    for whole, mine in (heads, numbers):
        drawn = mine.sample(torch.Generator().manual_seed(2), 16, half)
        assert drawn.equal(whole.sample(torch.Generator().manual_seed(2))[half])


def test_what_stands_in_the_way_is_said() -> None:
    with pytest.raises(OptionError, match="num_envs=16 is no multiple of it; take num_envs=18"):
        PPO("auto", GAME, devices=3, **SMALL)
    with pytest.raises(OptionError, match="devices=0: must be"):
        PPO("auto", GAME, devices=0, **SMALL)
    with pytest.raises(OptionError, match="beside samplers at workers"):
        PPO("auto", GAME, devices=2, **SMALL).sample_at(InProcess(), 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "policy", "game", "options"),
    [
        ("ppo", "mlp(hidden=(8,))", GAME, {"target_kl": 0.001, "normalize_values": True, **PPO_ONLY}),
        ("ppo", "gru(memory_size=8)", "LeducPoker-v0", {"privileged_value": True, **PPO_ONLY}),
        ("vtrace", "gru(memory_size=8)", GAME, {"batch_columns": 5}),
        ("vtrace", "mlp(hidden=(8,))", "KuhnPoker-v0", {"batch_columns": 5, "others": "random"}),
    ],
    ids=str,
)
def test_two_processes_learn_what_one_learns(
    algorithm: str,
    policy: str,
    game: str,
    options: dict[str, Any],
    tmp_path: Path,
    children: Callable[[], list[BaseProcess]],
) -> None:
    """Weights, optimiser, games and random state, also after the run is saved and goes on in another number of processes."""

    def made(devices: int) -> Any:
        return ludory.make_algorithm(algorithm, policy=policy, env=game, devices=devices, **SMALL, **options)

    alone = made(1).learn(3 * STEPS)
    seen: list[int] = []
    both = made(2)
    both.learn(2 * STEPS, callback=lambda found, _: seen.append(both.num_timesteps) or True)
    assert both.num_timesteps == seen[-1]
    both.save(tmp_path / "both.ludory")
    one = type(both).load(tmp_path / "both.ludory", devices=1)
    one.learn(STEPS, reset_num_timesteps=False)
    assert_same(one, alone)
    assert not children()


@pytest.mark.slow
def test_a_callback_may_save_stop_and_fail_and_a_lost_process_is_named(
    tmp_path: Path, children: Callable[[], list[BaseProcess]]
) -> None:
    model = PPO("mlp(hidden=(8,))", GAME, devices=2, **SMALL, **PPO_ONLY)
    saved = tmp_path / "saved.ludory"
    model.learn(9 * STEPS, callback=lambda found, _: bool(model.save(saved)) or model.num_timesteps < 2 * STEPS)
    assert model.num_timesteps == 2 * STEPS
    assert PPO.load(saved).num_timesteps == 2 * STEPS

    def fail(found: Any, _: Any) -> bool:
        raise ValueError("of the callback")

    with pytest.raises(ValueError, match="of the callback"):
        model.learn(STEPS, callback=fail)

    def kill(found: Any, _: Any) -> bool:
        for child in children():
            os.kill(int(child.pid or 0), signal.SIGTERM)
            child.join()
        return True

    with pytest.raises(LostWorkerError, match="go on from it, with --resume"):
        model.learn(STEPS, callback=kill)
    assert not children()


COMMAND = [
    *("-m", "ludory", "train", "ppo", "--env", GAME, "--untuned", "--no-compiled", "--policy", "mlp(hidden=(8,))"),
    *("--num-envs", "16", "--n-steps", "8", "--batch-size", "50", "--timesteps", "384", "--eval-games", "0"),
]


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def by_torchrun(*options: str, command: list[str]) -> subprocess.Popen[str]:
    """A process of `torchrun` with these options, which runs `command`."""
    run = [sys.executable, "-m", "torch.distributed.run", *options, *command]
    return subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("machines", [1, 2])
def test_processes_of_torchrun_learn_what_one_learns(machines: int, tmp_path: Path) -> None:
    command = [*COMMAND, "--devices", "2", "--out", str(tmp_path / "two.ludory")]
    if machines == 1:
        runs = [by_torchrun("--standalone", "--nproc-per-node", "2", command=command)]
    else:
        port = free_port()
        meet = ["--nnodes", "2", "--nproc-per-node", "1", "--master-addr", "127.0.0.1", "--master-port", str(port)]
        runs = [by_torchrun(*meet, "--node-rank", str(rank), command=command) for rank in range(machines)]
    said = [run.communicate(timeout=300)[0] for run in runs]
    assert [run.returncode for run in runs] == [0] * machines, said
    # only the first process says something
    assert "".join(said).count("trained: 384 timesteps") == 1
    assert main([*COMMAND[2:], "--out", str(tmp_path / "one.ludory")]) == 0
    assert_same(PPO.load(tmp_path / "two.ludory"), PPO.load(tmp_path / "one.ludory"))


def test_a_command_that_does_not_fit_the_processes_of_torchrun_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def as_first_of_two(*words: str) -> tuple[int, str]:
        """Exit code and words of a command, as in the first of two processes of `torchrun`; the other one only meets it."""
        port = free_port()
        here = {"TORCHELASTIC_RUN_ID": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": "0"}
        for name, value in {**here, "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}.items():
            monkeypatch.setenv(name, value)
        other = threading.Thread(target=torch.distributed.TCPStore, args=("127.0.0.1", port, 2, False))
        other.start()
        try:
            code = main([*words])
        except SystemExit as left:
            code = int(left.code or 0)
        other.join()
        return code, "".join(capsys.readouterr())

    code, said = as_first_of_two(*COMMAND[2:], "--devices", "4", "--out", str(tmp_path / "x.ludory"))
    assert code == 2
    assert "ludory: devices=4: torchrun started 2 processes; take devices=2" in said
    assert "the first one did all" not in said
    code, said = as_first_of_two("--version")
    assert code == 0
    assert "torchrun started 2 processes, and the first one did all" in said
    # who mistyped is told so, and nothing else
    assert "the first one did all" not in as_first_of_two("trian")[1]
