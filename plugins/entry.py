"""`Entry`: one thing that a registry knows by id, and the syntax of ids."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ID = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*")
"""`name` or `family/name`, with an optional version `-v<number>`. Gymnasium and PettingZoo accept the same names."""
TARGET = re.compile(r"(?P<module>\w+(?:\.\w+)*)(?::(?P<attribute>\w+(?:\.\w+)*))?")
"""`package.module:attribute` or `package.module`."""
_VERSION = re.compile(r"(?P<name>.+)-v(?P<number>\d+)")


@dataclass(frozen=True, slots=True)
class Entry:
    """A game, agent, network, algorithm, benchmark or command, known by name only: nothing is imported for it."""

    id: str
    target: str
    """"package.module:attribute", or "package.module" for a command."""
    summary: str = ""
    """One-line description."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Keyword options that the id fixes."""
    distribution: str = "ludory"
    """Name of the installed package that provides it."""
    extras: tuple[str, ...] = ()
    """Extras of that package that the entry declares it needs."""
    needs: str = ""
    """A module that it needs beside the one of `target`, such as that of the game of a pretrained agent."""
    options: str = ""
    """"package.module:attribute" of an algorithm's `config_class`, where that can be imported without the algorithm."""


def split_version(id: str) -> tuple[str, int | None]:
    """("ppo", 1) for "ppo-v1", ("random", None) for "random"."""
    match = _VERSION.fullmatch(id)
    return (match["name"], int(match["number"])) if match else (id, None)
