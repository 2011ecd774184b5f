"""`redeal` for Hanabi: draws the own hand and the order of the deck, exactly uniformly over what a seat cannot know."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import draw, kernel

from .rules import rank_count


@kernel
def _fits(state, i, seat, slot, card, ranks):
    """Whether the hints given about a slot allow a card."""
    color_ok = (int(state.colors[i, seat, slot]) >> (card // ranks)) & 1
    return color_ok == 1 and (int(state.ranks[i, seat, slot]) >> (card % ranks)) & 1 == 1


@kernel
def _add_card(state, i, seat, card, ranks, sign):
    """Add a physical card to (sign 1) or take it from (sign -1) the table of ways.

    ways[S] = number of ways to fill the slots S with distinct cards added so far.
    """
    held = int(state.held[i, seat])
    subsets = 1 << held
    for k in range(subsets):
        subset = subsets - 1 - k if sign > 0 else k  # in place: large sets first when adding, small first when taking
        total = int(state.ways[i, subset])
        for slot in range(held):
            if (subset >> slot) & 1 and _fits(state, i, seat, slot, card, ranks):
                total += sign * int(state.ways[i, subset & ~(1 << slot)])
        state.ways[i, subset] = total


@kernel
def redeal(state, i, seat):
    """Re-draw the own hand and the order of the deck, uniformly over all that agrees with the seat's hints and sight.

    The unseen cards are put one after another into a table that counts the ways to fill each set of slots; walking back,
    each card stays in the deck or takes a slot with the exact probability. No rejection; works with an empty deck.
    """
    ranks = rank_count(state)
    held, top, size = int(state.held[i, seat]), int(state.deck_top[i]), state.deck.shape[1]
    # the own hand and the deck
    unseen = held + size - top
    first = top - held  # the unseen cards are gathered in deck[first:], so that the array stays a whole deck
    for slot in range(held - 1, -1, -1):
        _move_dealt_card(state, i, int(state.hands[i, seat, slot]), first + slot)
    for subset in range(1 << held):
        state.ways[i, subset] = 1 if subset == 0 else 0
    for k in range(unseen):
        _add_card(state, i, seat, int(state.deck[i, first + k]), ranks, 1)
    open_slots = (1 << held) - 1
    write = size - 1
    # from the last card back: once it is taken out, the table counts the ways with the cards before it
    for k in range(unseen - 1, -1, -1):
        card = int(state.deck[i, first + k])
        total = int(state.ways[i, open_slots])
        _add_card(state, i, seat, card, ranks, -1)
        # of `total` ways, those in which this card stays in the deck come first
        pick = _draw_wide(state, i, total) - int(state.ways[i, open_slots])
        chosen = -1
        if pick >= 0:
            for slot in range(held):
                if chosen < 0 and (open_slots >> slot) & 1 and _fits(state, i, seat, slot, card, ranks):
                    # then, slot by slot, the ways in which it fills that slot
                    pick -= int(state.ways[i, open_slots & ~(1 << slot)])
                    if pick < 0:
                        chosen = slot
        if chosen < 0:
            state.deck[i, write] = card
            write -= 1
        else:
            state.hands[i, seat, chosen] = card
            open_slots &= ~(1 << chosen)
    for slot in range(held):
        state.deck[i, first + slot] = state.hands[i, seat, slot]
    # the cards of the deck are drawn, their order is not yet
    for k in range(size - 1, top, -1):
        other = top + draw(state, i, k - top + 1)
        card = int(state.deck[i, k])
        state.deck[i, k] = state.deck[i, other]
        state.deck[i, other] = card


@kernel
def _move_dealt_card(state, i, card, place):
    """Swap a card of the dealt part of the deck array, which the game no longer reads, from before `place` to it."""
    k = place
    while int(state.deck[i, k]) != card:
        k -= 1
    state.deck[i, k] = state.deck[i, place]
    state.deck[i, place] = card


@kernel
def _draw_wide(state, i, n):
    """Uniform integer in 0..n-1 for n up to 2**55: above 2**31 two draws, high part first, rejected above n."""
    if n < 1 << 31:
        return draw(state, i, n)
    # the high part first: less than one draw in 128 is rejected
    high = (n >> 24) + 1
    while True:
        value = (draw(state, i, high) << 24) | draw(state, i, 1 << 24)
        if value < n:
            return value
