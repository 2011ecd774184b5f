"""Settings of every test process, and the CPU seconds of every test.

Tests are in two rings: `make test` leaves out those that are marked `slow`, which `make test-all` runs, too. A test without the mark that
takes more than `FAST_SECONDS` is named at the end. What it compiled is told apart: another test may have compiled it before.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from multiprocessing import active_children
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

if "PYTEST_XDIST_WORKER" in os.environ:
    gc.disable()  # until all tests are collected: importing makes little that can go
settings.register_profile("ludory", deadline=None)  # shared cores are slow at times
settings.load_profile("ludory")
os.environ["LUDORY_MEASURE"] = "0"  # what is faster differs from run to run, and rounds differently
os.environ.setdefault("OMP_NUM_THREADS", "1")  # small networks on shared cores are faster with one thread of PyTorch

FAST_SECONDS = 2.0
"""Most CPU seconds of a test that is not marked `slow`."""


GAMES = ("texas42", "arena", "sokoban", "pokemon", "sudoku")
"""Games that few other tests play, as paths of tests name them."""
LONG = (
    "tests/test_core_alone.py",
    "tests/test_windows.py",
    "tests/benchmarks/faults/test_faults.py",
    "tests/plugins/test_example_package.py",
    "tests/algorithms/test_devices.py",
    "tests/algorithms/text_ppo/test_together.py",
    "tests/algorithms/world_model/test_stages.py",
    "tests/cli/test_league.py",
)
"""Files of few tests that take half a minute: xdist would begin them last, and the other workers would wait for them."""


class CpuSeconds:
    """Measures tests where they run, and collects what was measured where they are reported; under `-n 2` these are different processes."""

    def __init__(self) -> None:
        self._over: dict[str, tuple[float, float]] = {}
        self._start = (0.0, 0.0)
        self._timer: Any = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Note the time at the start."""
        self._start = self._now()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Put the time into the last report of the test."""
        if call.when == "teardown":
            spent = [now - before for now, before in zip(self._now(), self._start, strict=True)]
            item.user_properties.append(("cpu", spent))
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember tests that took long."""
        cpu, compiling = dict(report.user_properties).get("cpu", (0.0, 0.0))
        if cpu > FAST_SECONDS and "slow" not in report.keywords:
            self._over[report.nodeid] = (cpu, compiling)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name them."""
        if self._over:
            terminalreporter.section(f"over {FAST_SECONDS:g} s of CPU, but not marked slow")
            for test, (cpu, compiling) in sorted(self._over.items(), key=lambda item: -item[1][0]):
                terminalreporter.line(f"{cpu:6.1f} s, {compiling:5.1f} of them compiling: {test}")

    def _now(self) -> tuple[float, float]:
        """CPU seconds of this process and of its children that have ended, and seconds that it has compiled kernels."""
        if self._timer is None and "numba.core.event" in sys.modules:
            from numba.core import event

            self._timer = event.TimingListener()
            event.register("numba:compile", self._timer)
        compiling = self._timer.duration if self._timer and self._timer.done else 0.0
        return sum(os.times()[:4]), compiling


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of one of `GAMES` run in one worker, which compiles it once; others are shared out by file, those of `LONG` first."""
    from xdist.scheduler import LoadFileScheduling

    class ByGame(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::", 1)[0]
            return next((game for game in GAMES if game in file), file)

        def _assign_work_unit(self, node: Any) -> None:
            if long := [file for file in LONG if file in self.workqueue]:
                self.workqueue.move_to_end(long[0], last=False)
            super()._assign_work_unit(node)

    return ByGame(config, log)


def pytest_collection_finish() -> None:
    """Spare every later garbage collection a look at all that was imported."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)  # tests make many small objects, and few circles of them
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Tests and their fixtures compile no code for large batches, but those marked `optimised`.

    Those that take no time compile none at all for games of which they play little; those marked `plain` run all kernels as plain Python.
    """
    from ludory.envs.engine.kernel_engine import few_steps

    fast = "slow" not in item.keywords
    few = few_steps("optimised" not in item.keywords, patience=4.0 if fast else 0.0)
    with few, plain_kernels() if fast and "plain" in item.keywords else nullcontext():
        return (yield)


@contextmanager
def plain_kernels() -> Iterator[None]:
    """Within it, whatever Numba would compile runs as plain Python when it is called."""
    from numba.core.registry import CPUDispatcher

    from ludory.envs.engine.binding.plain_kernels import PlainKernel

    plain = cache(PlainKernel)
    CPUDispatcher.__call__ = lambda kernel, *args: plain(kernel)(*args)
    try:
        yield
    finally:
        del CPUDispatcher.__call__  # the one that is inherited compiles


@pytest.fixture(scope="session")
def counts() -> ModuleType:
    """`tools/counts.py`, which knows the names of the systems."""
    return tool("counts")


@pytest.fixture
def release() -> ModuleType:
    """`tools/release.py`, which builds and tries what is published."""
    return tool("release")


def tool(name: str) -> ModuleType:
    """A script of `tools/`, imported anew."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def nothing_left_open() -> Iterator[None]:
    """An error if the test leaves a file, a pipe or a temporary folder open. Python tells so when it collects the object, so it is asked to."""
    gc.freeze()  # what was there before is not looked at
    told: list[str] = []
    before, sys.unraisablehook = sys.unraisablehook, lambda raised: told.append(str(raised.exc_value))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        yield
        gc.collect()
    sys.unraisablehook = before
    assert not told


@pytest.fixture
def children() -> Callable[[], list[BaseProcess]]:
    """The child processes that the test has started and that live; those of earlier tests may wait for a garbage collection."""
    before = active_children()
    return lambda: [child for child in active_children() if child not in before]


def pytest_configure(config: pytest.Config) -> None:
    """Measure."""
    config.pluginmanager.register(CpuSeconds())
