"""Each agent that ships loads, plays, and scores what its card says."""

from __future__ import annotations

from math import hypot

import pytest

from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.make import make_agent
from ludory.agents.pretrained.cards import FOLDER, pretrained_agents, read_card, read_card_file, weights_file
from ludory.benchmarks.pretrained import RECIPES
from ludory.cli.list import run as list_run
from ludory.envs.make import make_game
from ludory.errors import DataError, OptionError
from ludory.plugins import agents


def test_every_agent_has_weights_a_card_an_id_and_a_recipe():
    named = pretrained_agents()
    assert named == sorted(RECIPES)
    assert {file.name for file in FOLDER.glob("*.ludory")} == {weights_file(agent).name for agent in named}
    for agent in named:
        assert agents.get(agent).fixed["agent"] == agent
        card = read_card(agent)
        assert card is not None
        assert card.size == weights_file(agent).stat().st_size < 600_000


@pytest.mark.parametrize("agent", sorted(RECIPES))
def test_an_agent_reaches_the_score_of_its_card(agent):
    card, others = read_card(agent), RECIPES[agent].others
    assert card is not None
    game = make_game(card.game)  # as a user makes it, without the observation of the training
    seats = [agent] if others is None else [agent, *[others] * (game.facts.players - 1)]
    found = evaluate(seats, game, games=200, seed=77, rotate=others is not None)
    mean, stderr = float(found.returns[:, 0].mean()), float(found.returns[:, 0].std(ddof=1) / 200**0.5)
    assert abs(mean - card.score.mean) < 4 * hypot(stderr, card.score.stderr)


@pytest.mark.parametrize("agent", sorted(RECIPES))
def test_an_agent_plays_the_same_whatever_the_game_shows(agent):
    recipe = RECIPES[agent]
    plain, seen = make_game(recipe.game), make_game(recipe.game, **recipe.options)
    seats = [agent] if recipe.others is None else [agent, *[recipe.others] * (plain.facts.players - 1)]
    assert (evaluate(seats, plain, games=12, seed=5).returns == evaluate(seats, seen, games=12, seed=5).returns).all()


def test_another_game_is_refused_with_the_game_that_the_agent_plays():
    with pytest.raises(OptionError, match="'hanabi/ppo' plays Hanabi2P-v0; got Hanabi3P-v0"):
        make_agent("hanabi/ppo", "Hanabi3P-v0")
    with pytest.raises(OptionError, match="got Texas42-v0"):
        make_agent("hanabi/ppo", "Texas42-v0")


def test_the_list_of_agents_shows_score_and_size(capsys):
    assert list_run(["agents"]) == 0
    assert str(read_card("hanabi/ppo")) in capsys.readouterr().out


def test_a_damaged_card_is_named(tmp_path):
    (tmp_path / "x.json").write_text('{"agent": "x"}')
    with pytest.raises(DataError, match=r"x\.json: not the card of a pretrained agent"):
        read_card_file(tmp_path / "x.json")
