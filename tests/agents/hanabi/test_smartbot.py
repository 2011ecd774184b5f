"""SmartBot: its known strength, the rules it is made of, what it believes, and what it may look at."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from games.nim import nim
from reference.hanabi_bots import Position
from reference.smartbot import PlainSmartBot
from reference.smartbot import Table as PlainTable

from ludory.agents.agent import KernelAgent
from ludory.agents.evaluation.evaluate import EvaluationResult, evaluate
from ludory.agents.make import make_agent
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.hanabi import HanabiOptions
from ludory.envs.make import make_game
from ludory.errors import OptionError

MEANS = {2: 22.98, 3: 22.95, 4: 21.85, 5: 19.00}
STACKS = {2: 23.10, 3: 23.31, 4: 22.44, 5: 20.67}
BOMBS = {2: 0.005, 3: 0.016, 4: 0.028, 5: 0.089}
"""Over 10,000 other games."""
GAMES = {2: 10_000, 3: 5_000, 4: 5_000, 5: 5_000}
SPREAD = {2: 2.6, 3: 3.4, 4: 3.9, 5: 6.1}
"""Standard deviation of one game's score."""

ODD = [
    {"players": 2, "colors": 2, "ranks": 5, "hand_size": 2, "max_information_tokens": 3, "max_life_tokens": 1},
    {"players": 2, "colors": 1, "ranks": 5, "hand_size": 2, "max_information_tokens": 0},
    {"players": 3, "colors": 1, "ranks": 1, "hand_size": 1, "max_information_tokens": 0},  # the deal empties the deck
    {"players": 3, "colors": 1, "ranks": 1, "hand_size": 1, "max_information_tokens": 1},
]

PLAYERS = pytest.mark.parametrize("players", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4, 5))])


@cache
def played(players: int) -> EvaluationResult:
    return evaluate("hanabi/smartbot", f"Hanabi{players}P-v0", games=GAMES[players], seed=1)


class SelfPlay:
    """Games of SmartBot with itself, with every seat's memory at hand."""

    def __init__(self, options: dict[str, Any], games: int) -> None:
        self.game, self.variant = make_game("Hanabi-v0", **options), HanabiOptions(**options)
        self.agent = make_agent("hanabi/smartbot", self.game)
        self.engine = KernelEngine(self.game, games, seed=11)
        self.engine.reset()
        self.memories = [self.agent.initial_memory(games) for _ in range(self.variant.players)]

    @property
    def running(self) -> np.ndarray:
        return np.flatnonzero(self.engine.to_move >= 0)

    def choose(self, engine: KernelEngine | None = None) -> np.ndarray:
        actions = np.zeros(self.engine.num_games, np.int64)
        for seat, memory in enumerate(self.memories):
            rows = np.flatnonzero(self.engine.to_move == seat)
            actions[rows] = self.agent.choose(engine or self.engine, seat, rows, memory.copy())
        return actions

    def play(self, actions: np.ndarray) -> None:
        for seat, memory in enumerate(self.memories):
            self.agent.notice(self.engine, seat, self.running, actions[self.running], memory)
        self.engine.step(actions)

    def beliefs(self, observer: int, i: int, seat: int) -> list[int]:
        """Bit set of the cards that `observer` takes each slot of `seat` for."""
        memory = self.memories[observer][i].reshape(self.variant.players, self.variant.hand_size)
        full = (1 << self.variant.colors * self.variant.ranks) - 1
        return [full & ~int(ruled_out) for ruled_out in memory[seat, : self.engine.state.held[i, seat]]]


@pytest.mark.slow
@PLAYERS
def test_mean_score_is_the_known_one(players: int) -> None:
    result = played(players)
    three_errors = 3 * SPREAD[players] * (1 / GAMES[players] + 1 / 10_000) ** 0.5
    assert result.mean == pytest.approx(MEANS[players], abs=three_errors)
    assert result.outcomes["stacks"].mean() == pytest.approx(STACKS[players], abs=three_errors)
    assert np.mean(np.array(result.outcomes["end"]) == "bomb") == pytest.approx(BOMBS[players], abs=0.011)


@pytest.mark.slow
def test_a_game_of_two_takes_64_moves_and_three_in_ten_are_perfect() -> None:
    outcomes = played(2).outcomes
    assert outcomes["turn"].mean() == pytest.approx(64, abs=0.2)
    assert (outcomes["score"] == 25).mean() == pytest.approx(0.297, abs=0.02)


@pytest.mark.plain
@pytest.mark.parametrize(
    "options",
    [*(pytest.param({"players": many}, marks=pytest.mark.slow) for many in (2, 3, 5)), *ODD],
    ids=str,
)
def test_every_move_and_belief_follows_the_rules_as_written(options: dict[str, Any]) -> None:
    table = SelfPlay(options, games=6 if "colors" not in options else 15)
    assert_follows_the_rules(table, stray=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"players": 2}, {"players": 3}, ODD[0]], ids=str)
def test_the_rules_hold_when_moves_break_the_conventions(options: dict[str, Any]) -> None:
    assert_follows_the_rules(SelfPlay(options, games=8), stray=0.3)


def assert_follows_the_rules(table: SelfPlay, stray: float) -> None:
    """stray: share of moves that are drawn from the legal ones instead."""
    state, generator = table.engine.state, np.random.default_rng(5)
    seats = range(table.variant.players)
    plain = [
        [PlainSmartBot(seat, Position(table.variant, state, i)) for seat in seats]
        for i in range(table.engine.num_games)
    ]
    while len(table.running):
        actions, legal = table.choose(), table.engine.legal()
        for i in table.running:
            position = PlainTable(Position(table.variant, state, i))
            where = f"game {i}, turn {state.turn[i]}"
            assert actions[i] == plain[i][position.mover].choose(position), where
            if generator.random() < stray:
                actions[i] = generator.choice(np.flatnonzero(legal[i]))
            for bot in plain[i]:
                bot.notice(position, actions[i])
        running = table.running
        table.play(actions)
        for i in running:
            for bot in plain[i]:
                assert_believes(table, bot, i)


def assert_believes(table: SelfPlay, bot: PlainSmartBot, i: int) -> None:
    def bits(cards: set[tuple[int, int]]) -> int:
        return sum(1 << color * table.variant.ranks + rank for color, rank in cards)

    for seat, hand in enumerate(bot.minds):
        held = table.engine.state.held[i, seat]
        assert table.beliefs(bot.me, i, seat) == [bits(k) for k in hand][:held]


@pytest.mark.slow
@PLAYERS
def test_in_self_play_all_believe_the_same_and_the_truth_is_in_it(players: int) -> None:
    table = SelfPlay({"players": players}, games=300)
    while len(table.running):
        table.play(table.choose())
        for memory in table.memories[1:]:
            np.testing.assert_array_equal(memory[table.running], table.memories[0][table.running])
        hands = table.engine.state.hands[table.running].astype(np.int64)
        ruled_out = table.memories[0][table.running].reshape(hands.shape).astype(np.int64)
        assert not ((ruled_out >> np.maximum(hands, 0)) & (hands >= 0) & 1).any()


@pytest.mark.slow
@pytest.mark.parametrize("players", [2, 3])
def test_the_own_hand_and_the_deck_do_not_matter(players: int) -> None:
    table, changed = SelfPlay({"players": players}, games=60), 0
    while len(table.running):
        actions, other_world = table.choose(), table.engine.clone()
        other_world.redeal(np.maximum(table.engine.to_move, 0), seed=int(table.engine.state.turn.max()))
        changed += int((table.choose(other_world) != actions).sum())
        table.play(actions)
    assert changed == 0


def test_another_game_and_options_are_refused() -> None:
    with pytest.raises(OptionError, match="hanabi/smartbot plays Hanabi only, got Nim"):
        make_agent("hanabi/smartbot", nim())
    with pytest.raises(OptionError, match="unexpected keyword argument 'depth'"):
        make_agent("hanabi/smartbot(depth=3)", "Hanabi2P-v0")


def test_it_is_a_rule_bot_that_sees_no_more_than_its_seat() -> None:
    agent = make_agent("hanabi/smartbot", "Hanabi4P-v0")
    assert isinstance(agent, KernelAgent)
    assert not agent.privileged
    assert agent.initial_memory(3).shape == (3, 4 * 4)
