"""Each agent that ships loads, plays every seat of its game, and scores what its card says."""

from __future__ import annotations

from math import hypot

import numpy as np
import pytest

from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.evaluation.exploitability import exploitability
from ludory.agents.make import make_agent
from ludory.agents.pretrained.cards import pretrained_agents, read_card, read_card_file, weights_file, weights_folder
from ludory.agents.tabular import TabularAgent
from ludory.algorithms.cfr import CFR
from ludory.benchmarks.pretrained import RECIPES, pack, score_with
from ludory.cli.list import run as list_run
from ludory.envs.make import make_game
from ludory.errors import DataError, OptionError
from ludory.plugins import agents

QUICK = 200
"""Games with rivals that choose in microseconds; others get fewer."""
SLOW = {
    "mcts(simulations=1000)": 20,
    "mcts(simulations=10000)": 4,
    "frozen_lake/optimum": 50,
    "sokoban/solver": 50,
    "texas42/quick": 50,
    "texas42/pimc": 40,
}


PLAYED = sorted(agent for agent in RECIPES if not agent.startswith("pokemon/"))
"""Agents whose games are played here; battles are played by `make test-pokemon`."""


def test_every_agent_has_weights_a_card_an_id_and_a_recipe():
    named = pretrained_agents()
    assert named == sorted(RECIPES)
    assert {file.name for file in weights_folder().glob("*.ludory")} == {weights_file(agent).name for agent in named}
    for agent in named:
        assert agents.get(agent).fixed["agent"] == agent
        card = read_card(agent)
        assert card is not None
        most = {"texas42/oracle": 4_000_000, "pokemon/gen1-ppo": 2_000_000, "pokemon/gen9-ppo": 2_000_000}.get(
            agent, 900_000
        )
        assert card.size == weights_file(agent).stat().st_size < most


@pytest.mark.slow
@pytest.mark.parametrize("agent", PLAYED)
def test_an_agent_reaches_the_scores_of_its_card(agent):
    card = read_card(agent)
    assert card is not None
    game = make_game(card.game, **RECIPES[agent].scored_in)  # without the observation of the training
    assert tuple(score.rival for score in (card.score, *card.more_scores)) == RECIPES[agent].rivals
    for score in (card.score, *card.more_scores):
        games = 40 if score.rival.startswith("arena/") else SLOW.get(score.rival, QUICK)
        found = score_with(agent, score.rival, game, games, seed=77)
        assert found["against"] == score.against
        error = max(found["stderr"], 1 / games)  # who never loses in n games may lose one in n
        assert abs(found["mean"] - score.mean) <= 4 * hypot(error, score.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("agent", PLAYED)
def test_an_agent_plays_every_seat_the_same_whatever_the_game_shows(agent):
    settings = RECIPES[agent].settings
    shown = {name: value for name, value in settings.options.items() if name == "observation"}
    plain, seen = make_game(settings.game), make_game(settings.game, **shown)
    for seat in range(plain.facts.players):
        seats = ["random(seed=1)"] * plain.facts.players
        seats[seat] = agent
        assert (
            evaluate(seats, plain, games=12, seed=5).returns == evaluate(seats, seen, games=12, seed=5).returns
        ).all()


@pytest.mark.parametrize("agent", [agent for agent, recipe in RECIPES.items() if recipe.exact])
def test_an_equilibrium_is_as_hard_to_exploit_as_its_card_says(agent):
    card = read_card(agent)
    assert card is not None
    assert card.exploitability is not None
    assert exploitability(agent, card.game).exploitability == pytest.approx(card.exploitability, rel=1e-6)
    assert card.exploitability < 0.001
    assert f"exploitability {card.exploitability:.1g}" in str(card)


def test_an_equilibrium_draws_its_actions_unless_told_otherwise():
    drawing, fixed = make_agent("kuhn/cfr", "KuhnPoker-v0"), make_agent("kuhn/cfr(deterministic=True)", "KuhnPoker-v0")
    assert isinstance(drawing, TabularAgent)
    assert isinstance(fixed, TabularAgent)
    assert not drawing.deterministic
    assert fixed.deterministic


@pytest.mark.slow
def test_a_network_draws_where_its_card_says_so():
    card = read_card("sokoban/ppo")
    assert card is not None
    assert card.draws
    rooms = make_game("Sokoban-v0", split="test")
    drawing, fixed = (
        evaluate(f"sokoban/ppo{how}", rooms, games=200, seed=3).returns for how in ("", "(deterministic=True)")
    )
    assert drawing.mean() > fixed.mean()


def test_a_packed_table_is_a_checkpoint_of_cfr_with_the_same_strategy(tmp_path):
    model = CFR("auto", "KuhnPoker-v0")
    model.learn(20)
    model.save(tmp_path / "model.ludory")
    pack(tmp_path / "model.ludory", tmp_path / "packed.ludory")
    assert np.abs(CFR.load(tmp_path / "packed.ludory").average - model.average).max() < 1e-3


def test_scores_at_one_table_are_opposed_and_name_both_seats():
    game = make_game("TicTacToe-v0")
    found = score_with("mcts(simulations=50)", "random(seed=3)", game, games=30, seed=1)
    assert found["against"]
    assert found["mean"] == -found["rival_mean"] == pytest.approx(np.mean(found["by_seat"]))
    assert found["ahead_mean"] == pytest.approx(2 * found["mean"])


def test_another_game_is_refused_with_the_game_that_the_agent_plays():
    for agent, learnt in (("hanabi/ppo", "Hanabi2P-v0"), ("leduc/cfr", "LeducPoker-v0")):
        with pytest.raises(OptionError, match=f"'{agent}' plays {learnt}; got Hanabi3P-v0"):
            make_agent(agent, "Hanabi3P-v0")
    with pytest.raises(OptionError, match="got Texas42-v0"):
        make_agent("hanabi/ppo", "Texas42-v0")


def test_the_list_of_agents_shows_score_and_size(capsys):
    assert list_run(["agents"]) == 0
    shown = capsys.readouterr().out
    assert all(str(read_card(agent)) in shown for agent in RECIPES)


def test_a_damaged_card_is_named(tmp_path):
    (tmp_path / "x.json").write_text('{"agent": "x"}')
    with pytest.raises(DataError, match=r"x\.json: not the card of a pretrained agent"):
        read_card_file(tmp_path / "x.json")
