"""Checks of a game's options. Errors name the option, its value and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.errors import OptionError, UnknownOptionError

Options = TypeVar("Options")


def read_options(
    game: str, options_class: type[Options], given: Mapping[str, Any], others: tuple[str, ...] = ()
) -> Options:
    """`options_class(**given)`, a dataclass; `others` are options of the game that its factory takes itself.

    Raises:
        UnknownOptionError: the game has no such option.
    """
    known = [field.name for field in fields(options_class)]  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            raise unknown_option(game, name, (*others, *known))
    return options_class(**given)


def unknown_option(owner: str, name: str, known: Sequence[str]) -> UnknownOptionError:
    """The error for an option `name` that is not among the `known` ones of `owner`; it suggests the nearest one."""
    near = difflib.get_close_matches(str(name), known, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return UnknownOptionError(
        f"{owner} has no option {name!r}; it has {', '.join(known)}{hint} (unexpected keyword argument {name!r})"
    )


def refuse_unknown(game: str, what: str, given: Iterable[str], known: tuple[str, ...]) -> None:
    """Refuse keys of `given` that are not in `known`; the error suggests the nearest one."""
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1, 0)
            raise OptionError(f"{game} has no {what} {key!r}; did you mean {near[0]!r}? (it has {', '.join(known)})")


def check_range(name: str, value: object, low: int, high: int) -> None:
    """Refuse a value that is not an integer from `low` to `high`."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise OptionError(f"{name}={value!r}: must be an integer from {low} to {high}")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not one of `allowed`."""
    if value not in allowed:
        raise OptionError(f"{name}={value!r}: must be one of {', '.join(map(repr, allowed))}")


def check_flag(name: str, value: object) -> None:
    """Refuse a value that is not a bool."""
    if not isinstance(value, bool):
        raise OptionError(f"{name}={value!r}: must be True or False")


def integer_array(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """`values` as int64.

    Raises:
        OptionError: they are not integers, or rows differ in length.
    """
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise OptionError(f"{name}: must be integers in rows of one length ({error})") from error
    if array.dtype.kind not in "iu":
        raise OptionError(f"{name}: must be integers, got dtype {array.dtype}")
    return array.astype(np.int64)
