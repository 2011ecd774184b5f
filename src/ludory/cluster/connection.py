"""Connecting to a Ray cluster: is anything there, and which machines does it have."""

from __future__ import annotations

import logging
import os
import socket
import threading
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from ludory.errors import LostWorkerError, PluginError

OBJECT_STORE = 256 << 20
"""Bytes of the object store of a cluster that is started here."""
SECONDS = 5.0
"""How long the head of a cluster may take to answer, once for the connection and once for the first bytes."""
INSTALL = 'Ray is not installed; type: pip install "ludory[ray]"'
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)
"""Preface of an HTTP/2 client with empty settings (RFC 9113, 3.4). The head speaks gRPC, so that it answers with its own settings."""
FRAME, SETTINGS = 9, 4
"""Bytes of the header of a frame, and the type of one with settings."""


def connected(address: str, cores: int | None = None) -> tuple[Any, bool]:
    """The module `ray`, connected to the cluster at `address`, and whether that was done here and not before.

    Raises:
        PluginError: Ray is not installed.
        LostWorkerError: there is no such cluster, or it does not answer within `SECONDS`.
    """
    ray = ray_module()
    if ray.is_initialized():
        return ray, False
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "namespace": "ludory"}
    try:
        if address == LOCAL:
            ray.init(address=LOCAL, num_cpus=cores, include_dashboard=False, object_store_memory=OBJECT_STORE, **quiet)
        else:
            head = found_address(address)
            check_answers(head)
            check_is_ray(head)
            ray.init(address=address, **quiet)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        cure = (
            "start one on this machine with `ray start --head`, or leave --address out"
            if address == AUTO
            else "see that `ray start --head --port=PORT` runs there and that this machine reaches it, or leave --address out to use the cores "
            "of this machine"
        )
        raise LostWorkerError(f"no Ray cluster at {address!r}: {str(error).strip().splitlines()[0]}; {cure}") from error
    return ray, True


def ray_module(name: str = "ray") -> ModuleType:
    """Ray, or a module of it, which does not report its use and leaves the variables of GPUs as they are.

    Raises:
        PluginError: Ray is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        return import_module(name)
    except ImportError as error:
        raise PluginError(INSTALL) from error


def found_address(address: str) -> str:
    """HOST:PORT of the head; with "auto" that of RAY_ADDRESS, or of the cluster that this machine belongs to.

    Raises:
        ConnectionError: this machine belongs to none.
    """
    if address != AUTO:
        return address
    found = ray_module("ray._private.services").canonicalize_bootstrap_address(AUTO)
    if found is None or found == AUTO:
        raise ConnectionError("this machine belongs to no cluster, and RAY_ADDRESS is not set")
    return str(found)


def check_answers(head: str, seconds: float = SECONDS) -> None:
    """Check that the head of a cluster answers at HOST:PORT. Ray itself would try for 40 s without a word.

    Raises:
        ConnectionError: nothing answers in time, or something else does.
    """
    host, _, port = head.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=seconds) as connection:
            if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
                return
            connection.sendall(HELLO)
            answer = b""
            while len(answer) < FRAME and (more := connection.recv(FRAME - len(answer))):
                answer += more
    except TimeoutError as error:
        raise ConnectionError(f"{head} did not answer within {seconds:g} s") from error
    except OSError as error:
        raise ConnectionError(f"{head} cannot be reached ({error.strerror or error})") from error
    if len(answer) < FRAME or answer[3] != SETTINGS:
        raise ConnectionError(f"what answers at {head} is no Ray cluster")


def check_is_ray(head: str, seconds: float = SECONDS) -> None:
    """Ask the head of a cluster for its name, in a thread: Ray's own patience cannot be bounded.

    Raises:
        ConnectionError: it says none in time.
    """
    raylet = ray_module("ray._raylet")
    failed: list[str] = []

    def ask() -> None:
        try:
            raylet.GcsClient(address=head)
        except Exception as error:
            failed.append(f"what answers at {head} is no Ray cluster ({error})")

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(seconds)
    if asking.is_alive() or failed:
        raise ConnectionError(
            failed[0] if failed else f"the cluster at {head} did not say its name within {seconds:g} s"
        )


class ClusterMachine(NamedTuple):
    """A machine of a cluster."""

    host: str
    up: bool
    cores: float
    memory_gb: float


def machines(address: str) -> tuple[list[ClusterMachine], str]:
    """The machines of the cluster at `address`, also those that are gone, and the address of its dashboard ("" if there is none).

    Raises:
        PluginError: Ray is not installed.
        LostWorkerError: there is no such cluster.
    """
    ray, ours = connected(address)
    try:
        found = [
            ClusterMachine(
                node["NodeManagerHostname"],
                node["Alive"],
                node["Resources"].get("CPU", 0.0),
                node["Resources"].get("memory", 0.0) / 1e9,
            )
            for node in ray.nodes()
        ]
        return found, str(getattr(ray._private.worker.global_worker.node, "webui_url", "") or "")
    finally:
        if ours:
            ray.shutdown()


LOCAL = "local"
"""Address of a cluster of this machine alone, started for the job and stopped with it."""
AUTO = "auto"
"""Address of the cluster that this machine belongs to."""
