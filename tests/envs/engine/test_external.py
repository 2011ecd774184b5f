"""Games whose rules run elsewhere: every view plays them, learners learn from them, and what cannot be done is refused in one line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from games.external import DIE, RelayEngine, guess, relay, tic_tac_toe

import ludory
from ludory.agents.evaluation.record import record
from ludory.data import TrajectoryDataset
from ludory.envs.engine.external import ExternalEngine
from ludory.envs.facts import GameFacts, Head, ObservationSpec, Segment
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game, start_games
from ludory.envs.parts import Kernels, Rules
from ludory.envs.views.gymnasium_vector import make_vector_env
from ludory.envs.views.sb3 import to_sb3
from ludory.errors import IllegalActionError, NotResetError, OptionError, PluginError
from ludory.testing import check_game


@pytest.mark.parametrize("game", [tic_tac_toe(), relay()], ids=lambda game: game.name)
def test_views_and_engine_keep_the_contract(game):
    remarks = {}
    check_game(game, games=10, report=lambda name, ok, remark: remarks.update({name: remark}))
    assert remarks["clone"] == "not tested: games cannot be copied"
    assert remarks["kernels"] == "not tested: the rules run elsewhere"
    assert not remarks["Gymnasium env"]


def test_stable_baselines_plays_them():
    env = to_sb3(make_vector_env(relay(), 3))
    env.reset()
    for _ in range(6):
        _, _, dones, infos = env.step(np.zeros(3, np.int64))
    assert dones.all()
    assert infos[0]["episode"]["l"] == 6


def test_illegal_actions_raise_and_nothing_is_played():
    engine = make_engine(tic_tac_toe(), 2)
    with pytest.raises(NotResetError):
        engine.step(np.zeros(2, np.int64))
    engine.reset()
    engine.step(np.array([4, 5]))
    for wrong in (4, 9, -1):
        with pytest.raises(IllegalActionError, match="game 1, seat 1" if wrong != 4 else "game 0, seat 1: action 4"):
            engine.step(np.array([wrong if wrong == 4 else 0, wrong]))
    assert (engine.boards > 0).sum() == 2


def test_who_waits_is_not_asked():
    asked = []

    class Asked:
        def initial_memory(self, rows):
            return None

        def choose(self, engine, seat, rows, memory):
            asked.append((seat, engine.deciding[rows, seat].all()))
            return engine.legal()[rows, seat].argmax(-1)

        def notice(self, *_):
            pass

    from ludory.envs.seats.table import Table

    engine = make_engine(relay(), 4, seed=1)
    table = Table(engine, [Asked(), Asked()])
    table.start()
    table.run()
    assert [seat for seat, _ in asked] == [0, 1, 0, 1]
    assert all(decides for _, decides in asked)
    assert engine.terminated.all()


def test_only_decisions_are_recorded(tmp_path):
    record("random", relay(), 5, tmp_path, seed=2)
    data = TrajectoryDataset(tmp_path)
    assert len(data) == 5 * 4


def test_evaluation_does_not_depend_on_the_batch():
    whole = ludory.evaluate("random", relay(), games=9, seed=4).returns
    parts = ludory.evaluate("random", relay(), games=9, seed=4, batch=2).returns
    assert (whole == parts).all()


def test_facts_of_a_game_are_read_from_its_engine():
    game = relay()
    game = replace(game, look=replace(game.look, info=lambda state, row: {"games": state.engine.num_games}))
    assert (ludory.evaluate("random", game, games=3).outcomes["games"] == 3).all()


@pytest.mark.parametrize("algorithm", ["ppo", pytest.param("vtrace", marks=pytest.mark.slow)])
def test_learners_learn_from_them_and_start_new_games_when_they_are_resumed(algorithm, tmp_path):
    model = ludory.make_algorithm(algorithm, env=relay(), num_envs=8, seats="all", seed=1).learn(1500)
    model.save(tmp_path / "relay.ludory")
    again = ludory.load(tmp_path / "relay.ludory", env=relay())
    assert again.num_timesteps == model.num_timesteps
    again.learn(100, reset_num_timesteps=False)


@pytest.mark.slow
def test_ppo_masters_the_relay():
    model = ludory.make_algorithm("ppo", env=relay(), num_envs=16, seats="all", seed=1, learning_rate=3e-3).learn(
        12_000
    )
    agent = ludory.make_agent(model, relay())
    assert ludory.evaluate(agent, relay(), games=50, seed=9).mean > 3.5


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (
            lambda: make_engine(relay()).clone(),
            "copying an engine needs games that can be copied; external relay cannot",
        ),
        (lambda: make_engine(relay()).save("x"), "saving running games needs .* external relay cannot"),
        (lambda: make_engine(relay()).redeal(0, 1), "redeal needs games that can be redealt; external relay cannot"),
        (lambda: make_engine(relay(), device="cuda"), "external relay runs on the CPU only"),
        (lambda: ludory.make_agent("sparta(random)", tic_tac_toe()), "sparta"),
        (lambda: make_engine(relay(), workers=2), "options workers came with a made game"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(ask, said):
    with pytest.raises(OptionError, match=said) as caught:
        ask()
    assert "\n" not in str(caught.value)


def test_a_game_has_kernels_or_an_engine():
    spec = ObservationSpec("nothing", (1,), "uint8", (Segment("nothing", 0, 1),))
    facts = GameFacts("odd", 1, "sequential", "general", False, False, (Head("a", 1),), spec, 1, 0, 0)
    with pytest.raises(PluginError, match="'odd': got neither"):
        Game(facts)
    with pytest.raises(PluginError, match="'odd': got both"):
        Game(facts, Rules(kernels=Kernels(*[lambda *_: None] * 4), engine=ExternalEngine))


@pytest.mark.slow
def test_options_of_the_engine_are_no_options_of_the_game():
    game = make_game(guess(breakable=True), workers=1, on_crash="restart")
    assert game.rules.engine_options["workers"] == 1
    assert not game.options
    engine = make_engine(game, 2, seed=1)
    engine.reset()
    engine.step(np.array([DIE, 0]))
    assert engine.truncated.all()
    engine.close()


def test_one_start_can_be_played_twice():
    engine = start_games(relay(), np.array([3, 3, 0]), seed=5)
    assert isinstance(engine, RelayEngine)
    alone = make_engine(relay(), 1, seed=5, first_game=3)
    alone.reset()
    assert (engine.bits[:2] == alone.bits[0]).all()
    assert (engine.bits[2] != engine.bits[0]).any()
