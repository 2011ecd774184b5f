"""SmartBot: plays, hints and discards by conventions that its partners share (behaviour of Quuxplusone/Hanabi's SmartBot)."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.agents.hanabi.moves import NO_RULE, discard_id, play_id, tell_color_id, tell_rank_id
from ludory.envs import kernel
from ludory.envs.hanabi.cards import unseen_copies
from ludory.envs.hanabi.conventions.knowledge import (
    all_in,
    belief,
    cards_of_color,
    cards_of_rank,
    is_known,
    may_be_valuable_as,
    maybe_in,
    next_discard,
    none_in,
    one_less,
    public_sets,
    settle,
    share_in,
)
from ludory.envs.hanabi.conventions.notice import hint_fitness
from ludory.envs.hanabi.rules import deck_left, rank_count
from ludory.envs.hanabi.state import MAX_TOKENS


@kernel
def best_hint(state, i, seat, offset, memory, play, valuable, expected):
    """Action id and fitness of the best hint for the seat `offset` places on; colours first, the first of equals wins.

    expected: for the next seat the slot that it is expected to discard, else -1. The rank of that card is not told where it would read as a warning.
    """
    ranks, target = rank_count(state), (seat + offset) % state.hands.shape[1]
    colors_held, ranks_held = 0, 0
    for slot in range(int(state.held[i, target])):
        card = int(state.hands[i, target, slot])
        colors_held |= 1 << (card // ranks)
        ranks_held |= 1 << (card % ranks)
    if expected >= 0:
        rank = int(state.hands[i, target, expected]) % ranks
        if may_be_valuable_as(belief(state, memory, target, expected), valuable, cards_of_rank(state, rank)):
            ranks_held &= ~(1 << rank)
    colors = state.fireworks.shape[1]
    best, best_fitness = NO_RULE, 0
    for value in range(colors + ranks):
        # a hint has to name a card
        is_color = value < colors
        held = colors_held >> value if is_color else ranks_held >> (value - colors)
        if held & 1:
            named = cards_of_color(state, value) if is_color else cards_of_rank(state, value - colors)
            fitness = hint_fitness(state, i, target, memory, play, named)
            if fitness > best_fitness:
                best_fitness = fitness
                best = tell_color_id(state, offset, value) if is_color else tell_rank_id(state, offset, value - colors)
    return best, best_fitness


SURPRISE = 100
"""Merit of playing a card of which nobody else knows that I know it to be playable."""


@kernel
def choose_smartbot(state, i, seat, memory):
    """The first of: warn, discard finesse, play, help, gamble, give a token back, discard."""
    players, ranks = state.hands.shape[1], rank_count(state)
    following, tokens, deck = (seat + 1) % players, int(state.tokens[i]), deck_left(state, i)
    play, valuable, worthless, ones, twos = public_sets(state, i)
    settle(state, i, memory, ones, twos)
    left = unlocated_cards(state, i, seat, memory)
    surest = card_to_play(state, i, seat, memory, play, left)
    gamble = card_to_gamble(state, i, seat, memory, play, left)
    # in the last round a card kept is worth nothing
    if deck == 0 and max(surest, gamble) >= 0:
        return play_id(state, surest if surest >= 0 else gamble)

    # without a token nobody can warn it
    expected = next_discard(state, i, following, memory, play, valuable, worthless) if tokens > 0 else -1
    in_danger = expected >= 0 and (valuable >> int(state.hands[i, following, expected])) & 1 == 1
    if not in_danger:
        if tokens < int(state.setup[i, MAX_TOKENS]):
            finesse = card_to_finesse(state, i, seat, memory, play & ~valuable)
            if finesse >= 0:
                # the newest slot of exactly one partner: it will be read as "play that one"
                return discard_id(finesse)
        if surest >= 0:
            return play_id(state, surest)

    hint, fitness = NO_RULE, 0
    if tokens > 0:
        # only the next seat is about to discard
        for offset in range(1, 2 if in_danger else players):
            other, value = best_hint(state, i, seat, offset, memory, play, valuable, expected if offset == 1 else -1)
            if value > fitness:
                hint, fitness = other, value
    if in_danger and hint == NO_RULE:
        # no hint has merit: the rank of the card serves as the warning
        return tell_rank_id(state, 1, int(state.hands[i, following, expected]) % ranks)
    if hint != NO_RULE:
        return hint
    if gamble >= 0:
        return play_id(state, gamble)
    if tokens == int(state.setup[i, MAX_TOKENS]):
        return give_token_back(state, i, seat)
    return discard(state, i, seat, memory, play, valuable, worthless, left)


@kernel
def unlocated_cards(state, i, seat, memory):
    """Bit set of the cards that a seat cannot place: some copy is neither gone nor in another hand nor known in its own."""
    ones, twos = unseen_copies(state, i, seat)
    for slot in range(int(state.held[i, seat])):
        # what it knows of its own hand is placed too, so that other slots are not taken for it
        cards = belief(state, memory, seat, slot)
        if is_known(cards):
            ones, twos = one_less(cards, ones, twos)
    return ones | twos


@kernel
def own_view(cards, left):
    """What a seat takes a slot of its own for: the table's belief, less what it can place elsewhere."""
    return cards if is_known(cards) else cards & left


@kernel
def card_to_play(state, i, seat, memory, play, left):
    """Own slot that is surely playable; one that nobody else knows to be, or else the lowest; ties oldest; -1 if there is none."""
    ranks, best, best_merit = rank_count(state), -1, 0
    for slot in range(int(state.held[i, seat])):
        cards = belief(state, memory, seat, slot)
        seen = own_view(cards, left)
        if not none_in(cards, play) and all_in(seen, play):
            # a card of unknown rank comes before all others; among those of known rank the lowest
            merit = ranks + 2
            for rank in range(ranks):
                if seen & ~cards_of_rank(state, rank) == 0:
                    merit = ranks - rank
            if not all_in(cards, play):
                merit += SURPRISE
            if merit > best_merit:
                best, best_merit = slot, merit
    return best


@kernel
def card_to_gamble(state, i, seat, memory, play, left):
    """Own slot that is most probably playable, ties newest, once the deck is so low that a life can be spared; else -1."""
    if deck_left(state, i) > (3 if int(state.lives[i]) >= 3 else 1):
        return -1
    best, best_hits, best_size = -1, 0, 1
    for slot in range(int(state.held[i, seat])):
        seen = own_view(belief(state, memory, seat, slot), left)
        if maybe_in(seen, play):
            hits, size = share_in(seen, play)
            # `>=`, so that the newest of equals is taken; everywhere else it is the oldest
            if hits * best_size >= best_hits * size:
                best, best_hits, best_size = slot, hits, size
    return best


@kernel
def card_to_finesse(state, i, seat, memory, spare):
    """Oldest own slot known to be a card in `spare` that is the newest card of exactly one other seat; -1 if there is none."""
    for slot in range(int(state.held[i, seat])):
        cards = belief(state, memory, seat, slot)
        if is_known(cards) and cards & spare:
            holders = 0
            for other in range(state.hands.shape[1]):
                newest = int(state.held[i, other]) - 1
                if other != seat and newest >= 0:
                    holders += (cards >> int(state.hands[i, other, newest])) & 1
            if holders == 1:
                return slot
    return -1


@kernel
def give_token_back(state, i, seat):
    """With all tokens there nothing can be discarded: tell the seat before me the rank of its oldest card."""
    players = state.hands.shape[1]
    for back in range(1, players):
        other = (seat - back) % players
        if int(state.tokens[i]) > 0 and int(state.held[i, other]) > 0:
            return tell_rank_id(state, players - back, int(state.hands[i, other, 0]) % rank_count(state))
    return play_id(state, 0)


@kernel
def discard(state, i, seat, memory, play, valuable, worthless, left):
    """Discard a worthless card, else the expected one, else the highest."""
    ranks = rank_count(state)
    held, best, best_hits, best_size = int(state.held[i, seat]), -1, 2, 1
    for slot in range(held):
        cards = belief(state, memory, seat, slot)
        seen = own_view(cards, left)
        if all_in(cards, worthless) or (maybe_in(cards, worthless) and all_in(seen, worthless)):
            # shares of kinds, not of copies, compared crosswise; 2/1 is above all of them, and the smallest is taken
            hits, size = share_in(cards, worthless)
            if hits * best_size < best_hits * size:
                best, best_hits, best_size = slot, hits, size
    if best < 0:
        best = next_discard(state, i, seat, memory, play, valuable, worthless)
    if best < 0:
        # below -1, so that a card of unknown rank can be chosen
        best_rank = -2
        for slot in range(held):
            cards, rank_told = belief(state, memory, seat, slot), -1
            for rank in range(ranks):
                if all_in(cards, cards_of_rank(state, rank)):
                    rank_told = rank
            if rank_told > best_rank:
                best, best_rank = slot, rank_told
    return discard_id(best) if best >= 0 else give_token_back(state, i, seat)
