"""Fields of a JSON object, checked: each function gives the value or raises `FieldError` with the path of the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ludory.data.formats.json_records import LARGEST
from ludory.reading import shown

from .flaw import FieldError

MOST = (1 << 63) - 1
"""Of int64."""
MISSING = object()


def finite(value: Any, field: str) -> float:
    """A number that float32 can hold; not true, not NaN."""
    if type(value) not in (int, float):
        raise FieldError(field, _got(value), "a finite number")
    if not abs(value) <= LARGEST:  # NaN is not, either
        raise FieldError(field, shown(value), "a finite number")
    return float(value)


def point(value: Any, field: str) -> tuple[float, float]:
    """Two numbers."""
    if not isinstance(value, list) or len(value) != 2:
        got = f"{len(value)} entries" if isinstance(value, list) else _got(value)
        raise FieldError(field, got, "a list of 2 finite numbers [x, y]")
    return finite(value[0], f"{field}[0]"), finite(value[1], f"{field}[1]")


def whole(value: Any, field: str, most: int = MOST) -> int:
    """An integer of at least 0."""
    if type(value) is not int or not 0 <= value <= most:
        raise FieldError(field, _got(value), "an integer of at least 0" + (f", at most {most}" if most != MOST else ""))
    return value


def answer(value: Any, field: str) -> bool:
    """True or false, also as 1 or 0."""
    if type(value) not in (bool, int) or value not in (0, 1):
        raise FieldError(field, _got(value), "true or false")
    return bool(value)


def mapping(value: Any, field: str) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise FieldError(field, _got(value), "a JSON object")
    return value


def items(value: Any, field: str) -> list[Any]:
    """A JSON list."""
    if not isinstance(value, list):
        raise FieldError(field, _got(value), "a list")
    return value


def word(value: Any, field: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise FieldError(field, _got(value), "a text")
    return value


def inner(content: Mapping[str, Any], name: str) -> Any:
    """The value of a key, or something that no check takes."""
    return content.get(name, MISSING)


def _got(value: Any) -> str:
    return "nothing" if value is MISSING else shown(value)
