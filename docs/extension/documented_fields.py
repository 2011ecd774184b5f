"""The fields of a dataclass with their defaults and the docstrings that stand below them in its source."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from ludory.arguments import field_docs


class DocumentedField(NamedTuple):
    """A field of a dataclass or a named tuple."""

    name: str
    default: str
    """As Python writes it; "required" if there is none."""
    doc: str


def documented_fields(kind: type[Any]) -> list[DocumentedField]:
    """All fields of `kind`: its own first, then those of its base classes."""
    defaults = {field.name: _default(field) for field in dataclasses.fields(kind)}
    return [DocumentedField(name, defaults[name], doc) for name, doc in field_docs(kind).items() if name in defaults]


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return repr(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return repr(field.default_factory())
    return "required"
