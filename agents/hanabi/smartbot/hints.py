"""Which hint SmartBot would give a seat: one that tells the truth under its conventions and rules out most."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.agents.hanabi.moves import NO_RULE, tell_color_id, tell_rank_id
from ludory.envs.hanabi.rules import rank_count
from ludory.envs.kernels import kernel

from .knowledge import all_in, belief, cards_of_color, cards_of_rank, may_be_valuable_as, maybe_in, size_of


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
                judged, good = True, card & play != 0
    return fitness if reveals or good else 0


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
        is_color = value < colors
        held = colors_held >> value if is_color else ranks_held >> (value - colors)
        if held & 1:
            named = cards_of_color(state, value) if is_color else cards_of_rank(state, value - colors)
            fitness = hint_fitness(state, i, target, memory, play, named)
            if fitness > best_fitness:
                best_fitness = fitness
                best = tell_color_id(state, offset, value) if is_color else tell_rank_id(state, offset, value - colors)
    return best, best_fitness
