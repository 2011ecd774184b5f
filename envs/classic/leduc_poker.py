"""Leduc poker: six cards of three ranks, two rounds of bets, and a public card in between.

Each seat pays an ante of 1 chip and has one card. Seat 0 speaks first in both rounds. A raise is 2 chips in the first round and 4 in
the second, with at most two raises per round. A call, or a check by both, ends a round. Then the public card is shown. A pair with
the public card wins, otherwise the higher rank; equal ranks share the pot. Folding is legal only after a raise.

These are the rules of OpenSpiel's `leduc_poker` with its defaults, after Southey et al. (2005), "Bayes' Bluff: Opponent Modelling in
Poker" (arXiv 1207.1411). If both seats play perfectly, seat 0 loses about 0.0856 chips per game.

Card = 2 * rank + suit. Suits are only drawn, so observations leave them out.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from ludory.envs.chance import begin_episode, draw
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Analysis, Chance, Field, Kernels, Outcomes, Rules, State, header

from .poker_table import NOBODY, PokerSight, PokerTable, poker_codec, poker_look

RANKS, SUITS, ROUNDS = 3, 2, 2
CARDS = RANKS * SUITS
FOLD, CALL, RAISE, NOTHING = 0, 1, 2, -1
ACTIONS = ("fold", "call", "raise")
MOST_RAISES, MOST_MOVES = 2, 4
"""Of a round: call, raise, raise, call is the longest one."""
RAISED_BY = (2, 4)
MOST_PAID = 13
"""The ante and two raises in each round."""
PARTS = {
    "seat": 2,
    "own_card": RANKS,
    "public_card": RANKS,
    "first_round": MOST_MOVES * len(ACTIONS),
    "second_round": MOST_MOVES * len(ACTIONS),
}


@kernel
def reset(state, i):
    """Shuffle: the first two cards are the seats', the third becomes public after the first round."""
    begin_episode(state, i)
    first = draw(state, i, CARDS)
    # 1 to 5 places on: any card but the first
    second = (first + 1 + draw(state, i, CARDS - 1)) % CARDS
    state.cards[i, 0] = first
    state.cards[i, 1] = second
    state.cards[i, 2] = card_beside(first, second, draw(state, i, CARDS - 2))
    for number in range(ROUNDS):
        for move in range(MOST_MOVES):
            state.said[i, number, move] = NOTHING
    state.winner[i] = NOBODY
    state.round[i] = 0
    state.moves[i] = 0
    state.raises[i] = 0
    state.paid[i, 0] = 1
    state.paid[i, 1] = 1
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def card_beside(one, other, number):
    """Card `number` among those that are neither `one` nor `other`."""
    # the lower card is skipped first
    low, high = min(one, other), max(one, other)
    card = number
    if card >= low:
        card += 1
    if card >= high:
        card += 1
    return card


@kernel
def legal(state, i, seat, mask):
    """Call (or check) always; fold after a raise; raise twice per round in all."""
    mask[FOLD] = int(state.paid[i, 1 - seat]) > int(state.paid[i, seat])
    mask[CALL] = True
    mask[RAISE] = int(state.raises[i]) < MOST_RAISES


@kernel
def step(state, i, action):
    """Fold, call or raise; the loser pays what it has put in."""
    seat, number, move = int(state.to_move[i]), int(state.round[i]), int(state.moves[i])
    state.said[i, number, move] = action
    state.to_move[i] = 1 - seat
    if action == FOLD:
        pay(state, i, 1 - seat)
    elif action == RAISE:
        state.paid[i, seat] = int(state.paid[i, 1 - seat]) + RAISED_BY[number]
        state.raises[i] += 1
        state.moves[i] = move + 1
    else:
        state.paid[i, seat] = int(state.paid[i, 1 - seat])
        # who speaks first ends no round by checking
        if move == 0:
            state.moves[i] = 1
        elif number == 0:
            state.round[i] = 1
            state.moves[i] = 0
            state.raises[i] = 0
            state.to_move[i] = 0
        else:
            pay(state, i, winner_of(state, i))


@kernel
def winner_of(state, i):
    """The seat with the better hand; NOBODY if both have the same rank."""
    # a pair beats all; both cannot have one, since a rank has two cards
    public = int(state.cards[i, 2]) // SUITS
    first, second = int(state.cards[i, 0]) // SUITS, int(state.cards[i, 1]) // SUITS
    if first == second:
        return NOBODY
    if first == public:
        return 0
    if second == public:
        return 1
    return 0 if first > second else 1


@kernel
def pay(state, i, winner):
    """End the game: `winner` gets what the other seat has put in; or nobody does."""
    if winner != NOBODY:
        chips = int(state.paid[i, 1 - winner])
        state.rewards[i, winner] = chips
        state.rewards[i, 1 - winner] = -chips
    state.winner[i] = winner
    state.terminated[i] = True


@kernel
def observe(state, i, seat, out):
    """The seat, the rank of its card, in the second round that of the public card, and all moves, one-hot."""
    out[seat] = 1
    out[2 + int(state.cards[i, seat]) // SUITS] = 1
    if int(state.round[i]) == 1:
        out[2 + RANKS + int(state.cards[i, 2]) // SUITS] = 1
    for number in range(ROUNDS):
        for move in range(MOST_MOVES):
            said = int(state.said[i, number, move])
            if said != NOTHING:
                out[2 + 2 * RANKS + (number * MOST_MOVES + move) * 3 + said] = 1


@kernel
def redeal(state, i, seat):
    """Draw the other seat's card, and the public one if it is still face down."""
    own = int(state.cards[i, seat])
    if int(state.round[i]) == 1:
        state.cards[i, 1 - seat] = card_beside(own, int(state.cards[i, 2]), draw(state, i, CARDS - 2))
    else:
        other = (own + 1 + draw(state, i, CARDS - 1)) % CARDS
        state.cards[i, 1 - seat] = other
        state.cards[i, 2] = card_beside(own, other, draw(state, i, CARDS - 2))


def deals() -> Outcomes:
    """The deals that differ in ranks, each with one choice of suits."""
    counts = Counter(tuple(card // SUITS for card in cards) for cards in permutations(range(CARDS), 3))
    # of two cards of a rank the first has suit 0
    cards = [[SUITS * rank + ranks[:place].count(rank) for place, rank in enumerate(ranks)] for ranks in counts]
    return Outcomes(np.array(list(counts.values())) / counts.total(), {"cards": np.array(cards)})


def consistent(state: State) -> NDArray[np.bool_]:
    """(N,) cards differ, and moves and raises of the round fit together."""
    cards, moves, raises = (np.asarray(part) for part in (state.cards, state.moves, state.raises))
    apart = (cards[:, 0] != cards[:, 1]) & (cards[:, 0] != cards[:, 2]) & (cards[:, 1] != cards[:, 2])
    calls = moves - raises  # a call ends the round, unless it is the first move
    sound: NDArray[np.bool_] = apart & (np.asarray(state.terminated) | ((calls >= 0) & (calls <= 1)))
    return sound


def look(state: State, i: int, seat: int | None) -> PokerSight:
    """Game `i` as `seat` sees it; None: all cards are face up."""
    cards = ["JQK"[int(card) // SUITS] + "♠♥"[int(card) % SUITS] for card in state.cards[i]]
    over, paid = bool(state.terminated[i]), (int(state.paid[i, 0]), int(state.paid[i, 1]))
    mover = int(state.to_move[i])
    legal_now = [FOLD] * (paid[1 - mover] > paid[mover]) + [CALL] + [RAISE] * (int(state.raises[i]) < MOST_RAISES)
    return PokerSight(
        cards=tuple(card if seat in (None, owner) else None for owner, card in enumerate(cards[:2])),
        public=cards[2] if seat is None or int(state.round[i]) == 1 else None,
        rounds=tuple(tuple(int(move) for move in moves if int(move) != NOTHING) for moves in state.said[i]),
        paid=paid,
        to_move=None if over else mover,
        legal=tuple(legal_now),
        winner=int(state.winner[i]) if over else None,
    )


TABLE = PokerTable(
    title="Leduc poker",
    action_names=ACTIONS,
    has_public=True,
    look=look,
    instruction=(
        "You are playing Leduc poker against one opponent. The deck has six cards: J, Q and K, each in two suits, where K is the "
        "highest and J the lowest. Each of you has one card and has put one chip into the pot. There are two rounds of bets, and "
        "seat 0 speaks first in both. After the first round a public card is shown. At the end a card of the same rank as the public "
        "card wins, otherwise the higher rank; equal ranks share the pot. Suits do not matter.\n"
        '"call" puts in as many chips as the opponent has, which may be none. "raise" calls and puts in 2 chips more, 4 in the second '
        'round; a round has at most two raises. "fold" gives up the pot; you may fold after a raise. Answer with one word.'
    ),
)


def make_game() -> Game:
    """Make Leduc poker."""
    facts = GameFacts(
        name="Leduc poker",
        players=2,
        turns="sequential",
        reward="zero_sum",
        hidden_information=True,
        chance=True,
        heads=(Head("move", len(ACTIONS)),),
        observation=ObservationSpec("own", (sum(PARTS.values()),), "uint8", flat_segments(PARTS)),
        longest_game=ROUNDS * MOST_MOVES,
        min_return=-MOST_PAID,
        max_return=MOST_PAID,
    )
    fields = {
        "cards": Field("int8", (3,), (0, 1, 2), low=0, high=CARDS - 1),
        "said": Field("int8", (ROUNDS, MOST_MOVES), NOTHING, low=NOTHING, high=RAISE),
        "round": Field("int8", low=0, high=ROUNDS - 1),
        "moves": Field("int8", low=0, high=MOST_MOVES - 1),
        "raises": Field("int8", low=0, high=MOST_RAISES),
        "winner": Field("int8", (), NOBODY, low=NOBODY, high=1),
        "paid": Field("int8", (2,), 1, low=1, high=MOST_PAID),
    }
    return Game(
        facts,
        Rules(
            fields=header(players=2) | fields,
            kernels=Kernels(reset, step, legal, observe, redeal),
            consistent=consistent,
        ),
        look=poker_look(
            TABLE, info=lambda state, i: {"pot": int(state.paid[i].sum()), "round": int(state.round[i]) + 1}
        ),
        language=poker_codec(TABLE),
        analysis=Analysis(chance=Chance(deals)),
    )
