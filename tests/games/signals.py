"""A signalling game: seat 0 sees the card that seat 1 must name, and says one of two words or shows the card at a price.

The words mean nothing by themselves: off-belief learning of level 1 shows the card unless that costs more than half a point, and
players that learn together agree on the words and get all of it. Level 2 over players who agree understands their words.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from ludory.envs.chance import begin_episode, draw
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field, Kernels, Look, Rules, header

SHOW = 2
NAMES = ("zero", "one", "show")


@kernel
def signals_reset(state, i):
    begin_episode(state, i)
    state.card[i] = draw(state, i, 2)
    state.said[i] = -1
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def signals_legal(state, i, seat, mask):
    mask[0] = True
    mask[1] = True
    mask[SHOW] = int(state.said[i]) < 0


@kernel
def signals_step(state, i, action):
    paid = 0.0
    if int(state.said[i]) < 0:
        state.said[i] = action
        state.to_move[i] = 1
        if action == SHOW:
            paid = -float(state.price[i])
    else:
        paid = 1.0 if action == int(state.card[i]) else 0.0
        state.terminated[i] = True
        state.to_move[i] = -1
    state.rewards[i, 0] = paid
    state.rewards[i, 1] = paid


@kernel
def signals_observe(state, i, seat, out):
    said = int(state.said[i])
    if said >= 0:
        out[2 + said] = 1
    if seat == 0 or said == SHOW:
        out[int(state.card[i])] = 1
    out[5 + seat] = 1


@kernel
def signals_redeal(state, i, seat):
    if seat == 1 and int(state.said[i]) != SHOW:
        state.card[i] = draw(state, i, 2)


def make_signals(price: float = 0.3) -> Game:
    """Two seats, one move each."""
    facts = GameFacts(
        name="Signals",
        players=2,
        turns="sequential",
        reward="shared",
        hidden_information=True,
        chance=True,
        heads=(Head("move", len(NAMES)),),
        observation=ObservationSpec("seen", (7,), "uint8", flat_segments({"card": 2, "said": 3, "seat": 2})),
        longest_game=2,
        min_return=-price,
        max_return=1,
    )
    fields = {
        "card": Field("int8", low=0, high=1),
        "said": Field("int8", low=-1, high=SHOW),
        "price": Field("float32", (), price),
    }
    return Game(
        facts,
        Rules(
            header(2) | fields,
            Kernels(signals_reset, signals_step, signals_legal, signals_observe, redeal=signals_redeal),
        ),
        look=Look(action_name=lambda head, action: NAMES[action]),
        id="Signals-v0",
        options={"price": price},
    )
