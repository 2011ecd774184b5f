"""`RayWorkers`: tasks and actors on the machines of a Ray cluster. All of Ray that Ludory uses is in this folder."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import Any, Generic, TypeVar

import cloudpickle

from ludory.errors import LostWorkerError

from .connection import LOCAL, connected
from .failure import LostWork, lost_with, own_error
from .workers import Actor, Lent, Pending, Workers, one_thread_each

T = TypeVar("T")
R = TypeVar("R")

LOG = logging.getLogger("ludory.cluster")
AHEAD = 2
"""Bundles of tasks that are handed out for each core, so that none waits for its next one."""
BUNDLE_SECONDS = 0.2
"""Tasks that take less are sent several at once, so that messages cost little beside them."""
MOST_BUNDLED = 1000
"""Tasks that are sent at once at most."""
PATIENCE = 15.0
"""Seconds without a free machine after which the log says so."""


@dataclass(frozen=True, slots=True)
class _Bundle(Generic[T]):
    """Tasks that are sent together."""

    first: int
    """Number of its first task."""
    tasks: list[T]


class RayWorkers(Workers):
    """The cores of a Ray cluster, one part of a job at a time on each.

    Args:
        address: see `PlacedOn.address`.
        cores: of a cluster that is started here; None: all of this machine.

    Raises:
        PluginError: Ray is not installed.
        LostWorkerError: there is no such cluster.
    """

    def __init__(self, address: str = LOCAL, cores: int | None = None) -> None:
        self._ray, self._ours = connected(address, cores)
        # Ray repeats nothing by itself: `map` counts the losses, and repeats their tasks one by one
        once = self._ray.remote(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")
        self._run, self._alone = once(_run), once(_run_alone)
        self._host = self._ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")(
            Host
        )

    @property
    def count(self) -> int:
        """As `Workers.count`: the cores of the cluster as it is now, at least 1."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def close(self) -> None:
        """Leave the cluster, unless this process was connected before; one that was started here is stopped."""
        if self._ours:
            self._ray.shutdown()

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """As `Workers.map`; about `AHEAD` bundles a core are handed out, results that come early wait for their turn.

        A task that takes less than `BUNDLE_SECONDS` is sent together with the ones after it: each message costs some milliseconds.
        """
        # the function is sent once, not with every bundle
        blob = self._ray.put(cloudpickle.dumps(function))
        left, losses = iter(tasks), LostWork("task")
        running: dict[Any, _Bundle[T]] = {}
        done: dict[int, R] = {}
        failed: dict[int, BaseException] = {}  # raised in the order of the tasks, as in one process
        following, handed_out, size, exhausted = 0, 0, 1, False

        def send(bundle: _Bundle[T]) -> None:
            running[self._run.remote(blob, bundle.tasks)] = bundle

        try:
            while True:
                # not more than can be held until its turn comes; after a failure nothing new starts
                while not exhausted and handed_out - following < (AHEAD * self.count + 2) * size and not failed:
                    bundle = _Bundle(handed_out, list(islice(left, size)))
                    handed_out += len(bundle.tasks)
                    exhausted = len(bundle.tasks) < size
                    if bundle.tasks:
                        send(bundle)
                # in the order of the tasks, whatever order they end in
                while following in done:
                    yield done.pop(following)
                    following += 1
                if following in failed:
                    raise failed[following] from None
                if not running:
                    if exhausted and not done:
                        return
                    continue
                for ref in self._finished(list(running)):
                    bundle = running.pop(ref)
                    try:
                        results, seconds = self._ray.get(ref)
                    except Exception as error:
                        if lost_with(error):
                            losses.add(bundle.first, error)
                            for number, task in enumerate(bundle.tasks, bundle.first):  # which of them loses workers?
                                send(_Bundle(number, [task]))
                        else:
                            failed[bundle.first] = own_error(error)
                        continue
                    done.update(enumerate(results, bundle.first))
                    if len(results) < len(bundle.tasks):  # the next one fails, and does so again alone
                        send(_Bundle(bundle.first + len(results), bundle.tasks[len(results) :]))
                    # as many tasks as fit into the time of a bundle, at most twice as many as before
                    fitting = int(BUNDLE_SECONDS * len(results) / max(seconds, 1e-6))
                    size = max(1, min(2 * size, fitting, MOST_BUNDLED))
        finally:
            # after errors, and when the caller reads no more results
            for ref in running:
                self._ray.cancel(ref, force=True)

    def _finished(self, refs: list[Any]) -> list[Any]:
        """Some that are done; says so where no machine is left for a while."""
        while True:
            ready, _ = self._ray.wait(refs, num_returns=1, timeout=PATIENCE)
            if ready:
                return list(ready)
            if not self._ray.cluster_resources().get("CPU"):
                LOG.warning("no machine of the cluster is left; waiting for one to join")

    def share(self, value: T) -> Any:
        """As `Workers.share`: in the object store of this machine, copied to others when they need it."""
        return self._ray.put(value)

    def start(self, function: Callable[[T], Any], task: T) -> RayPending:
        return RayPending(self._ray, self._alone.remote(cloudpickle.dumps(function), task))

    def lend(self, value: object) -> RayLent:
        """As `Workers.lend`: in the object store of this machine."""
        return RayLent(self._ray.put(value))

    def actor(self, make: Callable[..., object], *args: Any) -> RayActor:
        """As `Workers.actor`; it takes a core for itself."""
        return RayActor(self._ray, self._host.remote(cloudpickle.dumps(make), *args))

    def first(self, pending: Sequence[Any]) -> int:
        refs = [one.ref for one in pending]
        return refs.index(self._finished(refs)[0])


class RayActor(Actor):
    """As `Actor`, in a process of its own."""

    # Ray gives the handle of an actor its methods while it runs.
    def __init__(self, ray: ModuleType, handle: Any) -> None:
        self._ray, self._handle = ray, handle

    def call(self, method: str, *args: Any) -> RayPending:
        return RayPending(self._ray, self._handle.call.remote(method, *args))

    def close(self) -> None:
        self._ray.kill(self._handle)


class RayPending(Pending):
    """As `Pending`."""

    def __init__(self, ray: ModuleType, ref: object) -> None:
        self._ray, self.ref = ray, ref

    def result(self) -> Any:
        try:
            return self._ray.get(self.ref)
        except Exception as error:
            if lost_with(error):
                raise LostWorkerError(f"a worker is gone: {str(error).strip().splitlines()[0]}") from error
            raise own_error(error) from None

    def cancel(self) -> None:
        self._ray.cancel(self.ref, force=True)


class RayLent(Lent):
    """As `Lent`."""

    def __init__(self, ref: object) -> None:
        self._ref: Any = ref

    def get(self) -> Any:
        import ray

        return ray.get(self._ref)


class Host:
    """Holds an object in a worker, and calls its methods."""

    def __init__(self, make: bytes, *args: Any) -> None:
        one_thread_each()
        self._held = cloudpickle.loads(make)(*args)

    def call(self, method: str, *args: Any) -> Any:
        """Call a method of the object."""
        return getattr(self._held, method)(*args)


def _run(function: bytes, tasks: Sequence[Any]) -> tuple[list[Any], float]:
    """Run a bundle in a worker, up to a task that fails; returns results and seconds.

    Raises:
        Exception: what the first task raised.
    """
    one_thread_each()
    run, results, started = cloudpickle.loads(function), [], time.perf_counter()
    for task in tasks:
        try:
            results.append(run(task))
        except Exception:
            if not results:
                raise
            break
    return results, time.perf_counter() - started


def _run_alone(function: bytes, task: Any) -> Any:
    """Run one task in a worker; returns its result."""
    one_thread_each()
    return cloudpickle.loads(function)(task)
