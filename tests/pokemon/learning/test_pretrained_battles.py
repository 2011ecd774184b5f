"""The networks that ship play battles as their cards say, and one of them is what `pokemon/search` searches with."""

from __future__ import annotations

from math import hypot

import pytest

from ludory.agents.make import make_agent
from ludory.agents.pretrained.cards import read_card
from ludory.benchmarks.pretrained import RECIPES, score_with
from ludory.envs.make import make_game
from ludory.envs.pokemon.backends.install import Installation

AGENTS = ("pokemon/gen1-ppo", "pokemon/gen9-ppo")
DEALS = 40
"""Pairs of teams, each played from both sides."""


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_it_reaches_the_scores_of_its_card(simulator: Installation, agent: str) -> None:
    card = read_card(agent)
    assert card is not None
    assert tuple(score.rival for score in (card.score, *card.more_scores)) == RECIPES[agent].rivals
    for score in (card.score, *card.more_scores):
        found = score_with(agent, score.rival, make_game(card.game), DEALS, seed=77)
        assert found["against"]
        assert abs(found["mean"] - score.mean) <= 4 * hypot(found["stderr"], score.stderr)


def test_a_search_takes_it_unless_told_otherwise(simulator: Installation) -> None:
    game = make_game("PokemonGen1RandomBattle-v0")
    assert make_agent("pokemon/search", game).name == f"pokemon/search({AGENTS[0]})"
