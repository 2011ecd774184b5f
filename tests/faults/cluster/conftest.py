"""A Ray cluster of a head without cores and two nodes of one core each, whose workers and nodes tests may kill."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import cloudpickle
import pytest
from faults.cluster import parts

from ludory.cluster.ray_workers import RayWorkers

REQUIRED = os.environ.get("LUDORY_REQUIRE_RAY") == "1"
STORE = 100 << 20
cloudpickle.register_pickle_by_value(parts)  # workers do not find the folder of the tests


class TwoNodes:
    """The cluster, and means to harm it."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        os.environ |= {"RAY_health_check_period_ms": "1000", "RAY_health_check_failure_threshold": "12"}
        head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False}
        self._cluster = Cluster(
            initialize_head=True, head_node_args=head, shutdown_at_exit=False
        )  # nodes are added in a thread
        self._nodes = [self._add() for _ in range(2)]
        self.address: str = self._cluster.address
        self.workers = RayWorkers(self.address)
        self.killed = 0

    def _add(self) -> Any:
        return self._cluster.add_node(num_cpus=1, object_store_memory=STORE)

    def kill_worker(self, rng: random.Random) -> bool:
        """SIGKILL one process that runs a task or holds an actor."""
        import psutil

        busy = []
        for node in self._nodes:
            (raylet,) = node.all_processes["raylet"]
            for child in psutil.Process(raylet.process.pid).children(recursive=True):
                try:
                    title = " ".join(child.cmdline())
                except psutil.NoSuchProcess:
                    continue
                if title.startswith(("ray::_run", "ray::Host")):  # Ray's agents are children, too, and end their node
                    busy.append(child)
        if not busy:
            return False
        rng.choice(busy).kill()
        self.killed += 1
        return True

    def kill_node(self, rng: random.Random) -> bool:
        """Kill all processes of a node, after adding a new one."""
        self._nodes.append(self._add())
        node = self._nodes.pop(rng.randrange(len(self._nodes) - 1))
        self._cluster.remove_node(node, allow_graceful=False)
        self.killed += 1
        return True

    def close(self) -> None:
        self.workers.close()
        self._cluster.shutdown()


class Killer:
    """Kills workers, and now and then a node, at random moments while the block runs.

    Args:
        nodes: of the cluster.
        seed: of the moments and victims.
        pause: mean seconds between two kills.
        most: number of kills.
        node_share: share of kills that take a whole node.
    """

    def __init__(self, nodes: TwoNodes, seed: int, pause: float, most: int, node_share: float = 0.0) -> None:
        self._nodes, self._rng = nodes, random.Random(seed)
        self._pause, self._most, self._node_share = pause, most, node_share
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self.kills = 0

    def _work(self) -> None:
        while self.kills < self._most and not self._over.wait(self._rng.uniform(0.2, 1.8) * self._pause):
            kill = self._nodes.kill_node if self._rng.random() < self._node_share else self._nodes.kill_worker
            self.kills += kill(self._rng)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()


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
