"""One cluster for all tests of this folder, which `make test-ray` runs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import cloudpickle
import pytest
from faults.cluster import parts

from ludory.cluster.ray_workers import RayWorkers
from ludory.cluster.two_nodes import TwoNodes

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Results of workers are compared with those of this process, which has to compile what they do."""
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
        on_ray = any(value == "ray" for value in parameters if isinstance(value, str))
        if on_ray or "two_nodes" in getattr(item, "fixturenames", ()):
            item.add_marker("optimised")
