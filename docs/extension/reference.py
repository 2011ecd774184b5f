"""`{reference} MODULE`: every public name of a module, from its docstrings."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from importlib.util import resolve_name

from sphinx.application import Sphinx

from ludory.lazy import homes_in

from .markdown import MarkdownDirective


def public_names(module: str) -> list[str]:
    """The names of its `__all__`."""
    return [name for name in importlib.import_module(module).__all__ if not name.startswith("__")]


class Reference(MarkdownDirective):
    """The public names of a module, in the order of the alphabet."""

    optional_arguments = 0

    def markdown(self) -> str:
        """Directives of autodoc."""
        (module,) = self.arguments
        lines = [line for name in sorted(public_names(module)) for line in _entry(module, name)]
        return "\n".join(["```{eval-rst}", f".. module:: {module}", "", *lines, "```"])


def _entry(module: str, name: str) -> Iterator[str]:
    value = getattr(importlib.import_module(module), name)
    if inspect.isclass(value):
        yield from (f".. autoclass:: {module}.{name}", "   :members:", "   :show-inheritance:")
    elif inspect.isroutine(value):
        yield f".. autofunction:: {module}.{name}"
    else:  # Sphinx finds the text below a constant only in the module that defines it
        yield from (f".. autodata:: {resolve_name(homes_in(module).get(name, module), module)}.{name}", "   :no-value:")
    yield ""


class AsWritten:
    """Keeps docstrings of attributes from napoleon, which takes what stands before their first colon for a type."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def keep(self, app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
        """Remember the lines before napoleon sees them."""
        self.lines = list(lines)

    def restore(self, app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
        """Put the lines of an attribute back."""
        if what in ("attribute", "data", "property"):
            lines[:] = self.lines


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("reference", Reference)
    attributes = AsWritten()
    app.connect("autodoc-process-docstring", attributes.keep, priority=400)
    app.connect("autodoc-process-docstring", attributes.restore, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
