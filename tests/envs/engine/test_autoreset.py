"""Games that go on and on: the same as with `step` and `reset`; on a GPU one launch a step, and nothing goes to the host."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
import torch
from games.nim import nim
from support.cuda.paper_device import PaperDevice

from ludory.envs.engine import cuda_engine
from ludory.envs.engine.autoreset import Autoreset
from ludory.envs.engine.captured import Captured
from ludory.envs.engine.cuda_engine import CudaEngine
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.make import make_game
from ludory.errors import IllegalActionError

pytestmark = pytest.mark.plain
needs_numba_cuda = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> PaperDevice:
    device = PaperDevice(place="meta")
    monkeypatch.setattr(cuda_engine, "find_device", lambda name: device)
    return device


def test_it_plays_as_step_and_reset_do() -> None:
    game, games, steps = nim(limit=3), 5, 9
    one, other = (KernelEngine(game, games, seed=2) for _ in range(2))
    one.reset()
    other.reset()
    turns, cut = Autoreset(one, steps, seed=4), 0
    for step in range(steps):
        np.testing.assert_array_equal(turns.observations(step), other.observe())
        np.testing.assert_array_equal(turns.seats[step], other.to_move)
        np.testing.assert_array_equal(turns.masks, other.legal())
        turns.step(step, draw=True)
        other.step(turns.actions[step].numpy())
        np.testing.assert_array_equal(turns.rewards[step], other.rewards)
        np.testing.assert_array_equal(turns.ends[step, 0], other.terminated)
        np.testing.assert_array_equal(turns.ends[step, 1], other.truncated)
        for row in np.flatnonzero(other.truncated & ~other.terminated):
            where = torch.tensor([step]), torch.tensor([row]), torch.tensor([1])
            np.testing.assert_array_equal(turns.finals(*where), other.observe(1, rows=[row]))
            cut += 1
        other.reset(rows=other.terminated | other.truncated)
    assert cut
    turns.again()
    np.testing.assert_array_equal(turns.observations(0), other.observe())


def test_drawn_actions_are_uniform_among_legal_ones() -> None:
    engine = KernelEngine(make_game("TicTacToe-v0"), 3000, seed=1)
    engine.reset()
    turns = Autoreset(engine, 2)
    turns.step(0, draw=True)
    counts = np.bincount(turns.actions[0], minlength=9)
    assert abs(counts - 3000 / 9).max() < 5 * np.sqrt(3000 * 8 / 81)
    turns.step(1, draw=True)
    assert (turns.actions[0] != turns.actions[1]).all()


def test_an_illegal_action_is_refused() -> None:
    engine = KernelEngine(make_game("TicTacToe-v0"), 2)
    engine.reset()
    turns = Autoreset(engine, 2)
    turns.step(0)
    turns.actions[1, 1] = 5
    with pytest.raises(IllegalActionError, match="game 0, seat 1: action 0"):
        turns.step(1)


@needs_numba_cuda
@pytest.mark.slow  # numba-cuda and PyTorch's operations on "meta" take two seconds to import
@pytest.mark.parametrize("id", ["ConnectFour-v0", "Hanabi2P-v0", "Arena2P-v0"])
@pytest.mark.parametrize("draw", [True, False])
def test_a_step_on_a_gpu_is_one_launch_and_nothing_goes_to_the_host(paper, id, draw) -> None:
    engine = CudaEngine(make_game(id), 100, seed=1)
    engine.reset()
    turns = Autoreset(engine, 3)
    paper.launches.clear()
    for step in range(3):
        turns.step(step, draw)  # a tensor on "meta" cannot be copied to the host, nor asked for a number
    assert paper.launches == ["turn_rows"] * 3


@needs_numba_cuda
def test_a_checked_step_is_two_launches(monkeypatch) -> None:
    device = PaperDevice()
    monkeypatch.setattr(cuda_engine, "find_device", lambda name: device)
    engine = CudaEngine(make_game("ConnectFour-v0"), 100, seed=1)
    engine.reset()
    device.launches.clear()
    engine.play(np.zeros(100, np.int64), packed=True)
    assert device.launches == ["first_illegal", "turn_rows"]


def test_without_a_gpu_captured_work_is_plain_calls() -> None:
    calls: list[int] = []
    work = Captured(lambda: calls.append(1), torch.device("cpu"))
    for _ in range(4):
        work()
    assert len(calls) == 4
    assert not work.captures


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_work_that_cannot_be_captured_is_called(caplog) -> None:
    calls: list[int] = []
    work = Captured(lambda: calls.append(1), torch.device("cuda"), name="learning")
    for _ in range(5):
        work()
    assert len(calls) == 5
    (line,) = caplog.messages
    assert line.startswith("learning: not captured as a CUDA graph, runs step by step: ")
