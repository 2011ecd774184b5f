"""CheatBot: sees all hands, but not the deck; the practical ceiling (behaviour of Quuxplusone/Hanabi's CheatBot).

Full game only: 5 colours, 5 ranks, 8 information tokens.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.agents.hanabi.moves import NO_RULE, discard_id, play_id, tell_rank_id
from ludory.envs import kernel
from ludory.envs.hanabi.cards import is_playable, playable_cards, worthless_cards
from ludory.envs.hanabi.rules import copies_of, deck_left, fireworks_sum, rank_count
from ludory.envs.hanabi.state import MAX_TOKENS

SPARE_MOVES = (0, 1, 2, 3, 4, 5, 8, 25, 25)
"""By tokens: with at most this many cards missing, waiting comes before making room."""


@kernel
def hand_cards(state, i, seat):
    """Bit sets of the cards that a seat holds, and that it holds at least twice."""
    held, twice = 0, 0
    for slot in range(int(state.held[i, seat])):
        bit = 1 << int(state.hands[i, seat, slot])
        # before `held` takes the bit: then this copy is the second
        twice |= held & bit
        held |= bit
    return held, twice


@kernel
def all_hand_cards(state, i):
    """Bit sets of the cards in all hands together, and of those in them at least twice (the twins)."""
    held, twice = 0, 0
    for seat in range(state.hands.shape[1]):
        in_hand, in_hand_twice = hand_cards(state, i, seat)
        twice |= (held & in_hand) | in_hand_twice
        held |= in_hand
    return held, twice


@kernel
def lowest_playable(state, i, seat, allowed):
    """Slot of the lowest playable own card in the bit set `allowed`, ties oldest; -1 if there is none."""
    ranks, best, best_rank = rank_count(state), -1, rank_count(state)
    for slot in range(int(state.held[i, seat])):
        card = int(state.hands[i, seat, slot])
        if (allowed >> card) & 1 and is_playable(state, i, card, ranks) and card % ranks < best_rank:
            best, best_rank = slot, card % ranks
    return best


@kernel
def play_for_others(state, i, seat):
    """Play a card whose successor another seat holds, else the lowest playable one."""
    players, ranks = state.hands.shape[1], rank_count(state)
    lasts = 0
    for color in range(state.fireworks.shape[1]):
        lasts |= 1 << (color * ranks + ranks - 1)
    # ids shifted by one are a rank lower; what falls on the last rank of the colour before is no predecessor
    slot = -1
    for offset in range(1, players):
        if slot < 0:
            successors, _ = hand_cards(state, i, (seat + offset) % players)
            slot = lowest_playable(state, i, seat, (successors >> 1) & ~lasts)
    if slot < 0:
        slot = lowest_playable(state, i, seat, playable_cards(state, i))
    return play_id(state, slot) if slot >= 0 else NO_RULE


@kernel
def can_discard(state, i):
    """Whether a token is missing."""
    return int(state.tokens[i]) < int(state.setup[i, MAX_TOKENS])


@kernel
def dispose(state, i, seat, dead):
    """Get rid of a card that is dead or held twice: by a discard, or by a misplay that costs a life to spare."""
    _, twice = hand_cards(state, i, seat)
    for slot in range(int(state.held[i, seat])):
        if ((dead | twice) >> int(state.hands[i, seat, slot])) & 1:
            if can_discard(state, i):
                return discard_id(slot)
            return play_id(state, slot) if int(state.lives[i]) >= 2 else NO_RULE
    return NO_RULE


@kernel
def discard_twin(state, i, seat, twins):
    """Discard a card that is in the hands twice."""
    if can_discard(state, i):
        for slot in range(int(state.held[i, seat])):
            if (twins >> int(state.hands[i, seat, slot])) & 1:
                return discard_id(slot)
    return NO_RULE


@kernel
def discard_gap(state, i, seat):
    """Discard the card farthest above its stack among those that are neither of the last rank nor the last copy."""
    ranks, best, best_gap = rank_count(state), -1, -rank_count(state)
    if can_discard(state, i):
        for slot in range(int(state.held[i, seat])):
            card = int(state.hands[i, seat, slot])
            rank = card % ranks
            gap = rank - int(state.fireworks[i, card // ranks])
            last_copy = int(state.discards[i, card]) == copies_of(rank, ranks) - 1
            if rank < ranks - 1 and not last_copy and gap > best_gap:
                best, best_gap = slot, gap
    return discard_id(best) if best >= 0 else NO_RULE


@kernel
def wait(state, i, seat):
    """Pass the turn with a hint: the rank of the next seat's oldest card."""
    if int(state.tokens[i]) == 0:
        return NO_RULE
    other = (seat + 1) % state.hands.shape[1]
    return tell_rank_id(state, 1, int(state.hands[i, other, 0]) % rank_count(state))


@kernel
def discard_highest(state, i, seat):
    """Discard the highest rank, ties oldest."""
    ranks, best, best_rank = rank_count(state), 0, -1
    for slot in range(int(state.held[i, seat])):
        rank = int(state.hands[i, seat, slot]) % ranks
        if rank > best_rank:
            best, best_rank = slot, rank
    return discard_id(best)


@kernel
def should_wait(state, i):
    """Whether hints come before discards: every card still to be drawn is needed, or the tokens last for what is missing."""
    missing = state.discards.shape[1] - fireworks_sum(state, i)
    return missing >= deck_left(state, i) + 1 or missing <= SPARE_MOVES[int(state.tokens[i])]


@kernel
def choose_cheatbot(state, i, seat, memory):
    """Play what can be played; else make room, or wait, by how much is missing and how long the deck lasts.

    Where no hand holds a playable card, disposing comes first whatever is missing; the rest of the list is the same.
    """
    move = play_for_others(state, i, seat)
    dead = worthless_cards(state, i)
    held, twins = all_hand_cards(state, i)
    nothing_playable = held & playable_cards(state, i) == 0
    wait_first = not nothing_playable and should_wait(state, i)
    if move == NO_RULE and wait_first:
        move = wait(state, i, seat)
    if move == NO_RULE:
        move = dispose(state, i, seat, dead)
    if move == NO_RULE:
        move = discard_twin(state, i, seat, twins)
    if move == NO_RULE and nothing_playable and held & dead == 0 and twins == 0:
        move = discard_gap(state, i, seat)
    if move == NO_RULE:
        move = wait(state, i, seat)
    if move == NO_RULE:
        move = discard_gap(state, i, seat)
    return discard_highest(state, i, seat) if move == NO_RULE else move
