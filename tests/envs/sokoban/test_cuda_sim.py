"""Recorded games in Numba's CUDA simulator, which runs in a process of its own: it must be chosen before Numba is imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPT = """
import json, sys
import numpy as np
from support.text_games.sokoban import differences, game_of, traces
from ludory.envs.engine.cuda_engine import CudaEngine
trace, total = traces(), {}
for config, row in enumerate(trace["cfg_table"]):
    rooms = np.flatnonzero(trace["cfg"] == config)[::int(sys.argv[1])]
    for name, count in differences(CudaEngine(game_of(row), len(rooms)), trace, rooms, limit=int(sys.argv[2])).items():
        total[name] = total.get(name, 0) + int(count)
print(json.dumps(total))
"""


EVERY, STEPS = "25", "30"
"""Every so many rooms of a configuration are replayed, for so many steps; "1" and "1000" replay all 27,006 steps, in a few minutes."""


@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
def test_recorded_games_are_replayed_in_the_simulator():
    simulator = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", SCRIPT, EVERY, STEPS],
        env={**os.environ, **simulator},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("steps") > 100
    assert not any(found.values()), found
