"""Kinds of decisions and the strongest move, as they are read from observations."""

from __future__ import annotations

import numpy as np

from ludory.envs.pokemon.decisions import ACTIONS, KINDS, battle_decisions

from .rows import battle_facts
from .toy import FIELD, MOVES, POKEMON, SPEC

FREE, FORCED, PIVOT, PREVIEW, SINGLE = range(5)


def decisions() -> tuple[np.ndarray, np.ndarray]:
    """One decision of each kind, in the order of `KINDS`."""
    rows, masks = np.zeros((5, 932), np.float32), np.ones((5, 10), bool)
    rows[:, POKEMON + 40 + 2], rows[:, POKEMON + 40 + 4] = 1, 0.5  # slot 1 is active and stands
    rows[FORCED, POKEMON + 40 + 4] = 0
    rows[[FORCED, PIVOT], FIELD + 51] = 1
    rows[PREVIEW, FIELD + 50] = 1
    masks[[FORCED, PIVOT, PREVIEW], :4] = False
    masks[SINGLE, 1:] = False
    return rows, masks


def test_every_decision_is_of_one_kind_and_its_action_of_one_sort() -> None:
    """A pivot switch is one of a Pokémon that stands; a single legal action is no decision."""
    rows, masks = decisions()
    actions = np.array([2, 5, 6, 4, 0])
    members = SPEC.members(rows, masks, actions)
    assert SPEC.groups == (*ACTIONS, *KINDS)
    assert (members[:, 3:] == np.eye(5, dtype=bool)).all()
    assert members[:, :3].astype(int).tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert SPEC.members(rows, masks, actions + 10)[:, 2].all()


def test_the_strongest_legal_move_wins_and_the_first_of_equals() -> None:
    """Where no move is legal the rule takes the first legal switch."""
    rows, masks = decisions()
    rows[:, MOVES + 13 : MOVES + 88 : 22] = [0.2, 0.9, 0.9, 0.4]
    masks[PIVOT, 4] = False
    assert SPEC.choices(rows, masks).tolist() == [1, 4, 5, 4, 0]
    masks[FREE, 1] = False
    assert SPEC.choices(rows, masks)[FREE] == 2


def test_without_the_numbers_of_moves_there_is_no_strongest_one() -> None:
    """seed41 tells moves from switches, and nothing else."""
    found = battle_decisions(battle_facts(10, 41, "seed41").observation)
    assert (found.groups, found.rules) == (ACTIONS, ())
