"""How results become rows of tables, subject by subject; `results_table` puts them into the manual."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Report = Mapping[str, Any]
"""The content of a JSON file in benchmarks/results/."""
Rows = Iterator[tuple[str, ...]]
"""Cells of the rows of a table, without the last one where it names machine and date."""
RowsOf = Mapping[str, Callable[[Report], Rows]]
"""By benchmark: what makes the rows of its report."""
