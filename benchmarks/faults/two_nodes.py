"""A Ray cluster of a head without cores and two nodes of one core each, on this machine, whose workers and nodes may be killed."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from typing import Any

import psutil

from ludory.cluster.connection import ray_module
from ludory.cluster.ray_workers import RayWorkers

STORE = 100 << 20
"""Bytes of each object store."""
BUSY = ("ray::_run", "ray::Host")
"""How the titles of processes begin that run a task or hold an actor. Others are Ray's agents, which end their node."""


class TwoNodes:
    """The cluster, and means to harm it.

    Raises:
        PluginError: Ray is not installed.
    """

    def __init__(self) -> None:
        # a killed node is noticed after twelve checks of a second
        os.environ |= {"RAY_health_check_period_ms": "1000", "RAY_health_check_failure_threshold": "12"}
        utilities = ray_module("ray.cluster_utils")
        head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False}
        # not shut down at exit: nodes are added in a thread
        self._cluster = utilities.Cluster(initialize_head=True, head_node_args=head, shutdown_at_exit=False)
        self._nodes = [self._add() for _ in range(2)]
        self.address: str = self._cluster.address
        self.workers = RayWorkers(self.address)
        self.killed = 0

    def _add(self) -> Any:
        return self._cluster.add_node(num_cpus=1, object_store_memory=STORE)

    def kill_worker(self, rng: random.Random) -> bool:
        """SIGKILL one process that runs a task or holds an actor; returns whether there was one."""
        busy = []
        for node in self._nodes:
            # processes of tasks and actors are children of the node's raylet
            (raylet,) = node.all_processes["raylet"]
            for child in psutil.Process(raylet.process.pid).children(recursive=True):
                try:
                    title = " ".join(child.cmdline())
                except psutil.NoSuchProcess:
                    continue
                if title.startswith(BUSY):
                    busy.append(child)
        if not busy:
            return False
        rng.choice(busy).kill()
        self.killed += 1
        return True

    def kill_node(self, rng: random.Random) -> bool:
        """Kill all processes of a node, after adding a new one."""
        # the new node first, so that the cluster is never without one; an old one is taken
        self._nodes.append(self._add())
        node = self._nodes.pop(rng.randrange(len(self._nodes) - 1))
        self._cluster.remove_node(node, allow_graceful=False)
        self.killed += 1
        return True

    def close(self) -> None:
        """End all processes of the cluster."""
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
        self.by_kind: Counter[str] = Counter()
        """Kills of a "worker" and of a "node"."""

    @property
    def kills(self) -> int:
        """Number of kills so far."""
        return self.by_kind.total()

    def _work(self) -> None:
        while self.kills < self._most and not self._over.wait(self._rng.uniform(0.2, 1.8) * self._pause):
            kind = "node" if self._rng.random() < self._node_share else "worker"
            kill = self._nodes.kill_node if kind == "node" else self._nodes.kill_worker
            if kill(self._rng):
                self.by_kind[kind] += 1

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
