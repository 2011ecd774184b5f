"""Joint search: two seats that tell each other nothing but their moves stay of one mind, and lose no true hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.hanabi.beliefs.hand_range import known_record
from ludory.agents.hanabi.beliefs.hand_sets import pack
from ludory.agents.hanabi.joint_search import JointNotes, JointSparta
from ludory.agents.make import make_agent
from ludory.agents.seat import Seat
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.errors import OptionError

SMALL = make_game("HanabiSmall2P-v0")
BOT = "hanabi/smartbot"


class Pair:
    """Two agents that share nothing, each in a seat of the same games."""

    def __init__(self, game: Game, games: int, **options: int) -> None:
        self.agents = [JointSparta(game, BOT, **options) for _ in range(2)]
        self.engine = KernelEngine(game, games, seed=8)
        self.engine.reset()
        self.memories = [agent.initial_memory(games) for agent in self.agents]

    def turns(self) -> Iterator[np.ndarray]:
        """Play to the end; returns the running games before each move."""
        while len(running := np.flatnonzero(self.engine.to_move >= 0)):
            yield running
            movers, actions = self.engine.to_move, np.zeros(self.engine.num_games, np.int64)
            for seat, (agent, memory) in enumerate(zip(self.agents, self.memories, strict=True)):
                rows = np.flatnonzero(movers == seat)
                actions[rows] = agent.choose(self.engine, seat, rows, memory)
            for seat, (agent, memory) in enumerate(zip(self.agents, self.memories, strict=True)):
                agent.notice(self.engine, seat, running, actions[running], memory)
            self.engine.step(actions)

    def minds(self, i: int) -> list[JointNotes]:
        return [memory[i].own for memory in self.memories]

    def hand(self, i: int, seat: int) -> int:
        state = self.engine.state
        return int(pack(state.hands[[i], seat, : state.held[i, seat]], state.hands.shape[2])[0])


def assert_of_one_mind(pair: Pair, i: int) -> None:
    one, other = pair.minds(i)
    assert one.key == other.key
    for seat in range(2):
        ranges = one.ranges[seat], other.ranges[seat]
        assert len(ranges[0].frames) == len(ranges[1].frames)
        assert (ranges[0].hands is None) == (ranges[1].hands is None)
        if ranges[0].hands is not None:
            np.testing.assert_array_equal(ranges[0].hands, ranges[1].hands)
        assert not any(r.contradictions for r in ranges)


def assert_true_hands_possible(pair: Pair, i: int) -> None:
    """Before the outcome of the last move is taken in, the range is that of the hands before it."""
    for seat, agent in enumerate(pair.agents):
        agent._catch_up(Seat(pair.engine, seat, i), pair.minds(i)[seat])
    for seat in range(2):
        for mind in pair.minds(i):
            hands = mind.ranges[seat].hands
            assert hands is None or pair.hand(i, seat) in hands


@pytest.mark.slow
@pytest.mark.parametrize("range_max", [1, 40, 2000])
def test_two_seats_that_exchange_only_moves_stay_of_one_mind(range_max: int) -> None:
    pair = Pair(SMALL, 3, rollouts=20, range_max=range_max)
    waiting = 0
    for running in pair.turns():
        for i in running:
            assert_true_hands_possible(pair, i)
            assert_of_one_mind(pair, i)
            waiting += sum(len(r.frames) for r in pair.minds(i)[0].ranges)
    assert waiting > 0


@pytest.mark.slow
def test_two_seats_stay_of_one_mind_in_the_full_game() -> None:
    pair = Pair(make_game("Hanabi2P-v0"), 1, rollouts=20, range_max=20)
    for running in pair.turns():
        for i in running:
            assert_true_hands_possible(pair, i)
            assert_of_one_mind(pair, i)
    assert min(len(mind.decisions) for mind in pair.minds(0)) > 5, "both seats searched"


@pytest.mark.slow
def test_a_searched_move_tells_as_much_as_repeating_the_search_for_every_hand() -> None:
    pair, told = Pair(SMALL, 3, rollouts=20), 0
    for running in pair.turns():
        for i in running:
            assert_true_hands_possible(pair, i)
            mover = int(pair.engine.to_move[i])
            known = pair.minds(i)[mover].ranges[mover]
            if known.frames and known.hands is not None:
                before = len(known.hands)
                assert known.resolve(known_record(Seat(pair.engine, mover, i)), 2000)
                assert len(known.hands) <= before
                assert pair.hand(i, mover) in known.hands
                told += before - len(known.hands)
    assert told > 0


@pytest.mark.slow
def test_one_agent_plays_both_seats() -> None:
    result = evaluate(f"sparta({BOT}, joint=True, rollouts=20)", SMALL, games=2, seed=3)
    again = evaluate(f"sparta({BOT}, joint=True, rollouts=20)", SMALL, games=2, seed=3)
    np.testing.assert_array_equal(result.returns, again.returns)


@pytest.mark.parametrize(
    ("spec", "game", "message"),
    [
        ("sparta(hanabi/smartbot, joint=True)", "Hanabi3P-v0", "Hanabi3P-v0 has no such search; try Hanabi2P-v0"),
        ("sparta(hanabi/smartbot, joint=True, range_max=0)", "Hanabi2P-v0", "range_max=0: must be an integer"),
        ("sparta(hanabi/smartbot, joint=True, seconds=1)", "Hanabi2P-v0", "cannot be cut short by seconds"),
        ("sparta(hanabi/cheatbot, joint=True)", "Hanabi2P-v0", "looks at hidden cards"),
    ],
)
def test_wrong_specs_are_refused(spec: str, game: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make_agent(spec, game)
    with pytest.raises(OptionError, match="Hanabi for two only, got Hanabi3P-v0"):
        JointSparta(make_game("Hanabi3P-v0"), BOT)


@pytest.mark.slow
def test_beside_somebody_else_it_says_so() -> None:
    with pytest.raises(OptionError, match="no hand explains the moves of the other seat"):
        evaluate(
            ["sparta(hanabi/smartbot, joint=True, rollouts=40)", "hanabi/iggi"],
            game="HanabiSmall2P-v0",
            games=12,
            seed=3,
        )
