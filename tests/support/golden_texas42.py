"""Reads the Texas 42 data in tests/golden/texas42 (format in the README there)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

FOLDER = Path(__file__).parents[1] / "golden" / "texas42"


def load(name: str) -> list[dict[str, Any]]:
    """Rows of a file."""
    file = FOLDER / name
    if file.suffix == ".json":
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        return rows
    rows = pq.read_table(file).to_pylist()
    return rows
