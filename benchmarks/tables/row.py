"""Types of reports and of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Report = Mapping[str, Any]
"""The content of a JSON file in benchmarks/results/."""
Rows = Iterator[tuple[str, ...]]
"""Cells of the rows of a table, without the last one where it names machine and date."""
