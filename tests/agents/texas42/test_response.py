"""The quick policy of Texas 42, what it tells of hidden hands, and the player that answers it."""

from __future__ import annotations

import numpy as np
import pytest

import ludory
from ludory.agents.make import make_agent
from ludory.agents.texas42.bidding.contracts import hands_of, standard_contracts
from ludory.agents.texas42.bidding.hand_cues import features_of
from ludory.agents.texas42.play.choice import question_of
from ludory.agents.texas42.play.fast_policy import FILE, LEVELS, OF_PIMC, SCALE, read_weights
from ludory.agents.texas42.play.play_outs import describe_rows
from ludory.agents.texas42.play.response import AS_BELIEVED, Trust, WorldPlay, believed_worlds
from ludory.agents.texas42.play.tile_features import FEATURE_NAMES, FEATURES, FEWER
from ludory.agents.texas42.solver.solver import Solver, positions
from ludory.envs.make import make_game
from ludory.envs.seats.table import Table
from ludory.envs.texas42.tiles import CALLED, COUNT, FOLLOW, HIGH, LED, LOW, RANK, STRAIGHT, TILE_NAMES, tiles_of
from ludory.errors import OptionError

pytestmark = pytest.mark.slow

GAMES = 12


@pytest.fixture(scope="module")
def play():
    return make_game("Texas42Play-v0", reward="make")


@pytest.fixture(scope="module")
def midway(play):
    """Standard contracts after ten tiles of the quick policy."""
    engine = ludory.make_engine(play, num_games=GAMES, seed=3)
    engine.reset(options=standard_contracts(40, GAMES, seed=9).options | {"points": [3, 4]})
    agent, rows = make_agent("texas42/quick(sample=True, seed=5)", play), np.arange(GAMES)
    memory = agent.initial_memory(GAMES)
    for _ in range(10):
        actions = np.zeros(GAMES, np.int64)
        for seat in range(4):
            mine = rows[engine.to_move == seat]
            actions[mine] = agent.choose(engine, seat, mine, memory)
        engine.step(actions)
    return engine


def test_contracts_are_what_solving_says():
    found, again = standard_contracts(5, 4, seed=1), standard_contracts(7, 1, seed=1)
    assert (np.sort(found.deals, axis=1) == np.arange(28)).all()
    assert (found.deals[2] == again.deals[0]).all()
    assert found.decls[2] == again.decls[0]
    assert (standard_contracts(5, 1, seed=2).deals != found.deals[0]).any()
    sure = standard_contracts(0, 40, seed=3, worlds=4)
    made = Solver().makes(positions(hands_of(sure.deals), sure.decls, 0), 30)
    others = [Solver().makes(positions(hands_of(sure.deals), decl, 0), 30).mean() for decl in STRAIGHT]
    assert made.mean() > max(others)


def plain_features(engine, row, seat, tile):
    """Some features by definition, from the public facts and one hand."""
    state, decl = engine.state, int(engine.state.decl[row])
    hand, lying = int(state.held[row, seat]), [int(t) for t in state.trick[row] if t >= 0]
    played = {int(t) for t in state.tiles[row] if t >= 0}
    unseen = [t for t in range(28) if t not in played and not hand >> t & 1]
    suit = LED[decl, lying[0] if lying else tile]
    rank = RANK[decl, suit]
    to_come = [(seat + 1 + k) % 4 for k in range(3 - len(lying))]
    theirs = {t for s in to_come if s % 2 != seat % 2 for t in unseen if not int(state.cannot[row, s]) >> t & 1}
    return {
        "tricks left": hand.bit_count(),
        "counts, in fives": COUNT[tile] // 5,
        "points lying": (1 + sum(int(COUNT[t]) for t in lying)) if lying else 0,
        "wins so far": int(all(rank[tile] > rank[t] for t in lying)),
        "unseen tiles of theirs that beat it": sum(rank[t] > rank[tile] for t in theirs),
        "own counts, in fives": sum(int(COUNT[t]) for t in tiles_of(hand)) // 5,
        "unseen counts, in fives": sum(int(COUNT[t]) for t in unseen) // 5,
        **plain_suits(state, row, seat, tile, hand, unseen),
    }


def plain_suits(state, row, seat, tile, hand, unseen):
    """Features of the suits of a tile and of who may hold what, from the pips."""
    decl = int(state.decl[row])
    own, held = int(LED[decl, tile]), tiles_of(hand)
    may = [
        {t for t in unseen if not int(state.cannot[row, (seat + k) & 3]) >> t & 1 and state.held[row, (seat + k) & 3]}
        for k in range(4)
    ]
    called = [set(tiles_of(int(FOLLOW[decl, CALLED]))) & may[k] if decl <= CALLED else set() for k in range(4)]
    losing = [h for h in held if any(RANK[decl, LED[decl, h], t] > RANK[decl, LED[decl, h], h] for t in unseen
              if int(FOLLOW[decl, LED[decl, h]]) >> t & 1)]  # fmt: skip
    low = LOW[tile] if own != CALLED and HIGH[tile] != LOW[tile] else -1
    of_low = [t for t in (*held, *unseen) if low >= 0 and int(FOLLOW[decl, low]) >> t & 1]
    without = [
        sum(1 for s in range(7) if (of := {t for t in unseen if int(FOLLOW[decl, s]) >> t & 1}) and not of & may[k])
        for k in range(4)
    ]
    return {
        "own others of its low suit": sum(t in held for t in of_low) - (low >= 0),
        "unseen of its low suit": sum(t in unseen for t in of_low),
        "unseen of its low suit that beat it": sum(
            t in unseen and RANK[decl, low, t] > RANK[decl, low, tile] for t in of_low
        ),
        "own weaker ones of its suit": sum(
            int(FOLLOW[decl, own]) >> t & 1 and RANK[decl, own, t] < RANK[decl, own, tile] for t in held
        ),
        "trumps that left may hold": len(called[1]),
        "trumps that partner may hold": len(called[2]),
        "trumps that right may hold": len(called[3]),
        "suits that left is out of": without[1],
        "suits that partner is out of": without[2],
        "suits that right is out of": without[3],
        "own losing tiles": len(losing),
        "own counts on losing tiles, in fives": sum(int(COUNT[t]) for t in losing) // 5,
    }


def test_features_are_what_they_are_called(midway):
    masks, rows = midway.legal(), np.arange(GAMES)
    features = np.zeros((GAMES, 7, FEATURES), np.int8)
    describe_rows(midway.records, rows, midway.to_move, masks, features)
    assert len(FEATURE_NAMES) == FEATURES
    assert len(set(FEATURE_NAMES)) == FEATURES
    for row in rows:
        for k, tile in enumerate(np.flatnonzero(masks[row])):
            for name, value in plain_features(midway, row, int(midway.to_move[row]), int(tile)).items():
                assert features[row, k, FEATURE_NAMES.index(name)] == value, (name, TILE_NAMES[tile])


def test_a_policy_is_a_distribution(midway):
    """Likelihoods of all that a seat could have done sum to 1."""
    for row in range(0, GAMES, 4):
        seat = int(midway.to_move[row])
        seer = (seat + 1) % 4
        legal, total = np.flatnonzero(midway.legal()[row]), 0.0
        hands = np.array([[midway.state.held[row, (seer + 1 + k) % 4] for k in range(3)]], np.int32)
        before = WorldPlay(midway.game, midway.state, row, seer).log_likelihoods(hands)[0]
        for tile in legal:
            after = midway.gather([row])
            after.step([tile])
            hands = np.array([[after.state.held[0, (seer + 1 + k) % 4] for k in range(3)]], np.int32)
            total += np.exp(WorldPlay(midway.game, after.state, 0, seer).log_likelihoods(hands)[0] - before)
        assert total == pytest.approx(1)


def test_how_likely_a_declaration_is(play):
    """At the first lead of the bidder's left nothing but the declaration speaks."""
    engine = ludory.make_engine(play, num_games=1, seed=3)
    contract = standard_contracts(4, 1)
    engine.reset(options=contract.options)
    hands = hands_of(contract.deals)[0]
    seen = WorldPlay(play, engine.state, 0, 1)
    logs = seen.log_likelihoods(np.array([[hands[2], hands[3], hands[0]]], np.int32))
    scores = features_of(int(hands[0])) @ OF_PIMC.trumps / SCALE
    expected = scores[STRAIGHT.index(int(contract.decls[0]))] - np.log(np.exp(scores).sum())
    assert logs[0] == pytest.approx(expected)
    assert seen.log_likelihoods(np.array([[hands[2], hands[3], hands[0]]], np.int32), Trust(declaration=0.0))[0] == 0


def test_beliefs_find_the_true_hands(midway):
    """The hands that played so are more likely than a uniform guess, on average; and all drawn worlds agree with what is known."""
    gains = []
    for row in range(GAMES):
        seat = int(midway.to_move[row])
        question = question_of(midway.state, row, midway.legal()[row], key=row)
        game = WorldPlay(midway.game, midway.state, row, seat)
        worlds, effective = believed_worlds(game, question, 300, 50)
        assert 1 <= effective <= 300
        assert (np.bitwise_or.reduce(worlds, axis=1) == question.known.unseen).all()
        assert all(((worlds[:, k] & ~question.known.may[k]) == 0).all() for k in range(3))
        truth = np.array([[midway.state.held[row, (seat + 1 + k) % 4] for k in range(3)]], np.int32)
        uniform, _ = believed_worlds(game, question, 300, 300, Trust(0.0, 1e9, 1.0))
        logs = game.log_likelihoods(uniform, AS_BELIEVED)
        gains.append(game.log_likelihoods(truth, AS_BELIEVED)[0] - np.log(np.exp(logs).mean()))
    assert np.mean(gains) > 0.5


def test_hands_are_played_out_by_the_rules(midway):
    """In one world the outcomes of a tile are those of games played to their end: sure where all tiles are forced."""
    late = midway.clone()
    agent = make_agent("texas42/quick(sample=True, seed=1)", midway.game)
    memory = agent.initial_memory(GAMES)
    while int(late.state.plays[0]) < 24:
        actions = np.zeros(GAMES, np.int64)
        for seat in range(4):
            mine = np.flatnonzero(late.to_move == seat)
            actions[mine] = agent.choose(late, seat, mine, memory)
        late.step(actions)
    for row in range(GAMES):
        seat, end = int(late.to_move[row]), late.gather([row])
        tile = int(late.legal()[row].argmax())
        hands = np.array([[late.state.held[row, (seat + 1 + k) % 4] for k in range(3)]], np.int32)
        made = WorldPlay(late.game, late.state, row, seat).made_after(hands, np.array([tile]), 7)
        while not end.over.all():
            end.step(end.legal().argmax(axis=1))
        assert made[0, 0] == (end.rewards[0, 0] > 0)


@pytest.mark.parametrize("spec", ["texas42/response(worlds=8, candidates=20, solved=3)", "texas42/pimc(worlds=3)"])
def test_choices_do_not_change_when_hidden_hands_do(midway, spec):
    agent = make_agent(spec, midway.game)
    for row in range(4):
        here = midway.gather([row])
        seat, chosen = int(here.to_move[0]), set()
        for seed in (None, 1, 2):
            other = here.clone()
            if seed is not None:
                other.redeal(seat, seed)
                assert (other.state.held[0, seat] == here.state.held[0, seat]).all()
            chosen.add(int(agent.choose(other, seat, np.arange(1), None)[0]))
        assert len(chosen) == 1


def test_whole_auctions_are_played_with_nello_and_sevens():
    game = make_game("Texas42-v0", nello=("low",), plunge=2, sevens=True)
    agents = [
        "texas42/response(worlds=4, candidates=8, solved=2)",
        "texas42/quick(sample=True, seed=1)",
        "random",
        "texas42/quick(sample=True, seed=2)",
    ]
    result = ludory.evaluate(agents, game=game, games=6, seed=2)
    assert np.allclose(result.returns.sum(axis=1), 0)
    assert (result.returns != 0).any()


def test_quick_plays_better_than_chance(play):
    contracts = standard_contracts(0, 80, seed=4, worlds=2)
    made = {}
    for name, agents in {
        "quick": ["texas42/quick", "random"],
        "random": ["random", "texas42/quick"],
    }.items():
        engine = ludory.make_engine(play, num_games=80, seed=1)
        table = Table(engine, [make_agent(spec, play) for spec in agents] * 2)
        table.start(options=contracts.options)
        table.run()
        made[name] = (table.rewards[:, 0] > 0).mean()
    assert made["quick"] > made["random"] + 0.3


def test_quick_takes_the_likeliest_tile_or_draws_one(midway):
    """Draws of one position differ and are often the likeliest tile; without drawing it is the same each time."""
    rows, seat = np.flatnonzero(midway.to_move == midway.to_move[0]), int(midway.to_move[0])

    def tiles(spec):
        agent = make_agent(spec, midway.game)
        return agent.choose(midway, seat, rows, agent.initial_memory(midway.num_games))

    likeliest = tiles("texas42/quick")
    assert (tiles("texas42/quick") == likeliest).all()
    drawn = np.array([tiles(f"texas42/quick(sample=True, seed={seed})") for seed in range(40)])
    assert (drawn != drawn[0]).any()
    assert (drawn == likeliest).mean() > 0.6


def test_refused_options(play):
    with pytest.raises(OptionError, match="sample=True, seed=3"):
        make_agent("texas42/quick(seed=3)", play)
    with pytest.raises(OptionError, match="sample=1"):
        make_agent("texas42/quick(sample=1)", play)
    with pytest.raises(OptionError, match="share=2"):
        make_agent("texas42/response(share=2)", play)
    with pytest.raises(OptionError, match="solved=300"):
        make_agent("texas42/response(solved=300)", play)
    with pytest.raises(OptionError, match="declared='no'"):
        make_agent("texas42/response(declared='no')", play)


@pytest.mark.parametrize("file", [FILE, *LEVELS], ids=lambda file: file.stem)
def test_weights_are_whole_numbers_of_the_right_shape(file):
    weights = read_weights(file)
    assert weights.hidden.shape in {(len(weights.bias), FEATURES), (len(weights.bias), FEWER)}


def test_weights_of_fewer_features_play_as_with_zeros_for_the_others(play):
    engine = ludory.make_engine(play, num_games=GAMES, seed=3)
    engine.reset(options=standard_contracts(40, GAMES, seed=9).options)
    padded = OF_PIMC._replace(hidden=np.pad(OF_PIMC.hidden, ((0, 0), (0, FEATURES - OF_PIMC.hidden.shape[1]))))
    assert padded.hidden.shape[1] == FEATURES > OF_PIMC.hidden.shape[1]
    question = question_of(engine.state, 0, engine.legal()[0], key=1)
    made = []
    for weights in (OF_PIMC, padded):
        play_outs = WorldPlay(play, engine.state, 0, 0, weights)
        worlds, _ = believed_worlds(play_outs, question, 40, 20)
        made.append(play_outs.made_after(worlds, np.array(tiles_of(question.legal)), 5))
    assert (made[0] == made[1]).all()
