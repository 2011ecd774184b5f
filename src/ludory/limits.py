"""Limits of dataclass fields as annotations, such as `games: Annotated[int, AtLeast(1)]`, and the one function that checks them.

A field that is None is not checked. The aliases below are the usual cases.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import cache
from inspect import get_annotations
from numbers import Integral, Real
from os import PathLike
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

from .errors import OptionError

__all__ = [
    "MAX_NODES",
    "AtLeast",
    "Below",
    "Between",
    "Fraction",
    "Limit",
    "MoreThan",
    "NonNegativeFloat",
    "NonNegativeInt",
    "OneOf",
    "PositiveFloat",
    "PositiveInt",
    "Whole",
    "check_limits",
]

MAX_NODES = 2_000_000
"""Default bound on the nodes of a game tree: of exact computations and of options that name it."""


class Limit:
    """A condition on a value.

    Args:
        rule: the condition in words, as the error states it.
        holds: whether a value meets it; NaN must not.
    """

    def __init__(self, rule: str, holds: Callable[[Any], bool]) -> None:
        self.rule, self.holds = rule, holds


class AtLeast(Limit):
    """A smallest value; `hint` follows it in the error."""

    def __init__(self, least: float, hint: str = "") -> None:
        super().__init__(f"must be at least {least}{hint}", lambda value: value >= least)


class MoreThan(Limit):
    """A bound that is not allowed itself."""

    def __init__(self, bound: float, hint: str = "") -> None:
        super().__init__(f"must be greater than {bound}{hint}", lambda value: value > bound)


class Between(Limit):
    """A closed interval."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__(f"must lie in [{low}, {high}]", lambda value: low <= value <= high)


class Below(Limit):
    """An interval whose upper end is not allowed."""

    def __init__(self, low: float, high: float, hint: str = "") -> None:
        super().__init__(f"must lie in [{low}, {high}){hint}", lambda value: low <= value < high)


class Whole(Limit):
    """An integer, and no bool, of at least `least`."""

    def __init__(self, least: int) -> None:
        super().__init__(
            f"must be an integer of at least {least}",
            lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least,
        )


class OneOf(Limit):
    """One of a few names."""

    def __init__(self, *names: str) -> None:
        *others, last = map(repr, names)
        super().__init__(f"must be {', '.join(others)} or {last}", lambda value: value in names)


PositiveInt: TypeAlias = Annotated[int, AtLeast(1)]
NonNegativeInt: TypeAlias = Annotated[int, AtLeast(0)]
PositiveFloat: TypeAlias = Annotated[float, MoreThan(0)]
NonNegativeFloat: TypeAlias = Annotated[float, AtLeast(0)]
Fraction: TypeAlias = Annotated[float, Between(0, 1)]


def check_limits(config: object) -> None:
    """Check the types and limits of all fields of a dataclass; called by its `__post_init__`.

    Numbers of NumPy are numbers, an integer is a float, and a bool is neither.

    Raises:
        OptionError: a field has another type, or breaks its limit; the error names the field, the value and what is allowed.
    """
    for name, kind, optional in _types(type(config)):  # type: ignore[arg-type]  # classes are hashable
        value = getattr(config, name)
        rule, allowed = _KINDS[kind]
        fits = isinstance(value, allowed) and (kind is bool or not isinstance(value, bool))
        if not (fits or (optional and value is None)):
            raise OptionError(f"{name}={value!r}: must be {rule}{' or None' if optional else ''}")
    for name, limit in _limits(type(config)):  # type: ignore[arg-type]  # classes are hashable
        value = getattr(config, name)
        if value is not None and not limit.holds(value):
            raise OptionError(f"{name}={value!r}: {limit.rule}")


_KINDS: dict[type, tuple[str, tuple[type, ...]]] = {
    bool: ("True or False", (bool,)),
    int: ("an integer", (Integral,)),
    float: ("a number", (Real,)),
    str: ("a text", (str, PathLike)),
}
"""Types that are checked: what errors say, and the classes of values that are allowed."""


@cache
def _types(kind: type) -> tuple[tuple[str, type, bool], ...]:
    """Name, type, and whether None is allowed, of all fields with one plain type."""
    found, hints = [], _hints(kind)
    for field in fields(kind):
        hint = hints.get(field.name)
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        plain = [get_args(part)[0] if get_origin(part) is Annotated else part for part in parts]
        named = [part for part in plain if part is not type(None)]
        if len(named) == 1 and named[0] in _KINDS:
            found.append((field.name, named[0], len(plain) > 1))
    return tuple(found)


def _hints(kind: type) -> dict[str, Any]:
    """The annotations of a class and of its bases."""
    hints: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        with suppress(NameError):  # a third party's class may use names that only type checkers import
            hints |= get_annotations(base, eval_str=True)
    return hints


@cache
def _limits(kind: type) -> tuple[tuple[str, Limit], ...]:
    found, hints = [], _hints(kind)
    for field in fields(kind):
        hint = hints.get(field.name)
        for part in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
            found += [(field.name, limit) for limit in getattr(part, "__metadata__", ()) if isinstance(limit, Limit)]
    return tuple(found)
