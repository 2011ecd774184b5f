"""Kuhn poker: three cards, one each, one chip in the pot from each seat, and one bet of one chip.

A seat passes or bets. A pass after a bet folds, a bet after a bet calls; after two passes or a call the higher card wins the pot.
If both seats play perfectly, seat 0 loses 1/18 of a chip per game. Kuhn (1950), "A simplified two-person poker".
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from ludory.envs.chance import begin_episode, draw
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Analysis, Chance, Field, Kernels, Outcomes, Rules, State, header

from .poker_table import NOBODY, PokerSight, PokerTable, poker_codec, poker_look

CARDS, PASS, BET, NOTHING = 3, 0, 1, -1
ACTIONS = ("pass", "bet")
PARTS = {"seat": 2, "own_card": CARDS, "first_move": 2, "second_move": 2}


@kernel
def reset(state, i):
    """Deal one card to each seat."""
    begin_episode(state, i)
    first = draw(state, i, CARDS)
    state.cards[i, 0] = first
    state.cards[i, 1] = (first + 1 + draw(state, i, CARDS - 1)) % CARDS
    for move in range(3):
        state.said[i, move] = NOTHING
    state.moves[i] = 0
    state.winner[i] = NOBODY
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def legal(state, i, seat, mask):
    """Pass or bet."""
    mask[PASS] = True
    mask[BET] = True


@kernel
def step(state, i, action):
    """Pass or bet; pays the winner 1 chip, or 2 after a bet that was called."""
    seat, move = int(state.to_move[i]), int(state.moves[i])
    answers_bet = move > 0 and int(state.said[i, move - 1]) == BET
    state.said[i, move] = action
    # a bet is answered, or both have passed
    if answers_bet or (move > 0 and action == PASS):
        winner = 0 if int(state.cards[i, 0]) > int(state.cards[i, 1]) else 1
        if answers_bet and action == PASS:
            winner = 1 - seat
        chips = 2 if answers_bet and action == BET else 1
        state.rewards[i, winner] = chips
        state.rewards[i, 1 - winner] = -chips
        state.winner[i] = winner
        state.terminated[i] = True
    else:
        state.moves[i] = move + 1
    state.to_move[i] = 1 - seat


@kernel
def observe(state, i, seat, out):
    """The seat, its card, and the first two moves, one-hot; a third move ends the game."""
    out[seat] = 1
    out[2 + int(state.cards[i, seat])] = 1
    for move in range(2):
        said = int(state.said[i, move])
        if said != NOTHING:
            out[2 + CARDS + 2 * move + said] = 1


@kernel
def redeal(state, i, seat):
    """The other seat has either of the two cards left."""
    state.cards[i, 1 - seat] = (int(state.cards[i, seat]) + 1 + draw(state, i, CARDS - 1)) % CARDS


def deals() -> Outcomes:
    """The six deals, equally likely."""
    return Outcomes(np.full(6, 1 / 6), {"cards": np.array(list(permutations(range(CARDS), 2)))})


def consistent(state: State) -> NDArray[np.bool_]:
    """(N,) the cards differ, and `moves` counts the moves of a game that goes on."""
    cards, said, moves = (np.asarray(part) for part in (state.cards, state.said, state.moves))
    running = ~np.asarray(state.terminated)
    begun = (said != NOTHING).sum(axis=1) == moves
    # a third move comes after pass and bet only
    third = (moves < 2) | ((said[:, 0] == PASS) & (said[:, 1] == BET))
    fits = begun & third & ((moves < 1) | (said[:, 0] != NOTHING))
    sound: NDArray[np.bool_] = (cards[:, 0] != cards[:, 1]) & (~running | fits)
    return sound


def look(state: State, i: int, seat: int | None) -> PokerSight:
    """Game `i` as `seat` sees it; None: all cards are face up."""
    moves = [int(move) for move in state.said[i] if int(move) != NOTHING]
    paid = [1, 1]
    for number, move in enumerate(moves):
        paid[number % 2] += move == BET
    shown = [seat in (None, owner) for owner in (0, 1)]
    return PokerSight(
        cards=tuple("JQK"[int(card)] if face_up else None for card, face_up in zip(state.cards[i], shown, strict=True)),
        public=None,
        rounds=(tuple(moves),),
        paid=(paid[0], paid[1]),
        to_move=None if state.terminated[i] else int(state.to_move[i]),
        legal=(PASS, BET),
        winner=int(state.winner[i]) if state.terminated[i] else None,
    )


TABLE = PokerTable(
    title="Kuhn poker",
    action_names=ACTIONS,
    has_public=False,
    look=look,
    instruction=(
        "You are playing Kuhn poker against one opponent. The deck has three cards, J, Q and K, where K is the highest and J the "
        "lowest. Each of you has one card and has put one chip into the pot. Seat 0 speaks first.\n"
        '"bet" puts one more chip into the pot; it also calls a bet of the opponent. "pass" puts in nothing; after a bet of '
        "the opponent it gives up the pot. After two passes, or when a bet is called, the higher card wins the pot. If the first "
        "seat passes and the second bets, the first seat answers once more. Answer with one word."
    ),
)


def make_game() -> Game:
    """Make Kuhn poker."""
    facts = GameFacts(
        name="Kuhn poker",
        players=2,
        turns="sequential",
        reward="zero_sum",
        hidden_information=True,
        chance=True,
        heads=(Head("move", 2),),
        observation=ObservationSpec("own", (sum(PARTS.values()),), "uint8", flat_segments(PARTS)),
        longest_game=3,
        min_return=-2,
        max_return=2,
    )
    fields = {
        "cards": Field("int8", (2,), (0, 1), low=0, high=CARDS - 1),
        "said": Field("int8", (3,), NOTHING, low=NOTHING, high=BET),
        "moves": Field("int8", low=0, high=2),
        "winner": Field("int8", (), NOBODY, low=NOBODY, high=1),
    }
    return Game(
        facts,
        Rules(
            fields=header(players=2) | fields,
            kernels=Kernels(reset, step, legal, observe, redeal),
            consistent=consistent,
        ),
        look=poker_look(TABLE, info=lambda state, i: {"pot": sum(look(state, i, None).paid)}),
        language=poker_codec(TABLE),
        analysis=Analysis(chance=Chance(deals)),
    )
