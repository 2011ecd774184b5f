"""Agents in worker processes: the same moves as in this process, and nothing lost when they crash or hang."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ludory.agents.make import make_agent
from ludory.data.playthrough import Playthrough
from ludory.envs.make import make_game
from ludory.web.players import AgentFailedError, MoveQuestion, PlayerPool


@pytest.fixture(scope="module")
def pool() -> Iterator[PlayerPool]:
    workers = PlayerPool(1, seconds=30)
    yield workers
    workers.close()


def question(table: str, agents: tuple[str, ...], moves: tuple, seat: int, game: str = "Hanabi2P-v0") -> MoveQuestion:
    return MoveQuestion(table, game, {}, 9, agents, moves, seat)


def test_workers_choose_what_the_agents_choose_here(pool: PlayerPool) -> None:
    agents = ("hanabi/piers", "random(seed=4)")
    game = make_game("Hanabi2P-v0")
    played = list(Playthrough(game, [make_agent(agent, game) for agent in agents], seed=9))
    moves = tuple((move.seat, move.action) for move in played)
    for count in range(12):
        assert pool.choose(question("followed", agents, moves[:count], moves[count][0])) == moves[count][1]
    # a worker that meets the table in the middle, or after moves were taken back, finds the same memories
    for count in (9, 3, 10):
        assert pool.choose(question(f"new {count}", agents, moves[:count], moves[count][0])) == moves[count][1]
        assert pool.choose(question("followed", agents, moves[:count], moves[count][0])) == moves[count][1]


@pytest.mark.slow
def test_an_agent_that_hangs_is_ended_and_named(pool: PlayerPool) -> None:
    impatient = PlayerPool(1, seconds=0.0)
    try:
        with pytest.raises(AgentFailedError, match=r"mcts\(simulations=100000\) in seat 1 did not move within 0 s"):
            impatient.choose(question("a", ("", "mcts(simulations=100000)"), ((0, 0),), 1, "ConnectFour-v0"))
        impatient.seconds = 30
        assert isinstance(impatient.choose(question("a", ("", "random"), ((0, 0),), 1, "ConnectFour-v0")), int)
    finally:
        impatient.close()


def test_an_agent_that_crashes_is_named_and_the_next_question_answered(pool: PlayerPool) -> None:
    pool.choose(question("a", ("random", ""), (), 0, "TicTacToe-v0"))
    worker = pool._workers[0]
    worker._process.kill()
    worker._process.join()
    worker._process.is_alive = lambda: True  # it dies between two looks
    with pytest.raises(AgentFailedError, match="random in seat 0 crashed: its process ended with exit code -9"):
        pool.choose(question("a", ("random", ""), (), 0, "TicTacToe-v0"))
    assert isinstance(pool.choose(question("a", ("random", ""), (), 0, "TicTacToe-v0")), int)


@pytest.mark.slow
def test_an_agent_that_cannot_play_the_game_says_why(pool: PlayerPool) -> None:
    with pytest.raises(AgentFailedError, match="hanabi/iggi in seat 0 cannot move: "):
        pool.choose(question("b", ("hanabi/iggi", ""), (), 0, "TicTacToe-v0"))
