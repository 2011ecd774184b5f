"""Old spellings of `Game`, from before it had parts. They go on working for a version, with a DeprecationWarning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import wraps
from typing import Any, TypeVar

from . import facts, parts
from .parts import Analysis, Look, Records, Rules, unknown_keyword

T = TypeVar("T")
_PARTS: dict[str, Any] = {"rules": Rules, "look": Look, "analysis": Analysis, "records": Records}
OLD_NAMES = {name.name: (part, name.name) for part, kind in _PARTS.items() for name in fields(kind)} | {
    "codec": ("language", ""),
    "recorded": ("records", "header"),
}
"""Part and name of what was a keyword and an attribute of `Game` itself; name "": the part itself."""
del OLD_NAMES["header"]
POSITIONS = (
    *("facts", "fields", "kernels", "action_name", "info", "fact_names", "seat_info", "ignores_waiting", "start"),
    *("text", "svg", "codec", "rooms", "last_move", "told_move", "consistent", "progress", "symmetry", "pace"),
    *("chance", "decision_kinds", "shared", "id", "options", "family", "engine", "engine_options", "conventions"),
    *("engine_conventions", "playing_options", "recorded"),
)
"""Positional arguments of `Game`, which pickles of games have too."""


def takes_old_names(game: type[T]) -> type[T]:
    """Let the dataclass `Game` take old keywords and positions, also by `dataclasses.replace`, and have old attributes."""
    cls: Any = game
    own, init = [one.name for one in fields(cls)], cls.__init__
    spellings = {name: _keyword(name) for name in OLD_NAMES} | {name: f"{name}=" for name in own}

    @wraps(init)
    def __init__(self: T, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        names = POSITIONS if len(args) > 1 and isinstance(args[1], Mapping) else own
        given = dict(zip(names, args, strict=False)) | kwargs
        unknown = [name for name in kwargs if name not in spellings]
        if unknown:
            raise unknown_keyword("Game", unknown[0], spellings)
        old = [name for name in given if name in OLD_NAMES]
        if not old:
            init(self, *args, **kwargs)
            return
        _warn(f"Game({', '.join(f'{name}=' for name in old)}) is the old spelling; type {_keywords(old)}")
        for name in old:
            (part, new), value = OLD_NAMES[name], given.pop(name)
            kind = _PARTS.get(part)
            if kind is None:
                given[part] = value
            elif isinstance(whole := given.get(part, kind()), kind):  # `Game` refuses anything else
                given[part] = replace(whole, **{new: value})
        init(self, **given)

    def __getattr__(self: T, name: str) -> Any:  # noqa: N807
        if name not in OLD_NAMES:
            raise AttributeError(f"{game.__name__!r} object has no attribute {name!r}", name=name, obj=self)
        part, new = OLD_NAMES[name]
        _warn(f"game.{name} is the old spelling; type game.{part}{new and f'.{new}'}")
        return getattr(getattr(self, part), new) if new else getattr(self, part)

    cls.__init__, cls.__getattr__ = __init__, __getattr__
    return game


def moved_name(name: str) -> Any:
    """What `ludory.envs.game` had before `facts.py` and `parts.py`: its `__getattr__`."""
    home = next((home for home in (facts, parts) if name in vars(home)), None)
    if home is None or name.startswith("_"):
        raise AttributeError(f"module 'ludory.envs.game' has no attribute {name!r}")
    _warn(f"ludory.envs.game.{name} has moved; type ludory.envs.{name}")
    return getattr(home, name)


def _keyword(name: str) -> str:
    return _keywords([name])


def _keywords(old: list[str]) -> str:
    """What to type for old keywords, such as "rules=Rules(kernels=), look=Look(text=, svg=)"."""
    parts: dict[str, list[str]] = {}
    for part, new in (OLD_NAMES[name] for name in old):
        parts.setdefault(part, []).append(new and f"{new}=")
    return ", ".join(
        f"{part}={_PARTS[part].__name__}({', '.join(names)})" if part in _PARTS else f"{part}="
        for part, names in parts.items()
    )


def _warn(message: str) -> None:
    """Warn at the line that used the old spelling, which may have called `dataclasses.replace`."""
    level = 2
    while sys._getframe(level).f_globals.get("__name__") in ("dataclasses", "copy"):
        level += 1
    warnings.warn(message, DeprecationWarning, stacklevel=level + 1)
