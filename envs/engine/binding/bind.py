"""Binds batch kernel files to a game's scalar kernels, with a disk cache that notices changed rules.

Numba caches compiled code per source file, and does not notice that a function called from there has changed. So each template is
written to a file per game, in which the game's kernels are imported by name. The file name contains a hash of every source that the
kernels reach: an edited rule leads to another file, and so to other compiled code.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np

from ludory.atomic import atomic_file
from ludory.cache_folder import cache_directory, warn
from ludory.envs.engine.storage import state_class
from ludory.envs.parts import Field

from . import linked_kernel
from . import state_fields as state_fields_module
from .cached_kernel import plain as python_function
from .cached_kernel import source_hash
from .plain_kernels import plain_module
from .state_fields import StateFields, state_fields

PLACEHOLDER = "from ludory.envs.engine.binding.kernel_placeholders import "
STATE_CLASS = "GameState"
"""Placeholder for the NamedTuple class of the state, which CUDA kernels need because they receive the fields as a plain tuple."""


def bind(
    template: str, kernels: Mapping[str, Callable[..., Any]], layout: np.dtype[Any], shared: tuple[str, ...] = ()
) -> ModuleType:
    """Module of `template` (a file in this folder, or the path of another, without ".py") with its placeholders bound to `kernels`.

    Its batch kernels take records of `layout`. Each layout has its own file: when two processes compile functions of two record types,
    Numba may give them the same name, and a third process that loads both from the cache would run the wrong one.

    Kernels at the top level of an importable module are compiled once per machine; others (in a notebook or a closure) in each
    process.

    shared: names of the shared fields, which come last in the `GameState` of CUDA kernels.
    """
    return _bind(template, tuple(kernels.items()), layout, (*(layout.names or ()), *shared))


def bind_fields(
    template: str,
    kernels: Mapping[str, Callable[..., Any]],
    fields: Mapping[str, Field],
    layout: np.dtype[Any] | None = None,
    plain: bool = False,
) -> ModuleType:
    """As `bind`, for templates whose batch kernels take the state first.

    In the place of the state they take `KernelEngine.kernel_state`, several arguments from which a wrapper makes the state.

    layout: of the records, which the code is then compiled for. None: games whose fields differ in sizes only share the code, which is
    compiled in half the time.
    plain: whether the kernels run as plain Python.
    """
    return _bind(template, tuple(kernels.items()), state_fields(fields, layout), tuple(fields), plain)


@cache
def _bind(
    template: str,
    items: tuple[tuple[str, Callable[..., Any]], ...],
    state: np.dtype[Any] | StateFields,
    names: tuple[str, ...],
    plain: bool = False,
) -> ModuleType:
    kernels = dict(items)
    source = (Path(__file__).parent / f"{template}.py").read_text(encoding="utf-8")
    plain |= numba.config.DISABLE_JIT and STATE_CLASS not in _placeholders(source)  # type: ignore[attr-defined]
    if wrapped := isinstance(state, StateFields):
        source = _inlined(source) + _wrappers(source, state)
    if not plain and all(map(_importable, kernels.values())):
        module = _bind_in_file(template, source, kernels, state, names)
    else:
        module = _bind_in_memory(template, source, kernels, names)
    if wrapped:
        module = _wrapped(module)
    return plain_module(module) if plain else module


def _bind_in_file(
    template: str,
    source: str,
    kernels: Mapping[str, Callable[..., Any]],
    state: np.dtype[Any] | StateFields,
    names: tuple[str, ...],
) -> ModuleType:
    lines = [_bound_line(name, kernels.get(name), names) for name in _placeholders(source)]
    digest = source_hash(f"{_compiler_source()}{source}{state}{names}", kernels.values())
    try:
        return _load(template, _replace_placeholder(source, "\n".join(lines)), digest)
    except OSError as error:  # a full disk, for example
        warn(f"ludory: {error}: this game's kernels are compiled in memory")
        return _bind_in_memory(template, source, kernels, names)


@cache
def _compiler_source() -> str:
    """Source of what decides how kernels are compiled."""
    return "".join(
        Path(module.__file__ or "").read_text(encoding="utf-8") for module in (linked_kernel, state_fields_module)
    )


WRAPPED = "of_fields_"
"""Prefix of the wrappers that take `KernelEngine.kernel_state`."""


def _wrappers(source: str, known: StateFields) -> str:
    """Source of a wrapper for every batch kernel of `source` that takes a state: it takes records, table and shared arrays instead."""
    given = ", ".join(["records", "places", *known.shared])
    state = f"state_of(records, places, ({''.join(f'{name}, ' for name in known.shared)}))"
    decorator = "quick_batch_kernel" if known.record_bytes is None else "batch_kernel"
    text = (
        "\n\nfrom ludory.envs.engine.binding.state_fields import FieldType, StateFields, state_maker\n\n"
        f"state_of = state_maker({known!r})\n"
    )
    for name, arguments in re.findall(r"^@batch_kernel\ndef (\w+)\(\s*state,([^)]*)\):$", source, re.MULTILINE):
        rest = ", ".join(one.strip() for one in arguments.split(",") if one.strip())  # they may take a line each
        text += f"\n\n@{decorator}\ndef {WRAPPED}{name}({given}, {rest}):\n    return {name}({state}, {rest})\n"
    return text


def _inlined(source: str) -> str:
    """`source` with its batch kernels inlined into their wrappers."""
    inlined = re.sub(r"^@batch_kernel\n(?=def )", "@kernel\n", source, flags=re.MULTILINE)
    return re.sub(
        r"import batch_kernel(, kernel)?$",
        "import batch_kernel, kernel, quick_batch_kernel",
        inlined,
        count=1,
        flags=re.MULTILINE,
    )


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
    function = python_function(kernel)
    module = sys.modules.get(function.__module__)
    return function.__module__ != "__main__" and getattr(module, function.__qualname__, None) is kernel


def _bound_line(name: str, kernel: Callable[..., Any] | None, names: tuple[str, ...]) -> str:
    if name == STATE_CLASS:
        return f"from ludory.envs.engine.storage import state_class\n\n{STATE_CLASS} = state_class({names!r})"
    if kernel is None:
        return ""
    function = python_function(kernel)
    return f"from {function.__module__} import {function.__qualname__} as {name}"


def _load(template: str, source: str, digest: str) -> ModuleType:
    path = cache_directory() / f"{Path(template).name}_{digest}.py"
    if os.environ.get("LUDORY_SHOW_BOUND") == "1":
        warn(f"ludory: bound file: {path}")
    if not path.exists() or path.read_bytes() != source.encode():  # a damaged file is written again
        with atomic_file(path, "w", private=True) as file:
            file.write(source)
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
    uncached = re.sub(r"\b((?:quick_)?batch_kernel)\b", r"uncached_\1", source)
    exec(compile(_replace_placeholder(uncached, ""), template, "exec"), module.__dict__)
    return module
