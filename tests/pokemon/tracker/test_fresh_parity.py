"""The tracker agrees with the simulator in fresh battles of random players, but for what a seat cannot know.

Many more battles: `python tests/pokemon/tracker/fresh_parity.py FORMAT BATTLES SEED`.
"""

from __future__ import annotations

import pytest
from support.pokemon_parity import CAUSES

from ludory.envs.pokemon.backends.worker import Worker
from ludory.envs.pokemon.formats import missing_in_v8

from .fresh_parity import fresh_decisions

FORMATS = [*(f"gen{gen}randombattle" for gen in range(1, 10)), "gen9battlefactory"]


@pytest.mark.parametrize("format", FORMATS)
def test_what_a_seat_knows_of_a_fresh_battle_is_true(each_worker: Worker, backend: str, format: str) -> None:
    """Every line is understood, of both simulators."""
    if backend == "v8" and format in missing_in_v8():
        return
    decisions = list(fresh_decisions(each_worker, format, range(2), 7))
    assert len(decisions) > 50
    unexplained = [
        (decision.battle, decision.seat, decision.turn, difference)
        for decision in decisions
        for difference, why in decision.found
        if why is None
    ]
    assert unexplained == []
    assert {why for decision in decisions for _, why in decision.found} <= set(CAUSES)
