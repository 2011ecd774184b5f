"""What the cards of agents and of recorded games share: front matter, tables, and texts without the folders of this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_FOLDERS = re.compile(r"(?<![\w:/.])(?:[A-Za-z]:)?[/\\~](?:[^(),=/\\]*[/\\])+")
"""The folders of an absolute path, also within brackets, but not those of a URL."""


def front_matter(fields: Mapping[str, Any]) -> str:
    """The YAML between lines of dashes at the top of a card, by which the hub finds it; fields that are None are left out."""
    import yaml

    given = {name: value for name, value in fields.items() if value is not None}
    return f"---\n{yaml.safe_dump(given, sort_keys=False, allow_unicode=True)}---\n"


def table(rows: Mapping[str, str | None]) -> str:
    """A table of names and values; values that are None or "" are left out."""
    return "| | |\n| --- | --- |\n" + "\n".join(f"| {name} | {value} |" for name, value in rows.items() if value)


CHECKED = "`ludory-files.json` has the SHA-256 of every file but this card; `ludory hub pull` and names with `hf://` compare them."


def code(value: object) -> str:
    """A value as code within a table."""
    return "`" + " ".join(str(value).split()).replace("`", "'").replace("|", r"\|") + "`"


def codes(values: Iterable[object]) -> str:
    """Values as code, with commas between."""
    return ", ".join(map(code, values))


def pairs(values: Mapping[str, Any]) -> str:
    """Values with their names as code."""
    return codes(f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in values.items())


def with_folders(value: object) -> list[str]:
    """The texts in a JSON value that have absolute paths."""
    if isinstance(value, str):
        return [value] if without_folders(value) != value else []
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return [text for one in inner for text in with_folders(one)]


def without_folders(value: object) -> Any:
    """A JSON value in whose texts absolute paths are names of files: folders of a machine tell whose it is."""
    if isinstance(value, str):
        return _FOLDERS.sub("", value)
    if isinstance(value, Mapping):
        return {without_folders(name): without_folders(one) for name, one in value.items()}
    return [without_folders(one) for one in value] if isinstance(value, list | tuple) else value
