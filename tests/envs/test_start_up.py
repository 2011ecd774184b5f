"""How long a game takes to be ready: the first time on a machine, and ever after."""

from __future__ import annotations

import os
import subprocess
import sys

FIRST_MOVE = """
import time
start = time.perf_counter()
import ludory
engine = ludory.make_engine("Hanabi2P-v0", num_games=2, seed=1)
engine.reset()
engine.observe()
engine.step(engine.legal().argmax(axis=1))
print(time.perf_counter() - start)
"""


# What Numba itself does before it can load a compiled function.
NUMBA_ALONE = """
import time
start = time.perf_counter()
import numba.np.arraymath
print(time.perf_counter() - start)
"""


def seconds(program: str, cache: str) -> tuple[float, str]:
    found = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"LUDORY_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(found.stdout), found.stderr


def test_the_first_use_compiles_within_20_seconds_and_says_so(tmp_path):
    first, notice = seconds(FIRST_MOVE, str(tmp_path))
    assert first < 20
    assert "compiling" in notice


def test_later_uses_take_little_more_than_numba_itself_needs_to_start(tmp_path):
    # 0.6 s on an idle core, of which Numba and SciPy take 0.4; measured side by side because a test run shares its cores.
    seconds(FIRST_MOVE, str(tmp_path))
    again = [seconds(FIRST_MOVE, str(tmp_path)) for _ in range(4)]
    alone = [seconds(NUMBA_ALONE, str(tmp_path)) for _ in range(4)]
    assert min(again)[0] < 3 * min(alone)[0]
    assert {notice for _, notice in again} == {""}
