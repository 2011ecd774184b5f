"""The observation `conventions`: `tactical`, and what a seat believes that plays by SmartBot's conventions.

The state then holds what every seat has concluded from all moves, so that a network without memory sees it.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel
from ludory.envs.hanabi.cards import unseen_copies
from ludory.envs.hanabi.observation import BELIEVED_BITS, HINT_BITS, OWN_VIEW_BITS
from ludory.envs.hanabi.rules import rank_count, reset, step
from ludory.envs.hanabi.tactical import write_tactical

from .knowledge import (
    all_in,
    belief,
    cards_of_color,
    cards_of_rank,
    is_known,
    maybe_in,
    next_discard,
    one_less,
    public_sets,
    settle,
)
from .notice import hint_fitness, notice_smartbot

SMALL_HINT, MIDDLE_HINT, LARGE_HINT, HUGE_HINT = 6, 12, 20, 30
"""Kinds of cards that a hint rules out: where the entries of `hints` begin."""


@kernel
def reset_conventions(state, i):
    """As the rules; nothing is believed yet."""
    reset(state, i)
    for seat in range(state.concluded.shape[1]):
        for entry in range(state.concluded.shape[2]):
            state.concluded[i, seat, entry] = 0


@kernel
def step_conventions(state, i, action):
    """As the rules; every seat concludes what the conventions say, before the move and from the cards that it uncovers."""
    # notice before the step, settle after it: the move uncovers a card, which all see at once
    for seat in range(state.hands.shape[1]):
        notice_smartbot(state, i, seat, int(action), state.concluded[i, seat])
    step(state, i, action)
    _, _, _, ones, twos = public_sets(state, i)
    for seat in range(state.hands.shape[1]):
        settle(state, i, state.concluded[i, seat], ones, twos)


@kernel
def observe_conventions(state, i, seat, out):
    """`tactical`, then the segments believed, believed_slots, own_view and hints."""
    players, hand = state.hands.shape[1], state.hands.shape[2]
    colors, ranks = state.fireworks.shape[1], rank_count(state)
    cards, memory = colors * ranks, state.concluded[i, seat]
    # from the end: what comes before has the length of `tactical`
    believed = out.shape[0] - players * hand * (cards + BELIEVED_BITS) - hand * OWN_VIEW_BITS
    believed -= (players - 1) * (colors + ranks) * HINT_BITS
    write_tactical(state, i, seat, out, believed)
    slots = believed + players * hand * cards
    own = slots + players * hand * BELIEVED_BITS
    play, valuable, worthless, _, _ = public_sets(state, i)
    for offset in range(players):
        other = (seat + offset) % players
        expected = next_discard(state, i, other, memory, play, valuable, worthless)
        for slot in range(int(state.held[i, other])):
            known, place = belief(state, memory, other, slot), offset * hand + slot
            # a slice with a plain index, see envs/hanabi/observation.py
            kinds = out[believed + place * cards : believed + (place + 1) * cards]
            for card in range(cards):
                kinds[card] = (known >> card) & 1
            at = slots + place * BELIEVED_BITS
            out[at] = all_in(known, play)
            out[at + 1] = maybe_in(known, play)
            out[at + 2] = all_in(known, worthless)
            out[at + 3] = maybe_in(known, worthless)
            out[at + 4] = all_in(known, valuable)
            out[at + 5] = maybe_in(known, valuable)
            out[at + 6] = is_known(known)
            out[at + 7] = slot == expected
    write_own_view(state, i, seat, memory, out, own, play, worthless)
    at = own + hand * OWN_VIEW_BITS
    for offset in range(1, players):
        other = (seat + offset) % players
        for value in range(colors + ranks):
            named = cards_of_color(state, value) if value < colors else cards_of_rank(state, value - colors)
            told = hint_fitness(state, i, other, memory, play, named)
            out[at] = told > 0
            out[at + 1] = told >= SMALL_HINT
            out[at + 2] = told >= MIDDLE_HINT
            out[at + 3] = told >= LARGE_HINT
            out[at + 4] = told >= HUGE_HINT
            at += HINT_BITS


@kernel
def write_own_view(state, i, seat, memory, out, at, play, worthless):
    """What a seat can tell of its own slots from what it believes and from the cards that it sees."""
    ones, twos = unseen_copies(state, i, seat)
    for slot in range(int(state.held[i, seat])):
        known = belief(state, memory, seat, slot)
        if is_known(known):
            ones, twos = one_less(known, ones, twos)
    for slot in range(int(state.held[i, seat])):
        known = belief(state, memory, seat, slot)
        seen = known if is_known(known) else known & (ones | twos)
        out[at + slot * OWN_VIEW_BITS] = all_in(seen, play)
        out[at + slot * OWN_VIEW_BITS + 1] = maybe_in(seen, play)
        out[at + slot * OWN_VIEW_BITS + 2] = all_in(seen, worthless)
