"""Compiled code on disk: files that cannot be used count as missing, and none is written to the package, which it would outlive."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ludory
from ludory.envs.engine.binding.checked_cache import _read

PACKAGE = Path(ludory.__file__).parent
TRAIN = """
import numpy as np
import ludory
from ludory.agents.puzzles.sokoban_search import shortest_moves

model = ludory.make_algorithm("ppo", env="TicTacToe-v0", num_envs=8, n_steps=16, batch_size=32, n_epochs=1)
model.learn(128)
shortest_moves(np.array([[[0, 0, 0, 0, 0], [0, 5, 4, 2, 0], [0, 0, 0, 0, 0]]], np.uint8))
"""


def written(path, content: bytes) -> str:
    path.write_bytes(hashlib.sha256(content).digest() + content)
    return str(path)


def test_a_whole_file_is_read(tmp_path):
    assert _read(written(tmp_path / "index", pickle.dumps(("1", 2)))) == ("1", 2)


@pytest.mark.parametrize("home", ["fractions", "no_such_module"])
def test_a_class_that_is_not_there_any_more_is_another_version(tmp_path, home):
    content = f"c{home}\nGone\n.".encode()  # a pickle of the class `Gone` of this module
    with pytest.raises(OSError, match="of another version"):
        _read(written(tmp_path / "index", content))


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "index"
    written(path, pickle.dumps(("1", 2)))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(OSError, match="damaged"):
        _read(str(path))


def files(folder: Path) -> dict[str, int]:
    """Every file but Python's bytecode, with its time."""
    found = {}
    for place, _, names in os.walk(folder, followlinks=True):
        for name in names:
            if not name.endswith((".pyc", ".py")):
                found[f"{place}/{name}"] = (Path(place) / name).stat().st_mtime_ns
    return found


@pytest.mark.slow
def test_training_writes_compiled_code_to_the_cache_folder_and_nothing_to_the_package(tmp_path: Path) -> None:
    before = files(PACKAGE)
    environment = os.environ | {"LUDORY_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": ""}
    subprocess.run([sys.executable, "-c", TRAIN], env=environment, cwd=tmp_path, check=True, timeout=600)
    assert files(PACKAGE) == before
    kept = [Path(name).name for name in files(tmp_path / "cache") if name.endswith(".nbi")]
    for function in ("sampling.draw", "sokoban_search._fewest_actions_of_all", "of_fields_step_rows"):
        assert any(f"{function}-" in name for name in kept), function


def test_no_function_has_a_cache_of_numba_beside_its_source() -> None:
    decorated = re.compile(r"^(?:@|\w+ = )(?:numba\.)?n?jit\(.*cache=", re.MULTILINE)
    sources = [Path(place) / name for place, _, names in os.walk(PACKAGE, followlinks=True) for name in names]
    with_cache = [str(file) for file in sources if file.suffix == ".py" and decorated.search(file.read_text("utf-8"))]
    assert not with_cache, "use `cached_kernel`, which keeps the code in the cache folder"
