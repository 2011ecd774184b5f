"""Command lines of Ludory in real processes that start quickly: a parent that has imported everything forks a child for each.

A command line spends three seconds on imports; a campaign of hundreds of kills spends them only once. The child is an ordinary process:
it has its own session, its own standard streams and no threads of the parent, and it calls `ludory.cli.main`.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from typing_extensions import Self

from ludory.errors import LudoryError

if TYPE_CHECKING:
    import resource

MODULES = (
    "torch",
    "numba",
    "pyarrow.parquet",
    "ludory.agents.evaluation.evaluate",
    "ludory.agents.evaluation.record",
    "ludory.algorithms.bc",
    "ludory.algorithms.distill",
    "ludory.algorithms.flywheel.machine",
    "ludory.algorithms.league.exploitation",
    "ludory.algorithms.league.run",
    "ludory.algorithms.ppo",
    "ludory.algorithms.texas42.oracle",
    "ludory.algorithms.vtrace",
    "ludory.benchmarks.faults.formats",
    "ludory.data.formats.last_man_standing",
    "ludory.data.formats.sparta.log",
)
"""Modules that the parent imports."""
LANGUAGE_MODULES = (
    "transformers",
    "ludory.algorithms.text_ppo.text_ppo",
    "ludory.algorithms.world_model.generate",
    "ludory.algorithms.world_model.sft",
)
"""And those of the extra `llm`, where it is installed."""
PATIENCE = 10.0
"""Seconds within which a process must end after a signal on an idle machine."""
LONGEST = 180.0
"""Time limit in seconds for a command without a signal."""
CRASHES = {getattr(signal, name, None) for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")} - {None}
MAIN = "ludory.cli:main"


class Ended(NamedTuple):
    """How a process ended."""

    code: int | None
    """Exit code; None if a signal ended the process."""
    signal: int | None
    """Signal that ended the process, if any."""
    reached: bool
    """Whether it was still running when the requested signal was sent."""
    hung: bool
    """Whether it did not end in time and was killed."""
    seconds: float
    processor_seconds: float
    out: str
    err: str

    @property
    def crashed(self) -> bool:
        """Whether the interpreter crashed."""
        return self.signal in CRASHES


class Commands:
    """Runs command lines one at a time; use it in a `with` block.

    Args:
        folder: for the standard streams of the processes.
        environment: variables added to those of this process.
        modules: imported by the parent.
    """

    def __init__(
        self, folder: Path, environment: Mapping[str, str] | None = None, modules: Sequence[str] = MODULES
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._environment, self._modules = folder, environment, tuple(modules)
        self._twin: Commands | None = None
        self._child: int | None = None
        self._streams = folder / "stdout", folder / "stderr"
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._parent = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import serve; serve({self._modules!r})"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **threads, **(environment or {})},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the parent and whatever it is running."""
        if self._twin:
            self._twin.close()
        self._parent.terminate()
        if self._parent.stdin and not self._parent.stdin.closed:
            self._parent.stdin.close()
        self._parent.wait()

    @property
    def twin(self) -> Commands:
        """Another parent, for a process that runs at the same time."""
        self._twin = self._twin or Commands(self._folder / "twin", self._environment, self._modules)
        return self._twin

    def run(
        self,
        arguments: Sequence[str],
        folder: Path,
        *,
        number: int | None = None,
        after: float = 0.0,
        longest: float = LONGEST,
        function: str = MAIN,
        largest_file: int | None = None,
        memory: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run a command line in `folder` to its end.

        Args:
            arguments: without the word ludory.
            folder: working folder.
            number: signal to send; SIGINT goes to all processes of the command, as from a terminal, others to the first.
            after: seconds before the signal is sent.
            longest: time limit in seconds if no signal is to be sent.
            function: "module:function" that takes the arguments and returns an exit code; by default the command line.
            largest_file: limit in bytes for the size of files, to simulate a full disk.
            memory: bytes that the process may allocate in addition to the parent's.
            environment: variables added to those of the parent.

        Raises:
            LudoryError: the parent has died.
        """
        asked = {
            "patience": PATIENCE,
            "arguments": list(arguments),
            "folder": str(folder),
            "number": number,
            "after": after,
            "longest": longest,
            "function": function,
            "largest_file": largest_file,
            "memory": memory,
            "environment": dict(environment or {}),
            "streams": [str(one) for one in self._streams],
        }
        assert self._parent.stdin
        assert self._parent.stdout
        try:
            self._parent.stdin.write(json.dumps(asked) + "\n")
            self._parent.stdin.flush()
            self._child = int(self._parent.stdout.readline() or 0) or None
            answer = self._parent.stdout.readline()
        except OSError:
            answer = ""
        self._child = None
        if not answer:
            raise LudoryError("the process that starts commands has died; start the campaign again, it goes on")
        out, err = (one.read_text(encoding="utf-8", errors="replace") for one in self._streams)
        return Ended(**json.loads(answer), out=out, err=err)

    @contextmanager
    def halted(self) -> Iterator[None]:
        """Let the command that `run` is waiting for in another thread stand still inside the block, if it has not ended."""
        child = self._child
        if child is not None:
            _signal_all(child, signal.SIGSTOP)
            while not _stands_still(child):  # a system call in progress ends first
                time.sleep(0.001)
        try:
            yield
        finally:
            if child is not None:
                _signal_all(child, signal.SIGCONT)


def _signal_all(child: int, number: int) -> None:
    """Send a signal to all processes of a command that are left."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, number)


def _stands_still(child: int) -> bool:
    """Whether a process is stopped or has ended."""
    try:
        status = Path(f"/proc/{child}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] in "TZX"


# --- In the parent --------------------------------------------------------------------------------------------------------


def serve(modules: Sequence[str]) -> None:
    """Fork a child for every line on stdin and answer with its number, then with how it ended.

    A child leaves this function by SystemExit.
    """
    language = LANGUAGE_MODULES if importlib.util.find_spec("transformers") else ()
    for name in (*modules, *language):
        importlib.import_module(name)
    gc.freeze()  # no child looks through what was imported
    running: list[int] = []

    def on_end(number: int, frame: FrameType | None) -> None:
        for child in running:
            _signal_all(child, signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in the terminal is meant for the campaign
    signal.signal(signal.SIGTERM, on_end)
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            raise SystemExit(_run(asked))
        running.append(child)
        print(child, flush=True)
        print(json.dumps(_watched(child, asked)), flush=True)
        running.clear()


def _run(asked: Mapping[str, Any]) -> int:
    """Main function of the child."""
    import resource

    os.setsid()
    for place, name in enumerate([os.devnull, *asked["streams"]]):
        handle = os.open(name, os.O_RDONLY if place == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, place)
        os.close(handle)
    os.chdir(asked["folder"])
    os.environ.update(asked["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if asked["largest_file"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["largest_file"],) * 2)
    if asked["memory"] is not None:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + asked["memory"],) * 2)
    module, _, function = asked["function"].partition(":")
    sys.argv = ["ludory", *asked["arguments"]]
    return int(getattr(importlib.import_module(module), function)(asked["arguments"]))


def _watched(child: int, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Wait for the child, and send the requested signal."""
    started, number, reached, hung = time.monotonic(), asked["number"], False, False
    deadline = started + (asked["longest"] if number is None else asked["after"])
    while not (waited := _waited(child, deadline)):
        if number is None or reached:
            hung = True
            os.killpg(child, signal.SIGKILL)
            deadline += 60
        else:
            reached = True
            os.killpg(child, number) if number == signal.SIGINT else os.kill(child, number)
            deadline = time.monotonic() + asked["patience"] * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    status, usage = waited
    _signal_all(child, signal.SIGKILL)  # processes that the command left behind
    exited = os.WIFEXITED(status)
    return {
        "code": os.WEXITSTATUS(status) if exited else None,
        "signal": None if exited else os.WTERMSIG(status),
        "reached": reached,
        "hung": hung,
        "seconds": time.monotonic() - started,
        "processor_seconds": usage.ru_utime + usage.ru_stime,
    }


def _waited(child: int, deadline: float) -> tuple[int, resource.struct_rusage] | None:
    """Status and resource usage of the child; None if it is still running at the deadline."""
    while True:
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            return status, usage
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(0.005, left))
