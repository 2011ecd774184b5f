"""High card: a tiny honest game with hidden cards, in which the tests of the conformance kit plant faults."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from ludory.envs.chance import begin_episode, draw
from ludory.envs.game import Field, Game, GameFacts, Head, Kernels, ObservationSpec, flat_segments, header
from ludory.envs.kernel import kernel

CARDS, TURNS = 6, 4
KEEP, SWAP, FOLD = 0, 1, 2
PARTS = {"own_card": CARDS, "turn": TURNS, "swapped": 2}


@kernel
def shuffle(state, i, first):
    for k in range(CARDS - 1, first, -1):
        other = first + draw(state, i, k - first + 1)
        card = int(state.deck[i, k])
        state.deck[i, k] = state.deck[i, other]
        state.deck[i, other] = card


@kernel
def reset(state, i):
    """Each seat gets one of six cards; deck[0] and deck[1] are the hands, deck[2] is the next card."""
    begin_episode(state, i)
    for k in range(CARDS):
        state.deck[i, k] = k
    shuffle(state, i, 0)
    state.turn[i] = 0
    state.swapped[i, 0] = 0
    state.swapped[i, 1] = 0
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def legal(state, i, seat, mask):
    """Keep; swap once per game; fold, but not on the first turn."""
    mask[KEEP] = True
    mask[SWAP] = int(state.swapped[i, seat]) == 0
    mask[FOLD] = int(state.turn[i]) > 0


@kernel
def step(state, i, action):
    """After two moves each the higher card wins; who folds loses."""
    seat = int(state.to_move[i])
    if action == SWAP:
        card = int(state.deck[i, seat])
        state.deck[i, seat] = state.deck[i, 2 + seat]
        state.deck[i, 2 + seat] = card
        state.swapped[i, seat] += 1
    state.turn[i] += 1
    state.to_move[i] = 1 - seat
    if action == FOLD or int(state.turn[i]) == TURNS:
        winner = 1 - seat if action == FOLD else 0 if state.deck[i, 0] > state.deck[i, 1] else 1
        state.rewards[i, winner] = 1
        state.rewards[i, 1 - winner] = -1
        state.terminated[i] = True


@kernel
def observe(state, i, seat, out):
    """Own card, turns made, who has swapped."""
    out[int(state.deck[i, seat])] = 1
    for turn in range(int(state.turn[i])):
        out[CARDS + turn] = 1
    for offset in range(2):
        out[CARDS + TURNS + offset] = state.swapped[i, (seat + offset) % 2]


@kernel
def redeal(state, i, seat):
    """All cards but the own one are unknown; a card that was swapped away lies aside, and is known."""
    aside = 2 + seat if int(state.swapped[i, seat]) > 0 else seat
    own = int(state.deck[i, seat])
    kept = int(state.deck[i, aside])
    for _ in range(1):
        k = 0
        for card in range(CARDS):
            if card != own and card != kept:
                while k == seat or k == aside:
                    k += 1
                state.deck[i, k] = card
                k += 1
    for k in range(CARDS - 1, 0, -1):
        other = draw(state, i, k + 1)
        if k != seat and k != aside and other != seat and other != aside:
            card = int(state.deck[i, k])
            state.deck[i, k] = state.deck[i, other]
            state.deck[i, other] = card
