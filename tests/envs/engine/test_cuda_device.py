"""Where the CUDA engine cannot run, its error says what is missing and what to type."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from types import SimpleNamespace

import numba
import numpy as np
import pytest
import torch

from ludory.envs.engine import cuda_device
from ludory.envs.engine.cuda_device import find_device
from ludory.envs.engine.protocol import state_on_host
from ludory.envs.make import make_engine
from ludory.errors import LudoryError, OptionError, PluginError

Patch = pytest.MonkeyPatch
needs_numba_cuda = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
find = find_device.__wrapped__  # afresh, not from the last call


def test_public_facts_of_tensors():
    """What `evaluate` reads of games that were played on a GPU, whose states are tensors."""
    engine = make_engine("HanabiTiny2P-v0", num_games=2, seed=1, compiled=False)
    tensors = type(engine.state)(*(torch.from_numpy(np.array(field)) for field in engine.state))
    info = engine.game.look.info
    assert [info(state_on_host(tensors), row) for row in range(2)] == [info(engine.state, row) for row in range(2)]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_an_engine_without_a_gpu():
    with pytest.raises(LudoryError, match="device='cuda'"):
        make_engine("HanabiTiny2P-v0", device="cuda")


def test_numba_cuda_is_missing(monkeypatch: Patch):
    monkeypatch.setattr(cuda_device, "find_spec", lambda name: None)
    with pytest.raises(PluginError, match=r'pip install "ludory\[cuda\]"'):
        find("cuda")


@needs_numba_cuda
def test_numba_cuda_does_not_fit_numba(monkeypatch: Patch):
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    monkeypatch.delattr(numba, "cuda", raising=False)
    with pytest.raises(OptionError, match=r'numba-cuda .* with numba .*pip install --upgrade "ludory\[cuda\]"'):
        find("cuda")


@needs_numba_cuda
def test_numba_cuda_does_not_fit_numpy(monkeypatch: Patch):
    """Numba-cuda can be imported, and what it needs to compile cannot."""
    monkeypatch.setitem(sys.modules, "numba.cuda.cudaimpl", None)
    monkeypatch.delattr("numba.cuda.cudaimpl", raising=False)
    with pytest.raises(OptionError, match=r'with numpy .*pip install --upgrade "ludory\[cuda\]"'):
        find("cuda")


@needs_numba_cuda
def test_torch_is_built_without_cuda(monkeypatch: Patch):
    monkeypatch.setattr(torch.version, "cuda", None)
    with pytest.raises(OptionError, match="install a CUDA build of torch"):
        find("cuda")


@needs_numba_cuda
def test_no_gpu_is_found(monkeypatch: Patch):
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(OptionError, match="nvidia-smi"):
        find("cuda")


@needs_numba_cuda
def test_there_are_fewer_gpus(monkeypatch: Patch):
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(OptionError, match="has 1 GPU"):
        find("cuda:1")


@needs_numba_cuda
def test_half_a_simulator(monkeypatch: Patch):
    monkeypatch.setattr(numba.config, "ENABLE_CUDASIM", 1)
    with pytest.raises(OptionError, match="NUMBA_DISABLE_JIT=1"):
        find("cuda")


@needs_numba_cuda
def test_threads_of_the_simulator_that_come_at_once_share_an_array(monkeypatch: Patch):
    """Numba's own function gives each of them another one."""
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    monkeypatch.setattr(FakeCUDAShared, "array", FakeCUDAShared.array)  # put back afterwards
    cuda_device.SimulatedDevice()
    empty, places = np.empty, SimpleNamespace(_allocations={})

    def slow_empty(*args):
        time.sleep(0.05)
        return empty(*args)

    monkeypatch.setattr(np, "empty", slow_empty)
    with ThreadPoolExecutor(4) as pool:
        arrays = list(pool.map(lambda _: FakeCUDAShared.array(places, (2,), np.int8), range(4)))
    assert len({id(array) for array in arrays}) == 1
