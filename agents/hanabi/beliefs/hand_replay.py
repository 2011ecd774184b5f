"""What a rule bot at the table would have done and concluded, for every hand that a seat may have held. Bound by `bind`.

A hand is packed as in `hand_sets`: the card id of slot s in bits 5s..5s+4. P seats; M numbers of memory per seat.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from ludory.envs.chance import draw
from ludory.envs.engine.binding.kernel_placeholders import choose, notice, redeal

# `bind` puts `quick_batch_kernel` into this line
from ludory.envs.kernels import batch_kernel

NONE = -1


@batch_kernel
def before_move(hand, held, slot, card, drew):
    """The hand from which `card` was taken out of `slot`; held: its cards then; drew: whether the newest is a new one."""
    # the newest card has the highest slot
    if drew:
        hand &= (1 << (5 * (held - 1))) - 1
    low = (1 << (5 * slot)) - 1
    # the cards above the slot had moved down by one
    return (hand & low) | (card << (5 * slot)) | ((hand & ~low) << 5)


@batch_kernel
def put_hand(state, i, seat, hand):
    """Give a seat the cards of a packed hand."""
    for slot in range(int(state.held[i, seat])):
        state.hands[i, seat, slot] = (hand >> (5 * slot)) & 31


@batch_kernel
def copy_memory(source, target):
    """Memories [P, M] (plain loops: kernels allocate nothing, and an array assignment might)."""
    for p in range(target.shape[0]):
        for m in range(target.shape[1]):
            target[p, m] = source[p, m]


@batch_kernel
def same_memory(one, other):
    """Whether two memories [P, M] are equal."""
    for p in range(one.shape[0]):
        for m in range(one.shape[1]):
            if one[p, m] != other[p, m]:
                return False
    return True


@batch_kernel
def replay(moves, takes, states, seat, hands, classes, memories, ignored, past, memory, after, found):
    """Which hands agree with the moves of other seats, and what the bot in every seat has in mind after all moves.

    moves [E, 2]: seat that moved, -1 for a move that says nothing about the hand; action.
    takes [E, 3]: slot that `seat` played or discarded in move e, -1 for none; its card; whether it drew another.
    states: E records, before each move; the hand of `seat` is overwritten.
    hands [n]: after the last move. classes [n], or [1] for all: row of memories [C, P, M], before the first move.
    ignored: seat whose memory is left alone, -1 for none.
    past [E], memory [P, M]: working memory.
    after [n]: row of found [F, P, M] for a hand that agrees, -1 for others. Gives the number of rows, -1 if F are not enough.
    """
    rows = 0
    # from the last move back to the first: `past[e]` is the hand before move e
    for k in range(hands.shape[0]):
        hand = int(hands[k])
        for e in range(moves.shape[0] - 1, -1, -1):
            if takes[e, 0] >= 0:
                hand = before_move(hand, int(states.held[e, seat]), takes[e, 0], takes[e, 1], takes[e, 2])
            past[e] = hand
        origin = int(classes[k if classes.shape[0] > 1 else 0])
        copy_memory(memories[origin], memory)
        after[k] = 0
        for e in range(moves.shape[0]):
            put_hand(states, e, seat, past[e])
            mover, action = moves[e, 0], moves[e, 1]
            # who moved sees this hand: it would have chosen something else
            if mover >= 0 and mover != seat and choose(states, e, mover, memory[mover]) != action:
                after[k] = NONE
                # the first contradiction ends it
                break
            for p in range(memory.shape[0]):
                if p != ignored:
                    notice(states, e, p, action, memory[p])
        if after[k] == NONE:
            continue
        # few memories differ, so rows are compared one by one
        row = 0
        while row < rows and not same_memory(found[row], memory):
            row += 1
        if row == found.shape[0]:
            return -1
        if row == rows:
            copy_memory(memory, found[row])
            rows += 1
        after[k] = row
    return rows


@batch_kernel
def deal_worlds(state, seat, hands, counts, left, start, stop):
    """Give `seat` in world k the packed hand hands[k] and put the other unseen cards, shuffled, in the deck.

    Each world draws from its own field `random`. left [C*R]: working memory.
    """
    for k in range(start, stop):
        put_hand(state, k, seat, int(hands[k]))
        for card in range(left.shape[0]):
            left[card] = counts[card]
        for slot in range(int(state.held[k, seat])):
            # what is left is no longer in any hand and goes to the deck, from `deck_top` on
            left[int(state.hands[k, seat, slot])] -= 1
        place = top = int(state.deck_top[k])
        for card in range(left.shape[0]):
            for _ in range(left[card]):
                state.deck[k, place] = card
                place += 1
        # Fisher-Yates, over the cards not dealt yet
        for place in range(state.deck.shape[1] - 1, top, -1):
            other = top + draw(state, k, place - top + 1)
            card = int(state.deck[k, place])
            state.deck[k, place] = state.deck[k, other]
            state.deck[k, other] = card


@batch_kernel
def redeal_worlds(state, seat, start, stop):
    """Draw what `seat` does not know by the rules anew; each world draws from its own field `random`."""
    for k in range(start, stop):
        redeal(state, k, seat)
