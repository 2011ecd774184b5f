"""A game of which no seat knows the outcome and both seats together do: the return is 1 if two hidden cards differ, whatever is played."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from ludory.envs.chance import begin_episode, draw
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field, Kernels, Look, Rules, header

SEATS, TURNS = 2, 4


@kernel
def cards_reset(state, i):
    begin_episode(state, i)
    for seat in range(SEATS):
        state.card[i, seat] = draw(state, i, 2)
    state.turn[i] = 0
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def cards_legal(state, i, seat, mask):
    mask[0] = True
    mask[1] = True


@kernel
def cards_step(state, i, action):
    state.turn[i] += 1
    state.to_move[i] = int(state.turn[i]) % SEATS
    if int(state.turn[i]) == TURNS:
        for seat in range(SEATS):
            state.rewards[i, seat] = 1 if int(state.card[i, 0]) != int(state.card[i, 1]) else 0
        if int(state.cut[i]) == 1:
            state.truncated[i] = True
        else:
            state.terminated[i] = True


@kernel
def cards_observe(state, i, seat, out):
    out[int(state.card[i, seat])] = 1
    out[2 + int(state.turn[i])] = 1


def make_hidden_cards(cut: bool = False) -> Game:
    """Two seats, two decisions each; `cut`: an outside limit ends the game, with the same rewards."""
    parts = {"own_card": 2, "turn": TURNS + 1}
    facts = GameFacts(
        name="Hidden cards",
        players=SEATS,
        turns="sequential",
        reward="shared",
        hidden_information=True,
        chance=True,
        heads=(Head("say", 2),),
        observation=ObservationSpec("own", (sum(parts.values()),), "uint8", flat_segments(parts)),
        longest_game=TURNS,
        min_return=0,
        max_return=1,
    )
    fields = {
        "card": Field("int8", (SEATS,), low=0, high=1),
        "turn": Field("int32", low=0, high=TURNS),
        "cut": Field("int8", (), int(cut), low=int(cut), high=int(cut)),
    }
    return Game(
        facts,
        Rules(header(SEATS) | fields, Kernels(cards_reset, cards_step, cards_legal, cards_observe)),
        look=Look(action_name=lambda head, value: ("yes", "no")[value]),
        id="HiddenCards-v0",
        options={"cut": cut},
    )
