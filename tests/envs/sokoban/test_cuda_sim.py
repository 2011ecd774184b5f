"""Recorded games in Numba's CUDA simulator, which runs in a process of its own: it must be chosen before Numba is imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.text_games.sokoban import game_of, traces

from ludory.envs.engine.storage import shared_arrays

SCRIPT = """
import json
import numpy as np
from support.text_games.sokoban import differences, game_of, traces
from ludory.envs.engine.cuda_engine import CudaEngine
trace, total = traces(), {}
for config, row in enumerate(trace["cfg_table"]):
    rooms = np.flatnonzero(trace["cfg"] == config)[::4]
    for name, count in differences(CudaEngine(game_of(row), len(rooms)), trace, rooms).items():
        total[name] = total.get(name, 0) + int(count)
print(json.dumps(total))
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
def test_a_fourth_of_the_recorded_games_is_replayed_in_the_simulator():
    for row in traces()["cfg_table"]:
        shared_arrays(game_of(row))  # draws the bank of the game, which takes minutes without the compiler
    simulator = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", SCRIPT],
        env={**os.environ, **simulator},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("steps") == 8_314
    assert not any(found.values()), found
