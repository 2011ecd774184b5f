"""`CheckedCache`: Numba's cache of compiled functions on disk, in private files of the cache folder with checksums; damaged files are rebuilt."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from ludory.atomic import atomic_file
from ludory.cache_folder import cache_directory
from ludory.errors import LudoryError

_DIGEST = hashlib.sha256
_COMPILE = ContextVar("compile", default=True)
COMPILED = "__pycache__"
"""Folder of the compiled code of bound files, in the folder where they lie."""


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


class _Locator:
    """Says where compiled code of a source file is kept: `NUMBA_CACHE_DIR`, or the cache folder, and never beside the source.

    Numba would write to the package, which would then outlive its being uninstalled.
    """

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._line, self._file = function.__code__.co_firstlineno, Path(file).absolute()
        self._py_file = file  # Numba's warning that a function cannot be kept names it

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Locator | None:
        """None where there is no file, as in a notebook."""
        return cls(function, file) if Path(file).is_file() else None

    def get_cache_path(self) -> str:
        """Asked when the function is defined, which makes no folder yet: see `folder`."""
        return ""

    def folder(self) -> Path:
        """Where the code is kept: equal files of several environments and checkouts have it in common.

        Bound files lie in the cache folder, with their code beside them.
        """
        named: str = config.CACHE_DIR  # type: ignore[attr-defined]
        base = Path(named or cache_directory()).absolute()
        if self._file.parent == base:
            return base / COMPILED
        return base / f"{self._file.stem}_{self.get_source_stamp()[:16]}"

    def ensure_cache_path(self) -> None:
        """Nothing to do: whoever writes a file makes its folder."""

    def get_source_stamp(self) -> str:
        """The content of the source."""
        return _DIGEST(self._file.read_bytes()).hexdigest()

    def get_disambiguator(self) -> str:
        """The line of the function."""
        return str(self._line)


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes: ClassVar[list[Any]] = [_Locator, *CompileResultCacheImpl._locator_classes]


class _CheckedFiles(IndexDataCacheFile):
    """Numba's index and data files with a checksum, so that a damaged file counts as missing; private, and written atomically.

    Args:
        locator: says where they are.
        name: of the function.
    """

    def __init__(self, locator: Any, name: str) -> None:
        super().__init__("", name, locator.get_source_stamp())
        self._locator = locator

    @cached_property
    def _folder(self) -> Path:
        return Path(self._locator.folder() if isinstance(self._locator, _Locator) else self._locator.get_cache_path())

    @property
    def index(self) -> Path:
        """The file that is there once the function was compiled and kept."""
        return self._folder / self._index_name

    def save(self, key: Any, data: Any) -> None:
        with suppress(OSError):  # a full disk or a read-only folder: the function is compiled anyway
            super().save(key, data)

    def _load_index(self) -> Any:
        try:
            version, stamp, overloads = _read(self.index)
        except (OSError, ValueError):
            return {}
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: Any) -> None:
        self._write(self._index_name, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return _read(self._folder / name)  # Numba treats an OSError as a miss

    def _save_data(self, name: str, data: Any) -> None:
        self._write(name, data)

    def _write(self, name: str, value: Any) -> None:
        content = self._dump(value)
        with atomic_file(self._folder / name, private=True) as file:
            file.write(_DIGEST(content).digest() + content)


def _read(path: str | Path) -> Any:
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

    _impl_class = _CacheImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file: _CheckedFiles = _CheckedFiles(self._impl.locator, f"{self._impl.filename_base}-checked")

    @property
    def index(self) -> Path:
        """The file that is there once the function was compiled and kept."""
        return self._cache_file.index

    def load_overload(self, sig, target_context):
        """Compiled code for these types; None if it is not in the cache, and is to be compiled.

        Raises:
            NotCompiledError: it is not in the cache, and this is called within `compiled_elsewhere`.
        """
        found = super().load_overload(sig, target_context)
        if found is None and not _COMPILE.get():
            raise NotCompiledError(f"{self._py_func.__name__} is not compiled yet; ask again when it is")
        if found is None and self.index.parent == cache_directory() / COMPILED:
            _tell(self._py_func.__code__.co_filename)
        return found


@cache
def _tell(bound_file: str) -> None:
    print("ludory: compiling this game's kernels, once on this machine (a few seconds)", file=sys.stderr)
