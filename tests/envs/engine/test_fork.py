"""A forked child plays on: what the parent had running in threads is made anew there."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable

import gymnasium
import numpy as np
import pytest
import torch
from games.nim import nim
from support.windows.unix import needs_unix
from torch.utils.data import DataLoader, Dataset

from ludory.envs.engine import parallel
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.views.gymnasium_env import GameEnv

pytestmark = needs_unix("Windows forks no processes")
LARGE = 2 * parallel.ROWS_PER_THREAD
PATIENCE = 30
"""Seconds after which a child counts as hung."""


def play_a_large_batch() -> float:
    engine = KernelEngine(nim(), LARGE, seed=1, threads=2)
    engine.reset()
    engine.step(engine.legal().argmax(1))
    return float(engine.observe().sum())


@pytest.fixture
def total() -> float:
    """What a large batch adds up to in this process, whose threads are running then."""
    return play_a_large_batch()


def in_a_forked_child(function: Callable[[], float]) -> float | None:
    """What `function` gives there; None: it has hung."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run() -> None:
        signal.alarm(PATIENCE)  # a child that hangs ends, and its children too
        sender.send(function())

    child = context.Process(target=run)
    child.start()
    sender.close()
    child.join()
    return receiver.recv() if child.exitcode == 0 else None


def test_a_child_steps_a_large_batch_after_its_parent_did(total):
    assert in_a_forked_child(play_a_large_batch) == total


def test_so_does_a_child_of_a_child(total):
    assert in_a_forked_child(lambda: in_a_forked_child(play_a_large_batch)) == total


def test_a_child_that_was_forked_by_a_part_of_a_batch_shares_its_own_batches(total):
    def count(start: int, stop: int) -> float | None:
        return in_a_forked_child(lambda: parallel.part_count(LARGE, threads=2)) if start == 0 else None

    assert parallel.run_parts(count, LARGE, threads=2) == [2, None]


def test_pytorch_computes_in_a_child_after_its_parent_did():
    def compute() -> float:
        return float(torch.ones(400_000).exp().sum())

    threads = torch.get_num_threads()
    torch.set_num_threads(2)  # PyTorch's own threads would wait for ever for those of the parent
    try:
        expected = compute()
        assert in_a_forked_child(compute) == pytest.approx(expected)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


class Totals(Dataset):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> float:
        return play_a_large_batch()


def test_workers_of_a_data_loader_play(total):
    loader = DataLoader(Totals(), num_workers=1, multiprocessing_context="fork", timeout=PATIENCE)
    assert [float(item) for item in loader] == [total, total]


def test_an_async_vector_env_plays(total):
    def make() -> gymnasium.Env:
        play_a_large_batch()
        return GameEnv(nim(), seats=0)

    envs = gymnasium.vector.AsyncVectorEnv([make, make], context="fork")
    try:
        envs.reset_async(seed=1)
        _, info = envs.reset_wait(timeout=PATIENCE)
        envs.step_async(np.array([mask.argmax() for mask in info["action_mask"]]))
        assert envs.step_wait(timeout=PATIENCE)[0].shape[0] == 2
    finally:
        envs.close_extras(terminate=True)
