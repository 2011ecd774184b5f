"""Recorded games of other formats that are given where a dataset is wanted: what they are, and what to type."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

from ludory.arguments import as_typed
from ludory.reading import parse_json

MOST_FILES = 2000
"""Files of a folder that are looked at."""
LINE = 1 << 20
"""Most bytes of a first line that is read."""
NAMES = {"recorder": "recorder files of the arena or a game like it", "feedback": "feedback of a live client"}
FEEDBACK = ("feedback_stream.jsonl", "manifest.jsonl")
FIELDS = {"tick_id", "observation", "action"}
"""Of every line of a recorder file."""


def conversion_of(path: Path) -> str | None:
    """What `path` holds and the command that converts it; None for datasets, and for what is unknown."""
    files = islice(path.rglob("*"), MOST_FILES) if path.is_dir() else [path]
    formats = dict.fromkeys(found for file in files if (found := _format(file)))
    if not formats:
        return None
    commands = [f"`ludory convert {as_typed(path)} --from {name} --out {name}-games`" for name in formats]
    held = " and ".join(NAMES[name] for name in formats)
    mixed = (
        "; `ludory train bc --data recorder-games --mix feedback-games=0.3` learns from both"
        if len(formats) > 1
        else ""
    )
    return f"{path}: {held}; convert them first: {' and '.join(commands)}{mixed}"


def _format(file: Path) -> str | None:
    if file.name in FEEDBACK and file.is_file():
        return "feedback"
    return "recorder" if file.name.endswith(".jsonl.gz") and _keys(file) >= FIELDS else None


def _keys(file: Path) -> set[str]:
    """Names of the fields of the first line; empty if it cannot be read."""
    try:
        with gzip.open(file) as lines:
            first = parse_json(lines.readline(LINE).decode("utf-8-sig"))
    except (OSError, EOFError, ValueError):
        return set()
    return set(first) if isinstance(first, dict) else set()
