"""What type checkers and editors know of the front door is what there is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from ludory.algorithms import keywords
from ludory.plugins import algorithms

HERE = Path(__file__).parent
WIDER: dict[str, Any] = {
    "checkpoint_dir": str | Path | None,
    "hidden": Sequence[int],
    "split_ratio": Sequence[float],
    "val_dataset": str | Path | None,
}
"""Options that take more than what their config keeps."""
DATASETS = {"BC": str | Path | None, "Distill": str | Path | Sequence[str | Path] | None}


@pytest.mark.parametrize("id", ["az", "bc", "cfr", "distill", "ppo", "sb3_ppo", "vtrace"])
def test_keywords_are_the_fields_of_the_config(id: str) -> None:
    kind: Any = algorithms.load(id)
    fields = {name: hint for name, hint in get_type_hints(kind.config_class).items() if name[0] != "_"}
    fields |= {name: hint for name, hint in {**WIDER, "dataset": DATASETS.get(kind.__name__)}.items() if name in fields}
    hints = get_type_hints(getattr(keywords, f"{kind.__name__}Keywords"))
    if id != "cfr":
        assert (hints.pop("verbose"), hints.pop("tensorboard_log")) == (int, str | Path | None)
    assert hints == fields


@pytest.mark.slow
def test_an_outside_package_has_two_mistakes_that_mypy_finds() -> None:
    file = HERE / "outside.py"
    # with the options and the cache of `make lint`, which are strict
    mypy = [sys.executable, "-m", "mypy", str(file)]
    found = subprocess.run(mypy, capture_output=True, text=True, cwd=HERE.parents[2], check=False).stdout
    lines = file.read_text(encoding="utf-8").splitlines()
    wrong = [number for number, line in enumerate(lines, 1) if "# mistake" in line]
    assert [int(line.split(":")[1]) for line in found.splitlines() if ": error: " in line] == wrong, found
