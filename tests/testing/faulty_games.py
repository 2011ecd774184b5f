"""High card with one planted fault in a kernel each. As a program: what `check_game` says of every one, as JSON, for a test that must not die."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from games.high_card import CARDS, HIGH_CARD, SIDES, TURNS, legal, observe, redeal, reset, step

from ludory.envs.chance import draw
from ludory.envs.facts import ObservationSpec, flat_segments
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field
from ludory.errors import ConformanceError
from ludory.testing import check_game

SIZE = HIGH_CARD.facts.observation.size


@kernel
def deals_a_third_card(state, i):
    reset(state, i)
    state.cards[i, 2] = 0


@kernel
def counts_beyond_the_last_card(state, i, action):
    step(state, i, action)
    state.cards[i, int(state.turn[i])] += 0


@kernel
def allows_a_fourth_action(state, i, seat, mask):
    legal(state, i, seat, mask)
    mask[3] = False


@kernel
def shows_a_bit_too_many(state, i, seat, out):
    observe(state, i, seat, out)
    out[CARDS + TURNS + 2 + SIDES] = 1


@kernel
def shows_backwards(state, i, seat, out):
    out[int(state.raises[i]) - 1] = 1


@kernel
def redeals_the_card_of_seat_two(state, i, seat):
    redeal(state, i, seat)
    state.cards[i, seat + 1] = state.cards[i, seat + 1]


@kernel
def uses_a_second_head(state, i, seat, action, out):
    out[1] = True


@kernel
def tells_the_critic_too_much(state, i, seat, out):
    out[int(state.cards[i, 1 - seat]) + 2] = 1


@kernel
def keeps_halves(state, i, action):
    step(state, i, action)
    state.raises[i] = int(state.raises[i]) + 0.5


@kernel
def misspells_a_constant(state, i, seat, out):
    observe(state, i, seat, out)
    if seat == 9:
        out[CADRS] = 1  # noqa: F821


@kernel
def writes_a_text(state, i, seat, out):
    name = f"card {int(state.cards[i, seat])}"
    out[len(name)] = 1


@kernel
def keeps_a_list(state, i, seat, mask):
    allowed = [0, int(state.turn[i]) % 3]
    mask[allowed[0]] = True


@kernel
def makes_a_comprehension(state, i, seat, mask):
    for action in [a for a in range(3) if a != seat]:
        mask[action] = True


def twice(number):
    return 2 * number


@kernel
def calls_a_plain_function(state, i, seat, out):
    out[twice(seat)] = 1


def forgets_the_decorator(state, i, action):
    state.terminated[i] = True


@kernel
def reads_a_field_that_is_not_there(state, i, seat, out):
    out[int(state.card[i, seat])] = 1


@kernel
def never_redeals_the_highest(state, i, seat):
    other = (int(state.cards[i, seat]) + 1 + draw(state, i, CARDS - 1)) % CARDS
    if other == CARDS - 1 and int(state.cards[i, seat]) != 0:
        other = 0
    state.cards[i, 1 - seat] = other


def with_kernels(**kernels):
    return replace(HIGH_CARD, rules=replace(HIGH_CARD.rules, kernels=HIGH_CARD.rules.kernels._replace(**kernels)))


def with_critic(critic):
    spec = ObservationSpec("other card", (CARDS,), "uint8", flat_segments({"card": CARDS}))
    return replace(with_kernels(critic=critic), facts=replace(HIGH_CARD.facts, critic=spec))


def with_die(field):
    return replace(HIGH_CARD, rules=replace(HIGH_CARD.rules, fields={**HIGH_CARD.rules.fields, "die": field}))


GAMES = {
    "reset": with_kernels(reset=deals_a_third_card),
    "step": with_kernels(step=counts_beyond_the_last_card),
    "legal": with_kernels(legal=allows_a_fourth_action),
    "observe": with_kernels(observe=shows_a_bit_too_many),
    "negative": with_kernels(observe=shows_backwards),
    "redeal": with_kernels(redeal=redeals_the_card_of_seat_two),
    "used": with_kernels(used=uses_a_second_head),
    "critic": with_critic(tells_the_critic_too_much),
    "half": with_kernels(step=keeps_halves),
    "dtype": with_die(Field("float16")),
    "bounds": with_die(Field("int8", low=0, high=300)),
    "name": with_kernels(observe=misspells_a_constant),
    "text": with_kernels(observe=writes_a_text),
    "list": with_kernels(legal=keeps_a_list),
    "comprehension": with_kernels(legal=makes_a_comprehension),
    "plain function": with_kernels(observe=calls_a_plain_function),
    "decorator": with_kernels(step=forgets_the_decorator),
    "field": with_kernels(observe=reads_a_field_that_is_not_there),
    "odds": with_kernels(redeal=never_redeals_the_highest),
}


def verdict(name):
    """What `check_game` says."""
    try:
        check_game(GAMES[name], cuda="skip")
    except ConformanceError as error:
        return str(error)
    return "keeps the contract"


if __name__ == "__main__":
    print(json.dumps({name: verdict(name) for name in GAMES}))
