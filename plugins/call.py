"""Calls a function that a registry loaded: with arguments that a user typed, or with the game that it is a hook of."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar

from ludory.errors import OptionError, PluginError, UnknownOptionError

from .registry import Registry

T = TypeVar("T")


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


def hook_of(registry: Registry[Callable[..., object]], game: Any, kind: type[T]) -> T | None:
    """Call the hook that is registered under a game's family, else under its id: `make(game) -> kind | None`.

    Returns None if there is none, or if it returns None: the family's hook does not fit this game.

    Raises:
        PluginError: the hook cannot be imported, or returns something else.
    """
    name = next((name for name in (game.family, game.id) if name in registry), None)
    if name is None:
        return None
    made = registry.load(name)(game)
    if made is not None and not isinstance(made, kind):
        raise PluginError(
            f"{registry.kind} {name!r} returned a {type(made).__name__} for {game.name}, must return a {kind.__name__} or None"
        )
    return made
