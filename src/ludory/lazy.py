"""Packages that publish names without importing them: a name is loaded when it is first used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType


def published_by(package: str, extras: tuple[str, ...] = ()) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that publishes what its block `if TYPE_CHECKING:` imports.

    So the imports that type checkers read are also those that are made, and a package lists its names in one place::

        if TYPE_CHECKING:
            from .chance import draw

        __all__ = ["draw"]
        __getattr__, __dir__ = published_by(__name__)

    `__getattr__` raises PluginError where a name needs a library that is not installed; the message has the `pip install` to type, which
    names one of `extras`, or the extra that declares the library.
    """

    def load(name: str) -> object:
        if name not in (homes := homes_in(package)):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            home = import_module(homes[name], package)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] == "ludory":
                raise
            from .plugins.requirements import missing_dependency

            raise missing_dependency(name, error.name, extras=extras) from error
        # `from . import views` publishes a module, which Python has made an attribute of the package by now
        return home if homes[name] == f".{name}" else getattr(home, name)

    module = sys.modules[package]
    return load, lambda: sorted({*vars(module), *module.__all__, *homes_in(package)})


@cache
def homes_in(package: str) -> Mapping[str, str]:
    """The published names of a package, and the modules that have them, such as {"draw": ".chance"}.

    They are read from the source of the package: a second table of them would have to be kept equal by hand.
    """
    loader = sys.modules[package].__spec__.loader  # type: ignore[union-attr]
    tree = ast.parse(loader.get_source(package))  # type: ignore[union-attr]
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    lines = [line for block in blocks for line in block.body if isinstance(line, ast.ImportFrom)]
    homes = {alias.name: "." * line.level + (line.module or alias.name) for line in lines for alias in line.names}
    return MappingProxyType(homes)
