"""`cached_kernel`: like `numba.njit(cache=True)`, but by `source_hash`, a key that changes with every source that the code reaches.

Numba's own key depends only on the file of a function: it does not notice that a function called from there has changed.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import cache, cached_property
from types import CodeType
from typing import Any

import numba
import numpy as np
from numba import njit

from ludory.envs.kernels import BATCH_FLAGS, KERNEL_FLAGS

from .checked_cache import CheckedCache
from .linked_kernel import BatchCompiler
from .plain_kernels import PLAIN


def plain(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function behind a compiled one."""
    return getattr(kernel, "py_func", kernel)


def source_hash(template_source: str, kernels: Iterable[Callable[..., Any]]) -> str:
    """Hash of a template, of every function and constant that `kernels` reach, and of the versions of Python, Numba and NumPy."""
    kernels = list(kernels)
    digest = hashlib.sha256(template_source.encode())
    versions = f"{numba.__version__} {np.__version__} {sys.version_info[:2]}"
    digest.update(f"{versions} {KERNEL_FLAGS} {BATCH_FLAGS} {_import_line_digest(kernels)}".encode())
    for part in _reached(kernels):
        digest.update(part.encode())
    return digest.hexdigest()[:20]


def _import_line_digest(kernels: list[Callable[..., Any]]) -> str:
    return ";".join(f"{plain(k).__module__}.{plain(k).__qualname__}" for k in kernels)


def reached_functions(kernels: Iterable[Callable[..., Any]]) -> Iterator[Callable[..., Any]]:
    """The Python functions of `kernels` and all functions that they reach by name."""
    queue, seen = [plain(kernel) for kernel in kernels], set()
    while queue:
        function = queue.pop(0)
        if function in seen:
            continue
        seen.add(function)
        yield function
        queue += [plain(value) for _, value in _read_by(function) if _is_function(value)]


def _is_function(value: object) -> bool:
    return hasattr(value, "py_func") or inspect.isfunction(value)


def _reached(kernels: list[Callable[..., Any]]) -> Iterator[str]:
    """Sources of the functions that `kernels` reach, and values of the constants that these read."""
    for function in reached_functions(kernels):
        yield f"{function.__module__} {_source(function)}"  # compiled code finds what it calls by module
        for name, value in _read_by(function):
            if _is_function(value):
                continue
            if isinstance(value, np.ndarray):
                yield f"{name}={value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
            elif isinstance(value, type) and issubclass(value, Enum):
                yield f"{name}={list(value)!r}"
            elif isinstance(value, int | float | str | tuple | np.generic):
                yield f"{name}={value!r}"
            elif hasattr(value, PLAIN):
                # an intrinsic: its code is built by functions of its module
                yield f"{name} {inspect.getsource(sys.modules[value.__module__])}"


@cache
def _source(function: Callable[..., Any]) -> str:
    return inspect.getsource(function)


def _read_by(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Globals, enclosed variables and module attributes that the code names (those of NumPy, Numba and math never change)."""
    names = _names(function.__code__)
    cells = inspect.getclosurevars(function).nonlocals
    found = dict(cells) | {name: function.__globals__[name] for name in names if name in function.__globals__}
    for name, value in sorted(found.items()):
        yield name, value
        if inspect.ismodule(value) and value.__name__.split(".")[0] not in ("numpy", "numba", "math"):
            yield from ((f"{name}.{part}", getattr(value, part)) for part in sorted(names) if hasattr(value, part))


def _names(code: CodeType) -> set[str]:
    nested = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*nested)


class _SourceCache(CheckedCache):
    """Numba's cache on disk, with a hash of all sources that the function reaches in its keys."""

    @cached_property
    def _sources(self) -> str:
        return source_hash("", [self._py_func])  # computed at the first call, when everything that it names exists

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), self._sources)


def cached_kernel(**flags: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator like `numba.njit(cache=True, **flags)`; recompiles when anything that the function calls has changed."""

    def compiled(function: Callable[..., Any]) -> Any:
        """The compiled function."""
        dispatcher: Any = njit(pipeline_class=BatchCompiler, **flags)(function)
        if hasattr(dispatcher, "py_func"):  # otherwise Numba is disabled
            dispatcher._cache = _SourceCache(function)
        return dispatcher

    return compiled


cached_batch_kernel = cached_kernel(**BATCH_FLAGS)
"""Decorator like `batch_kernel`, for kernels that are not bound to a game and call functions of other files."""
