"""What SmartBot's conventions conclude from a move, seen at the state before it, and what a hint would tell."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel
from ludory.envs.hanabi.rules import deck_left, rank_count
from ludory.envs.hanabi.state import MAX_TOKENS

from .knowledge import (
    all_cards,
    all_in,
    belief,
    believe,
    cards_of_color,
    cards_of_rank,
    is_known,
    may_be_valuable_as,
    maybe_in,
    next_discard,
    public_sets,
    settle,
    size_of,
)


@kernel
def notice_smartbot(state, i, seat, action, memory):
    """Update the memory of `seat` by the move `action` of the seat to move."""
    players, hand = state.hands.shape[1], state.hands.shape[2]
    actor = int(state.to_move[i])
    following = (actor + 1) % players
    play, valuable, worthless, ones, twos = public_sets(state, i)
    settle(state, i, memory, ones, twos)
    expected = next_discard(state, i, following, memory, play, valuable, worthless)
    if action < 2 * hand:
        # whoever plays or discards could have warned instead
        not_warned(state, i, following, memory, valuable, expected)
        if action < hand and all_in(belief(state, memory, actor, action), play):
            notice_finesse(state, i, seat, actor, memory, belief(state, memory, actor, action))
        # after the conclusions: they are about slots as they were
        lose_card(state, i, actor, action % hand, memory)
        return
    hint, colors, ranks = action - 2 * hand, state.fireworks.shape[1], rank_count(state)
    is_color = hint < (players - 1) * colors
    if not is_color:
        hint -= (players - 1) * colors
    kinds = colors if is_color else ranks
    target, value = (actor + 1 + hint // kinds) % players, hint % kinds
    if is_color:
        notice_hint(state, i, target, memory, play, cards_of_color(state, value), False)
    else:
        named = cards_of_rank(state, value)
        # the actor may not discard, and tells the seat before it about its oldest card only to pass the turn
        reclaim = (
            int(state.tokens[i]) == int(state.setup[i, MAX_TOKENS])
            and actor == (target + 1) % players
            and (named >> int(state.hands[i, target, 0])) & 1 == 1
        )
        warning = False
        # a hint to the seat that is about to discard, touching that very card
        if not reclaim and target == following and expected >= 0:
            cards = belief(state, memory, target, expected)
            warning = (named >> int(state.hands[i, target, expected])) & 1 == 1 and may_be_valuable_as(
                cards, valuable, named
            )
            if warning:
                believe(state, memory, target, expected, cards & valuable)
        notice_hint(state, i, target, memory, play, named, reclaim or warning)
    # the hint went elsewhere although it could have warned
    if target != following:
        not_warned(state, i, following, memory, valuable, expected)


@kernel
def not_warned(state, i, following, memory, valuable, expected):
    """Nobody who could have warned the next seat did: the card it would discard is not valuable."""
    if deck_left(state, i) > 0 and int(state.tokens[i]) > 0 and expected >= 0:
        believe(state, memory, following, expected, belief(state, memory, following, expected) & ~valuable)


@kernel
def notice_finesse(state, i, seat, actor, memory, card):
    """A seat discards a card that all know to be playable: somebody's newest card is its twin, mine if nobody else's."""
    # the discard of an unknown card is no finesse
    if not is_known(card):
        return
    for other in range(state.hands.shape[1]):
        newest = int(state.held[i, other]) - 1
        if other != actor and other != seat and newest >= 0 and (card >> int(state.hands[i, other, newest])) & 1:
            believe(state, memory, other, newest, belief(state, memory, other, newest) & card)
            return
    newest = int(state.held[i, seat]) - 1
    if seat != actor and newest >= 0:
        believe(state, memory, seat, newest, belief(state, memory, seat, newest) & card)


@kernel
def lose_card(state, i, actor, slot, memory):
    """A card leaves a hand; of the card drawn for it nothing is known."""
    last = int(state.held[i, actor]) - 1
    for s in range(slot, last):
        believe(state, memory, actor, s, belief(state, memory, actor, s + 1))
    believe(state, memory, actor, last, all_cards(state))


@kernel
def notice_hint(state, i, target, memory, play, named, explained):
    """The cards of `target` in `named` were told, the others are not among them.

    explained: the hint had another purpose than to make `target` play a card.
    """
    identified, meant = False, -1
    # newest first: that is the card that a hint means
    for slot in range(int(state.held[i, target]) - 1, -1, -1):
        before = belief(state, memory, target, slot)
        touched = (named >> int(state.hands[i, target, slot])) & 1 == 1
        after = before & named if touched else before & ~named
        believe(state, memory, target, slot, after)
        if maybe_in(before, play):
            if all_in(after, play):
                identified = True
            elif touched and meant < 0 and maybe_in(after, play):
                # the first one touched that stays open is what the hint asks to play
                meant = slot
    if meant >= 0 and not identified and not explained:
        # not if it showed by itself what can be played, and not if it was a warning
        believe(state, memory, target, meant, belief(state, memory, target, meant) & play)


@kernel
def hint_fitness(state, i, target, memory, play, named):
    """Number of kinds of cards that telling `target` of its cards in `named` rules out; 0 if the hint would mislead.

    A hint reads as "play the newest card named that may be playable", unless it shows of itself that a card is playable.
    """
    reveals, judged, good, fitness = False, False, False, 0
    for slot in range(int(state.held[i, target]) - 1, -1, -1):
        before, card = belief(state, memory, target, slot), 1 << int(state.hands[i, target, slot])
        touched = card & named != 0
        after = before & named if touched else before & ~named
        fitness += size_of(before) - size_of(after)
        if maybe_in(before, play):
            if all_in(after, play):
                reveals = True
            elif touched and not judged and maybe_in(after, play):
                # judged by the card that the target would take the hint for
                judged, good = True, card & play != 0
    return fitness if reveals or good else 0
