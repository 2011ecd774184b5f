"""Three tiny games whose rules are plain Python: one in turns, one where all move at once and a seat may wait, one that workers may play."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine.external import ExternalEngine, Rows
from ludory.envs.engine.pooled_engine import POOL_OPTIONS, PooledEngine
from ludory.envs.facts import GameFacts, Head, ObservationSpec, Segment
from ludory.envs.game import Game
from ludory.envs.parts import Look, Rules
from ludory.envs.text_codec import TextCodec, decoder_of_names

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class TicTacToeEngine(ExternalEngine):
    """Boards (N, 9): 0 empty, 1 seat 0's, 2 seat 1's."""

    def start_games(self, rows: Rows, seeds: NDArray[np.int64], options: Mapping[str, Any]) -> None:
        if not hasattr(self, "boards"):
            self.boards = np.zeros((self.num_games, 9), np.int8)
        self.boards[rows] = 0
        self._show(rows)

    def play_games(self, rows: Rows, actions: NDArray[Any]) -> None:
        for row, action in zip(rows, actions[:, 0], strict=True):
            seat = int(self.state.to_move[row])
            board = self.boards[row]
            board[action] = seat + 1
            won = any(all(board[list(line)] == seat + 1) for line in LINES)
            if won:
                self.state.rewards[row] = (1, -1) if seat == 0 else (-1, 1)
            self.state.terminated[row] = won or bool((board > 0).all())
            self.state.to_move[row] = 1 - seat
        self._show(rows)

    def _show(self, rows: Rows) -> None:
        boards = self.boards[rows]
        self.state.legal[rows, 0] = boards == 0
        for seat in range(2):
            mine, theirs = boards == seat + 1, boards == 2 - seat
            self.state.observations[rows, seat] = np.concatenate([mine, theirs], axis=1)


def tic_tac_toe() -> Game:
    """Two seats in turn, zero-sum, no chance."""
    spec = ObservationSpec("board", (18,), "uint8", (Segment("mine", 0, 9), Segment("theirs", 9, 9)))
    facts = GameFacts(
        "external tic-tac-toe", 2, "sequential", "zero_sum", False, False, (Head("square", 9),), spec, 9, -1, 1
    )
    return Game(
        facts,
        Rules(engine=TicTacToeEngine),
        look=Look(action_name=_square, text=_board),
        language=CODEC,
    )


def _square(head: int, value: int) -> str:
    return f"square {value}"


def _board(state: Any, i: int, seat: int | None) -> str:
    marks = np.array([".", "x", "o"])[state.engine.boards[i]]
    return "\n".join("".join(marks[start : start + 3]) for start in (0, 3, 6))


def _described(state: Any, i: int, seat: int | None) -> str:
    turn = "" if seat is None else f"\nYou are {'xo'[seat]}."
    return _board(state, i, seat) + turn


CODEC = TextCodec(
    "Put three of your marks in a row. Squares are numbered 0 to 8, row by row. Answer with a square, such as: square 4",
    _described,
    decoder_of_names(_square, 9),
)


ROUNDS = 6
"""Of a game of `relay`."""


class RelayEngine(ExternalEngine):
    """In round t seat t % 3 decides, and nobody where that is 2: say the bit that was drawn for the round, for one point."""

    def start_games(self, rows: Rows, seeds: NDArray[np.int64], options: Mapping[str, Any]) -> None:
        if not hasattr(self, "bits"):
            self.bits = np.zeros((self.num_games, ROUNDS), np.int64)
            self.round = np.zeros(self.num_games, np.int64)
        for row, seed in zip(rows, seeds, strict=True):
            self.bits[row] = np.random.default_rng(int(seed)).integers(0, 2, ROUNDS)
        self.round[rows] = 0
        self._show(rows)

    def play_games(self, rows: Rows, actions: NDArray[Any]) -> None:
        for k, row in enumerate(rows):
            turn = self.round[row]
            seat = turn % 3
            if seat < 2:
                self.state.rewards[row] = float(actions[k, seat, 0] == self.bits[row, turn])
            self.round[row] += 1
            self.state.terminated[row] = self.round[row] == ROUNDS
        self._show(rows)

    def _show(self, rows: Rows) -> None:
        turns = self.round[rows]
        bits = self.bits[rows, np.minimum(turns, ROUNDS - 1)]
        for seat in range(2):
            acts = turns % 3 == seat
            self.state.deciding[rows, seat] = acts
            self.state.legal[rows, seat] = np.stack([np.ones(len(rows), bool), acts], axis=1)
            self.state.observations[rows, seat] = np.stack([acts & (bits == 0), acts & (bits == 1)], axis=1)


def relay() -> Game:
    """Two seats that share rewards and take turns in a game with simultaneous moves; the best return is 4."""
    spec = ObservationSpec("bit", (2,), "uint8", (Segment("bit", 0, 2),))
    facts = GameFacts(
        "external relay",
        2,
        "simultaneous",
        "shared",
        False,
        True,
        (Head("bit", 2),),
        spec,
        ROUNDS,
        0,
        4,
        seats_wait=True,
    )
    return Game(facts, Rules(engine=RelayEngine))


DIE, HANG, FAIL = 2, 3, 4
"""Actions that break an environment; 0 and 1 are guesses."""


class Guess:
    """Guess three bits of the seed, one point each; the third guess ends the game. `breakable`: the other actions are legal, too."""

    def __init__(self, breakable: bool) -> None:
        self.breakable = breakable

    def reset(self, seed: int, options: Mapping[str, Any], row: Any) -> None:
        self.bits = [seed >> k & 1 for k in range(3)]
        row.observations[0, :] = self.bits
        row.legal[0, DIE:] = self.breakable

    def step(self, action: NDArray[Any], row: Any) -> None:
        guess = int(action[0])
        if guess == DIE:
            os._exit(7)
        if guess == HANG:
            time.sleep(60)
        if guess == FAIL:
            raise ValueError("a broken rule")
        row.rewards[0] = guess == self.bits.pop(0)
        row.terminated[...] = not self.bits

    def close(self) -> None:
        pass


def guess(breakable: bool = False) -> Game:
    """One seat; `workers` may play it."""
    spec = ObservationSpec("bits", (3,), "uint8", (Segment("bits", 0, 3),))
    facts = GameFacts("guess", 1, "sequential", "general", False, True, (Head("guess", 5),), spec, 3, 0, 3)
    return Game(
        facts, Rules(engine=partial(PooledEngine, environment=partial(Guess, breakable)), engine_options=POOL_OPTIONS)
    )
