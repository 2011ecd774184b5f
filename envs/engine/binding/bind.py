"""Binds batch kernel files to a game's scalar kernels, with a disk cache that notices changed rules.

Numba caches compiled code per source file, and does not notice that a function called from there has changed. So each template is
written to a file per game, in which the game's kernels are imported by name. The file name contains a hash of every source that the
kernels reach: an edited rule leads to another file, and so to other compiled code.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ludory.atomic import atomic_file
from ludory.envs.engine.storage import state_class
from ludory.errors import OutputError

from .source_hash import plain, source_hash

PLACEHOLDER = "from ludory.envs.engine.binding.kernel_placeholders import "
STATE_CLASS = "GameState"
"""Placeholder for the NamedTuple class of the state, which CUDA kernels need because they receive the fields as a plain tuple."""


def cache_directory(part: str = "kernels") -> Path:
    """Folder of bound files and compiled code, or of another `part`: in `LUDORY_CACHE_DIR`, else the user's cache folder, else a temporary one.

    Code is loaded from it, so it belongs to this user and nobody else can enter it.

    Raises:
        OutputError: no such folder can be made.
    """
    named = os.environ.get("LUDORY_CACHE_DIR")
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "ludory"
    folder, temporary = base / part, Path(tempfile.gettempdir()) / f"ludory-{part}-{os.getuid()}"
    cure = "set LUDORY_CACHE_DIR to a folder of your own"
    if not (unusable := _make_private(folder)):
        return folder
    if problem := _make_private(temporary):
        raise OutputError(f"{temporary} {problem}; {cure}")
    _warn(f"ludory: {folder} {unusable}, so {temporary} is used instead; {cure}")
    return temporary


def _make_private(folder: Path) -> str:
    """Make `folder` accessible to this user only; returns why that is impossible, "" if it is done."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if problem := _foreign(folder):
            return problem
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        return f"cannot be made private ({error.strerror})"
    return "" if os.access(folder, os.W_OK) else "cannot be written to"


def _foreign(folder: Path) -> str:
    """Why another user may control the content of `folder`, "" if none can."""
    for place in (folder.parent, folder):
        if place.is_symlink() and (place == folder or place.lstat().st_uid not in (0, os.getuid())):
            return "is a symbolic link" if place == folder else f"lies behind the symbolic link {place} of another user"
    return "belongs to another user" if folder.exists() and folder.stat().st_uid != os.getuid() else ""


@cache
def _warn(notice: str) -> None:
    print(notice, file=sys.stderr)


def bind(
    template: str, kernels: Mapping[str, Callable[..., Any]], layout: np.dtype[Any], shared: tuple[str, ...] = ()
) -> ModuleType:
    """Module of `template` (a file in this folder, or the path of another, without ".py") with its placeholders bound to `kernels`.

    layout: dtype of the state's records. Each layout has its own file: when two processes compile functions of two record types, Numba
    may give them the same name, and a third process that loads both from the cache would run the wrong one.

    Kernels at the top level of an importable module are compiled once per machine; others (in a notebook or a closure) in each
    process.

    shared: names of the shared fields. Batch kernels for the CPU then take `KernelEngine.kernel_state` as their state: a tuple of the
    records and these arrays, from which a wrapper makes a `GameState` for the scalar kernels.
    """
    return _bind(template, tuple(kernels.items()), layout, shared)


@cache
def _bind(
    template: str,
    items: tuple[tuple[str, Callable[..., Any]], ...],
    layout: np.dtype[Any],
    shared: tuple[str, ...],
) -> ModuleType:
    kernels = dict(items)
    source = (Path(__file__).parent / f"{template}.py").read_text(encoding="utf-8")
    names = (*(layout.names or ()), *shared)
    wrapped = shared and STATE_CLASS not in _placeholders(source)
    if wrapped:
        source = _inlined(source) + _wrappers(source, layout.names or (), shared)
    if not all(map(_importable, kernels.values())):
        module = _bind_in_memory(template, source, kernels, names)
        return _wrapped(module) if wrapped else module
    lines = [_bound_line(name, kernels.get(name), names) for name in _placeholders(source)]
    digest = source_hash(f"{source}{layout}{shared or ''}", kernels.values())
    try:
        module = _load(template, _replace_placeholder(source, "\n".join(lines)), digest)
    except OSError as error:  # a full disk, for example
        _warn(f"ludory: {error}: this game's kernels are compiled in memory")
        module = _bind_in_memory(template, source, kernels, names)
    return _wrapped(module) if wrapped else module


WRAPPED = "shared_"
"""Prefix of the wrappers that take the records and the shared arrays."""


def _wrappers(source: str, own: tuple[str, ...], shared: tuple[str, ...]) -> str:
    """Source of a wrapper for every batch kernel of `source` that takes a state; it takes a tuple of the records and the shared arrays.

    A tuple's type names no class, so compiled code is found on disk again: the class of a state differs from process to process.
    """
    parts = [*(f"fields[0].{name}" for name in own), *(f"fields[{k}]" for k in range(1, len(shared) + 1))]
    text = (
        f"\n\nfrom ludory.envs.engine.storage import state_class\n\n{STATE_CLASS} = state_class({(*own, *shared)!r})\n"
    )
    for name, arguments in re.findall(r"^@batch_kernel\ndef (\w+)\(\s*state,([^)]*)\):$", source, re.MULTILINE):
        rest = ", ".join(one.strip() for one in arguments.split(",") if one.strip())  # they may take a line each
        text += f"\n\n@batch_kernel\ndef {WRAPPED}{name}(fields, {rest}):\n"
        text += f"    return {name}({STATE_CLASS}({', '.join(parts)}), {rest})\n"
    return text


def _inlined(source: str) -> str:
    """`source` with its batch kernels inlined into their wrappers, where the compiler knows the layout of the records and can vectorise."""
    inlined = re.sub(r"^@batch_kernel\n(?=def \w+\(\s*state,)", "@kernel\n", source, flags=re.MULTILINE)
    return inlined.replace("import batch_kernel", "import batch_kernel, kernel", 1)


def _wrapped(module: ModuleType) -> ModuleType:
    """A module with the wrappers under the names of what they wrap."""
    view = ModuleType(module.__name__)
    view.__dict__.update(
        {name.removeprefix(WRAPPED): value for name, value in vars(module).items() if name.startswith(WRAPPED)}
    )
    return view


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


def _bound_line(name: str, kernel: Callable[..., Any] | None, names: tuple[str, ...]) -> str:
    if name == STATE_CLASS:
        return f"from ludory.envs.engine.storage import state_class\n\n{STATE_CLASS} = state_class({names!r})"
    if kernel is None:
        return ""
    function = plain(kernel)
    return f"from {function.__module__} import {function.__qualname__} as {name}"


def _load(template: str, source: str, digest: str) -> ModuleType:
    path = cache_directory() / f"{Path(template).name}_{digest}.py"
    if os.environ.get("LUDORY_SHOW_BOUND") == "1":
        _warn(f"ludory: bound file: {path}")
    if not path.exists():
        print("ludory: compiling this game's kernels, once on this machine (a few seconds)", file=sys.stderr)
    if not path.exists() or path.read_bytes() != source.encode():  # a damaged file is written again
        with atomic_file(path, "w", private=True) as file:
            file.write(source)
            file.flush()
            os.utime(file.name, (0, 0))  # Numba compares the file's time, which must not depend on who writes the file
    return _load_named(path, source)


@cache
def _load_named(path: Path, source: str) -> ModuleType:
    """Run `source` as the module of the file `path`. No bytecode is stored, because damage to it would not be noticed."""
    module = ModuleType(f"ludory_bound_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    exec(compile(source, path, "exec"), module.__dict__)
    return module


def _bind_in_memory(
    template: str, source: str, kernels: Mapping[str, Callable[..., Any]], names: tuple[str, ...]
) -> ModuleType:
    module = ModuleType(f"ludory_bound_{template}_uncached")
    module.__dict__.update({**kernels, STATE_CLASS: state_class(names)})
    uncached = source.replace("import batch_kernel", "import uncached_batch_kernel as batch_kernel")
    exec(compile(_replace_placeholder(uncached, ""), template, "exec"), module.__dict__)
    return module
