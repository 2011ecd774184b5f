"""Entry points of other installed packages, read from their metadata; no plugin's code is imported."""

from __future__ import annotations

import os
from functools import cache
from importlib import metadata
from typing import NamedTuple

from .entry import ID, TARGET, Entry

GROUPS = (
    "ludory.games",
    "ludory.agents",
    "ludory.networks",
    "ludory.algorithms",
    "ludory.benchmarks",
    "ludory.commands",
    "ludory.pages",
    "ludory.viewers",
    "ludory.formats",
    "ludory.beliefs",
    "ludory.analysts",
)


class Broken(NamedTuple):
    """An entry point that is unusable."""

    group: str
    """Entry-point group, "" if the metadata of the package cannot be read at all."""
    distribution: str
    problem: str


class Discovered(NamedTuple):
    """The entry points of the installed packages."""

    entries: dict[str, list[Entry]]
    """By entry-point group."""
    broken: list[Broken]


def plugins_off() -> bool:
    """True if `LUDORY_PLUGINS=off` disables plugins."""
    return os.environ.get("LUDORY_PLUGINS", "").lower() == "off"


@cache
def discover() -> Discovered:
    """Read the metadata of all installed packages, once per process."""
    found = Discovered({group: [] for group in GROUPS}, [])
    if plugins_off():
        return found
    for distribution in metadata.distributions():
        try:
            text = distribution.read_text("entry_points.txt") or ""
            if "ludory." in text and _is_active(distribution, text):
                _add(found, distribution)
        except Exception as error:  # one broken package must not hide the others
            found.broken.append(Broken("", _name(distribution), f"its metadata cannot be read: {error!r}"))
    for entries in found.entries.values():
        entries.sort(key=lambda entry: (entry.distribution, entry.id))
    return found


def _is_active(distribution: metadata.Distribution, text: str) -> bool:
    """False for an older copy of a package, later on the path."""
    return metadata.distribution(distribution.metadata["Name"]).read_text("entry_points.txt") == text


def _name(distribution: metadata.Distribution) -> str:
    try:
        return str(distribution.metadata["Name"])
    except Exception:
        return "a package whose name cannot be read"


def _add(found: Discovered, distribution: metadata.Distribution) -> None:
    name, summary = _name(distribution), str(distribution.metadata["Summary"] or "")
    for point in distribution.entry_points:
        if point.group not in GROUPS:
            continue
        target, _, extras = point.value.partition("[")
        stem = point.name.removesuffix(":") if point.group == "ludory.games" else point.name
        if not ID.fullmatch(stem) or not TARGET.fullmatch(target.strip()):
            problem = (
                f"entry point {point.name!r} = {point.value!r} is not of the form `name-v0 = package.module:attribute`"
            )
            found.broken.append(Broken(point.group, name, problem))
            continue
        needed = tuple(part for part in extras.rstrip("] ").replace(" ", "").split(",") if part)
        entry = Entry(point.name, target.strip(), summary, distribution=name, extras=needed)
        if entry not in found.entries[point.group]:
            found.entries[point.group].append(entry)
