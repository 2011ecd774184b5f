"""High card: a tiny honest game with hidden cards, in which the tests of the conformance kit plant faults."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from ludory.envs.chance import begin_episode, draw
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field, Kernels, Look, Rules, header

CARDS, TURNS, MOST_RAISES, SIDES = 6, 4, 2, 3
CHECK, RAISE, FOLD = 0, 1, 2
PARTS = {"own_card": CARDS, "turn": TURNS, "raises": MOST_RAISES, "die": SIDES}


@kernel
def reset(state, i):
    """Each seat gets one of six cards, face down."""
    begin_episode(state, i)
    first = draw(state, i, CARDS)
    state.cards[i, 0] = first
    state.cards[i, 1] = (first + 1 + draw(state, i, CARDS - 1)) % CARDS
    state.die[i] = draw(state, i, SIDES)
    state.turn[i] = 0
    state.raises[i] = 0
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def legal(state, i, seat, mask):
    """Check; raise, twice in all; fold, after a raise."""
    mask[CHECK] = True
    mask[RAISE] = int(state.raises[i]) < MOST_RAISES
    mask[FOLD] = int(state.raises[i]) > 0


@kernel
def step(state, i, action):
    """After two moves each the higher card wins the stake, but the lower one if the die, thrown at every move, shows 0."""
    seat = int(state.to_move[i])
    state.die[i] = draw(state, i, SIDES)
    state.turn[i] += 1
    state.to_move[i] = 1 - seat
    if action == RAISE:
        state.raises[i] += 1
    if action == FOLD or int(state.turn[i]) == TURNS:
        winner = 0 if int(state.cards[i, 0]) > int(state.cards[i, 1]) else 1
        if int(state.die[i]) == 0:
            winner = 1 - winner
        if action == FOLD:
            winner = 1 - seat
        state.rewards[i, winner] = 1 + int(state.raises[i])
        state.rewards[i, 1 - winner] = -1 - int(state.raises[i])
        state.terminated[i] = True


@kernel
def observe(state, i, seat, out):
    """Own card, moves made, raises, die."""
    out[int(state.cards[i, seat])] = 1
    for turn in range(int(state.turn[i])):
        out[CARDS + turn] = 1
    for k in range(int(state.raises[i])):
        out[CARDS + TURNS + k] = 1
    out[CARDS + TURNS + MOST_RAISES + int(state.die[i])] = 1


@kernel
def redeal(state, i, seat):
    """The other card is any but the own one."""
    state.cards[i, 1 - seat] = (int(state.cards[i, seat]) + 1 + draw(state, i, CARDS - 1)) % CARDS


def public_info(state, i):
    return {"raises": int(state.raises[i]), "die": int(state.die[i])}


def draw_text(state, i, seat):
    cards = [str(card) if seat in (None, owner) else "?" for owner, card in enumerate(state.cards[i])]
    return f"cards {' '.join(cards)}, raises {state.raises[i]}, die {state.die[i]}"


HIGH_CARD = Game(
    GameFacts(
        name="High card",
        players=2,
        turns="sequential",
        reward="zero_sum",
        hidden_information=True,
        chance=True,
        heads=(Head("action", 3),),
        observation=ObservationSpec("bits", (sum(PARTS.values()),), "uint8", flat_segments(PARTS)),
        longest_game=TURNS,
        min_return=-1 - MOST_RAISES,
        max_return=1 + MOST_RAISES,
    ),
    Rules(
        header(2)
        | {
            "cards": Field("int8", (2,), low=0, high=CARDS - 1),
            "die": Field("int8", low=0, high=SIDES - 1),
            "turn": Field("int8", low=0, high=TURNS),
            "raises": Field("int8", low=0, high=MOST_RAISES),
        },
        Kernels(reset, step, legal, observe, redeal),
    ),
    look=Look(action_name=lambda head, action: ("check", "raise", "fold")[action], info=public_info, text=draw_text),
)
