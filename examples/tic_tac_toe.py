"""A game of your own: its rules as small compiled functions, a check of the contract, and a player that learns from itself.

python examples/tic_tac_toe.py
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import ludory
from ludory.envs.chance import begin_episode
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field, Kernels, Look, Rules, header
from ludory.testing import check_game

SQUARES = 9
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

# The rules. A kernel concerns game i of a batch; `state` holds one array per field, with games on the first axis. Kernels are
# compiled by Numba, check no index and allocate nothing. Write `int(...)` around what you read from a field.


@kernel
def reset(state, i):
    """Start the next game: an empty board, and seat 0 to move."""
    begin_episode(state, i)
    for square in range(SQUARES):
        state.board[i, square] = 0
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def legal(state, i, seat, mask):
    """Only empty squares can be taken; `mask` arrives all False."""
    for square in range(SQUARES):
        mask[square] = int(state.board[i, square]) == 0


@kernel
def has_line(state, i, mark):
    """True if `mark` has three in a row."""
    for a, b, c in LINES:
        if int(state.board[i, a]) == mark and int(state.board[i, b]) == mark and int(state.board[i, c]) == mark:
            return True
    return False


@kernel
def step(state, i, action):
    """Mark a square; rewards arrive as 0, so a draw needs none."""
    seat = int(state.to_move[i])
    state.board[i, action] = seat + 1
    empty = 0
    for square in range(SQUARES):
        if int(state.board[i, square]) == 0:
            empty += 1
    if has_line(state, i, seat + 1):
        state.rewards[i, seat] = 1
        state.rewards[i, 1 - seat] = -1
        state.terminated[i] = True
    elif empty == 0:
        state.terminated[i] = True
    state.to_move[i] = 1 - seat


@kernel
def observe(state, i, seat, out):
    """The seat's own marks, then the other's; `out` arrives all 0."""
    for square in range(SQUARES):
        mark = int(state.board[i, square])
        if mark == seat + 1:
            out[square] = 1
        elif mark != 0:
            out[SQUARES + square] = 1


def make_game() -> Game:
    """The rules and the facts about them. Everything else in Ludory is made from this value."""
    parts = {"own": SQUARES, "other": SQUARES}
    facts = GameFacts(
        name="Tic-tac-toe",
        players=2,
        turns="sequential",
        reward="zero_sum",
        hidden_information=False,
        chance=False,
        heads=(Head("square", SQUARES),),
        observation=ObservationSpec("board", (2 * SQUARES,), "uint8", flat_segments(parts)),
        longest_game=SQUARES,
        min_return=-1,
        max_return=1,
    )
    return Game(
        facts,
        Rules(
            header(players=2) | {"board": Field("int8", (SQUARES,), low=0, high=2)},
            Kernels(reset, step, legal, observe),
        ),
        look=Look(
            action_name=lambda head, square: f"row {square // 3 + 1}, column {square % 3 + 1}",
            text=lambda state, i, seat: "\n".join(
                "".join(".xo"[mark] for mark in state.board[i, start : start + 3]) for start in (0, 3, 6)
            ),
        ),
    )


def main(timesteps: int = 100_000) -> float:
    """Check the game, learn by self-play, and return the mean return against a random player, each seat played in turn."""
    game = make_game()
    check_game(game)  # plays it through every view, and raises at the first broken promise
    print("the game keeps the contract")
    # seats="all": one network plays both seats. Games are short, so rollouts and batches are smaller than the defaults.
    options = {"num_envs": 256, "n_steps": 18, "batch_size": 512, "n_epochs": 4, "learning_rate": 1e-3, "gamma": 1.0}
    model = ludory.make_algorithm(
        "ppo", env=game, seats="all", policy="mlp(hidden=(128, 128))", ent_coef=0.02, seed=1, **options
    )
    model.learn(timesteps)
    result = ludory.evaluate([model.as_agent(), "random"], game=game, games=1000, seed=2, rotate=True)
    print(f"mean return against a random player: {result.mean[0]:.2f} (1: it wins every game)")
    return float(result.mean[0])


if __name__ == "__main__":
    main()
