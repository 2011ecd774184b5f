"""Kernels as plain Python: for debugging, for checks, and for single games that begin before their kernels are compiled.

Python runs the functions of the rules themselves, so that debuggers stop in them, `print` prints, and tracebacks name their lines. Compiling
a game takes seconds, and plain Python plays a few games fast enough for people and for short checks. `until_compiled` gives batch kernels
that run as plain Python until compiled code for them is on disk, where another process may put it, or until compiling pays.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, SupportsIndex, TypeAlias

import numba
import numpy as np
from numpy.typing import NDArray

from .checked_cache import CheckedCache, NotCompiledError, compiled_elsewhere

PLAIN_GAMES = 4
"""Most games in a batch that plain Python plays; larger batches wait for compiled code."""
LOOK_SECONDS = 0.5
"""How often to look for compiled code."""
PLAIN = "ludory_plain"
"""Attribute of what has no Python function that could run: what takes its place."""


_ASKED = ContextVar("plain rules", default=False)


@contextmanager
def plain_rules() -> Iterator[None]:
    """Within it, engines on the CPU run the rules as plain Python, as with `make_engine(..., compiled=False)`, also those of views."""
    token = _ASKED.set(True)
    try:
        yield
    finally:
        _ASKED.reset(token)


def plain_rules_asked() -> bool:
    """Whether this is called within `plain_rules`, or Numba is disabled."""
    return _ASKED.get() or bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]


def interpreted(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel as a plain Python function, like all kernels that it calls."""
    plain: Callable[..., Any] = _twin(getattr(kernel, "py_func", kernel), {})
    return plain


def _twin(function: Any, made: dict[Any, Any]) -> Any:
    if function in made:
        return made[function]
    # a namespace of its own: the module's globals still hold the compiled kernels
    # with the module's name, by which an error is told to be a package's
    name = function.__globals__.get("__name__", "")
    namespace: dict[str, Any] = {"__builtins__": __builtins__, "__name__": name}
    cells = tuple(CellType() for _ in function.__closure__ or ())
    # entered before its globals are filled: kernels may call each other in a circle
    made[function] = FunctionType(function.__code__, namespace, function.__name__, function.__defaults__, cells)
    for name in _names(function.__code__) & function.__globals__.keys():
        namespace[name] = _plain(function.__globals__[name], function.__code__, made)
    for cell, original in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = _plain(original.cell_contents, function.__code__, made)
    return made[function]


def _plain(value: Any, code: CodeType, made: dict[Any, Any]) -> Any:
    """`value`; if it is a kernel, its plain twin; if it is a module, one with twins of the kernels that `code` names."""
    if hasattr(value, PLAIN):
        return getattr(value, PLAIN)
    if hasattr(value, "py_func"):
        return _twin(value.py_func, made)
    # `from . import state as at`: constants pass through, kernels become twins
    if isinstance(value, ModuleType):
        parts = {name: getattr(value, name) for name in _names(code) if hasattr(value, name)}
        if any(hasattr(part, "py_func") for part in parts.values()):
            return SimpleNamespace(**{name: _plain(part, code, made) for name, part in parts.items()})
    return value


def _names(code: CodeType) -> set[str]:
    nested = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*nested)


Index: TypeAlias = "SupportsIndex | slice | tuple[SupportsIndex | slice, ...]"
"""What a kernel writes in brackets after an array."""


_PYTHONS: dict[type, Callable[[Any], int | float]] = {
    kind: int if issubclass(kind, np.integer) else float
    for kind in np.sctypeDict.values()
    if issubclass(kind, np.integer | np.floating) and np.dtype(kind).itemsize < 8
}
"""Types of numbers that compiled code widens to 64 bits, and what takes their place: an int8 would overflow in plain Python."""


def widened(value: object) -> object:
    """A number read from an array as compiled code computes with it: a narrow one as a number of Python."""
    python = _PYTHONS.get(type(value))
    return value if python is None else python(value)


class WideArray(np.ndarray):
    """A view of an array of narrow numbers, which are those of Python when they are read."""

    array: NDArray[Any]
    """The array itself, by which a state is known again; views of this view have none."""

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Index) -> Any:  # type: ignore[override]
        # most of what plain Python does: reading a number by `item` takes a fourth of the time of widening one
        if (len(index) if type(index) is tuple else 1) == self.ndim:
            try:
                return self.item(index)  # type: ignore[arg-type]
            except (TypeError, ValueError):  # a slice
                pass
        return np.ndarray.__getitem__(self, index)


def wide(value: object) -> Any:
    """`value` for plain Python: arrays as `WideArray`, records as an object that has their fields as attributes."""
    if isinstance(value, tuple):
        return tuple(map(wide, value)) if type(value) is tuple else type(value)(*map(wide, value))
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.names is not None:
        return SimpleNamespace(**{name: _view(value[name]) for name in value.dtype.names})
    return _view(value) if value.dtype.kind in "iuf" and value.dtype.itemsize < 8 else value


def _view(array: NDArray[Any]) -> WideArray:
    view = array.view(WideArray)
    view.array = array
    return view


class PlainKernel:
    """A batch kernel that runs as plain Python."""

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self.__name__: str = kernel.__name__
        self._function = interpreted(kernel)

    def __call__(self, *args: Any) -> Any:
        """Run the kernel on the arguments of the compiled one."""
        # compiled code does not warn either
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            return self._function(*map(wide, args))


class Patience:
    """CPU seconds that are `left` of those that the kernels of a game run as plain Python before this process compiles them.

    With about as many as compiling takes, whoever plays on waits twice as long as need be at most, and whoever stops earlier does not wait.
    `games` is the most games that are played so.
    """

    def __init__(self, seconds: float, games: int) -> None:
        self.left, self.games = seconds, games


class PlainUntilCompiled:
    """A batch kernel that plays few games in plain Python until compiled code for it is on disk, or `patience` is at its end.

    Batches of more games are played by `kernel`, which is compiled where it has to be. `step_aside` is called when it is.
    """

    def __init__(self, kernel: Callable[..., Any], patience: Patience, step_aside: Callable[[], None]) -> None:
        self.kernel, self._patience, self._step_aside = kernel, patience, step_aside
        self.__name__: str = kernel.__name__
        self.compiled = False
        """Whether compiled code was found, or patience is at its end."""
        self._plain: PlainKernel | None = None
        self._index, self._looked = kept_on_disk(kernel), -math.inf

    @property
    def ran_plain(self) -> bool:
        """Whether it was called, and is still played in plain Python."""
        return self._plain is not None and not self.compiled

    def __call__(self, records: NDArray[Any], *args: Any) -> Any:
        """Run the kernel; `records` and what follows are the state, as `KernelEngine.kernel_state` has it."""
        if self.compiled or len(records) > self._patience.games:
            return self.kernel(records, *args)
        if self._patience.left <= 0:
            self._give_way()
            return self.kernel(records, *args)
        if self._index is not None and time.monotonic() - self._looked > LOOK_SECONDS:
            self._looked = time.monotonic()
            if self._index.exists():
                try:
                    # read from disk only: compiling here is what is to be avoided
                    with compiled_elsewhere():
                        found = self.kernel(records, *args)
                except NotCompiledError:
                    pass
                else:
                    self._give_way()
                    return found
        self._plain = self._plain or PlainKernel(self.kernel)
        # CPU time of this thread, so that other work on the machine does not use up the patience
        started = time.thread_time()
        try:
            return self._plain(records, *args)
        finally:
            self._patience.left -= time.thread_time() - started

    def _give_way(self) -> None:
        """From now on whoever asks for this kernel gets the compiled one."""
        self.compiled = True
        self._step_aside()


def kept_on_disk(kernel: object) -> Path | None:
    """The file that is there once the kernel was compiled and kept; None for kernels of notebooks and closures, which no file keeps."""
    kept = getattr(kernel, "_cache", None)
    return kept.index if isinstance(kept, CheckedCache) else None


@cache
def plain_module(module: ModuleType) -> ModuleType:
    """A bound module whose batch kernels run as plain Python."""
    view = ModuleType(module.__name__)
    for name, value in vars(module).items():
        if not name.startswith("__"):
            view.__dict__[name] = PlainKernel(value) if callable(value) and not isinstance(value, type) else value
    return view


@cache
def until_compiled(module: ModuleType, seconds: float = math.inf, games: int = PLAIN_GAMES) -> ModuleType:
    """A bound module whose batch kernels are `PlainUntilCompiled`.

    Args:
        module: from `bind_fields`.
        seconds: CPU seconds of plain Python, after which this process compiles; all kernels of the module share them. Infinite: another process compiles
            what is kept on disk; other kernels stay as they are.
        games: most games that are played in plain Python.
    """
    view, patience = ModuleType(module.__name__), Patience(seconds, games)
    for name, value in vars(module).items():
        waits = hasattr(value, "py_func") and (math.isfinite(seconds) or kept_on_disk(value))
        step_aside = partial(setattr, view, name, value)
        setattr(view, name, PlainUntilCompiled(value, patience, step_aside) if waits else value)
    return view
