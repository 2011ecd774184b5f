"""Games of Hanabi in which what a seat believes of its hand is followed from move to move."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from reference.hand_posterior import OwnDraws

from ludory.agents.hanabi.beliefs.hand_range import HandBelief
from ludory.agents.hanabi.beliefs.hand_sets import unpack
from ludory.agents.make import make_agent
from ludory.agents.search.blueprint import make_blueprint
from ludory.agents.seat import Seat, SeatMove
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.make import make_game


class Watched:
    """Games in which `seat` now and then leaves the bot's way while all others keep to it; one range per game and limit."""

    def __init__(self, id: str, bot: Any, games: int, seat: int, limits: tuple[int, ...], stray: float = 0.3) -> None:
        self.game, self.seat, self.stray = make_game(id), seat, stray
        self.bot: Any = make_agent(bot, self.game)
        self.engine = KernelEngine(self.game, games, seed=21)
        self.engine.reset()
        self.memories = [self.bot.initial_memory(games) for _ in range(self.game.facts.players)]
        self.blueprint = make_blueprint(self.bot, self.game, "this test")
        self.ranges = [{limit: HandBelief(self.blueprint, seat, limit) for limit in limits} for _ in range(games)]
        self.draws = [OwnDraws(self.engine, seat, i) for i in range(games)]
        self.histories: list[list[SeatMove]] = [[] for _ in range(games)]
        self.generator = np.random.default_rng(3)

    def view(self, i: int) -> Seat:
        return Seat(self.engine, self.seat, i, self.histories[i])

    def moves(self) -> Iterator[int]:
        """Play all games move by move; returns every running game after each of its moves."""
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
            if len(rows):
                actions[rows] = self.bot.choose(self.engine, seat, rows, memory)
        for i in running:
            if movers[i] == self.seat and self.generator.random() < self.stray:
                actions[i] = self.generator.choice(np.flatnonzero(legal[i]))
            move = SeatMove(int(movers[i]), int(actions[i]))
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
