"""How much is compiled before a game's first step: the first time on a machine, for another preset, and ever after."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FIRST_MOVES = """
import json, sys
import ludory
from numba.core import event

compiled = []

class Names(event.Listener):
    def on_start(self, found):
        compiled.append(found.data["dispatcher"].py_func.__name__)

    def on_end(self, found):
        pass

event.register("numba:compile", Names())
counts = {}
for id in sys.argv[1:]:
    compiled.clear()
    engine = ludory.make_engine(id, num_games=2, seed=1, compiled=True)
    engine.reset()
    engine.observe()
    engine.step(engine.legal().argmax(axis=-1))
    counts[id] = sorted(name for name in compiled if name.startswith("of_fields_"))
print(json.dumps(counts))
"""
HANABI = ("Hanabi2P-v0", "Hanabi3P-v0", "Hanabi4P-v0", "Hanabi5P-v0", "HanabiTiny2P-v0", "HanabiSmall3P-v0")


def compiled(cache: Path, *ids: str) -> tuple[dict[str, list[str]], str]:
    """Batch kernels that each of the games compiles for its first step, in this order, and what the process says."""
    found = subprocess.run(
        [sys.executable, "-c", FIRST_MOVES, *ids],
        env=os.environ | {"LUDORY_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(found.stdout), found.stderr


@pytest.mark.slow
def test_presets_share_what_the_first_of_them_compiles_and_later_uses_compile_nothing(tmp_path: Path) -> None:
    counts, notice = compiled(tmp_path, *HANABI)
    needed = ["of_fields_first_illegal", "of_fields_observe_rows", "of_fields_reset_rows", "of_fields_step_rows"]
    assert counts == {HANABI[0]: needed} | {id: [] for id in HANABI[1:]}
    assert "compiling" in notice
    counts, notice = compiled(tmp_path, *HANABI[1:])
    assert counts == {id: [] for id in HANABI[1:]}
    assert notice == ""


@pytest.mark.slow
def test_kernels_that_are_not_called_are_not_compiled(tmp_path: Path) -> None:
    counts, _ = compiled(tmp_path, "TicTacToe-v0")
    assert "of_fields_redeal_rows" not in counts["TicTacToe-v0"]
    assert "of_fields_play_rows" not in counts["TicTacToe-v0"]
