"""`write_result`: the JSON file in which a benchmark leaves what it found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ludory.atomic import atomic_file


def write_result(file: str | Path, content: dict[str, Any]) -> None:
    """Write it, whole or not at all.

    Raises:
        OutputError: the file cannot be written.
    """
    with atomic_file(file, "w") as handle:
        json.dump(content, handle, indent=1)
        handle.write("\n")
