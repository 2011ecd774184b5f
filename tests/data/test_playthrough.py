"""One game, move by move."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from games.nim import matching, nim

from ludory.agents.agent import Agent
from ludory.agents.random import RandomAgent
from ludory.data.playthrough import PlayedMove, Playthrough, move_words
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.errors import OptionError


class Listener(RandomAgent):
    """Notes how many sticks were left whenever it was told of a move."""

    def __init__(self, game: Game) -> None:
        super().__init__(game.facts, seed=1)
        self.heard: list[tuple[int, int, int]] = []

    def notice(self, engine: Any, seat: int, rows: Any, actions: Any, memory: Any) -> None:
        self.heard.append((seat, int(engine.state.heaps[0].sum()), int(actions[0])))


def randoms(game: Game, seed: int = 0) -> list[Agent]:
    return [RandomAgent(game.facts, seed=seed + seat) for seat in range(game.facts.players)]


def test_every_seat_is_told_of_every_move_before_it_is_applied() -> None:
    game = nim()
    listeners = [Listener(game), Listener(game)]
    playthrough = Playthrough(game, listeners, seed=3)
    left = [int(playthrough.engine.state.heaps[0].sum())]
    left += [int(playthrough.engine.state.heaps[0].sum()) for _ in playthrough]
    for seat, listener in enumerate(listeners):
        assert [heard[0] for heard in listener.heard] == [seat] * len(playthrough.moves)
        assert [heard[1] for heard in listener.heard] == left[:-1]
        assert [heard[2] for heard in listener.heard] == [move.action for move in playthrough.moves]
    assert left[-1] == 0


def test_a_game_can_be_left_and_gone_on_with() -> None:
    game = nim(largest=6)
    whole = [*Playthrough(game, randoms(game), seed=8)]
    playthrough = Playthrough(game, randoms(game), seed=8)
    first = list(islice(playthrough, 2))
    assert (first, playthrough.over) == (whole[:2], False)
    assert list(playthrough) == whole[2:]
    assert playthrough.moves == whole
    assert playthrough.over


def test_returns_sum_the_rewards_of_every_seat() -> None:
    game = nim(players=3)
    playthrough = Playthrough(game, randoms(game), seed=2)
    last = [*playthrough][-1].seat
    assert playthrough.returns.tolist() == [2.0 if seat == last else -1.0 for seat in range(3)]


def test_simultaneous_moves_hold_every_seat_and_head() -> None:
    game = matching()
    playthrough = Playthrough(game, randoms(game), seed=2)
    moves = [*playthrough]
    assert len(moves) == 4
    assert all(move.seat == -1 and np.shape(move.action) == (2, 2) for move in moves)
    words = move_words(game, playthrough.engine, PlayedMove(-1, ((0, 1), (2, 0))))
    assert words == "seat 0: color red, size large; seat 1: color blue, size small"


def test_moves_in_words_tell_what_came_of_them_where_the_game_does() -> None:
    hanabi, sticks = make_game("HanabiTiny2P-v0"), nim()
    playthrough = Playthrough(hanabi, randoms(hanabi), seed=2)
    move = next(iter(playthrough))
    assert hanabi.look.last_move is not None
    assert move_words(hanabi, playthrough.engine, move) == hanabi.look.last_move(playthrough.engine.state, 0)
    assert move_words(sticks, playthrough.engine, PlayedMove(1, 3)) == "seat 1: take 2 from heap 2"


def test_the_number_of_players_must_be_that_of_seats() -> None:
    with pytest.raises(OptionError, match="Nim has 2 seats, got 3 players"):
        Playthrough(nim(), randoms(nim(players=3)))
