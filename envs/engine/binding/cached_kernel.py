"""`cached_kernel`: like `numba.njit(cache=True)`, but the cache on disk also notices edits in other files."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from numba import njit

from ludory.envs.kernels import BATCH_FLAGS

from .checked_cache import CheckedCache
from .source_hash import source_hash


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
        dispatcher: Any = njit(**flags)(function)
        if hasattr(dispatcher, "py_func"):  # otherwise Numba is disabled
            dispatcher._cache = _SourceCache(function)
        return dispatcher

    return compiled


cached_batch_kernel = cached_kernel(**BATCH_FLAGS)
"""Decorator like `batch_kernel`, for kernels that are not bound to a game and call functions of other files."""
