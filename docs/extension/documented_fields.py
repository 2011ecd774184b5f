"""The fields of a dataclass with their defaults and the docstrings that stand below them in its source."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from typing import Any, NamedTuple


class DocumentedField(NamedTuple):
    """A field of a dataclass or a named tuple."""

    name: str
    default: str
    """As Python writes it; "required" if there is none."""
    doc: str


def documented_fields(kind: type[Any]) -> list[DocumentedField]:
    """All fields of `kind`: its own first, then those of its base classes."""
    defaults = {field.name: _default(field) for field in dataclasses.fields(kind)}
    found: dict[str, str] = {}
    for base in kind.__mro__:
        if dataclasses.is_dataclass(base):
            found = found | {name: doc for name, doc in _docstrings(base).items() if name not in found}
    return [DocumentedField(name, defaults[name], doc) for name, doc in found.items() if name in defaults]


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return repr(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return repr(field.default_factory())
    return "required"


def _docstrings(kind: type[Any]) -> dict[str, str]:
    """Name to docstring, "" where there is none, in the order of the source."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found, last = {}, ""
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            last = statement.target.id
            found[last] = ""
        elif last and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            found[last] = inspect.cleandoc(str(statement.value.value))
            last = ""
        else:
            last = ""
    return found
