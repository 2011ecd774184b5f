"""Numeric tables of the league's mathematics (tests/golden/league/README.md)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

TABLES = Path(__file__).parents[1] / "golden" / "league"
ROLE = np.array(["main", "main_exploiter", "league_exploiter"])


def league_cases(subject: str, prefix: str = "") -> dict[str, dict[str, np.ndarray]]:
    """Cases of a table whose names start with `prefix`."""
    cases: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    with np.load(TABLES / f"{subject}.npz") as archive:
        for key in archive.files:
            case, name = key.split("/", 1)
            if case.startswith(prefix):
                cases[case][name] = archive[key]
    return cases
