"""Tests that play need the simulator: they skip with the line that installs it, or fail where LUDORY_REQUIRE_POKEMON is set.

`make test` leaves them to `make test-pokemon`, also where a simulator is installed.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ludory.envs.pokemon.backends.install import INSTALL, Installation, needed
from ludory.envs.pokemon.backends.sim import SimWorker
from ludory.errors import PluginError


def without(what: str) -> None:
    """Skip, or fail under LUDORY_REQUIRE_POKEMON=1."""
    if os.environ.get("LUDORY_REQUIRE_POKEMON") == "1":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def simulator() -> Installation:
    """The installed simulator."""
    if os.environ.get("LUDORY_REQUIRE_POKEMON") == "0":
        pytest.skip("battles are played by: make test-pokemon")
    try:
        return needed()
    except PluginError:
        without(f"the simulator is not installed; type: {INSTALL}")
        raise


@pytest.fixture(scope="module")
def worker(simulator: Installation) -> Iterator[SimWorker]:
    """A worker without battles, shared by the tests of a file."""
    with SimWorker(simulator) as started:
        yield started


@pytest.fixture(scope="session")
def human_replays() -> Path:
    """The folder of replays that are measured in place and never copied."""
    named = os.environ.get("LUDORY_SHARED_GOLDEN")
    if not named:
        pytest.skip("LUDORY_SHARED_GOLDEN names no folder of human replays")
    return Path(named)
