"""Calls a function that a registry loaded, with arguments that a user typed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from ludory.errors import OptionError, UnknownOptionError


def call(what: str, function: Callable[..., object], *args: Any, **kwargs: Any) -> object:
    """Return `function(*args, **kwargs)`; `what` names the function in errors.

    Raises:
        OptionError: the function does not take these arguments; the message lists those that it takes. An unknown name is an
            UnknownOptionError.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled code without a signature
        return function(*args, **kwargs)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        options = [p for number, p in enumerate(signature.parameters.values()) if number >= len(args)]
        allowed = ", ".join(str(p.replace(annotation=p.empty)) for p in options)
        names = {p.name for p in options}
        unknown = [name for name in kwargs if name not in names]
        near = [word for name in unknown for word in get_close_matches(name, names, 1)]
        hint = f" (did you mean {near[0]}?)" if near else ""
        kind = UnknownOptionError if unknown else OptionError
        raise kind(f"{what}: {error}{hint}; it takes ({allowed})") from error
    return function(*args, **kwargs)
