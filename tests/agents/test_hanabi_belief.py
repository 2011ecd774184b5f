"""The exact range of a seat's own hand: equal to counting everything out, and never without the true hand."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from chi_squared import assert_frequencies
from plain_hand_posterior import OwnDraws, posterior

from ludory.agents.hanabi.hand_belief import HandBelief
from ludory.agents.hanabi.hand_sets import pack, unpack
from ludory.agents.make import make_agent
from ludory.agents.search.blueprint import Blueprint
from ludory.agents.seat import Move, Seat
from ludory.envs.kernel_engine import KernelEngine
from ludory.envs.make import make_game

LISTED, DEFERRED = 10**6, 0


class Watched:
    """Games in which `seat` now and then leaves the bot's way while all others keep to it; one range per game and limit."""

    def __init__(self, id: str, bot: str, games: int, seat: int, limits: tuple[int, ...], stray: float = 0.3) -> None:
        self.game, self.seat, self.stray = make_game(id), seat, stray
        self.bot: Any = make_agent(bot, self.game)
        self.engine = KernelEngine(self.game, games, seed=21)
        self.engine.reset()
        self.memories = [self.bot.initial_memory(games) for _ in range(self.game.facts.players)]
        self.blueprint = Blueprint(self.bot, self.game, "this test")
        self.ranges = [{limit: HandBelief(self.blueprint, seat, limit) for limit in limits} for _ in range(games)]
        self.draws = [OwnDraws(self.engine, seat, i) for i in range(games)]
        self.histories: list[list[Move]] = [[] for _ in range(games)]
        self.generator = np.random.default_rng(3)

    def view(self, i: int) -> Seat:
        return Seat(self.engine, self.seat, i, self.histories[i])

    def moves(self) -> Iterator[int]:
        """Play all games move by move; gives every running game after each of its moves."""
        while (self.engine.to_move >= 0).any():
            self._move()
            for i in np.flatnonzero(self.engine.to_move >= 0):
                yield int(i)

    def _move(self) -> None:
        movers, legal = self.engine.to_move, self.engine.legal()
        running = np.flatnonzero(movers >= 0)
        actions = np.zeros(self.engine.num_games, np.int64)
        for seat, memory in enumerate(self.memories):
            rows = np.flatnonzero(movers == seat)
            actions[rows] = self.bot.choose(self.engine, seat, rows, memory)
        for i in running:
            if movers[i] == self.seat and self.generator.random() < self.stray:
                actions[i] = self.generator.choice(np.flatnonzero(legal[i]))
            move = Move(int(movers[i]), int(actions[i]))
            for known in self.ranges[i].values():
                known.watch(self.view(i), move)
            if move.seat == self.seat:
                self.draws[i].watch(self.engine, i, move.action)
            self.histories[i].append(move)
        for seat, memory in enumerate(self.memories):
            self.bot.notice(self.engine, seat, running, actions[running], memory)
        self.engine.step(actions)

    def own_hand(self, i: int) -> tuple[int, ...]:
        held = int(self.engine.state.held[i, self.seat])
        return tuple(self.engine.state.hands[i, self.seat, :held].tolist())

    def copied(self, i: int, limit: int) -> HandBelief:
        return copy.deepcopy(self.ranges[i][limit], {id(self.blueprint): self.blueprint})

    def weights(self, i: int, limit: int) -> dict[tuple[int, ...], int]:
        """Weight of every hand with a weight; on a copy, so that nothing is listed that would not be."""
        known = self.copied(i, limit)
        hands, weights = known.range.posterior(known.catch_up(self.view(i)))
        cards = unpack(hands, int(self.engine.state.held[i, self.seat]))
        return {tuple(hand): int(n) for hand, n in zip(cards.tolist(), weights, strict=True) if n}


@pytest.mark.parametrize(
    ("id", "bot", "games", "seat"),
    [
        ("HanabiVerySmall2P-v0", "hanabi/smartbot", 60, 0),
        ("HanabiVerySmall2P-v0", "hanabi/piers", 30, 1),
        ("HanabiSmall2P-v0", "hanabi/smartbot", 40, 1),
        ("HanabiSmall2P-v0", "hanabi/smartbot", 30, 0),
        ("HanabiSmall3P-v0", "hanabi/smartbot", 40, 1),
    ],
)
def test_the_range_is_what_counting_out_all_deals_gives_after_every_move(
    id: str, bot: str, games: int, seat: int
) -> None:
    watched, compared = Watched(id, bot, games, seat, (LISTED, DEFERRED)), 0
    for i in watched.moves():
        expected = posterior(watched.game, watched.bot, watched.engine, i, watched.draws[i], watched.histories[i])
        turn = f"game {i}, turn {watched.engine.state.turn[i]}"
        assert watched.own_hand(i) in expected, turn
        for limit in (LISTED, DEFERRED):
            assert watched.weights(i, limit) == expected, f"{turn}, limit {limit}"
        compared += 1
    assert compared > 5 * games
    assert not any(known.contradictions for ranges in watched.ranges for known in ranges.values())


@pytest.mark.parametrize("seat", [0, 1])
def test_on_the_full_game_the_true_hand_is_always_possible(seat: int) -> None:
    watched = Watched("Hanabi2P-v0", "hanabi/smartbot", 3, seat, (100_000,), stray=0.1)
    for i in watched.moves():
        known = watched.ranges[i][100_000]
        now = known.catch_up(watched.view(i))
        assert not known.contradictions
        if known.range.hands is not None:
            assert pack(np.array([watched.own_hand(i)]), now["hands"].shape[2])[0] in known.range.hands


@pytest.mark.parametrize("limit", [LISTED, DEFERRED])
def test_hands_are_drawn_by_their_weights(limit: int) -> None:
    watched, tested = Watched("HanabiSmall2P-v0", "hanabi/smartbot", 12, 1, (limit,)), 0
    for i in watched.moves():
        weights = watched.weights(i, limit)
        if watched.engine.state.turn[i] % 4 != 1 or len(weights) < 2:
            continue
        worlds = watched.copied(i, limit).draw(watched.view(i), 2000, key=i).worlds
        hands = zip(worlds["hands"][:, 1].tolist(), worlds["held"][:, 1], strict=True)
        drawn = [tuple(hand[:held]) for hand, held in hands]
        expected = np.array(list(weights.values())) * (len(drawn) / sum(weights.values()))
        assert set(drawn) <= weights.keys()
        assert_frequencies([drawn.count(hand) for hand in weights], expected)
        tested += 1
    assert tested > 20


@pytest.mark.parametrize("limit", [LISTED, DEFERRED])
def test_draws_depend_on_nothing_that_the_seat_does_not_know(limit: int) -> None:
    watched = Watched("HanabiSmall2P-v0", "hanabi/smartbot", 6, 1, (limit,))
    for i in watched.moves():
        other_world = watched.engine.clone()
        other_world.redeal(watched.seat, seed=i)
        elsewhere = Seat(other_world, watched.seat, i, watched.histories[i])
        here, there = (watched.copied(i, limit).draw(seat, 30, key=7) for seat in (watched.view(i), elsewhere))
        np.testing.assert_array_equal(here.worlds, there.worlds)
        np.testing.assert_array_equal(here.memories, there.memories)
