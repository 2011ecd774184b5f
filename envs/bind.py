"""Binds batch kernel files to a game's scalar kernels, with a disk cache that notices changed rules.

Numba caches compiled code per source file, and does not see that a function called from there has changed. So each batch
file is written out once per game with the game's kernels imported by name, under a name that carries a hash of every
source the kernels reach: an edited rule gives another file, and so other compiled code.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numba
import numpy as np

from .kernel import BATCH_FLAGS, KERNEL_FLAGS
from .storage import state_class

PLACEHOLDER = "from ludory.envs.unbound import "
STATE_CLASS = "GameState"
"""Placeholder for the NamedTuple class of a state with the fields of the layout: CUDA kernels get the fields as a plain tuple."""


def cache_directory(part: str = "kernels") -> Path:
    """Where bound files and compiled code, or another `part`, are kept: `LUDORY_CACHE_DIR`, else the user's cache folder, else a temporary one."""
    named = os.environ.get("LUDORY_CACHE_DIR")
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "ludory"
    folder = base / part
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    folder = Path(tempfile.gettempdir()) / f"ludory-{part}-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():  # somebody else made it, and code is loaded from here
        return Path(tempfile.mkdtemp(prefix=f"ludory-{part}-"))
    return folder


def bind(template: str, kernels: Mapping[str, Callable[..., Any]], layout: np.dtype[Any]) -> ModuleType:
    """Module of `template` (a file beside this one, without ".py") with its placeholders bound to `kernels`.

    layout: of the state's records. Each layout gets a file of its own: Numba gives functions of any two record types the
    same name when two processes compile them, and a third process that loads both from the cache would run the wrong one.

    Kernels defined at the top level of an importable module are compiled once per machine; others (from a notebook or
    a closure) are compiled in each process.
    """
    return _bind(template, tuple(kernels.items()), layout)


@cache
def _bind(template: str, items: tuple[tuple[str, Callable[..., Any]], ...], layout: np.dtype[Any]) -> ModuleType:
    kernels = dict(items)
    source = (Path(__file__).parent / f"{template}.py").read_text(encoding="utf-8")
    if not all(map(_importable, kernels.values())):
        return _bind_in_memory(template, source, kernels, layout)
    lines = [_bound_line(name, kernels.get(name), layout) for name in _placeholders(source)]
    return _load(
        template, _replace_placeholder(source, "\n".join(lines)), source_hash(f"{source}{layout}", kernels.values())
    )


def _placeholder_line(source: str) -> str:
    return next(line for line in source.splitlines() if line.startswith(PLACEHOLDER))


def _placeholders(source: str) -> list[str]:
    return [name.strip() for name in _placeholder_line(source).removeprefix(PLACEHOLDER).split(",")]


def _replace_placeholder(source: str, text: str) -> str:
    return source.replace(_placeholder_line(source), text)


def _python(kernel: Callable[..., Any]) -> Callable[..., Any]:
    return getattr(kernel, "py_func", kernel)


def _importable(kernel: Callable[..., Any]) -> bool:
    function = _python(kernel)
    module = sys.modules.get(function.__module__)
    return function.__module__ != "__main__" and getattr(module, function.__qualname__, None) is kernel


def _bound_line(name: str, kernel: Callable[..., Any] | None, layout: np.dtype[Any]) -> str:
    if name == STATE_CLASS:
        return f"from ludory.envs.storage import state_class\n\n{STATE_CLASS} = state_class({layout.names!r})"
    if kernel is None:
        return ""
    function = _python(kernel)
    return f"from {function.__module__} import {function.__qualname__} as {name}"


@cache
def _load_named(path: Path) -> ModuleType:
    name = f"ludory_bound_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _load(template: str, source: str, digest: str) -> ModuleType:
    path = cache_directory() / f"{template}_{digest}.py"
    if not path.exists():
        print("ludory: compiling this game's kernels, once on this machine (a few seconds)", file=sys.stderr)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".tmp", delete=False, encoding="utf-8") as file:
            file.write(source)
        os.utime(file.name, (0, 0))  # Numba compares the time of the file: the same for whoever writes it first
        os.replace(file.name, path)
    return _load_named(path)


def _bind_in_memory(
    template: str, source: str, kernels: Mapping[str, Callable[..., Any]], layout: np.dtype[Any]
) -> ModuleType:
    module = ModuleType(f"ludory_bound_{template}_uncached")
    module.__dict__.update({**kernels, STATE_CLASS: state_class(layout.names or ())})
    uncached = source.replace("import batch_kernel", "import uncached_batch_kernel as batch_kernel")
    exec(compile(_replace_placeholder(uncached, ""), template, "exec"), module.__dict__)
    return module


def source_hash(template_source: str, kernels: Any) -> str:
    """Hash of a template, of every function and constant that `kernels` reach, and of the versions that compile them."""
    digest = hashlib.sha256(template_source.encode())
    versions = f"{numba.__version__} {np.__version__} {sys.version_info[:2]}"
    digest.update(f"{versions} {KERNEL_FLAGS} {BATCH_FLAGS} {_import_line_digest(kernels)}".encode())
    for part in _reached(list(kernels)):
        digest.update(part.encode())
    return digest.hexdigest()[:20]


def _import_line_digest(kernels: Any) -> str:
    return ";".join(f"{_python(k).__module__}.{_python(k).__qualname__}" for k in kernels)


def _reached(kernels: list[Callable[..., Any]]) -> Iterator[str]:
    """Sources of the functions that are reached by name, and values of the constants they read."""
    queue, seen = [_python(kernel) for kernel in kernels], set()
    while queue:
        function = queue.pop(0)
        if function in seen:
            continue
        seen.add(function)
        yield inspect.getsource(function)
        for name, value in _read_by(function):
            if hasattr(value, "py_func") or inspect.isfunction(value):
                queue.append(_python(value))
            elif isinstance(value, np.ndarray):
                yield f"{name}={value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
            elif isinstance(value, type) and issubclass(value, Enum):
                yield f"{name}={list(value)!r}"
            elif isinstance(value, int | float | str | tuple | np.generic):
                yield f"{name}={value!r}"


def _read_by(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Globals, enclosed variables and attributes of modules that the code names (those of NumPy never change)."""
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
