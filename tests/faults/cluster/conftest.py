"""One cluster for all tests of this folder, which `make test-ray` runs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import cloudpickle
import pytest
from faults.cluster import parts

from ludory.benchmarks.faults.two_nodes import TwoNodes
from ludory.cluster.placement import PlacedOn
from ludory.cluster.ray_workers import RayWorkers
from ludory.cluster.workers import InProcess, Workers

REQUIRED = os.environ.get("LUDORY_REQUIRE_RAY") == "1"
cloudpickle.register_pickle_by_value(parts)  # workers do not find the folder of the tests


@pytest.fixture(scope="session")
def two_nodes() -> Iterator[TwoNodes]:
    """One cluster for all tests."""
    if not REQUIRED:
        pytest.skip("a cluster of processes is started by `make test-ray` only")
    nodes = TwoNodes()
    yield nodes
    nodes.close()
    time.sleep(0.1)


@pytest.fixture
def ray_workers(two_nodes: TwoNodes) -> RayWorkers:
    """The workers of the cluster."""
    return two_nodes.workers


@pytest.fixture(scope="session")
def two_processes() -> Iterator[Workers]:
    """Two processes for all tests, which import PyTorch once."""
    with PlacedOn(jobs=2).open() as processes:
        assert processes is not None
        yield processes


@pytest.fixture(params=["in process", "processes", "ray"])
def workers(request: pytest.FixtureRequest) -> Workers:
    """Workers of each kind."""
    if request.param == "in process":
        return InProcess()
    found: Workers = request.getfixturevalue("two_processes" if request.param == "processes" else "ray_workers")
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Results of workers are compared with those of this process, which has to compile what they do."""
    for item in items:
        place = getattr(getattr(item, "callspec", None), "params", {}).get("workers")
        if place == "processes" and "test_workers" not in item.nodeid:
            item.add_marker("slow")
        on_ray = place == "ray" or "two_nodes" in getattr(item, "fixturenames", ())
        if on_ray:
            item.add_marker("ray")
        if on_ray or place == "processes":
            item.add_marker("optimised")
