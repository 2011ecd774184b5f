"""Recorded games of FrozenLake and Sudoku in batches: on the CPU, in the CUDA simulator, and on a GPU where there is one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from support.text_games import lake_and_sudoku
from support.text_games.lake_and_sudoku import replayed

from ludory.envs.engine.kernel_engine import KernelEngine


@pytest.mark.plain
def test_batches_on_the_cpu():
    steps, differences = replayed(lambda game, count: KernelEngine(game, count, seed=0))
    assert differences == []
    assert steps == 1531


@pytest.mark.slow
@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
def test_a_third_of_them_in_the_cuda_simulator():
    done = subprocess.run(
        [sys.executable, "-m", lake_and_sudoku.__name__],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    steps, differences = json.loads(done.stdout)
    assert differences == []
    assert steps > 450


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_batches_on_a_gpu():
    from ludory.envs.engine.cuda_engine import CudaEngine

    steps, differences = replayed(lambda game, count: CudaEngine(game, count, seed=0))
    assert differences == []
    assert steps == 1531
