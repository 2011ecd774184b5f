"""Binds batch kernel files to a game's scalar kernels, with a disk cache that notices changed rules.

Numba caches compiled code per source file, and does not see that a function called from there has changed. So each batch
file is written out once per game with the game's kernels imported by name, under a name that carries a hash of every
source the kernels reach: an edited rule gives another file, and so other compiled code.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .source_hash import plain, source_hash
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
    """Module of `template` (a file beside this one, or the path of another, without ".py") with its placeholders bound to `kernels`.

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


def _importable(kernel: Callable[..., Any]) -> bool:
    function = plain(kernel)
    module = sys.modules.get(function.__module__)
    return function.__module__ != "__main__" and getattr(module, function.__qualname__, None) is kernel


def _bound_line(name: str, kernel: Callable[..., Any] | None, layout: np.dtype[Any]) -> str:
    if name == STATE_CLASS:
        return f"from ludory.envs.storage import state_class\n\n{STATE_CLASS} = state_class({layout.names!r})"
    if kernel is None:
        return ""
    function = plain(kernel)
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
    path = cache_directory() / f"{Path(template).name}_{digest}.py"
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
