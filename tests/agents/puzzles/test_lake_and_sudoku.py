"""The best players of FrozenLake and Sudoku."""

from __future__ import annotations

import numpy as np
import pytest

from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.make import make_agent
from ludory.envs.frozen_lake import optimum, random_walk
from ludory.envs.make import make_engine, make_game
from ludory.errors import OptionError


@pytest.mark.slow
@pytest.mark.parametrize("q", [1 / 3, 0.8, 1.0])
def test_the_optimum_reaches_the_goal_as_often_as_value_iteration_says(q):
    game = make_game("FrozenLakeAny-v0", success_rate=q, max_steps=10)
    engine = make_engine(game, 1000, seed=8)
    engine.reset()
    walks = [random_walk(room, 10) for room in engine.state.cells]
    best = [optimum(room, q, 10) for room in engine.state.cells]
    for name, chances in (("frozen_lake/optimum", np.array(best)), ("random", np.array(walks))):
        won = evaluate(name, game, games=1000, seed=8).returns[:, 0]
        error = (chances * (1 - chances)).sum() ** 0.5 / len(chances)
        assert abs(won.mean() - chances.mean()) <= 4 * error + 1e-6


@pytest.mark.slow
def test_a_horizon_may_be_shorter_than_the_game():
    hurried, patient = (
        evaluate(f"frozen_lake/optimum(horizon={horizon})", "FrozenLakeRagen1-v0", games=500, seed=1).mean[0]
        for horizon in (3, 100)
    )
    assert patient > hurried > 0.2


@pytest.mark.plain
@pytest.mark.parametrize(("id", "blanks"), [("Sudoku4-v0", 6), pytest.param("Sudoku9-v0", 32, marks=pytest.mark.slow)])
def test_the_solver_needs_one_action_per_blank(id, blanks):
    result = evaluate("sudoku/solver", make_game(id, rooms=64, max_steps=blanks), games=64, seed=2)
    assert (result.returns == 10).all()


@pytest.mark.slow
def test_the_solver_goes_on_where_others_went_wrong():
    game = make_game("Sudoku4-v0", rooms=64)
    engine, solver, random = make_engine(game, 200, seed=3), make_agent("sudoku/solver", game), np.random.default_rng(4)
    engine.reset()
    for _ in range(4):
        legal = engine.legal()
        engine.step(np.where(legal, random.random(legal.shape), -1).argmax(axis=1))
    while not (engine.terminated | engine.truncated).all():
        engine.step(solver.choose(engine, 0, np.arange(200), None))
    assert engine.terminated.mean() > 0.8


@pytest.mark.parametrize("spec", ["frozen_lake/optimum", "sudoku/solver"])
def test_other_games_are_refused(spec):
    with pytest.raises(OptionError, match="plays"):
        make_agent(spec, make_game("HanabiTiny2P-v0"))


def test_a_horizon_is_a_number_of_actions():
    with pytest.raises(OptionError, match="horizon=0"):
        make_agent("frozen_lake/optimum(horizon=0)", make_game("FrozenLakeFirm-v0"))
