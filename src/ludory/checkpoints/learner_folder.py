"""What wrote a checkpoint or the folder of a learner, and the class that reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ludory.errors import CheckpointError, PluginError, UnknownIdError
from ludory.plugins import algorithms
from ludory.reading import read_json

from .checkpoint import install_hint, read_header

FILE = "learner.json"
"""What a run is made of: `Learner.load` reads it."""
FORMAT = 1
MARKS = {"events.jsonl": "league-v1", "flywheel.json": "flywheel-v1"}
"""Files of runs that earlier commands began, with the learner that goes on with them."""


def saved_class(file: str | Path) -> type[Any]:
    """The registered class whose `load` reads what `Learner.save` wrote.

    Args:
        file: checkpoint, or folder of a learner such as a league.

    Raises:
        CheckpointError: the file is unreadable or foreign, or its algorithm is not installed.
        PluginError: the algorithm's package is broken, lacks a dependency, or offers a class without `load`.
    """
    run = algorithm_of(file)
    header = {} if run else read_header(file)
    id = run or str(header.get("algorithm"))
    try:
        kind = algorithms.load(id)
    except UnknownIdError as error:
        raise CheckpointError(
            f"{file}: written by the algorithm {id!r}, which is not installed ({error}){install_hint(header, 'algorithm')}"
        ) from error
    if not callable(getattr(kind, "load", None)):
        raise PluginError(f"algorithm {id!r}: {kind.__name__} has no load(file); it must be a subclass of Learner")
    return kind


def algorithm_of(folder: str | Path) -> str | None:
    """Id of the learner whose run a folder holds; None: it holds none, but perhaps a checkpoint.

    Raises:
        CheckpointError: the learner's file is damaged.
    """
    for mark, id in MARKS.items():
        if (Path(folder) / mark).exists() and not (Path(folder) / FILE).exists():
            return id
    return str(read_head(folder)["algorithm"]) if (Path(folder) / FILE).exists() else None


def read_head(folder: str | Path) -> dict[str, Any]:
    """What `FolderLearner.save` wrote of the learner.

    Raises:
        CheckpointError: there is none, or it is damaged.
    """
    file = Path(folder) / FILE
    try:
        found = read_json(file)
        if found["format"] != FORMAT:
            raise ValueError(f"format {found['format']!r}, this version reads {FORMAT}")
        return {name: found[name] for name in ("algorithm", "config", "policy", "env")}
    except FileNotFoundError as error:
        raise CheckpointError(f"{folder}: a folder without {FILE}, no learner's; name what `save` wrote") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{file}: damaged ({error}); put a copy of it back") from error
