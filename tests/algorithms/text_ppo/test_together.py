"""Several processes that train one language model: the numbers are those of one process, apart from the order of sums."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import torch

from ludory.algorithms.text_ppo.text_ppo import TextPPO
from ludory.cli import main
from ludory.cluster import InProcess
from ludory.errors import LostWorkerError, OptionError

SMALL: dict[str, Any] = {
    "preset": "tiny",
    "prompt_mode": "base",
    "groups": 3,  # not as many for each of two processes
    "group_size": 2,
    "max_new_tokens": 6,
    "tokens_at_once": 400,
    "minibatches": 2,
    "filter_share": 0.7,
    "epochs": 1,
    "advantage": "gae",
    "turns": 2,
    "iterations": 3,
    "val_every": 0,
    "collapse_every": 0,
    "device": "cpu",
}


def learnt(written: str, iterations: int, **options: Any) -> TextPPO:
    model = TextPPO(written, "Sokoban-v0", **SMALL | options)
    return model.learn(iterations * model.config.episodes)


def assert_same(got: TextPPO, expected: TextPPO, atol: float = 1e-5) -> None:
    """Weights, moments and counts of both are the same."""
    with got.gathered() as mine, expected.gathered() as theirs:
        assert mine.keys() == theirs.keys()
        for name, tensor in theirs.items():
            torch.testing.assert_close(
                mine[name], tensor, atol=atol, rtol=1e-4, msg=lambda said, name=name: f"{name}: {said}"
            )
    weights = dict(got.network.named_parameters())
    for name, tensor in expected.network.named_parameters():
        torch.testing.assert_close(
            weights[name], tensor, atol=atol, rtol=0, msg=lambda said, name=name: f"{name}: {said}"
        )
    assert (got.iteration, got.rooms_seen) == (expected.iteration, expected.rooms_seen)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sharding", "options"),
    [
        ("ddp", {"val_every": 1, "val_groups": 1, "val_samples": 2}),
        ("fsdp", {"backend": "hf", "value": "separate", "collapse_every": 2}),
    ],
    ids=["ddp", "fsdp"],
)
def test_two_processes_learn_what_one_learns(
    written: str,
    sharding: str,
    options: dict[str, Any],
    tmp_path: Path,
    children: Callable[[], list[BaseProcess]],
) -> None:
    """Also after the run is saved, or one is lost after that, and goes on in one process; any tool reads what was saved."""
    from transformers import AutoModelForCausalLM

    alone, saved = learnt(written, 3, **options), tmp_path / "saved"
    both = TextPPO(written, "Sokoban-v0", **SMALL | options, devices=2, sharding=sharding)

    def saving(found: Any, _: Any) -> bool:
        if both.num_timesteps == 2 * both.config.episodes:
            both.save(saved)
            if sharding == "fsdp":
                for child in children():
                    os.kill(int(child.pid or 0), signal.SIGKILL)
                    child.join()
        return True

    if sharding == "fsdp":
        with pytest.raises(LostWorkerError, match="go on from it, with --resume"):
            both.learn(3 * both.config.episodes, callback=saving)
    else:
        both.learn(3 * both.config.episodes, callback=saving)
        assert_same(both, alone)
    assert not children()
    again = TextPPO.load(saved, devices=1)
    ids = torch.arange(12)[None] + 3
    plain = AutoModelForCausalLM.from_pretrained(saved)
    assert torch.equal(plain(ids).logits, again.model.model(ids).logits)
    again.learn(again.config.episodes, reset_num_timesteps=False)
    assert_same(again, alone)


def test_what_stands_in_the_way_is_said(written: str) -> None:
    with pytest.raises(OptionError, match="devices=4: each plays whole groups; must be 1 to groups=3"):
        TextPPO(written, "Sokoban-v0", **SMALL, devices=4)
    with pytest.raises(OptionError, match="beside samplers at workers"):
        TextPPO(written, "Sokoban-v0", **SMALL, devices=2).sample_at(InProcess(), 2)


@pytest.mark.slow
def test_weights_are_spread_over_processes_of_torchrun(written: str, tmp_path: Path) -> None:
    options = {name: value for name, value in SMALL.items() if name not in ("preset", "iterations")}
    typed = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    command = ["train", "text-ppo", "--env", "Sokoban-v0", "--policy", written, "--preset", "tiny", *typed]
    command += ["--timesteps", "12", "--eval-games", "0"]
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "ludory"]
    both, one = (str(tmp_path / name) for name in ("both.ludory", "one.ludory"))
    told = ["--devices", "2", "--sharding", "fsdp", "--out", both]
    done = subprocess.run([*run, *command, *told], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert main([*command, "--out", one]) == 0
    assert_same(TextPPO.load(both, devices=1), TextPPO.load(one))
