"""`CheckedCache`: Numba's cache of compiled functions on disk, in private files with checksums; damaged files are rebuilt."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

from ludory.atomic import atomic_file
from ludory.errors import LudoryError

_DIGEST = hashlib.sha256
_COMPILE = ContextVar("compile", default=True)


class NotCompiledError(LudoryError, RuntimeError):
    """A kernel is not in the cache, and another process compiles it."""


@contextmanager
def compiled_elsewhere() -> Iterator[None]:
    """Within it, kernels that are not in the cache raise `NotCompiledError` instead of being compiled."""
    token = _COMPILE.set(False)
    try:
        yield
    finally:
        _COMPILE.reset(token)


class _CheckedFiles(IndexDataCacheFile):
    """Numba's index and data files with a checksum, so that a damaged file counts as missing; private, and written atomically."""

    def save(self, key: Any, data: Any) -> None:
        with suppress(OSError):  # a full disk or a read-only folder: the function is compiled anyway
            super().save(key, data)

    def _load_index(self) -> Any:
        try:
            version, stamp, overloads = _read(self._index_path)
        except (OSError, ValueError):
            return {}
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: Any) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return _read(self._data_path(name))  # Numba treats an OSError as a miss

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _write(self, path: str, value: Any) -> None:
        content = self._dump(value)
        with atomic_file(path, private=True) as file:
            file.write(_DIGEST(content).digest() + content)


def _read(path: str) -> Any:
    """Content of a file of `_CheckedFiles._write`.

    Raises:
        OSError: it is missing or damaged, or of another version, with a class that is not there any more.
    """
    content = memoryview(Path(path).read_bytes())
    size = _DIGEST().digest_size
    if _DIGEST(content[size:]).digest() != content[:size]:
        raise OSError(f"{path}: damaged")
    try:
        return pickle.loads(content[size:])
    except (AttributeError, ImportError) as error:
        raise OSError(f"{path}: of another version") from error


class CheckedCache(FunctionCache):
    """Numba's cache of `function`, in files named differently from Numba's own, which have no checksums."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _CheckedFiles(self._cache_path, f"{self._impl.filename_base}-checked", stamp)

    def load_overload(self, sig, target_context):
        """Compiled code for these types; None if it is not in the cache, and is to be compiled.

        Raises:
            NotCompiledError: it is not in the cache, and this is called within `compiled_elsewhere`.
        """
        found = super().load_overload(sig, target_context)
        if found is None and not _COMPILE.get():
            raise NotCompiledError(f"{self._py_func.__name__} is not compiled yet; ask again when it is")
        return found
