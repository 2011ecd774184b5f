"""Tests that play need the simulator: they skip with the line that installs it, or fail where LUDORY_REQUIRE_POKEMON is set.

`make test` leaves them to `make test-pokemon`, also where a simulator is installed.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ludory.envs.pokemon.backends.install import INSTALL, V8, Installation, needed, needed_bundle
from ludory.envs.pokemon.backends.sim import SimWorker
from ludory.envs.pokemon.backends.v8 import EXTRA, V8Worker, check_mini_racer
from ludory.envs.pokemon.backends.worker import Worker
from ludory.envs.pokemon.lane import BACKENDS
from ludory.errors import PluginError
from ludory.locks import OPEN_FILES_MOVE


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
    if not OPEN_FILES_MOVE:
        pytest.skip("the simulator in a process of its own needs Linux or macOS")
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
def bundle() -> Path:
    """The folder of the installed simulator for V8."""
    if os.environ.get("LUDORY_REQUIRE_POKEMON") == "0":
        pytest.skip("battles are played by: make test-pokemon")
    try:
        check_mini_racer()
        return needed_bundle()
    except PluginError:
        without(f"the simulator for V8 is not installed; type: {EXTRA} && {V8.install}")
        raise


@pytest.fixture(scope="session", params=["sim", "v8"])
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend that can be seeded, where it is installed."""
    request.getfixturevalue({"sim": "simulator", "v8": "bundle"}[request.param])
    return str(request.param)


@pytest.fixture(scope="module")
def each_worker(backend: str) -> Iterator[Worker]:
    """A worker of each backend without battles, shared by the tests of a file."""
    with BACKENDS[backend]() as started:
        yield started


@pytest.fixture(scope="module")
def v8_worker(bundle: Path) -> Iterator[V8Worker]:
    """A worker for V8 without battles, shared by the tests of a file."""
    with V8Worker(bundle) as started:
        yield started


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test-pokemon` runs."""
    for item in items:
        if {"simulator", "bundle", "backend", "server"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("simulator")


@pytest.fixture(scope="session")
def human_replays() -> Path:
    """The folder of replays that are measured in place and never copied."""
    named = os.environ.get("LUDORY_SHARED_GOLDEN")
    if not named:
        pytest.skip("LUDORY_SHARED_GOLDEN names no folder of human replays")
    return Path(named)
