"""What a Hanabi seat sees, as kernels: the layout of hanabi-learning-environment's canonical encoder and its variants.

Seats are relative: the observer comes first. One-hots are all zero when there is nothing to show.

Long runs of entries are written through a slice of `out` with a plain index: the compiler then knows that the index is not negative, and
fills many bytes with one instruction.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Literal

import numpy as np

from ludory.envs import ObservationSpec, flat_segments, kernel

from . import state as now
from .rules import copies_of, deck_left, rank_count
from .variants import HanabiOptions

OWN_BITS, OTHERS_BITS = 12, 4
"""Entries per slot of the segments `own_slots` and `other_slots`."""
BELIEVED_BITS, OWN_VIEW_BITS, HINT_BITS = 8, 3, 5
"""Entries per slot of the segments `believed_slots` and `own_view`, and per hint of `hints`."""


def observation_spec(options: HanabiOptions) -> ObservationSpec:
    """Segments, shape and dtype of `options.observation`."""
    p, h, c, r = options.players, options.hand_size, options.colors, options.ranks
    parts = {
        "hands": (p - 1) * h * c * r,
        "short_hand": p,
        "deck": options.deck_size - p * h,
        "fireworks": c * r,
        "info": options.max_information_tokens,
        "lives": options.max_life_tokens,
        "discards": options.deck_size,
        "last_actor": p,
        "last_type": 4,
        "last_target": p,
        "last_color": c,
        "last_rank": r,
        "last_touched": h,
        "last_slot": h,
        "last_card": c * r,
        "last_scored": 1,
        "last_token": 1,
        "knowledge": p * h * (c * r + c + r),
    }
    if options.observation == "minimal":
        del parts["knowledge"]
    if options.observation in ("tactical", "conventions"):
        parts |= {
            "playable_cards": c * r,
            "worthless_cards": c * r,
            "own_slots": h * OWN_BITS,
            "other_slots": (p - 1) * h * OTHERS_BITS,
        }
    if options.observation == "conventions":
        parts |= {
            "believed": p * h * c * r,
            "believed_slots": p * h * BELIEVED_BITS,
            "own_view": h * OWN_VIEW_BITS,
            "hints": (p - 1) * (c + r) * HINT_BITS,
        }
    dtype: Literal["uint8", "float32"] = "float32" if options.observation == "v0_belief" else "uint8"
    return ObservationSpec(options.observation, (sum(parts.values()),), dtype, flat_segments(parts))


@kernel
def _others_hands(state, i, seat, out, at):
    players, hand, cards = state.hands.shape[1], state.hands.shape[2], state.discards.shape[1]
    for offset in range(1, players):
        other = (seat + offset) % players
        for slot in range(int(state.held[i, other])):
            out[at + slot * cards + int(state.hands[i, other, slot])] = 1
        at += hand * cards
    # hands that are short of a card, which only happens at the end of the deck
    for offset in range(players):
        if int(state.held[i, (seat + offset) % players]) < hand:
            out[at + offset] = 1
    return at + players


@kernel
def _thermometer(out, at, length, value):
    """`value` ones, then zeros; returns the index behind."""
    part = out[at : at + length]
    for k in range(length):
        # writes zeros too, so that the loop has no branch
        part[k] = k < value
    return at + length


@kernel
def _board(state, i, out, at):
    players, hand = state.hands.shape[1], state.hands.shape[2]
    colors, ranks = state.fireworks.shape[1], rank_count(state)
    # counts the cards that the deck can hold after the deal
    at = _thermometer(out, at, state.deck.shape[1] - players * hand, deck_left(state, i))
    for color in range(colors):
        height = int(state.fireworks[i, color])
        if height > 0:
            out[at + color * ranks + height - 1] = 1
    at += colors * ranks
    at = _thermometer(out, at, int(state.setup[i, now.MAX_TOKENS]), int(state.tokens[i]))
    at = _thermometer(out, at, int(state.setup[i, now.MAX_LIVES]), int(state.lives[i]))
    for color in range(colors):
        for rank in range(ranks):
            copies, discarded = copies_of(rank, ranks), int(state.discards[i, color * ranks + rank])
            if discarded > 0:
                # a thermometer for each card: as many entries as it has copies
                _thermometer(out, at, copies, discarded)
            at += copies
    return at


@kernel
def _last_move(state, i, seat, out, at):
    players, hand = state.hands.shape[1], state.hands.shape[2]
    colors, ranks = state.fireworks.shape[1], rank_count(state)
    last_type = at + players
    last_target = last_type + 4
    last_color = last_target + players
    last_rank = last_color + colors
    last_touched = last_rank + ranks
    last_slot = last_touched + hand
    last_card = last_slot + hand
    last_scored = last_card + colors * ranks
    kind = int(state.last[i, now.KIND])
    if kind != now.NO_MOVE:
        out[at + (int(state.last[i, now.ACTOR]) - seat) % players] = 1
        # kinds have the order of hanabi-learning-environment, from 1: play before discard, unlike action ids
        out[last_type + kind - 1] = 1
        if kind == now.PLAY or kind == now.DISCARD:
            out[last_slot + int(state.last[i, now.SLOT])] = 1
            out[last_card + int(state.last[i, now.CARD])] = 1
            out[last_scored] = int(state.last[i, now.SCORED])
            out[last_scored + 1] = int(state.last[i, now.TOKEN])
        else:
            out[last_target + (int(state.last[i, now.TARGET]) - seat) % players] = 1
            out[(last_color if kind == now.HINT_COLOR else last_rank) + int(state.last[i, now.VALUE])] = 1
            touched = int(state.last[i, now.TOUCHED])
            for slot in range(hand):
                out[last_touched + slot] = (touched >> slot) & 1
    return last_scored + 2


@kernel
def observe_minimal(state, i, seat, out):
    """Everything but hint knowledge; returns the length written."""
    at = _others_hands(state, i, seat, out, 0)
    at = _board(state, i, out, at)
    return _last_move(state, i, seat, out, at)


_COLOR_BIT, _RANK_BIT = np.zeros((2, 6, 25), np.uint8)  # [R, card]: a card's colour and rank as members of bit sets
for _ranks in range(1, 6):
    for _card in range(5 * _ranks):
        _COLOR_BIT[_ranks, _card] = 1 << _card // _ranks
        _RANK_BIT[_ranks, _card] = 1 << _card % _ranks


@kernel
def observe_card_knowledge(state, i, seat, out):
    """The canonical observation: `minimal`, then for every slot what its hints leave open."""
    at = observe_minimal(state, i, seat, out)
    players, hand = state.hands.shape[1], state.hands.shape[2]
    colors, ranks = state.fireworks.shape[1], rank_count(state)
    cards = colors * ranks
    for offset in range(players):
        other = (seat + offset) % players
        for slot in range(int(state.held[i, other])):
            start = at + (offset * hand + slot) * (cards + colors + ranks)
            color_set, rank_set = int(state.colors[i, other, slot]), int(state.ranks[i, other, slot])
            plausible = out[start : start + cards]
            for card in range(cards):  # byte operations without branches: most of the time of an observation is here
                color_fits = (color_set & _COLOR_BIT[ranks, card]) != 0
                rank_fits = (rank_set & _RANK_BIT[ranks, card]) != 0
                plausible[card] = color_fits & rank_fits
            hinted = int(state.hinted[i, other, slot])
            if hinted & now.COLOR_KNOWN:
                for color in range(colors):
                    out[start + cards + color] = (color_set >> color) & 1
            if hinted & now.RANK_KNOWN:
                for rank in range(ranks):
                    out[start + cards + colors + rank] = (rank_set >> rank) & 1


@kernel
def observe_seer(state, i, seat, out):
    """As `card_knowledge`, but every card, one's own too, is shown as if fully hinted."""
    at = observe_minimal(state, i, seat, out)
    players, hand = state.hands.shape[1], state.hands.shape[2]
    colors, ranks = state.fireworks.shape[1], rank_count(state)
    width = colors * ranks + colors + ranks
    for offset in range(players):
        other = (seat + offset) % players
        for slot in range(int(state.held[i, other])):
            start = at + (offset * hand + slot) * width
            card = int(state.hands[i, other, slot])
            out[start + card] = 1
            out[start + colors * ranks + card // ranks] = 1
            out[start + colors * ranks + colors + card % ranks] = 1


@kernel
def observe_v0_belief(state, i, seat, out):
    """As `card_knowledge`, each slot's plausible cards weighted by the copies neither discarded nor played."""
    observe_card_knowledge(state, i, seat, out)
    players, hand = state.hands.shape[1], state.hands.shape[2]
    colors, ranks = state.fireworks.shape[1], rank_count(state)
    cards = colors * ranks
    width = cards + colors + ranks
    # knowledge comes last, so its start is counted from the end
    at = out.shape[0] - players * hand * width
    for offset in range(players):
        for slot in range(int(state.held[i, (seat + offset) % players])):
            start = at + (offset * hand + slot) * width
            total = 0
            for color in range(colors):
                for rank in range(ranks):
                    if out[start + color * ranks + rank] > 0:
                        total += _copies_left(state, i, color, rank)
            for color in range(colors):
                for rank in range(ranks):
                    if out[start + color * ranks + rank] > 0:
                        left = _copies_left(state, i, color, rank)
                        out[start + color * ranks + rank] = np.float32(left) / np.float32(total)


@kernel
def _copies_left(state, i, color, rank):
    """Copies of a card neither discarded nor played."""
    ranks = rank_count(state)
    played = 1 if rank < int(state.fireworks[i, color]) else 0
    return copies_of(rank, ranks) - int(state.discards[i, color * ranks + rank]) - played
