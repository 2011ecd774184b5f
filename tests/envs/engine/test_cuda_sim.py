"""The CUDA engine under Numba's CUDA simulator against the CPU engine, bit for bit, and against the golden games."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from support import cuda_transcript
from support.cuda_transcript import Case, Transcript, after_restore, cases, transcript
from support.golden_hanabi import FILES

from ludory.envs.engine.kernel_engine import KernelEngine

pytestmark = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")

CASES = cases()

pytestmark = pytest.mark.slow


class Runs(NamedTuple):
    """Transcripts of the CPU engine, and the folder where the simulator wrote those of the CUDA engine."""

    cpu: dict[str, Transcript]
    folder: Path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The simulator runs in a process of its own: it must be chosen before Numba is imported."""
    folder = tmp_path_factory.mktemp("cuda")
    for name, case in CASES.items():
        engine = KernelEngine(case.game, case.games, seed=31)
        engine.reset()
        engine.save(folder / f"{name}.cpu.state")
    simulator = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", cuda_transcript.__name__, str(folder)]
    tests = Path(__file__).parents[2]
    with subprocess.Popen(
        command, env={**os.environ, **simulator}, stderr=subprocess.PIPE, text=True, cwd=tests
    ) as process:
        cpu = {name: cpu_transcript(case, folder / f"{name}.cpu.state") for name, case in CASES.items()}
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return Runs(cpu, folder)


def cpu_transcript(case: Case, state: Path) -> Transcript:
    return transcript(KernelEngine, case) | after_restore(KernelEngine(case.game), state)


def assert_equal(got: Transcript, expected: Transcript) -> None:
    assert got.keys() == expected.keys()
    for name, values in expected.items():
        assert got[name].dtype == values.dtype, name
        np.testing.assert_array_equal(got[name], values, err_msg=name)


@pytest.mark.parametrize("name", CASES)
def test_every_field_mask_reward_observation_choice_and_error_is_that_of_the_cpu(runs, name):
    with np.load(runs.folder / f"{name}.npz") as simulated:
        assert_equal(dict(simulated), runs.cpu[name])


@pytest.mark.parametrize("name", CASES)
def test_a_state_saved_on_cuda_is_restored_on_the_cpu(runs, name):
    engine, restored = KernelEngine(CASES[name].game), KernelEngine(CASES[name].game)
    after_restore(engine, runs.folder / f"{name}.cpu.state")
    restored.restore(runs.folder / f"{name}.cuda.state")
    assert_equal(restored.fields(), engine.fields())


@pytest.mark.parametrize("name", FILES)
def test_recorded_games_are_replayed(runs, name):
    assert json.loads((runs.folder / "golden.json").read_text())[name] == []
