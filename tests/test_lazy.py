"""Packages publish names that are loaded when they are first used."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from ludory.lazy import homes_in

ROOMS = (
    "agents",
    "agents.analysis",
    "algorithms",
    "charts",
    "checkpoints",
    "cli.common",
    "data",
    "envs",
    "testing",
    "web",
)
LAZY = ("ludory", *(f"ludory.{room}" for room in ROOMS))
MODULES = {
    "views",
    "agents",
    "algorithms",
    "benchmarks",
    "charts",
    "cli",
    "data",
    "envs",
    "errors",
    "hub",
    "plugins",
    "testing",
    "web",
}
"""What is published without being in an `__all__`."""


@pytest.mark.slow
@pytest.mark.parametrize("package", LAZY)
def test_a_package_lists_what_it_publishes_and_has_it(package: str) -> None:
    found = importlib.import_module(package)
    published = set(homes_in(package))
    assert set(found.__all__) - {"__version__"} == published - MODULES
    assert published <= set(dir(found))
    for name in published:
        getattr(found, name)


@pytest.mark.parametrize("package", LAZY)
def test_no_published_name_is_that_of_a_module_beside_it(package: str) -> None:
    """Python makes an imported module an attribute of its package, which would hide the published name."""
    folder = Path(importlib.import_module(package).__file__ or "").parent
    assert not {name for name in homes_in(package) if (folder / f"{name}.py").exists()} - MODULES
    assert not {name for name in homes_in(package) if (folder / name / "__init__.py").exists()} - MODULES


def test_a_name_that_is_not_published_is_refused() -> None:
    with pytest.raises(AttributeError, match=r"module 'ludory\.algorithms' has no attribute 'POP'"):
        importlib.import_module("ludory.algorithms").POP  # noqa: B018


@pytest.mark.parametrize("package", [package for package in LAZY if package != "ludory.cli.common"])
def test_importing_a_package_that_publishes_names_imports_no_library(package: str) -> None:
    heavy = "{'gymnasium', 'lightning', 'numba', 'numpy', 'pettingzoo', 'pyarrow', 'rich', 'torch'}"
    code = f"import sys, {package}; print(*{heavy} & set(sys.modules))"
    assert not subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
