"""Checks of JSON fields that file formats share: each returns the value or raises `FieldError` with the path of the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard, TypeVar

from ludory.data.formats.json_records import LARGEST
from ludory.reading import shown

__all__ = [
    "FieldError",
    "boolean",
    "count",
    "finite",
    "inner",
    "is_count",
    "items",
    "mapping",
    "point",
    "text",
]

MOST = (1 << 63) - 1
"""Largest int64."""
MISSING = object()
T = TypeVar("T")


class FieldError(Exception):
    """A field of a record is wrong; the reader of the file adds file and line."""

    def __init__(self, field: str, got: str, wanted: str) -> None:
        super().__init__(field, got, wanted)
        self.field, self.got, self.wanted = field, got, wanted


def inner(content: Mapping[str, Any], name: str) -> Any:
    """The value of a key, or `MISSING`, which every check refuses."""
    return content.get(name, MISSING)


def finite(value: object, field: str) -> float:
    """A number within the range of float32; booleans and NaN are refused."""
    # A comparison with NaN is false.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LARGEST:
        raise FieldError(field, _got(value), "a finite number")
    return float(value)


def point(value: object, field: str) -> tuple[float, float]:
    """A list of two numbers."""
    if not isinstance(value, list) or len(value) != 2:
        got = f"{len(value)} entries" if isinstance(value, list) else _got(value)
        raise FieldError(field, got, "a list of 2 finite numbers [x, y]")
    return finite(value[0], f"{field}[0]"), finite(value[1], f"{field}[1]")


def is_count(value: object, most: int = MOST) -> TypeGuard[int]:
    """Whether `value` is an integer from 0 to `most`; True, 1.5 and "3" are not."""
    return type(value) is int and 0 <= value <= most


def count(value: object, field: str, most: int | None = None) -> int:
    """An integer of at least 0. Errors name the upper limit `most`; None stands for the limit of int64, which they do not name."""
    if is_count(value, MOST if most is None else most):
        return value
    limit = "" if most is None else f", at most {most}"
    raise FieldError(field, _got(value), f"an integer of at least 0{limit}")


def boolean(value: object, field: str) -> bool:
    """True or false, also written as 1 or 0."""
    if type(value) not in (bool, int) or value not in (0, 1):
        raise FieldError(field, _got(value), "true or false")
    return bool(value)


def mapping(value: object, field: str) -> dict[str, Any]:
    """A JSON object."""
    return _typed(value, field, dict, "a JSON object")


def items(value: object, field: str) -> list[Any]:
    """A JSON list."""
    return _typed(value, field, list, "a list")


def text(value: object, field: str) -> str:
    """A JSON string."""
    return _typed(value, field, str, "a text")


def _typed(value: object, field: str, kind: type[T], wanted: str) -> T:
    if not isinstance(value, kind):
        raise FieldError(field, _got(value), wanted)
    return value


def _got(value: object) -> str:
    return "nothing" if value is MISSING else shown(value)
