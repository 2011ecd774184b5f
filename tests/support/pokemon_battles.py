"""The recorded battles: what both seats saw, and what the simulator knew."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parents[1] / "golden" / "pokemon"


@cache
def recorded_battles() -> tuple[dict[str, Any], ...]:
    """The hundred battles of streams.jsonl.gz, with `truths` and `at` of truth.jsonl.gz."""
    battles = _lines("streams.jsonl.gz")
    for battle, truth in zip(battles, _lines("truth.jsonl.gz"), strict=True):
        assert battle["id"] == truth["id"]
        battle |= {"truths": truth["truths"], "at": truth["at"]}
    return tuple(battles)


def _lines(name: str) -> list[dict[str, Any]]:
    with gzip.open(GOLDEN / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def decisions(battle: dict[str, Any], seat: int) -> Iterator[tuple[list[str], dict[str, Any], dict[str, Any]]]:
    """For every decision of a seat: the lines since the last one, the decision, and the simulator's truth."""
    stream, start = battle["seats"][seat]["stream"], 0
    for decision, truth in zip(battle["seats"][seat]["decisions"], battle["at"][seat], strict=True):
        yield stream[start : decision["at"]], decision, battle["truths"][truth]
        start = decision["at"]


ALL_LEGAL = np.ones(14, bool)
