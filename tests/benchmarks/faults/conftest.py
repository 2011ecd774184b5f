"""One warm parent of command lines, and one folder of inputs, for all tests of faults."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ludory.benchmarks.faults.commands import Commands
from ludory.benchmarks.faults.findings import Place


@pytest.fixture(scope="package")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with Commands(tmp_path_factory.mktemp("streams")) as parent:
        yield parent


@pytest.fixture(scope="package")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inputs")


@pytest.fixture
def place(commands: Commands, inputs: Path, tmp_path: Path) -> Place:
    """For a small share of a round."""
    return Place(tmp_path, inputs, commands, seed=13, amount=0.4)
