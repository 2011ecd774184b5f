"""IGGI and Piers, made deterministic, and the rules that they are lists of.

Source: Walton-Rivers et al., Evaluating and modelling Hanabi-playing agents, arXiv 1704.07069; FossGalaxy's Hanabi agents.

A rule returns an action id, or `NO_RULE`. Own slots are scanned oldest to newest, other seats from the next one on.
A rule reads of its own hand only what hints have told; `ones, twos` are the seat's `unseen_copies`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.agents.hanabi.moves import NO_RULE, discard_id, play_id, tell_color_id, tell_rank_id
from ludory.envs import kernel
from ludory.envs.hanabi.cards import (
    color_known,
    copies_in,
    is_playable,
    plausible_cards,
    playable_cards,
    rank_known,
    unseen_copies,
    worthless_cards,
)
from ludory.envs.hanabi.rules import deck_left, rank_count
from ludory.envs.hanabi.state import MAX_TOKENS


@kernel
def play_if_certain(state, i, seat):
    """Play a card whose colour and rank were both told and which is playable."""
    playable = playable_cards(state, i)
    for slot in range(int(state.held[i, seat])):
        told = color_known(state, i, seat, slot) and rank_known(state, i, seat, slot)
        # colour and rank told, so that `plausible_cards` has one member
        if told and plausible_cards(state, i, seat, slot) & playable:
            return play_id(state, slot)
    return NO_RULE


@kernel
def play_safe(state, i, seat, ones, twos):
    """Play a card that is playable whatever it is."""
    playable = playable_cards(state, i)
    for slot in range(int(state.held[i, seat])):
        # by copies, not kinds: a kind of which no copy is unseen cannot be held
        if copies_in(plausible_cards(state, i, seat, slot) & ~playable, ones, twos) == 0:
            return play_id(state, slot)
    return NO_RULE


@kernel
def play_probable(state, i, seat, ones, twos, numerator, denominator):
    """Play the card that is most probably playable, if it is so with probability >= numerator / denominator and > 0."""
    playable = playable_cards(state, i)
    best, best_hits, best_total = -1, 0, 1
    for slot in range(int(state.held[i, seat])):
        plausible = plausible_cards(state, i, seat, slot)
        hits, total = copies_in(plausible & playable, ones, twos), copies_in(plausible, ones, twos)
        # fractions compared crosswise, so that no rounding decides a tie; strict, so that the oldest wins
        if hits * best_total > best_hits * total:
            best, best_hits, best_total = slot, hits, total
    if best >= 0 and best_hits * denominator >= numerator * best_total:
        return play_id(state, best)
    return NO_RULE


@kernel
def tell_useful(state, i, seat):
    """Tell another seat about a playable card: its rank, or its colour where the rank is known."""
    if int(state.tokens[i]) == 0:
        return NO_RULE
    players, ranks = state.hands.shape[1], rank_count(state)
    for offset in range(1, players):
        other = (seat + offset) % players
        for slot in range(int(state.held[i, other])):
            card = int(state.hands[i, other, slot])
            if is_playable(state, i, card, ranks):
                if not rank_known(state, i, other, slot):
                    return tell_rank_id(state, offset, card % ranks)
                if not color_known(state, i, other, slot):
                    return tell_color_id(state, offset, card // ranks)
    return NO_RULE


@kernel
def tell_dispensable(state, i, seat):
    """Tell another seat what shows it that a card is already on its stack."""
    if int(state.tokens[i]) == 0:
        return NO_RULE
    players, colors, ranks = state.hands.shape[1], state.fireworks.shape[1], rank_count(state)
    lowest = ranks
    for color in range(colors):
        lowest = min(lowest, int(state.fireworks[i, color]))
    for offset in range(1, players):
        other = (seat + offset) % players
        for slot in range(int(state.held[i, other])):
            card = int(state.hands[i, other, slot])
            color, rank = card // ranks, card % ranks
            height = int(state.fireworks[i, color])
            knows_color, knows_rank = color_known(state, i, other, slot), rank_known(state, i, other, slot)
            # its colour alone shows it: no card of it is needed
            if not knows_color and height == ranks:
                return tell_color_id(state, offset, color)
            # its rank alone shows it: every stack is beyond it
            if not knows_rank and rank < lowest:
                return tell_rank_id(state, offset, rank)
            # one fact known and the other one missing: together they show that it is on its stack
            if rank < height and knows_color != knows_rank:
                return tell_rank_id(state, offset, rank) if knows_color else tell_color_id(state, offset, color)
    return NO_RULE


@kernel
def osawa_discard(state, i, seat, ones, twos):
    """Discard a card that is worthless whatever it is."""
    if int(state.tokens[i]) == int(state.setup[i, MAX_TOKENS]):
        return NO_RULE
    worthless = worthless_cards(state, i)
    for slot in range(int(state.held[i, seat])):
        if copies_in(plausible_cards(state, i, seat, slot) & ~worthless, ones, twos) == 0:
            return discard_id(slot)
    return NO_RULE


@kernel
def discard_oldest(state, i):
    """Discard slot 0."""
    if int(state.tokens[i]) == int(state.setup[i, MAX_TOKENS]):
        return NO_RULE
    return discard_id(0)


@kernel
def tell_anything(state, i, seat):
    """Tell the next seat the rank of its oldest card (the original tells a random fact)."""
    other = (seat + 1) % state.hands.shape[1]
    if int(state.tokens[i]) == 0 or int(state.held[i, other]) == 0:
        return NO_RULE
    return tell_rank_id(state, 1, int(state.hands[i, other, 0]) % rank_count(state))


@kernel
def discard_or_tell(state, i, seat, ones, twos):
    """The end of both lists: OsawaDiscard, DiscardOldest, TellAnything; where none of them is legal, play slot 0."""
    move = osawa_discard(state, i, seat, ones, twos)
    if move == NO_RULE:
        move = discard_oldest(state, i)
    if move == NO_RULE:
        move = tell_anything(state, i, seat)
    return play_id(state, 0) if move == NO_RULE else move


@kernel
def choose_iggi(state, i, seat, memory):
    """PlayIfCertain, PlaySafe, TellUseful, OsawaDiscard, DiscardOldest, TellAnything: the first that has a move."""
    move = play_if_certain(state, i, seat)
    if move != NO_RULE:
        return move
    ones, twos = unseen_copies(state, i, seat)
    move = play_safe(state, i, seat, ones, twos)
    if move == NO_RULE:
        move = tell_useful(state, i, seat)
    return discard_or_tell(state, i, seat, ones, twos) if move == NO_RULE else move


@kernel
def choose_piers(state, i, seat, memory):
    """IGGI's list with risks while a life can be spared, most of all in the last round, and hints to free useless cards."""
    ones, twos = unseen_copies(state, i, seat)
    can_risk = int(state.lives[i]) > 1
    move = NO_RULE
    if can_risk and deck_left(state, i) == 0:
        move = play_probable(state, i, seat, ones, twos, 0, 1)
    if move == NO_RULE:
        move = play_safe(state, i, seat, ones, twos)
    if move == NO_RULE and can_risk:
        move = play_probable(state, i, seat, ones, twos, 3, 5)
    if move == NO_RULE:
        move = tell_useful(state, i, seat)
    if move == NO_RULE and int(state.tokens[i]) < 4:
        move = tell_dispensable(state, i, seat)
    return discard_or_tell(state, i, seat, ones, twos) if move == NO_RULE else move
