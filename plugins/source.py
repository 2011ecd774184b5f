"""What is known of a module without running it: where it is, and the arguments of a class or function in it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from threading import Lock

from .entry import TARGET, Entry

ONE_PARSE_AT_A_TIME = Lock()
"""CPython 3.11 counts the depth of syntax trees in one place for all threads: two `ast.parse` at once may end in a SystemError."""


def find_module(name: str) -> ModuleSpec:
    """Spec of a module, without importing it or its packages.

    Raises:
        ModuleNotFoundError: it does not exist.
    """
    names = name.split(".")
    path: Sequence[str] | None = None
    spec: ModuleSpec | None = None
    for depth in range(1, len(names) + 1):
        part = ".".join(names[:depth])
        # finders are asked one part after the other, so that no package is imported
        spec = next((found for finder in sys.meta_path if (found := finder.find_spec(part, path, None))), None)
        if spec is None or (depth < len(names) and spec.submodule_search_locations is None):
            missing = ".".join(names[: depth + (spec is not None)])
            raise ModuleNotFoundError(f"the module {missing} does not exist", name=missing)
        path = spec.submodule_search_locations
    assert spec is not None, name  # a name has at least one part
    return spec


def arguments_of(entry: Entry) -> str:
    """Keyword arguments of the class that an entry names, as written in its source, without the first one (the game's facts).

    "" if the source has no such class with its own `__init__`, for example because it only imports the class.
    """
    written = parameters_of(entry)[1:]
    return ", ".join(f"{name}={default}" if default else name for name, default in written)


def parameters_of(entry: Entry) -> list[tuple[str, str]]:
    """(name, default as in the source, "" without one) of all parameters of the function or class that an entry names.

    Empty if the source has neither of that name, or a class without its own `__init__`.
    """
    match = TARGET.fullmatch(entry.target)
    assert match is not None, entry
    try:
        source = Path(find_module(match["module"]).origin or "").read_text(encoding="utf-8")
        with ONE_PARSE_AT_A_TIME:
            tree = ast.parse(source)
    except (ImportError, OSError, SyntaxError, ValueError):
        return []
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == match["attribute"]:
            made = (part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__")
            return next((_written(function.args)[1:] for function in made), [])
        if isinstance(node, ast.FunctionDef) and node.name == match["attribute"]:
            return _written(node.args)
    return []


def _written(arguments: ast.arguments) -> list[tuple[str, str]]:
    by_place = [*arguments.posonlyargs, *arguments.args]
    # defaults belong to the last arguments
    defaults: list[ast.expr | None] = [None] * (len(by_place) - len(arguments.defaults)) + arguments.defaults
    every = [*zip(by_place, defaults, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return [(name.arg, "" if value is None else ast.unparse(value)) for name, value in every]
