"""Search over networks: beliefs equal to counting out, rollouts equal to games played, results that repeat, and a gain."""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
import pytest
import torch
from games.high_card import HIGH_CARD
from reference.hand_posterior import posterior
from support.watched_hands import Watched

import ludory
from ludory.agents.evaluation.evaluate import evaluate, paired_difference
from ludory.agents.make import make_agent
from ludory.agents.networks.build import PolicySpec, build_policy
from ludory.agents.neural import NeuralAgent
from ludory.agents.search.blueprint import engine_of, make_blueprint
from ludory.agents.search.network_blueprint import NetworkBlueprint
from ludory.agents.search.sparta import Sparta, make
from ludory.algorithms.ppo import PPO
from ludory.envs.make import make_game
from ludory.errors import OptionError

pytestmark = pytest.mark.plain

TINY = make_game("HanabiTiny2P-v0")
LISTED, DEFERRED = 10**6, 0


def network(game=TINY, id: str = "hanabi_gru", **arguments) -> NeuralAgent:
    """A network whose moves depend on all that it sees: random weights, so large that there are no ties."""
    sizes = {"hidden": (16,)} if id == "mlp" else {"hidden": (16,), "memory_size": 12}
    with torch.random.fork_rng():
        torch.manual_seed(4)
        policy = build_policy(PolicySpec(id, sizes | arguments), game.facts)
        for weights in policy.parameters():
            torch.nn.init.normal_(weights, 0, 1.0)
        torch.nn.init.normal_(policy.logits.weight, 0, 4.0)
    return NeuralAgent(policy, "network")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seat", "bot"),
    [(0, network()), (1, network(previous="all")), (1, network(id="gru")), (0, network(id="mlp"))],
    ids=["hanabi_gru", "told all moves", "gru", "mlp"],
)
def test_the_range_is_what_counting_out_all_deals_gives(seat, bot):
    watched, compared, narrowed = Watched(TINY.id, bot, 5, seat, (LISTED, DEFERRED)), 0, 0
    for i in watched.moves():
        expected = posterior(TINY, bot, watched.engine, i, watched.draws[i], watched.histories[i])
        assert watched.own_hand(i) in expected
        for limit in (LISTED, DEFERRED):
            assert watched.weights(i, limit) == expected, (
                f"game {i}, turn {watched.engine.state.turn[i]}, limit {limit}"
            )
        compared, narrowed = compared + 1, narrowed + (len(expected) < 5)
    assert compared > 12
    assert narrowed > 1
    assert not any(known.contradictions for ranges in watched.ranges for known in ranges.values())


@pytest.mark.parametrize(
    "arguments", [pytest.param({}, marks=pytest.mark.slow), {"previous": "all"}], ids=["seen", "told"]
)
def test_what_it_remembers_and_plays_in_rollouts_is_what_the_agent_does(arguments):
    agent = network(**arguments)
    watched, compared = Watched(TINY.id, agent, 4, 1, (LISTED,)), 0
    blueprint = make_blueprint(agent, TINY, "this test")
    for i in watched.moves():
        if watched.engine.to_move[i] != 1 or compared > 4:
            continue
        drawn = watched.copied(i, LISTED).draw(watched.view(i), 6, key=3)
        hidden = agent.policy.memory_size
        own = watched.memories[1][0] if arguments else watched.memories[1]
        np.testing.assert_allclose(drawn.memories[:, 1, :hidden], np.tile(own[i], (6, 1)), atol=1e-6)
        actions = np.flatnonzero(watched.view(i).mask)
        returns = blueprint.play(drawn, actions, 1)
        for k, action in enumerate(actions):
            np.testing.assert_array_equal(returns[:, k], played_on(agent, drawn, int(action)))
        compared += 1
    assert compared > 2


def played_on(agent, drawn, action):
    """The same worlds at a table of agents."""
    engine, rows = engine_of(TINY, drawn.worlds), np.arange(len(drawn.worlds))
    memories = []
    for seat in range(2):
        packed = torch.from_numpy(drawn.memories[:, seat].copy())
        size = agent.policy.memory_size
        memories.append(
            (packed[:, :size], packed[:, size:].numpy().astype(int)) if agent.policy.uses_previous else packed[:, :size]
        )
    agent.choose(engine, 1, rows, memories[1])
    actions, returns = np.full(len(rows), action), np.zeros(len(rows))
    while (running := np.flatnonzero(engine.to_move >= 0)).size:
        for seat in range(2):
            agent.notice(engine, seat, running, actions[running], memories[seat])
        engine.step(actions)
        returns += engine.rewards[:, 1]
        for seat in range(2):
            mine = np.flatnonzero(engine.to_move == seat)
            if len(mine):
                actions[mine] = agent.choose(engine, seat, mine, memories[seat])
    return returns


@pytest.mark.slow
def test_a_range_that_may_not_be_listed_keeps_a_part_of_it(monkeypatch):
    monkeypatch.setattr(NetworkBlueprint, "most_listed", 4)
    watched, limited = Watched(TINY.id, network(), 4, 0, (4,)), 0
    for i in watched.moves():
        size = watched.copied(i, 4).size
        assert size is None or size <= 4
        if watched.engine.to_move[i] == 0:
            worlds = watched.copied(i, 4).draw(watched.view(i), 10, key=1).worlds
            seen = engine_of(TINY, worlds).observe(0)
            assert (seen == watched.view(i).observation).all()
            limited += 1
    assert limited > 5


@pytest.mark.slow
def test_search_over_a_network_gains_and_repeats():
    agent = network()
    alone = evaluate(agent, TINY, games=40, seed=3)
    found = evaluate([agent, Sparta(TINY, agent, rollouts=40)], TINY, games=40, seed=3)
    again = evaluate([agent, Sparta(TINY, agent, rollouts=40)], TINY, games=8, seed=3)
    np.testing.assert_array_equal(found.returns[:8], again.returns)
    gain = paired_difference(found, alone)
    assert gain.mean > 2 * gain.stderr > 0


def test_a_checkpoint_is_a_blueprint_also_in_other_games(tmp_path):
    model = ludory.make_algorithm("ppo", env="HanabiTiny2P-v0", num_envs=2, policy="gru(hidden=(8,), memory_size=8)")
    model.save(tmp_path / "net.ludory")
    agent = make_agent(f"sparta({tmp_path / 'net.ludory'}, rollouts=10)", TINY)
    assert len(evaluate([str(tmp_path / "net.ludory"), agent], TINY, games=2).returns) == 2
    cards = network(HIGH_CARD, "mlp")
    assert len(evaluate([Sparta(HIGH_CARD, cards, rollouts=20, particles=20), cards], HIGH_CARD, games=5).returns) == 5


def test_players_that_draw_their_moves_and_joint_search_are_refused():
    agent = network()
    with pytest.raises(OptionError, match="both seats must come to the same result"):
        make(TINY, agent, joint=True)
    agent.deterministic = False
    with pytest.raises(OptionError, match="one that is deterministic"):
        Sparta(TINY, agent)


@pytest.mark.slow
@pytest.mark.parametrize("observation", ["card_knowledge", "conventions"])
def test_a_network_is_searched_over_in_games_that_show_something_else(tmp_path, observation):
    """The moves are those of the same search in the game that the network was trained with."""
    learnt = make_game("HanabiTiny2P-v0", observation="tactical")
    file = tmp_path / "net.ludory"
    model = PPO("mlp(hidden=(8,))", learnt, num_envs=2, n_steps=4, batch_size=8, n_epochs=1, seed=1)
    model.save(file)
    agents = [f"sparta({str(file)!r}, rollouts=60)", str(file)]
    there = evaluate(agents, learnt, games=6, seed=3)
    here = evaluate(agents, make_game("HanabiTiny2P-v0", observation=observation), games=6, seed=3)
    assert (here.returns == there.returns).all()
