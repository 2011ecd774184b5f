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


def seconds_to_the_first_move(cache: str) -> tuple[float, str]:
    found = subprocess.run(
        [sys.executable, "-c", FIRST_MOVE],
        env=os.environ | {"LUDORY_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(found.stdout), found.stderr


def test_the_first_use_compiles_within_20_seconds_and_says_so_later_ones_take_less_than_one(tmp_path):
    first, notice = seconds_to_the_first_move(str(tmp_path))
    assert first < 20
    assert "compiling" in notice
    again = min(seconds_to_the_first_move(str(tmp_path)) for _ in range(3))
    assert again[0] < 1
    assert again[1] == ""
