"""Kernels as plain Python: for checks, and for single games that begin before their kernels are compiled.

Compiling a game takes seconds, and plain Python plays one game fast enough for people. `until_compiled` is a batch kernel that runs as
plain Python while no compiled code for it is in the cache on disk, where another process may put it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checked_cache import CheckedCache, NotCompiledError, compiled_elsewhere

PLAIN_GAMES = 4
"""Most games in a batch that plain Python plays; larger batches wait for compiled code."""
LOOK_SECONDS = 0.5
"""How often to look for compiled code."""


def interpreted(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel as a plain Python function, like all kernels that it calls."""
    plain: Callable[..., Any] = _twin(getattr(kernel, "py_func", kernel), {})
    return plain


def _twin(function: Any, made: dict[Any, Any]) -> Any:
    if function in made:
        return made[function]
    namespace: dict[str, Any] = {"__builtins__": __builtins__}
    cells = tuple(CellType() for _ in function.__closure__ or ())
    made[function] = FunctionType(function.__code__, namespace, function.__name__, function.__defaults__, cells)
    for name in _names(function.__code__) & function.__globals__.keys():
        namespace[name] = _plain(function.__globals__[name], function.__code__, made)
    for cell, original in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = _plain(original.cell_contents, function.__code__, made)
    return made[function]


def _plain(value: Any, code: CodeType, made: dict[Any, Any]) -> Any:
    """`value`; if it is a kernel, its plain twin; if it is a module, one with twins of the kernels that `code` names."""
    if hasattr(value, "py_func"):
        return _twin(value.py_func, made)
    if isinstance(value, ModuleType):
        parts = {name: getattr(value, name) for name in _names(code) if hasattr(value, name)}
        if any(hasattr(part, "py_func") for part in parts.values()):
            return SimpleNamespace(**{name: _plain(part, code, made) for name, part in parts.items()})
    return value


def _names(code: CodeType) -> set[str]:
    nested = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*nested)


def widened(value: Any) -> Any:
    """A number read from an array as compiled code computes with it: narrow integers in 64 bits."""
    return np.int64(value) if value.dtype.kind in "iu" and value.dtype.itemsize < 8 else value


class WideArray:
    """An array whose integers are 64 bits wide when they are read."""

    __slots__ = ("_array",)

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._array, name)

    def __getitem__(self, index: Any) -> Any:
        value = self._array[index]
        return WideArray(value) if isinstance(value, np.ndarray) else widened(value)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array[index] = value


def _wide(value: Any) -> Any:
    """`value` for plain Python: arrays as `WideArray`, records as an object that has their fields as attributes."""
    if isinstance(value, tuple):
        return tuple(map(_wide, value))
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.names is not None:
        return SimpleNamespace(**{name: WideArray(value[name]) for name in value.dtype.names})
    return WideArray(value) if value.dtype.kind in "iu" and value.dtype.itemsize < 8 else value


class PlainUntilCompiled:
    """A batch kernel that plays up to `PLAIN_GAMES` games in plain Python until compiled code for it is on disk.

    It never compiles for so few games. Larger batches are played by `kernel`, which is compiled where it has to be.
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.__name__: str = kernel.__name__
        self.compiled = False
        """Whether compiled code was found."""
        self._plain: Callable[..., Any] | None = None
        self._index, self._looked = Path(kernel._cache._cache_file._index_path), 0.0

    @property
    def ran_plain(self) -> bool:
        """Whether it was called, and is still played in plain Python."""
        return self._plain is not None and not self.compiled

    def __call__(self, state: Any, *args: Any) -> Any:
        """Run the kernel; its first argument is the state, as `KernelEngine.kernel_state` has it."""
        records = state[0] if isinstance(state, tuple) else state
        if self.compiled or len(records) > PLAIN_GAMES:
            return self.kernel(state, *args)
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._looked = time.monotonic()
            if self._index.exists():
                try:
                    with compiled_elsewhere():
                        found = self.kernel(state, *args)
                except NotCompiledError:
                    pass
                else:
                    self.compiled = True
                    return found
        self._plain = self._plain or interpreted(self.kernel)
        with np.errstate(all="ignore"):
            return self._plain(_wide(state), *map(_wide, args))


@cache
def until_compiled(module: ModuleType) -> ModuleType:
    """A bound module whose batch kernels are `PlainUntilCompiled`. Kernels that are not kept on disk stay as they are."""
    view = ModuleType(module.__name__)
    for name, value in vars(module).items():
        kept = isinstance(getattr(value, "_cache", None), CheckedCache)
        view.__dict__[name] = PlainUntilCompiled(value) if kept else value
    return view
