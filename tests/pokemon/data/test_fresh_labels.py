"""Labels of battles that no rule was made on; `ludory bench pokemon-labels --battles 1000` plays many."""

from __future__ import annotations

import os

import pytest

from ludory.benchmarks.pokemon.labels import FORMATS, check_labels
from ludory.envs.pokemon.backends.install import Installation

BATTLES = int(os.environ.get("LUDORY_LABEL_BATTLES", "4"))
"""Battles of each format."""


@pytest.mark.parametrize("format", FORMATS)
def test_no_label_of_a_fresh_battle_is_wrong(format: str, simulator: Installation) -> None:
    """A label is the choice that the input log holds, or missing; the battle plays again to the same log."""
    found = check_labels(format, BATTLES, seed=20_261)
    assert (found["wrong"], found["other log"], found["examples"]) == (0, 0, [])
    assert set(found["rejected"]) <= {"illusion", "too_short"}
    assert found["exact"] > 15 * (BATTLES - sum(found["rejected"].values()))
    assert found["missing"] < found["exact"] / 2
