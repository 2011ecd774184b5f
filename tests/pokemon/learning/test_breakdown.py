"""Kinds of decisions and the strongest move, as they are read from observations."""

from __future__ import annotations

import torch

from ludory.algorithms.bc.breakdown import ACTIONS, KINDS, breakdown_of
from ludory.envs.game import ObservationSpec, flat_segments

from .rows import battle_facts
from .toy import FIELD, MOVES, POKEMON, SPEC

FREE, FORCED, PIVOT, PREVIEW, SINGLE = range(5)


def decisions() -> tuple[torch.Tensor, torch.Tensor]:
    """One decision of each kind, in the order of `KINDS`."""
    rows, masks = torch.zeros(5, 932), torch.ones(5, 10, dtype=torch.bool)
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
    actions = torch.tensor([2, 5, 6, 4, 0])
    members = SPEC.members(rows, masks, actions)
    assert SPEC.groups == (*ACTIONS, *KINDS)
    assert torch.equal(members[:, 3:], torch.eye(5, dtype=torch.bool))
    assert members[:, :3].int().tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert SPEC.members(rows, masks, actions + 10)[:, 2].all()


def test_the_strongest_legal_move_wins_and_the_first_of_equals() -> None:
    """Where no move is legal the rule takes the first legal switch."""
    rows, masks = decisions()
    rows[:, MOVES + 13 : MOVES + 88 : 22] = torch.tensor([0.2, 0.9, 0.9, 0.4])
    masks[PIVOT, 4] = False
    assert SPEC.choices(rows, masks).tolist() == [1, 4, 5, 4, 0]
    masks[FREE, 1] = False
    assert SPEC.choices(rows, masks)[FREE] == 2


def test_only_battles_of_pokemon_are_broken_down() -> None:
    """Other games have no breakdown; without the numbers of moves there is no strongest one."""
    assert breakdown_of(ObservationSpec("turn", (3,), "uint8", flat_segments({"turn": 3})), 10) is None
    facts = battle_facts(10, 41, "seed41")
    found = breakdown_of(facts.observation, 10)
    assert found is not None
    assert (found.groups, found.rules) == (ACTIONS, ())
