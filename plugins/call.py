"""Calls what a registry loaded, with arguments that a person typed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ludory.errors import OptionError


def call(what: str, function: Callable[..., object], *args: Any, **kwargs: Any) -> object:
    """`function(*args, **kwargs)`.

    Raises:
        OptionError: the function does not take these arguments; the message names those that it takes.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled code that does not tell
        return function(*args, **kwargs)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        allowed = ", ".join(str(p.replace(annotation=p.empty)) for p in signature.parameters.values())
        raise OptionError(f"{what}: {error}; it takes ({allowed})") from error
    return function(*args, **kwargs)
