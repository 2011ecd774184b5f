"""The arena's scripted styles: who beats whom, and that they know no more than their seat."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.make import make_agent
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.make import make_game
from ludory.errors import OptionError

TABLE = json.loads((Path(__file__).parents[1] / "golden" / "arena" / "win_rates.json").read_text())
STYLES = TABLE["styles"]
SCRIPTS = STYLES[1:]
DODGERS = ["duelist", "raider"]
EVERYONE = [*STYLES, *DODGERS]
TRIANGLE = (("rusher", "sniper"), ("sniper", "turtle"), ("turtle", "rusher"))


@pytest.fixture(scope="module")
def game():
    return make_game("Arena2P-v0")


@pytest.fixture(scope="module")
def agents(game):
    return {name: make_agent(f"arena/{name}", game) for name in EVERYONE}


def win_rate(agents, game, one, other, games):
    """Of `one`, draws count half, half of the games in each seat."""
    first = evaluate([agents[one], agents[other]], game, games // 2, seed=1).returns[:, 0]
    second = evaluate([agents[other], agents[one]], game, games // 2, seed=2).returns[:, 1]
    return (np.concatenate([first, second]).mean() + 1) / 2


@pytest.mark.slow
@pytest.mark.parametrize("heads", ["default", "seed"])
def test_rusher_beats_sniper_beats_turtle_beats_rusher(agents, heads):
    game = make_game("Arena2P-v0", heads=heads)
    rates = [win_rate(agents, game, *pair, games=300) for pair in TRIANGLE]
    assert min(rates) >= 0.9
    assert equilibrium(rates) == pytest.approx([1 / 3] * 3, abs=0.1)


def equilibrium(rates):
    """Mixed equilibrium of a cyclic game of three in which pair k is won at `rates[k]`: each is played as often as the two others fight."""
    edges = 2 * np.array(rates) - 1
    weights = np.array([edges[1], edges[2], edges[0]])  # rusher, sniper, turtle
    return weights / weights.sum()


@pytest.mark.slow
def test_all_pairs_fight_as_in_the_trial(agents, game):
    for number, one in enumerate(SCRIPTS):
        for other in STYLES[: STYLES.index(one)]:
            rate = win_rate(agents, game, one, other, games=300)
            assert rate == pytest.approx(TABLE[one][STYLES.index(other)], abs=0.1), (one, other)
        assert win_rate(agents, game, one, "random", games=300) >= 0.98, number


@pytest.mark.slow
def test_who_steps_out_of_the_way_is_seldom_struck_and_beats_all_six(agents, game):
    for other in SCRIPTS:
        assert win_rate(agents, game, "duelist", other, games=100) >= 0.9, other
    damage = {name: damage_of_shots(agents, game, name) for name in ("sniper", *DODGERS)}
    assert damage["duelist"] < 0.4 * damage["sniper"], damage
    assert damage["raider"] < 0.7 * damage["sniper"], damage


def damage_of_shots(agents, game, name):
    """Of a duel's first 60 decisions against a sniper, per game."""
    engine, rows, pair = KernelEngine(game, 100, seed=4), np.arange(100), (agents[name], agents["sniper"])
    engine.reset()
    for _ in range(60):
        engine.step(
            np.stack([one.choose(engine, seat, rows, one.initial_memory(100)) for seat, one in enumerate(pair)], 1)
        )
    return engine.state.dealt[:, 1].mean()


@pytest.mark.slow
def test_no_seat_has_an_advantage(agents, game):
    scores = [evaluate([agents[name]] * 2, game, 400, seed=3).returns[:, 0] for name in SCRIPTS]
    assert (np.concatenate(scores).mean() + 1) / 2 == pytest.approx(0.5, abs=0.03)
    assert (scores[SCRIPTS.index("rusher")] == 0).mean() > 0.9, "both novas count"


def positions(game, agents, seed):
    """Positions of all stages of games between all styles."""
    engine = KernelEngine(game, 64, seed=seed, threads=1)
    engine.reset()
    rows = np.arange(64)
    for turn in range(60):
        actions = np.zeros((64, 2, 7), np.int64)
        for seat in range(2):
            name = EVERYONE[(turn // 4 + 3 * seat) % len(EVERYONE)]
            actions[:, seat] = agents[name].choose(engine, seat, rows, agents[name].initial_memory(64))
        engine.step(actions)
        if turn % 6 == 5:
            yield engine


@pytest.mark.slow
def test_styles_know_only_what_their_seat_may_see(agents, game):
    rows = np.arange(64)
    for engine in positions(game, agents, seed=5):
        other = engine.clone()
        other.redeal(0, seed=8)
        for name in EVERYONE:
            memory = agents[name].initial_memory(64)
            before = agents[name].choose(engine, 0, rows, memory.copy())
            np.testing.assert_array_equal(agents[name].choose(other, 0, rows, memory.copy()), before, err_msg=name)


@pytest.mark.slow
def test_all_that_styles_choose_is_legal_with_either_heads(agents):
    for heads in ("default", "seed"):
        for engine in positions(make_game("Arena2P-v0", heads=heads), agents, seed=6):
            assert engine.num_games == 64, "an illegal choice would have raised"


@pytest.mark.slow
def test_random_is_uniform_over_what_is_legal(agents, game):
    engine = KernelEngine(game, 4000, seed=1, threads=1)
    engine.reset()
    agents["random"].seed(7)
    chosen = agents["random"].choose(engine, 0, np.arange(4000), agents["random"].initial_memory(4000))
    for head, size in enumerate((5, 5, 9, 9, 2, 5)):
        share = np.bincount(chosen[:, head], minlength=size) / 4000
        assert share == pytest.approx(np.full(size, 1 / size), abs=0.04), head
    assert (chosen[:, 6] == 0).mean() > 0.8, "few start beside a crate"


@pytest.mark.slow
def test_random_repeats_with_its_seed(game):
    one, again, other = (
        evaluate([f"arena/random(seed={s})"] * 2, game, 20, seed=s).outcomes["seconds"] for s in (1, 1, 2)
    )
    assert (one == again).all()
    assert (one != other).any()


def test_styles_play_the_arena_only(game):
    with pytest.raises(OptionError, match="arena/rusher plays the arena only, got HanabiTiny2P-v0"):
        make_agent("arena/rusher", "HanabiTiny2P-v0")
    with pytest.raises(OptionError, match="unexpected keyword argument 'speed'"):
        make_agent("arena/miner(speed=2)", game)
