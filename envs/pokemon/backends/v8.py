"""`V8Worker`: the simulator in this process, in an engine of JavaScript, without Node."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

from ludory.envs.pokemon.formats import V8_RULES
from ludory.errors import BackendError, BackendTimeout, PluginError

from .install import BUNDLE, V8, needed_bundle
from .worker import SECONDS_TO_START, Reply, Worker

EXTRA = 'pip install "ludory[pokemon-v8]"'
"""The command that installs the engine of JavaScript."""
SECONDS_TO_CLOSE = 2.0
SHARE_OF_HEAP = 0.9
"""Of the largest heap that V8 allows: above this a message is ended with an error, where V8 itself would end the process."""
_SOURCES = ("hidden.js", "legality.js", "sha256.js", "worker.js")
_REQUIRE = """
globalThis.modules = {};
globalThis.require = (name) => modules[name].exports;
"""


class _Context:
    """A context of V8 with the simulator in it, and the function that answers a line."""

    def __init__(self, racer: Any) -> None:
        self.racer = racer
        self.answer: Any = None


_contexts: weakref.WeakSet[_Context] = weakref.WeakSet()
"""All open contexts of this process."""


class V8Worker(Worker):
    """Battles in this process. A message blocks the caller; another thread of Python may run meanwhile.

    A forked copy of the process cannot use it: threads of V8 are not copied.

    Args:
        folder: where the bundle lies; None: what `ludory pokemon install --v8` made.
        timeout: seconds that a message may take.

    Raises:
        PluginError: mini-racer or the bundle is missing, damaged, or of another version; says what to type.
    """

    def __init__(self, folder: Path | None = None, timeout: float = 60.0) -> None:
        racer = _mini_racer()
        bundle = (folder or needed_bundle()) / BUNDLE
        gc.collect()  # engines lie in reference cycles; this closes the contexts of those that nobody can reach any more
        self.timeout, self._numbers, self._owner = timeout, count(), os.getpid()
        with ThreadPoolExecutor(
            1
        ) as alone:  # a thread without an event loop: mini-racer would block that of the caller
            self._context = _Context(alone.submit(racer.MiniRacer).result())
        _contexts.add(self._context)
        self._finalizer = weakref.finalize(self, _close, self._context, self._owner)
        try:
            self._load(bundle)
            self.hello = self._ask("hello", SECONDS_TO_START)
            if self.hello["rules"] != V8_RULES:
                raise PluginError(
                    f"{bundle}: the rules are {self.hello['rules']}, must be {V8_RULES}; type {V8.install} --again"
                )
        except BaseException:
            self.close()
            raise

    def _load(self, bundle: Path) -> None:
        racer = self._context.racer
        racer.set_hard_memory_limit(int(SHARE_OF_HEAP * racer.heap_stats()["heap_size_limit"]))
        try:
            racer.eval(bundle.read_text(encoding="utf-8"), timeout_sec=SECONDS_TO_START)
        except (OSError, UnicodeDecodeError, _mini_racer().JSEvalException) as error:
            why = str(error).strip().splitlines()[:1]
            raise PluginError(
                f"{bundle}: cannot be read as JavaScript ({''.join(why)[:200]}); type {V8.install} --again"
            ) from error
        scripts = files("ludory.envs.pokemon").joinpath("js")
        racer.eval(_REQUIRE)
        for name in _SOURCES:
            racer.eval(_module(name, scripts.joinpath(name).read_text(encoding="utf-8")))
        racer.eval(scripts.joinpath("call.js").read_text(encoding="utf-8"))
        self._context.answer = racer.eval("answer")

    @property
    def pid(self) -> None:
        """None: the battles are in this process."""
        return None

    @property
    def version(self) -> str:
        """Version of V8."""
        return str(self._context.racer.v8_version)

    @property
    def closed(self) -> bool:
        """Whether the context was closed."""
        return not self._finalizer.alive

    def ask_line(self, line: bytes) -> Reply:
        """Send one line as it is and return the answer, also if it is an error; for tests of the protocol."""
        return self._exchange(line.decode(errors="replace"), 0, "a line", self.timeout)

    def close(self) -> None:
        """Close the context; may be called twice. Does nothing in a forked copy of the process that made it."""
        self._finalizer()

    def _exchange(self, message: str, n: int, op: str, seconds: float) -> Reply:
        if os.getpid() != self._owner:
            raise BackendError(
                f"the simulator is in process {self._owner}, of which this is a forked copy (process {os.getpid()}), where it cannot run: "
                "make a new engine here, or start processes by 'spawn'"
            )
        racer = _mini_racer()
        try:
            answer: Reply = json.loads(self._context.answer(message, timeout_sec=seconds))
        except racer.JSTimeoutException as error:
            self._give_up()
            raise BackendTimeout(f"the simulator did not answer {op!r} in time and was ended") from error
        except racer.JSEvalException as error:
            full = self._context.racer.was_hard_memory_limit_reached()
            self._give_up()
            why = "its memory is full; play fewer games, or with more workers" if full else str(error).strip()[:500]
            raise BackendError(f"the simulator was ended at {op!r}: {why}") from error
        return answer

    def _give_up(self) -> None:
        with suppress(
            Exception
        ):  # a short message behind the one that was ended, so that nothing is on its way at the close
            self._context.racer.eval("0", timeout_sec=SECONDS_TO_CLOSE)
        self.close()


def _mini_racer() -> Any:
    try:
        import py_mini_racer
    except ImportError as error:
        raise PluginError(f"backend='v8' needs mini-racer: type\n  {EXTRA}\n  {V8.install}") from error
    return py_mini_racer


def check_mini_racer() -> None:
    """Refuse to go on without mini-racer.

    Raises:
        PluginError: it is missing; says what to type.
    """
    _mini_racer()


def _module(name: str, source: str) -> str:
    """A script that defines a CommonJS module under the name by which the others require it."""
    return f"modules['./{name}'] = {{ exports: {{}} }};\n(function (module) {{\n{source}\n}})(modules['./{name}']);"


def _close(context: _Context, owner: int) -> None:
    """Close a context, without which the interpreter may wait for it at its end. Does nothing in a forked copy of the process."""
    if os.getpid() == owner:
        _contexts.discard(context)
        context.answer = None
        context.racer.close()


def _keep_all() -> None:
    """In a forked copy of the process: keep the contexts for ever. Freeing one would wait for a thread that the copy does not have."""
    for context in list(_contexts):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(context))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_all)
